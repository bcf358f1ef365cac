package node

// linkTargets resolves links. It looks at each stream that a link leads to once,
// so that all links of one answer agree.
type linkTargets struct {
	streams *streamReader
	within  uint64
	known   map[string]view
}

func (s *streamReader) newLinkTargets() *linkTargets {
	return &linkTargets{streams: s, within: s.tail.end(), known: map[string]view{}}
}

// resolve follows a record if it is a link. A record that cannot be read as a
// link is a plain event.
func (l *linkTargets) resolve(found *record) (resolved, error) {
	plain := resolved{event: found}
	if found.kind != typeLink {
		return plain, nil
	}
	stream, revision, ok := parseLink(found.data)
	if !ok {
		return plain, nil
	}
	target, ok, err := l.find(stream, uint64(revision))
	if err != nil || !ok {
		return resolved{link: found}, err
	}
	return resolved{event: &target, link: found}, nil
}

// find returns the event that a link leads to, if it is visible.
func (l *linkTargets) find(stream string, revision uint64) (target record, ok bool, err error) {
	v, known := l.known[stream]
	if !known {
		if v, err = l.streams.view(stream, l.within); err != nil {
			return record{}, false, err
		}
		l.known[stream] = v
	}
	if v.tombstoned() || v.meta.softDeleted() {
		return record{}, false, nil
	}
	target, ok, err = l.streams.find(stream, revision, l.within)
	return target, ok && !v.hides(&target), err
}
