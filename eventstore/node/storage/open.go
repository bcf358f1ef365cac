package storage

import (
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"

	"hexarena/eventstore/node/disk"
)

// These are the format versions. A scavenged log has additional keys, and gaps
// between its records. It gets the second version, so that programs that support
// only the first version do not open it.
const (
	formatWhole     = "1"
	formatScavenged = "2"
)

// Open returns these errors for problems that the operator can fix.
var (
	ErrLocked      = errors.New("the data folder is in use by another process")
	ErrWrongFormat = errors.New("the data folder does not contain a log of this version")
)

// Open opens the log in a folder, or creates it. If Open returns an error, it has not
// changed anything in the folder except the lock file. The store calls fatal, from any
// goroutine, when the log can no longer be written.
func Open(dir string, fs vfs.FS, logger *slog.Logger, fatal func(error)) (*Store, error) {
	if err := fs.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("data folder: %w", err)
	}
	made, err := holdsLog(fs, dir)
	if err != nil {
		return nil, err
	}
	lock, err := lockFolder(fs, dir)
	if err != nil {
		return nil, err
	}
	s := &Store{dir: dir, fs: disk.New(fs, dir, fatal), lock: lock}
	if made {
		err = s.probe(logger)
	}
	if err == nil {
		err = s.open(logger, fatal)
	}
	if err != nil {
		return nil, errors.Join(err, lock.Close())
	}
	return s, nil
}

// holdsLog reports whether a folder contains a log. A folder without a log must be
// empty, except for files that an interrupted creation left behind. Otherwise, holdsLog
// returns an error.
func holdsLog(fs vfs.FS, dir string) (bool, error) {
	names, err := fs.List(dir)
	if err != nil {
		return false, fmt.Errorf("data folder: %w", err)
	}
	if slices.ContainsFunc(names, disk.IsManifestMarker) {
		return true, nil
	}
	if slices.ContainsFunc(names, func(name string) bool { return !disk.IsLogFile(name) && !slices.Contains(harmless, name) }) {
		return false, holdsSomethingElse(dir)
	}
	return false, nil
}

// These files may exist in a folder without a log.
var harmless = []string{"LOCK", "lost+found"}

func holdsSomethingElse(dir string) error {
	return fmt.Errorf("%w: %s contains other files", ErrWrongFormat, dir)
}

func lockFolder(fs vfs.FS, dir string) (*pebble.Lock, error) {
	lock, err := pebble.LockDirectory(dir, fs)
	switch {
	case err == nil:
		return lock, nil
	case errors.Is(err, syscall.EAGAIN), strings.Contains(err.Error(), "held by current process"):
		return nil, fmt.Errorf("%w: %s (%w); stop that process, or choose another folder", ErrLocked, dir, err)
	default:
		return nil, fmt.Errorf("data folder: %w", err)
	}
}

// probe checks the seal and the format version of a log without changing the log. If
// there is no seal, probe also checks the write-ahead log that a crash may have torn.
func (s *Store) probe(logger *slog.Logger) error {
	sealed, format, err := disk.CheckSeal(s.fs, s.dir)
	switch {
	case err != nil:
		return err
	case sealed:
		return s.readable(format)
	}
	if err := disk.CheckLastWAL(s.fs, s.dir); err != nil {
		return err
	}
	probed, err := readStore(s.dir, s.fs, logger)
	switch {
	case errors.Is(err, errNoFormat): // its creation was interrupted
		return nil
	case err != nil:
		return err
	}
	return probed.DB.Close()
}

// readStore opens a log for reading only. The caller must have locked the folder and
// must close DB.
func readStore(dir string, fs vfs.FS, logger *slog.Logger) (*Store, error) {
	ignored := func(error) {} // nothing is written
	s := &Store{dir: dir, fs: disk.New(disk.ReadOnly(fs), dir, ignored)}
	if err := s.openPebble(&pebble.Options{ReadOnly: true}, logger, ignored); err != nil {
		return nil, err
	}
	if err := s.checkFormat(); err != nil {
		return nil, errors.Join(err, s.DB.Close())
	}
	return s, nil
}

