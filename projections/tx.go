package projections

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
)

// Tx is a transaction in which a model writes. It caches prepared statements by
// their text, so pass values as arguments instead of including them in the text.
// Any error of a Tx rolls back the transaction and stops the model.
type Tx struct {
	file *file
	err  error // the first error
}

// begin opens a transaction. Its statements do not use a caller's context, so that
// cancelling the context cannot leave the transaction half done.
func (f *file) begin() (*Tx, error) {
	tx := &Tx{file: f}
	return tx, tx.Exec("BEGIN IMMEDIATE")
}

// Exec runs a statement.
func (t *Tx) Exec(query string, args ...any) error {
	s, err := t.statement(query) //nolint:sqlclosecheck // file.close closes it
	if err == nil {
		_, err = s.ExecContext(context.Background(), args...)
	}
	return t.note(query, err)
}

// Find reads the columns of one row into variables. If the query returns no row,
// Find returns false.
func (t *Tx) Find(query string, args []any, into ...any) (found bool, err error) {
	s, err := t.statement(query) //nolint:sqlclosecheck // file.close closes it
	if err == nil {
		err = s.QueryRowContext(context.Background(), args...).Scan(into...)
	}
	if errors.Is(err, sql.ErrNoRows) {
		return false, nil
	}
	return err == nil, t.note(query, err)
}

func (t *Tx) statement(query string) (*sql.Stmt, error) {
	if s, ok := t.file.statements[query]; ok {
		return s, nil
	}
	s, err := t.file.writer.PrepareContext(context.Background(), query)
	if err == nil {
		t.file.statements[query] = s
	}
	return s, err
}

func (t *Tx) note(query string, err error) error {
	if err == nil {
		return nil
	}
	err = fmt.Errorf("%w (%.60s)", err, query)
	if t.err == nil {
		t.err = err
	}
	return err
}

// The method commit() stores the checkpoint and commits the transaction.
func (t *Tx) commit(c checkpoint) error {
	err := t.Exec("UPDATE checkpoint SET position = ?, anchor = ?, event = ?", int64(c.position), int64(c.anchor.position), c.anchor.id.String())
	if err == nil {
		err = t.Exec("COMMIT")
	}
	if err == nil {
		t.file.checkpoint = c
	}
	return err
}

func (t *Tx) rollback() { _ = t.Exec("ROLLBACK") } // if this fails, closing the file rolls back
