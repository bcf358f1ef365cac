package record

import (
	"strconv"
	"strings"
)

// Resolved is an event that was read, either directly or through a link.
type Resolved struct {
	Event *Record // nil if the link does not point to a visible event
	Link  *Record
}

// Original returns the link if there is one, and the event otherwise.
func (r Resolved) Original() *Record {
	if r.Link != nil {
		return r.Link
	}
	return r.Event
}

// LinkTo returns the data of a link to a record, which has the form N@stream.
func LinkTo(r *Record) string { return strconv.FormatUint(r.Revision, 10) + "@" + r.Stream }

// ParseLink reads a link's data.
func ParseLink(data string) (stream string, revision int64, ok bool) {
	number, stream, ok := strings.Cut(data, "@")
	if !ok || stream == "" || len(stream) > MaxStreamName {
		return "", 0, false
	}
	revision, err := strconv.ParseInt(number, 10, 64)
	return stream, revision, err == nil && revision >= 0
}
