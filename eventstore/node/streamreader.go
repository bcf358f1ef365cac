package node

import (
	"context"
	"time"
)

// streamReader reads streams of both kinds: stored streams, and streams of links
// ($ce- and $et-), of which the node keeps only an index.
type streamReader struct {
	store      *store
	tail       *tail
	categories *categories
	now        func() time.Time
}

// await waits until a stream is complete up to a position. Only streams of
// links may have to catch up.
func (s *streamReader) await(ctx context.Context, stream string, within uint64) error {
	if !isDerived(stream) {
		return nil
	}
	return s.categories.await(ctx, within)
}

// view returns the visible part of a stream now, up to the position within.
func (s *streamReader) view(stream string, within uint64) (view, error) {
	now := ticks(s.now())
	if !isDerived(stream) {
		return s.store.view(stream, within, now)
	}
	last, position, err := s.categories.lastLink(stream, within)
	if err != nil {
		return view{}, err
	}
	meta, err := s.store.meta(stream, within)
	return newView(head{last: last, position: position, meta: meta}, now), err
}

// find reads the event at a revision of a stream; ok is false if it does not
// exist.
func (s *streamReader) find(stream string, revision, within uint64) (r record, ok bool, err error) {
	if !isDerived(stream) {
		return s.store.find(stream, revision, within)
	}
	v, err := s.view(stream, within)
	if err != nil || int64(revision) > v.last {
		return record{}, false, err
	}
	p, err := s.categories.forwards(stream, view{head: v.head, oldest: v.oldest}, revision, within, 1)
	if err != nil || len(p.records) == 0 || p.records[0].revision != revision {
		return record{}, false, err
	}
	return p.records[0], true, nil
}

// forwards reads at most limit visible events of a stream from a revision up.
func (s *streamReader) forwards(stream string, v view, from, within uint64, limit int) (page, error) {
	if isDerived(stream) {
		return s.categories.forwards(stream, v, from, within, limit)
	}
	return s.store.forwards(stream, v, from, within, limit)
}

// backwards reads at most limit visible events of a stream from a revision
// down.
func (s *streamReader) backwards(stream string, v view, from, within uint64, limit int) (page, error) {
	if isDerived(stream) {
		return s.categories.backwards(stream, v, from, within, limit)
	}
	return s.store.backwards(stream, v, from, within, limit)
}

// watch returns a watcher that wakes when the stream may have new events. The
// caller calls stop once.
func (s *streamReader) watch(stream string) (w *watcher, stop func()) {
	if isDerived(stream) {
		return s.categories.watch()
	}
	return s.tail.watch(stream)
}
