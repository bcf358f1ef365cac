package node

import (
	"strconv"
	"strings"
)

// views are the streams that links lead to, as they were seen at one moment.
type views struct {
	within uint64
	known  map[string]view
}

func (n *Node) newViews() *views { return &views{within: n.tail.end(), known: map[string]view{}} }

// resolve follows a link, if the reader asked for that. What cannot be read as
// a link is a plain event.
func (r *reader) resolve(found *record, seen *views) (resolved, error) {
	if !r.links {
		return resolved{event: found}, nil
	}
	return r.follows(found, seen)
}

// follows follows a record if it is a link.
func (n *Node) follows(found *record, seen *views) (resolved, error) {
	plain := resolved{event: found}
	if found.kind != typeLink {
		return plain, nil
	}
	stream, revision, ok := parseLink(found.data)
	if !ok {
		return plain, nil
	}
	target, ok, err := n.target(stream, uint64(revision), seen)
	if err != nil || !ok {
		return resolved{link: found}, err
	}
	return resolved{event: &target, link: found}, nil
}

// target is the event that a link leads to, if it can be seen.
func (n *Node) target(stream string, revision uint64, seen *views) (target record, ok bool, err error) {
	v, known := seen.known[stream]
	if !known {
		if v, err = n.view(stream, seen.within); err != nil {
			return record{}, false, err
		}
		seen.known[stream] = v
	}
	if v.tombstoned() || v.meta.softDeleted() {
		return record{}, false, nil
	}
	target, ok, err = n.find(stream, revision, seen.within)
	return target, ok && !v.hides(&target), err
}

// parseLink reads a link's data, N@stream.
func parseLink(data string) (stream string, revision int64, ok bool) {
	number, stream, ok := strings.Cut(data, "@")
	if !ok || stream == "" || len(stream) > maxStreamName {
		return "", 0, false
	}
	revision, err := strconv.ParseInt(number, 10, 64)
	return stream, revision, err == nil && revision >= 0
}
