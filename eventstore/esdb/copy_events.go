package esdb

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"hash"
	"io"
	"iter"
	"math"

	es "github.com/EventStore/EventStore-Client-Go/v4/esdb"

	"hexarena/eventstore"
)

// everything yields all events of $all from a position on, nil for the start,
// as they are stored, the server's own too. After an outage it goes on behind
// the last one it yielded.
func (l *Log) everything(ctx context.Context, from *es.Position) iter.Seq2[*es.RecordedEvent, error] {
	return func(yield func(*es.RecordedEvent, error) bool) {
		const what = "read $all"
		seen := false // the event at from was yielded
		each := func(e *es.RecordedEvent) bool {
			if seen && e.Position == *from {
				return true
			}
			at := e.Position
			from, seen = &at, true
			return yield(e, nil)
		}
		err := l.retry(ctx, what, func() error {
			opts := es.ReadAllOptions{Direction: es.Forwards, From: es.Start{}}
			if from != nil {
				opts.From = *from
			}
			return stream(ctx, l, func(ctx context.Context, c *es.Client, emit func(*es.RecordedEvent) bool) error {
				events, err := c.ReadAll(ctx, opts, math.MaxInt64)
				if err != nil {
					return err
				}
				defer events.Close()
				return original(events, emit)
			}, each)
		})
		if err != nil {
			yield(nil, translate(what, err))
		}
	}
}

// errLeft ends a read whose reader has left; it must not look like the end of
// the log to one that is still there.
var errLeft = errors.New("the read was cut short")

// original emits what a read brings, links unresolved.
func original(events *es.ReadStream, emit func(*es.RecordedEvent) bool) error {
	for {
		event, err := events.Recv()
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		case !emit(event.OriginalEvent()):
			return errLeft
		}
	}
}

// proposal is an event as it is appended again.
func proposal(e *es.RecordedEvent) es.EventData {
	return es.EventData{EventID: e.EventID, EventType: e.EventType, ContentType: contentType(e), Data: e.Data, Metadata: e.UserMetadata}
}

func contentType(e *es.RecordedEvent) es.ContentType {
	if e.ContentType == "application/json" {
		return es.ContentTypeJson
	}
	return es.ContentTypeBinary
}

// batch is events of one stream that are appended at once.
type batch struct {
	stream   string
	expected eventstore.Expected
	events   []es.EventData
	bytes    int
}

// What a batch holds at most, unless one event alone is larger.
const (
	batchEvents = 1000
	batchBytes  = eventstore.MaxAppendBytes / 2
)

// fits says that an event may be appended with the batch.
func (b *batch) fits(e *es.RecordedEvent) bool {
	return len(b.events) > 0 && b.stream == e.StreamID && len(b.events) < batchEvents && b.bytes+weight(e) <= batchBytes
}

// add takes an event into the batch; one that begins a batch is at a revision
// of its stream.
func (b *batch) add(e *es.RecordedEvent, revision uint64) {
	if len(b.events) == 0 {
		b.stream, b.expected = e.StreamID, eventstore.NoStream
		if revision > 0 {
			b.expected = eventstore.At(eventstore.Revision(revision - 1))
		}
	}
	b.events = append(b.events, proposal(e))
	b.bytes += weight(e)
}

func weight(e *es.RecordedEvent) int { return len(e.Data) + len(e.UserMetadata) + 2*len(e.EventType) }

// sum is a hash over events.
type sum struct{ hash hash.Hash }

func newSum() sum { return sum{sha256.New()} }

// add hashes an event as it stands at a revision; of a tombstone, only whose it
// is.
func (s sum) add(e *es.RecordedEvent, revision uint64) {
	if tombstone(e) {
		s.part([]byte(e.StreamID))
		s.number(math.MaxUint64)
		return
	}
	s.part([]byte(e.StreamID))
	s.number(revision)
	s.part(e.EventID[:])
	s.part([]byte(e.EventType))
	s.number(uint64(contentType(e)))
	s.part(e.Data)
	s.part(e.UserMetadata)
}

func (s sum) part(b []byte) {
	s.number(uint64(len(b)))
	s.hash.Write(b)
}

func (s sum) number(n uint64) { s.hash.Write(binary.BigEndian.AppendUint64(nil, n)) }

func (s sum) value() (v [sha256.Size]byte) {
	s.hash.Sum(v[:0])
	return v
}
