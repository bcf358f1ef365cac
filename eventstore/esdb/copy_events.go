package esdb

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"hash"
	"iter"
	"math"

	es "github.com/EventStore/EventStore-Client-Go/v4/esdb"

	"hexarena/eventstore"
)

// The method everything() yields all events of $all, starting at a position. It
// includes the server's own events. A nil position means the start of the log.
func (l *Log) everything(ctx context.Context, from *es.Position) iter.Seq2[*es.RecordedEvent, error] {
	start := es.AllPosition(es.Start{})
	if from != nil {
		start = *from
	}
	return l.stored(ctx, start, es.Forwards, func() uint64 { return count(0) })
}

// proposal converts a stored event to an event to append.
func proposal(e *es.RecordedEvent) es.EventData {
	return es.EventData{EventID: e.EventID, EventType: e.EventType, ContentType: contentType(e), Data: e.Data, Metadata: e.UserMetadata}
}

func contentType(e *es.RecordedEvent) es.ContentType {
	if e.ContentType == "application/json" {
		return es.ContentTypeJson
	}
	return es.ContentTypeBinary
}

// batch is a list of consecutive events of one stream for one append.
type batch struct {
	stream   string
	expected eventstore.Expected
	events   []es.EventData
	bytes    int
}

// These are the limits of a batch. A batch of one event may be larger.
const (
	batchEvents = 1000
	batchBytes  = eventstore.MaxAppendBytes / 2
)

// The method fits() reports whether the event can join the batch.
func (b *batch) fits(e *es.RecordedEvent) bool {
	return len(b.events) > 0 && b.stream == e.StreamID && len(b.events) < batchEvents && b.bytes+weight(e) <= batchBytes
}

// add adds an event to the batch. The parameter revision is the event's revision in the
// target.
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

// sum computes the hash of a sequence of events.
type sum struct{ hash hash.Hash }

func newSum() sum { return sum{sha256.New()} }

// add hashes an event with its revision. For a tombstone, it hashes the stream's name
// and the largest possible revision.
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
