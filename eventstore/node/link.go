package node

import (
	"strconv"
	"strings"
)

// resolved is an event as a reader gets it: directly, or through a link.
type resolved struct {
	event *record // nil: the link leads to no visible event
	link  *record
}

// original returns the record that was read: the link, if there is one.
func (r resolved) original() *record {
	if r.link != nil {
		return r.link
	}
	return r.event
}

// linkTo returns the data of a link to a record, N@stream.
func linkTo(r *record) string { return strconv.FormatUint(r.revision, 10) + "@" + r.stream }

// parseLink reads a link's data.
func parseLink(data string) (stream string, revision int64, ok bool) {
	number, stream, ok := strings.Cut(data, "@")
	if !ok || stream == "" || len(stream) > maxStreamName {
		return "", 0, false
	}
	revision, err := strconv.ParseInt(number, 10, 64)
	return stream, revision, err == nil && revision >= 0
}
