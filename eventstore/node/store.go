package node

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/cockroachdb/pebble/v2"
	dto "github.com/prometheus/client_model/go"
)

// store is the log on disk. Positions and revisions that it is asked for may
// not be synced yet: callers bound what they show by what is.
type store struct {
	index
	dir       string
	fs        *disk
	lock      io.Closer   // of the folder; nil where the caller has it
	scavenged atomic.Bool // ever
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

// syncs returns how often the write-ahead log was synced since it was opened.
// It is not called after close.
func (s *store) syncs() uint64 {
	var latency dto.Metric
	if s.db.Metrics().LogWriter.FsyncLatency.Write(&latency) != nil {
		return 0 // never: the metric writes itself
	}
	return latency.GetHistogram().GetSampleCount()
}
