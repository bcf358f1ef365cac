package node

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
)

// The format versions: one is written when a log is made and checked when it
// is opened. A log that was scavenged has keys, and lacks records, as a program
// of the first version does not expect.
const (
	formatWhole     = "1"
	formatScavenged = "2"
)

// The errors of Open that a person can mend.
var (
	ErrLocked      = errors.New("the data folder is in use by another process")
	ErrWrongFormat = errors.New("the data folder does not hold a log of this version")
)

// store is the log on disk. Positions and revisions that it is asked for may
// not be synced yet: callers bound what they show by what is.
type store struct {
	db        *pebble.DB
	lock      io.Closer
	scavenged atomic.Bool // ever
}

// openStore opens the log in a folder, or makes it. fatal is told, from any
// goroutine, when Pebble can go on no more.
func openStore(dir string, fs vfs.FS, logger *slog.Logger, fatal func(error)) (*store, error) {
	if err := fs.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("data folder: %w", err)
	}
	lock, err := pebble.LockDirectory(dir, fs)
	if errors.Is(err, os.ErrPermission) {
		return nil, fmt.Errorf("data folder: %w", err)
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %s (%w)", ErrLocked, dir, err)
	}
	options := pebbleOptions(fs, &pebbleLog{logger: logger, fatal: fatal})
	options.Lock = lock
	db, err := openPebble(dir, options)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("open the log in %s: %w", dir, err), lock.Close())
	}
	s := &store{db: db, lock: lock}
	if err := s.checkFormat(dir, s.writeFormat); err != nil {
		return nil, errors.Join(err, s.close())
	}
	return s, nil
}

// openPebble opens Pebble, which panics where it cannot go on.
func openPebble(dir string, o *pebble.Options) (db *pebble.DB, err error) {
	defer func() {
		if cause := recover(); cause != nil {
			err = fmt.Errorf("%v", cause)
		}
	}()
	if db, err = pebble.Open(dir, o); err == nil {
		o.Logger.(*pebbleLog).opened.Store(true)
	}
	return db, err
}

func pebbleOptions(fs vfs.FS, log *pebbleLog) *pebble.Options {
	return &pebble.Options{
		FS:                 fs,
		Logger:             log,
		FormatMajorVersion: pebble.FormatNewest,
		MemTableSize:       32 << 20,
		CacheSize:          64 << 20,
	}
}

// checkFormat compares the log's format version; of a log without one it has
// made one.
func (s *store) checkFormat(dir string, without func(dir string) error) error {
	value, err := s.value(formatKey)
	if err != nil {
		return fmt.Errorf("format version in %s: %w", dir, err)
	}
	switch string(value) {
	case "":
		return without(dir)
	case formatWhole:
		return nil
	case formatScavenged:
		s.scavenged.Store(true)
		return nil
	}
	return fmt.Errorf("%w: %s has format version %s, this program reads %s and %s", ErrWrongFormat, dir, printable(string(value)), formatWhole, formatScavenged)
}

// writeFormat makes an empty log one of ours.
func (s *store) writeFormat(dir string) error {
	it, err := s.db.NewIter(nil)
	if err != nil {
		return fmt.Errorf("open the log in %s: %w", dir, err)
	}
	used := it.First()
	if err := it.Close(); err != nil {
		return fmt.Errorf("open the log in %s: %w", dir, err)
	}
	if used {
		return holdsSomethingElse(dir)
	}
	return s.db.Set(formatKey, []byte(formatWhole), pebble.Sync)
}

func holdsSomethingElse(dir string) error {
	return fmt.Errorf("%w: %s holds something else", ErrWrongFormat, dir)
}

func (s *store) close() error {
	return errors.Join(s.db.Close(), s.lock.Close())
}

// abandonAfter is how long a failed log is given to close.
const abandonAfter = 2 * time.Second

var errAbandoned = errors.New("the failed log does not close: the folder is locked until the process ends")

// abandon closes a log that failed, if Pebble is still able to.
func (s *store) abandon() error {
	closed := make(chan error, 1)
	go func() {
		defer func() {
			if cause := recover(); cause != nil {
				closed <- fmt.Errorf("close the failed log: %v", cause)
			}
		}()
		closed <- s.close()
	}()
	select {
	case err := <-closed:
		return err
	case <-time.After(abandonAfter):
		return errAbandoned
	}
}

