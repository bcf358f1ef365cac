package node

import (
	"strconv"
	"strings"
)

// resolve follows a link, if the reader asked for that. What cannot be read as
// a link is a plain event.
func (r *reader) resolve(found *record) (resolved, error) {
	if !r.links {
		return resolved{event: found}, nil
	}
	return r.follows(found)
}

// follows follows a record if it is a link.
func (n *Node) follows(found *record) (resolved, error) {
	plain := resolved{event: found}
	if found.kind != typeLink {
		return plain, nil
	}
	stream, revision, ok := parseLink(found.data)
	if !ok {
		return plain, nil
	}
	target, ok, err := n.target(stream, uint64(revision))
	if err != nil || !ok {
		return resolved{link: found}, err
	}
	return resolved{event: &target, link: found}, nil
}

// target is the event that a link leads to, if it can be seen.
func (n *Node) target(stream string, revision uint64) (target record, ok bool, err error) {
	within := n.tail.end()
	v, err := n.view(stream, within)
	if err != nil || v.tombstoned() || v.meta.softDeleted() {
		return record{}, false, err
	}
	target, ok, err = n.find(stream, revision, within)
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
