package projections

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"
)

// ErrInUse means that another process has a folder of read models open.
var ErrInUse = errors.New("the read models are in use by another process")

// Lock reserves a folder of read models for this process. Call release to unlock
// the folder. If the process ends or is killed, even with kill -9, the folder is
// unlocked too.
func Lock(dir string) (release func() error, err error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	db, err := sql.Open("sqlite", dsn(filepath.Join(dir, "lock")))
	if err != nil {
		return nil, err
	}
	conn, err := db.Conn(context.Background())
	if err == nil {
		_, err = conn.ExecContext(context.Background(), "BEGIN EXCLUSIVE") // uses SQLite's own lock, because that works on every operating system
	}
	if err != nil {
		db.Close()
		var e *sqlite.Error
		if errors.As(err, &e) && e.Code()&0xff == sqlite3.SQLITE_BUSY {
			err = ErrInUse
		}
		return nil, fmt.Errorf("%s: %w", dir, err)
	}
	return func() error { return errors.Join(conn.Close(), db.Close()) }, nil
}