// value is a copy of what a key holds, nil if nothing.
func (s *store) value(key []byte) ([]byte, error) {
	value, closer, err := s.db.Get(key)
	if errors.Is(err, pebble.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return append([]byte{}, value...), closer.Close()
}

// at reads the record at a position; ok is false where there is none.
func (s *store) at(position uint64) (r record, ok bool, err error) {
	value, closer, err := s.db.Get(logKey(position))
	if errors.Is(err, pebble.ErrNotFound) {
		return record{}, false, nil
	}
	if err != nil {
		return record{}, false, fmt.Errorf("record at %d: %w", position, err)
	}
	r, err = decodeRecord(position, value)
	return r, err == nil, errors.Join(err, closer.Close())
}

// event reads a record that the stream index named; ok is false where it was
// scavenged since.
func (s *store) event(stream string, revision, position uint64) (r record, ok bool, err error) {
	r, ok, err = s.at(position)
	switch {
	case err != nil:
		return record{}, false, err
	case !ok:
		return record{}, false, s.missing(stream, revision, position)
	case r.stream != stream || r.revision != revision:
		return record{}, false, damaged(position, fmt.Sprintf("it is not %s@%d", stream, revision))
	}
	return r, true, nil
}

// find reads the event at a revision of a stream, if it is there and not
// behind limit.
func (s *store) find(stream string, revision, limit uint64) (r record, ok bool, err error) {
	value, err := s.value(streamKey(stream, revision))
	if err != nil || value == nil {
		return record{}, false, err
	}
	if len(value) != indexLen {
		return record{}, false, badEntry(value)
	}
	position := binary.BigEndian.Uint64(value)
	if position > limit {
		return record{}, false, nil
	}
	return s.event(stream, revision, position)
}

// last is the revision and position of a stream's last event that is not
// behind limit; a revision of -1 if there is none. The event itself may have
// been scavenged: a stream goes on where it was.
func (s *store) last(stream string, limit uint64) (revision int64, position uint64, err error) {
	revision, position, err = s.lastEntry(stream, limit)
	if err != nil || revision >= 0 {
		return revision, position, err
	}
	c, ok, err := s.cut(stream)
	if err != nil || !ok {
		return -1, 0, err
	}
	return int64(c.revision), c.position, nil
}

func (s *store) lastEntry(stream string, limit uint64) (revision int64, position uint64, err error) {
	entries, err := s.index(stream, 0, tombstoneRevision, limit)
	if err != nil {
		return 0, 0, err
	}
	defer entries.closeInto(&err)
	if !entries.last() {
		return -1, 0, nil
	}
	at, position := entries.entry()
	return int64(at), position, nil
}

// lastRecord is the log's last record, at position 0 if the log is empty.
func (s *store) lastRecord() (r record, err error) {
	it, err := s.log(0, ^uint64(0))
	if err != nil {
		return record{}, err
	}
	defer func() { err = errors.Join(err, it.Close()) }()
	if !it.Last() {
		return record{}, it.Error()
	}
	return recordUnder(it)
}

// latest are the log's last n records, oldest first, without their contents.
func (s *store) latest(n int) (latest []record, err error) {
	it, err := s.log(0, ^uint64(0))
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, it.Close()) }()
	for ok := it.Last(); ok && len(latest) < n; ok = it.Prev() {
		r, err := recordUnder(it)
		if err != nil {
			return nil, err
		}
		latest = append(latest, record{position: r.position, revision: r.revision, id: r.id, stream: strings.Clone(r.stream)})
	}
	slices.Reverse(latest)
	return latest, nil
}

// log iterates over the log from one position to another, both inclusive.
func (s *store) log(from, to uint64) (*pebble.Iterator, error) {
	upper := afterLog
	if to < ^uint64(0) {
		upper = logKey(to + 1)
	}
	return s.db.NewIter(&pebble.IterOptions{LowerBound: logKey(from), UpperBound: upper})
}

func recordUnder(it *pebble.Iterator) (record, error) {
	value, err := it.ValueAndErr()
	if err != nil {
		return record{}, err
	}
	return decodeRecord(positionOfKey(it.Key()), value)
}

// index iterates over a stream's entries from one revision to another, both
// inclusive, leaving out what is behind limit.
func (s *store) index(stream string, from, to, limit uint64) (*entries, error) {
	it, err := s.db.NewIter(&pebble.IterOptions{LowerBound: streamKey(stream, from), UpperBound: streamKey(stream, to+1)})
	if err != nil {
		return nil, fmt.Errorf("index of %s: %w", stream, err)
	}
	return &entries{it: it, limit: limit}, nil
}

// entries are a stream's revisions and positions. What is behind the limit is
// always at the end, since positions grow with revisions.
type entries struct {
	it    *pebble.Iterator
	limit uint64
	err   error
}

func (e *entries) first() bool { return e.it.First() && e.within() }
func (e *entries) next() bool  { return e.it.Next() && e.within() }
func (e *entries) prev() bool  { return e.it.Prev() }

func (e *entries) last() bool {
	for ok := e.it.Last(); ok; ok = e.it.Prev() {
		if e.within() {
			return true
		}
	}
	return false
}

func (e *entries) within() bool {
	_, position := e.entry()
	return position <= e.limit
}

// entry is the revision and position under the iterator.
func (e *entries) entry() (revision, position uint64) {
	value := e.it.Value()
	if len(value) != indexLen {
		e.err = badEntry(value)
		return 0, 0
	}
	return revisionOfKey(e.it.Key()), binary.BigEndian.Uint64(value)
}

func badEntry(value []byte) error {
	return fmt.Errorf("%w: an index entry has %d bytes", errDamaged, len(value))
}

// closeInto ends the iteration and joins whatever failed in it to err.
func (e *entries) closeInto(err *error) { *err = errors.Join(*err, e.err, e.it.Close()) }

// pebbleLog hands Pebble's words to the node's logger.
type pebbleLog struct {
	logger *slog.Logger
	fatal  func(error)
	opened atomic.Bool
}

// Infof logs what Pebble does by the way.
func (l *pebbleLog) Infof(format string, args ...any) {
	l.logger.Debug(fmt.Sprintf(format, args...), "from", "pebble")
}

// Errorf logs what Pebble goes on after.
func (l *pebbleLog) Errorf(format string, args ...any) {
	l.logger.Error(fmt.Sprintf(format, args...), "from", "pebble")
}

// Fatalf must not return. While Pebble is being opened it panics. Later the
// caller's goroutine stops here, with whatever it holds, while the node stops
// acknowledging and Serve returns.
func (l *pebbleLog) Fatalf(format string, args ...any) {
	err := fmt.Errorf(format, args...)
	if !l.opened.Load() {
		panic(err)
	}
	l.fatal(err)
	select {}
}
