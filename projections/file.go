package projections

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"

	"github.com/google/uuid"
	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"hexarena/eventstore"
)

// maxReaders is the maximum number of concurrent queries by the readers of a
// file.
const maxReaders = 4

// The cache of a reader is small. When a reader first queries after a commit, SQLite
// empties the reader's cache. Meanwhile, SQLite holds a lock that all connections need.
//
// With the settings of the writer, a commit survives a crash of the process. A crash of the
// machine may undo the most recent commits, because synchronous=NORMAL syncs later.
// The model then folds the events of those commits again.
var (
	writerPragmas = []string{
		"busy_timeout(10000)", "journal_mode(WAL)", "synchronous(NORMAL)", "cache_size(-65536)",
		"wal_autocheckpoint(4000)", "journal_size_limit(67108864)",
	}
	readerPragmas = []string{"busy_timeout(10000)", "query_only(1)", "cache_size(-2000)"}
)

// file is a model's SQLite file. One connection writes, and the other
// connections read.
type file struct {
	dir, model    string
	db            *sql.DB              // has only the writer's connection
	writer        *sql.Conn            // the only connection that writes
	rows          *sql.DB              // the readers' connections
	statements    map[string]*sql.Stmt // prepared statements of the writer, by SQL text
	checkpoint    checkpoint           // the last committed checkpoint
	removeOnClose bool                 // whether the file is damaged, so that closing it also removes it
}

// checkpoint holds the position up to which a model's rows include all events.
type checkpoint struct {
	position eventstore.Position
	anchor   anchor // an event at or after the position
}

// anchor is an event that identifies the log. It is empty at position 0.
type anchor struct {
	position eventstore.Position
	id       uuid.UUID
}

// unusableError is the reason why a file must be replaced.
type unusableError struct{ why string }

func (e *unusableError) Error() string { return e.why }

const checkpointTable = `CREATE TABLE checkpoint (
	model TEXT NOT NULL, version INTEGER NOT NULL, position INTEGER NOT NULL,
	anchor INTEGER NOT NULL, event TEXT NOT NULL
) STRICT`

// path returns the path of a model's file.
func path(dir, name string) string { return filepath.Join(dir, name+".db") }

// Remove deletes a model's rows. The next process that opens the model folds
// the rows from scratch.
func Remove(dir, name string) error {
	var errs []error
	for _, suffix := range []string{"", "-wal", "-shm"} {
		if err := os.Remove(path(dir, name) + suffix); !errors.Is(err, os.ErrNotExist) {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// openFile opens the file and loads the model. If the file cannot be used,
// openFile replaces it.
func (r *Runner) openFile() error {
	err := r.open()
	if unusable(err) {
		return r.replaceFile(err.Error())
	}
	return err
}

// replaceFile deletes the file and creates an empty one, so that the model
// folds from scratch.
func (r *Runner) replaceFile(why string) error {
	r.logger.Warn("rebuilding the rows", "file", path(r.dir, r.model.Name()), "why", why)
	if r.file != nil {
		if err := r.file.close(); err != nil {
			return err
		}
	}
	if err := Remove(r.dir, r.model.Name()); err != nil {
		return err
	}
	return r.open()
}

func (r *Runner) open() error {
	f, err := openFile(r.dir, r.model.Name(), r.model.Schema())
	if err != nil {
		return err
	}
	if err := r.model.Load(f.rows); err != nil {
		return errors.Join(err, f.close())
	}
	r.file, r.applied = f, f.checkpoint.position
	r.setCommitted(r.applied)
	return nil
}

func openFile(dir, model string, schema Schema) (*file, error) {
	f := &file{dir: dir, model: model, statements: map[string]*sql.Stmt{}}
	err := f.open()
	if err == nil {
		err = f.prepare(context.Background(), schema)
	}
	if err != nil {
		_ = f.close()
		return nil, err
	}
	return f, nil
}

func (f *file) open() (err error) {
	if err := os.MkdirAll(f.dir, 0o700); err != nil {
		return err
	}
	name := path(f.dir, f.model)
	if f.db, err = sql.Open("sqlite", dsn(name, writerPragmas...)); err != nil {
		return err
	}
	if f.writer, err = f.db.Conn(context.Background()); err != nil {
		return err
	}
	if f.rows, err = sql.Open("sqlite", dsn(name, readerPragmas...)); err != nil {
		return err
	}
	f.rows.SetMaxOpenConns(maxReaders)
	f.rows.SetMaxIdleConns(maxReaders)
	return nil
}

// dsn returns the data source name of an SQLite file with its settings.
func dsn(name string, pragmas ...string) string {
	u := url.URL{Scheme: "file", Opaque: (&url.URL{Path: filepath.ToSlash(name)}).EscapedPath()}
	u.RawQuery = url.Values{"_pragma": pragmas}.Encode()
	return u.String()
}

// prepare creates the tables of a new file, or checks that an existing file can
// be used.
func (f *file) prepare(ctx context.Context, schema Schema) error {
	var tables int
	if err := f.writer.QueryRowContext(ctx, "SELECT count(*) FROM sqlite_schema").Scan(&tables); err != nil {
		return err
	}
	if tables == 0 {
		return f.create(ctx, schema)
	}
	var damage string
	if err := f.writer.QueryRowContext(ctx, "PRAGMA quick_check(1)").Scan(&damage); err != nil {
		return err
	}
	if damage != "ok" {
		return &unusableError{damage}
	}
	var of string
	var version int
	err := f.writer.QueryRowContext(ctx, "SELECT model, version, position, anchor, event FROM checkpoint").
		Scan(&of, &version, &f.checkpoint.position, &f.checkpoint.anchor.position, &f.checkpoint.anchor.id)
	switch {
	case err != nil:
		return &unusableError{"it holds no checkpoint: " + err.Error()}
	case of != f.model:
		return &unusableError{"it holds the rows of " + of}
	case version != schema.Version:
		return &unusableError{fmt.Sprintf("its schema has version %d, but this program's schema has version %d", version, schema.Version)}
	}
	return nil
}

func (f *file) create(ctx context.Context, schema Schema) error {
	tx, err := f.writer.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback()
	for _, query := range []string{checkpointTable, schema.Tables} {
		if _, err := tx.ExecContext(ctx, query); err != nil {
			return err
		}
	}
	if _, err := tx.ExecContext(ctx, "INSERT INTO checkpoint VALUES (?, ?, 0, 0, ?)", f.model, schema.Version, uuid.Nil.String()); err != nil {
		return err
	}
	return tx.Commit()
}

func (f *file) close() error {
	var errs []error
	for _, s := range f.statements {
		errs = append(errs, s.Close())
	}
	if f.rows != nil {
		errs = append(errs, f.rows.Close())
	}
	if f.writer != nil {
		errs = append(errs, f.writer.Close())
	}
	if f.db != nil {
		errs = append(errs, f.db.Close())
	}
	if f.removeOnClose {
		_ = Remove(f.dir, f.model) // if this fails, the next process finds the damage again
	}
	return errors.Join(errs...)
}

// The function unusable reports whether an error means that the file must be
// replaced.
func unusable(err error) bool {
	var e *unusableError
	return errors.As(err, &e) || damaged(err)
}

// The function damaged() reports whether an error means that the file is not a valid
// database.
func damaged(err error) bool {
	var e *sqlite.Error
	if !errors.As(err, &e) {
		return false
	}
	code := e.Code() & 0xff
	return code == sqlite3.SQLITE_CORRUPT || code == sqlite3.SQLITE_NOTADB
}