// open opens the log for writing, or creates it.
func (s *Store) open(logger *slog.Logger, fatal func(error)) error {
	if err := disk.BreakSeal(s.fs, s.dir); err != nil {
		return err
	}
	if err := s.openPebble(&pebble.Options{Lock: s.lock}, logger, fatal); err != nil {
		return err
	}
	err := s.checkFormat()
	if errors.Is(err, errNoFormat) {
		err = s.DB.Set(formatKey, []byte(formatWhole), pebble.Sync)
	}
	if err != nil {
		return errors.Join(err, s.DB.Close())
	}
	s.fs.SetGuard(true)
	return nil
}

// openPebble opens the Pebble store of the log. If Pebble fails later, the goroutine
// that called Pebble blocks forever and does not release its locks. The node then stops
// acknowledging appends, and Serve returns.
func (s *Store) openPebble(o *pebble.Options, logger *slog.Logger, fatal func(error)) (err error) {
	o.FS, o.MemTableSize, o.CacheSize = s.fs, 32<<20, 64<<20
	damage := func(info pebble.DataCorruptionInfo) {
		logger.Error("a table is damaged", "file", info.Path, "error", info.Details, "from", "pebble")
	}
	log := &PebbleLog{Logger: logger, Fatal: fatal, Stop: func() { select {} }, Damage: damage}
	if s.Index, err = OpenPebble(s.dir, o, log); err != nil {
		return fmt.Errorf("open the log in %s: %w", s.dir, err)
	}
	return nil
}

// format returns the log's format version.
func (s *Store) format() string {
	if s.scavenged.Load() {
		return formatScavenged
	}
	return formatWhole
}

var errNoFormat = errors.New("the log has no format version")

// checkFormat reads the log's format version and rejects an unknown one.
func (s *Store) checkFormat() error {
	value, err := s.Value(formatKey)
	if err != nil {
		return fmt.Errorf("format version in %s: %w", s.dir, err)
	}
	if value == nil {
		return s.without()
	}
	s.scavenged.Store(string(value) == formatScavenged)
	return s.readable(string(value))
}

func (s *Store) readable(format string) error {
	if format == formatWhole || format == formatScavenged {
		return nil
	}
	return fmt.Errorf("%w: %s has format version %s, but this program reads only %s and %s",
		ErrWrongFormat, s.dir, strings.Trim(strconv.Quote(format), `"`), formatWhole, formatScavenged)
}

// The method without() returns the error for a Pebble store that has no format version.
// An empty store is a log whose creation was interrupted. Any other store belongs to
// another program.
func (s *Store) without() error {
	it, err := s.DB.NewIter(nil)
	if err != nil {
		return fmt.Errorf("open the log in %s: %w", s.dir, err)
	}
	used := it.First()
	if err := it.Close(); err != nil {
		return fmt.Errorf("open the log in %s: %w", s.dir, err)
	}
	if used {
		return holdsSomethingElse(s.dir)
	}
	return errNoFormat
}

// Close closes the log and seals its folder. If the folder cannot be sealed, the
// next Open treats the log as if the node had crashed.
func (s *Store) Close() error {
	s.fs.SetGuard(false)
	format, err := s.Value(formatKey)
	if err = errors.Join(err, s.DB.Close()); err == nil {
		err = disk.Seal(s.fs, s.dir, string(format))
	}
	return errors.Join(err, s.lock.Close())
}

// AbandonAfter is how long the node waits for the last writers of a failed log to
// finish. Abandon then waits at most as long for the log to close.
const AbandonAfter = time.Second

// ErrAbandoned means that a failed log cannot be closed, because Pebble still
// blocks a write.
var ErrAbandoned = errors.New("the failed log cannot be closed: the folder stays locked until the process ends")

// Abandon closes a failed log, if Pebble can still close it. Call it only after all
// writes to the log have ended.
func (s *Store) Abandon() error {
	s.fs.Release()
	closed := make(chan error, 1)
	go func() {
		var err error
		defer func() { closed <- err }()
		defer recoverInto(&err, "close the failed log")
		err = errors.Join(s.DB.Close(), s.lock.Close())
	}()
	select {
	case err := <-closed:
		return err
	case <-time.After(AbandonAfter):
		return ErrAbandoned
	}
}
