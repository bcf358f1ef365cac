package streams

import (
	"hexarena/eventstore/node/record"
	"hexarena/eventstore/node/storage"
)

// LinkTargets resolves links. It looks at each stream that a link leads to once,
// so that all links of one answer agree.
type LinkTargets struct {
	streams *Reader
	within  uint64
	known   map[string]storage.View
}

// NewLinkTargets returns the targets as they are now.
func (s *Reader) NewLinkTargets() *LinkTargets {
	return &LinkTargets{streams: s, within: s.Tail.End(), known: map[string]storage.View{}}
}

// Resolve follows a record if it is a link. A record that cannot be read as a
// link is a plain event.
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

// find returns the event that a link leads to, if it is visible.
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
