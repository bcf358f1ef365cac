// Package streams provides one Reader for both kinds of streams: stored streams and
// derived link streams. It also resolves links.
package streams

import (
	"context"
	"strings"

	"hexarena/eventstore/node/categories"
	"hexarena/eventstore/node/openlog"
	"hexarena/eventstore/node/record"
	"hexarena/eventstore/node/storage"
)

// Reader reads both kinds of streams. The node stores only an index of the link
// streams ($ce- and $et-), not the links themselves.
type Reader struct {
	*openlog.Log
	Categories *categories.Categories
}

// Await waits until a stream is complete up to a position. A stored stream is
// always complete, but a link stream may have to catch up.
func (s *Reader) Await(ctx context.Context, stream string, within uint64) error {
	if !categories.IsDerived(stream) {
		return nil
	}
	return s.Categories.Await(ctx, within)
}

// View returns the part of a stream that is visible now. It leaves out events whose
// position is greater than within.
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

// Find reads the event at a revision of a stream. ok is false if the event does
// not exist.
func (s *Reader) Find(stream string, revision, within uint64) (r record.Record, ok bool, err error) {
	if !categories.IsDerived(stream) {
		return s.Store.Find(stream, revision, within)
	}
	v, err := s.View(stream, within)
	if err != nil || int64(revision) > v.Last {
		return record.Record{}, false, err
	}
	p, err := s.Categories.Page(stream, storage.View{Head: v.Head, Oldest: v.Oldest}, storage.Range{From: revision, Within: within, Limit: 1})
	if err != nil || len(p.Records) == 0 || p.Records[0].Revision != revision {
		return record.Record{}, false, err
	}
	return p.Records[0], true, nil
}

// Page reads a page of a stream.
func (s *Reader) Page(stream string, v storage.View, r storage.Range) (storage.Page, error) {
	if categories.IsDerived(stream) {
		return s.Categories.Page(stream, v, r)
	}
	return s.Store.Page(stream, v, r)
}

// Watch returns a watcher that is signaled when the stream may have new events. The
// caller must call stop once.
func (s *Reader) Watch(stream string) (w *openlog.Watcher, stop func()) {
	if categories.IsDerived(stream) {
		return s.Categories.Watch()
	}
	return s.Tail.Watch(stream)
}

// LinkTargets resolves links. It looks up each target stream only once, so that all
// links in one response show the stream in the same state.
type LinkTargets struct {
	streams *Reader
	within  uint64
	known   map[string]storage.View
}

// NewLinkTargets returns a LinkTargets for one response.
func (s *Reader) NewLinkTargets() *LinkTargets {
	return &LinkTargets{streams: s, within: s.Tail.End(), known: map[string]storage.View{}}
}

// Resolve returns a record and, if the record is a link, the link's target. If a link
// cannot be parsed, Resolve returns it as a plain event.
func (l *LinkTargets) Resolve(found *record.Record) (record.Resolved, error) {
	plain := record.Resolved{Event: found}
	if found.Type != record.TypeLink {
		return plain, nil
	}
	stream, revision, ok := record.ParseLink(found.Data)
	if !ok {
		return plain, nil
	}
	target, ok, err := l.find(stream, uint64(revision))
	if err != nil || !ok {
		return record.Resolved{Link: found}, err
	}
	return record.Resolved{Event: &target, Link: found}, nil
}

// find returns the event that a link points to. ok is false if the event is not
// visible.
func (l *LinkTargets) find(stream string, revision uint64) (target record.Record, ok bool, err error) {
	v, known := l.known[stream]
	if !known {
		if v, err = l.streams.View(stream, l.within); err != nil {
			return record.Record{}, false, err
		}
		l.known[stream] = v
	}
	if v.Tombstoned() || v.Meta.SoftDeleted() {
		return record.Record{}, false, nil
	}
	target, ok, err = l.streams.Find(stream, revision, l.within)
	return target, ok && !v.Hides(&target), err
}

// HiddenFromAll reports whether $all hides a stream. $all hides the state of persistent
// subscriptions to $all. Otherwise each checkpoint would be a new event for the
// subscription that wrote it.
func HiddenFromAll(stream string) bool {
	return strings.HasPrefix(stream, "$persistentsubscription-$all::") &&
		(strings.HasSuffix(stream, "-checkpoint") || strings.HasSuffix(stream, "-parked"))
}
