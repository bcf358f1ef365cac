// Package streams reads streams of both kinds, stored ones and derived streams of
// links, through one Reader. It also resolves links.
package streams

import (
	"context"
	"time"

	"hexarena/eventstore/node/categories"
	"hexarena/eventstore/node/record"
	"hexarena/eventstore/node/storage"
	"hexarena/eventstore/node/tail"
)

// Reader reads streams of both kinds: stored streams, and streams of links
// ($ce- and $et-), of which the node keeps only an index.
type Reader struct {
	Store      *storage.Store
	Tail       *tail.Tail
	Categories *categories.Categories
	Now        func() time.Time
}

// Await waits until a stream is complete up to a position. Only streams of
// links may have to catch up.
func (s *Reader) Await(ctx context.Context, stream string, within uint64) error {
	if !categories.IsDerived(stream) {
		return nil
	}
	return s.Categories.Await(ctx, within)
}

// View returns the visible part of a stream now, up to the position within.
func (s *Reader) View(stream string, within uint64) (storage.View, error) {
	now := record.Ticks(s.Now())
	if !categories.IsDerived(stream) {
		return s.Store.View(stream, within, now)
	}
	last, position, err := s.Categories.Last(stream, within)
	if err != nil {
		return storage.View{}, err
	}
	meta, err := s.Store.Meta(stream, within)
	return storage.NewView(storage.Head{Last: last, Position: position, Meta: meta}, now), err
}

// Find reads the event at a revision of a stream; ok is false if it does not
// exist.
func (s *Reader) Find(stream string, revision, within uint64) (r record.Record, ok bool, err error) {
	if !categories.IsDerived(stream) {
		return s.Store.Find(stream, revision, within)
	}
	v, err := s.View(stream, within)
	if err != nil || int64(revision) > v.Last {
		return record.Record{}, false, err
	}
	p, err := s.Categories.Forwards(stream, storage.View{Head: v.Head, Oldest: v.Oldest}, revision, within, 1)
	if err != nil || len(p.Records) == 0 || p.Records[0].Revision != revision {
		return record.Record{}, false, err
	}
	return p.Records[0], true, nil
}

// Forwards reads at most limit visible events of a stream from a revision up.
func (s *Reader) Forwards(stream string, v storage.View, from, within uint64, limit int) (storage.Page, error) {
	if categories.IsDerived(stream) {
		return s.Categories.Forwards(stream, v, from, within, limit)
	}
	return s.Store.Forwards(stream, v, from, within, limit)
}

// Backwards reads at most limit visible events of a stream from a revision
// down.
func (s *Reader) Backwards(stream string, v storage.View, from, within uint64, limit int) (storage.Page, error) {
	if categories.IsDerived(stream) {
		return s.Categories.Backwards(stream, v, from, within, limit)
	}
	return s.Store.Backwards(stream, v, from, within, limit)
}

// Watch returns a watcher that wakes when the stream may have new events. The
// caller calls stop once.
func (s *Reader) Watch(stream string) (w *tail.Watcher, stop func()) {
	if categories.IsDerived(stream) {
		return s.Categories.Watch()
	}
	return s.Tail.Watch(stream)
}
