package projections

import (
	"context"
	"database/sql"
	"sync"
)

// Queries reads the committed rows of a file. It prepares each statement once, because
// SQLite needs more time to compile a short query than to run it. So pass values as
// arguments instead of including them in the text. Queries is safe for concurrent use.
// Its statements end with the file.
type Queries struct {
	rows     *sql.DB
	prepared sync.Map // *sql.Stmt by SQL text
}

// NewQueries returns Queries for the rows that Model.Load gets.
func NewQueries(rows *sql.DB) *Queries { return &Queries{rows: rows} }

// QueryContext is like [sql.DB.QueryContext].
func (q *Queries) QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	s, err := q.statement(ctx, query) //nolint:sqlclosecheck // file.close closes it with its connection
	if err != nil {
		return nil, err
	}
	return s.QueryContext(ctx, args...)
}

// QueryRowContext is like [sql.DB.QueryRowContext].
func (q *Queries) QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row {
	s, err := q.statement(ctx, query) //nolint:sqlclosecheck // file.close closes it with its connection
	if err != nil {
		return q.rows.QueryRowContext(ctx, query, args...) // fails again, and returns the error in the row
	}
	return s.QueryRowContext(ctx, args...)
}

func (q *Queries) statement(ctx context.Context, query string) (*sql.Stmt, error) {
	if s, ok := q.prepared.Load(query); ok {
		return s.(*sql.Stmt), nil
	}
	s, err := q.rows.PrepareContext(ctx, query)
	if err != nil {
		return nil, err
	}
	first, taken := q.prepared.LoadOrStore(query, s)
	if taken {
		_ = s.Close() //nolint:sqlclosecheck // another caller has prepared the same query
	}
	return first.(*sql.Stmt), nil
}
