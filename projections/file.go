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

// readers is how many answers are read from a file at a time.
const readers = 4

// file is a model's SQLite file: one connection writes, others read.
type file struct {
	path       string
	db         *sql.DB   // of the writer
	writer     *sql.Conn // the only one
	rows       *sql.DB
	statements map[string]*sql.Stmt // of the writer, by text
	checkpoint checkpoint           // as committed
	doomed     bool                 // damaged: to be removed
}

// checkpoint is how far a model's rows go.
type checkpoint struct {
	position eventstore.Position // to go on after
	anchor   anchor              // tells the log from others: at the position, or behind it
}

// anchor is an event of the log, none at position 0.
type anchor struct {
	position eventstore.Position
	id       uuid.UUID
}

// errFile says that a file is not one to go on with.
type errFile struct{ why string }

func (e *errFile) Error() string { return e.why }

const bookkeeping = `CREATE TABLE checkpoint (
	model TEXT NOT NULL, version INTEGER NOT NULL, position INTEGER NOT NULL,
	anchor INTEGER NOT NULL, event TEXT NOT NULL
) STRICT`

// path is where a model's rows are.
func path(dir, name string) string { return filepath.Join(dir, name+".db") }

// Remove deletes a model's rows: they are folded anew.
func Remove(dir, name string) error {
	var errs []error
	for _, suffix := range []string{"", "-wal", "-shm"} {
		if err := os.Remove(path(dir, name) + suffix); !errors.Is(err, os.ErrNotExist) {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// openFile opens the file and loads the model, afresh where the file is none to
// go on with.
func (r *Runner) openFile() error {
	err := r.open()
	var unusable *errFile
	if errors.As(err, &unusable) || damaged(err) {
		r.logger.Warn("rows are folded anew", "file", path(r.dir, r.model.Name()), "why", err)
		if err = Remove(r.dir, r.model.Name()); err == nil {
			err = r.open()
		}
	}
	return err
}

func (r *Runner) open() error {
	f, err := openFile(path(r.dir, r.model.Name()), r.model.Name(), r.model.Schema())
	if err != nil {
		return err
	}
	if err := r.model.Load(f.rows); err != nil {
		return errors.Join(err, f.close())
	}
	r.file, r.applied = f, f.checkpoint.position
	r.publish(r.applied)
	return nil
}

// beginAfresh throws the rows away.
func (r *Runner) beginAfresh(why string) error {
	r.logger.Warn("rows are folded anew", "file", r.file.path, "why", why)
	if err := errors.Join(r.file.close(), Remove(r.dir, r.model.Name())); err != nil {
		return err
	}
	return r.open()
}

func openFile(name, model string, schema Schema) (*file, error) {
	f := &file{path: name, statements: map[string]*sql.Stmt{}}
	err := f.open()
	if err == nil {
		err = f.prepare(context.Background(), model, schema)
	}
	if err != nil {
		_ = f.close()
		return nil, err
	}
	return f, nil
}

func (f *file) open() (err error) {
	if err := os.MkdirAll(filepath.Dir(f.path), 0o700); err != nil {
		return err
	}
	if f.db, err = sql.Open("sqlite", dsn(f.path, false)); err != nil {
		return err
	}
	if f.writer, err = f.db.Conn(context.Background()); err != nil {
		return err
	}
	if f.rows, err = sql.Open("sqlite", dsn(f.path, true)); err != nil {
		return err
	}
	f.rows.SetMaxOpenConns(readers)
	f.rows.SetMaxIdleConns(readers)
	return nil
}

// dsn names a file and how it is opened. A commit is safe from a crash of the
// process at once, and from one of the machine a little later: what is lost
// then is folded again.
func dsn(name string, readOnly bool) string {
	q := url.Values{"_pragma": {"busy_timeout(10000)"}}
	add := func(pragmas ...string) { q["_pragma"] = append(q["_pragma"], pragmas...) }
	if readOnly {
		add("query_only(1)", "cache_size(-16384)")
	} else {
		add("journal_mode(WAL)", "synchronous(NORMAL)", "cache_size(-65536)", "wal_autocheckpoint(4000)", "journal_size_limit(67108864)")
	}
	return (&url.URL{Scheme: "file", Opaque: (&url.URL{Path: filepath.ToSlash(name)}).EscapedPath(), RawQuery: q.Encode()}).String()
}

// prepare makes the tables of a new file, and looks whether an older one can be
// gone on with.
func (f *file) prepare(ctx context.Context, model string, schema Schema) error {
	var tables int
	if err := f.writer.QueryRowContext(ctx, "SELECT count(*) FROM sqlite_schema").Scan(&tables); err != nil {
		return err
	}
	if tables == 0 {
		return f.create(ctx, model, schema)
	}
	var damage string
	if err := f.writer.QueryRowContext(ctx, "PRAGMA quick_check(1)").Scan(&damage); err != nil {
		return err
	}
	if damage != "ok" {
		return &errFile{damage}
	}
	var of string
	var version int
	err := f.writer.QueryRowContext(ctx, "SELECT model, version, position, anchor, event FROM checkpoint").
		Scan(&of, &version, &f.checkpoint.position, &f.checkpoint.anchor.position, &f.checkpoint.anchor.id)
	switch {
	case err != nil:
		return &errFile{"it holds no checkpoint: " + err.Error()}
	case of != model:
		return &errFile{"it holds the rows of " + of}
	case version != schema.Version:
		return &errFile{fmt.Sprintf("its schema has version %d, and this program's %d", version, schema.Version)}
	}
	return nil
}

func (f *file) create(ctx context.Context, model string, schema Schema) error {
	tx, err := f.writer.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback()
	for _, query := range []string{bookkeeping, schema.Tables} {
		if _, err := tx.ExecContext(ctx, query); err != nil {
			return err
		}
	}
	if _, err := tx.ExecContext(ctx, "INSERT INTO checkpoint VALUES (?, ?, 0, 0, ?)", model, schema.Version, uuid.Nil.String()); err != nil {
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
	if f.doomed {
		for _, suffix := range []string{"", "-wal", "-shm"} {
			_ = os.Remove(f.path + suffix) // opening it finds the damage again
		}
	}
	return errors.Join(errs...)
}

// damaged says whether an error is that of a file that is no sound database.
func damaged(err error) bool {
	var e *sqlite.Error
	if !errors.As(err, &e) {
		return false
	}
	code := e.Code() & 0xff
	return code == sqlite3.SQLITE_CORRUPT || code == sqlite3.SQLITE_NOTADB
}
