package esdb

import (
	"bytes"
	"encoding/json"
	"math"
	"strconv"
	"strings"
	"time"

	es "github.com/EventStore/EventStore-Client-Go/v4/esdb"
)

// plan is what a source holds: how each stream ends, and where the log does.
type plan struct {
	streams map[string]*planned
	last    *es.Position // of any event; nil for an empty log
	newest  time.Time    // when the last event was created
	total   uint64       // events and tombstones, of streams that are copied
}

// planned is a stream that is to be copied.
type planned struct {
	next       uint64            // revision behind the source's last event
	tombstoned bool              // in the source
	meta       *es.RecordedEvent // the source's last, nil for none
	limits     limits            // of meta
	held       *es.RecordedEvent // the target's last metadata
	copied     uint64            // events that the target holds
	below      uint64            // of these: with a revision below limits.truncate in the source
}

func newPlan() plan { return plan{streams: map[string]*planned{}} }

// A metadata stream is named $$ and the stream that it describes.
const metaPrefix = "$$"

func describes(stream string) bool { return strings.HasPrefix(stream, metaPrefix) }

// originalStream is the stream that a metadata stream describes, and any other
// stream itself.
func originalStream(stream string) string { return strings.TrimPrefix(stream, metaPrefix) }

// systemStream says that a stream is kept by a server for itself.
func systemStream(stream string) bool { return strings.HasPrefix(stream, "$") }

// tombstone says that an event ends its stream for ever: such events have the
// highest revision, of 64 bits or, in old logs, of 32.
func tombstone(e *es.RecordedEvent) bool {
	return e.EventType == "$streamDeleted" && e.EventNumber >= math.MaxInt32
}

// note takes an event of the source into the plan.
func (p *plan) note(e *es.RecordedEvent) {
	at := e.Position
	p.last, p.newest = &at, e.CreatedDate
	name := originalStream(e.StreamID)
	if systemStream(name) {
		return
	}
	s := p.streams[name]
	if s == nil {
		s = &planned{}
		p.streams[name] = s
	}
	switch {
	case describes(e.StreamID):
		s.meta, s.limits = e, readLimits(e.Data)
		return
	case tombstone(e):
		s.tombstoned = true
	default:
		s.next = e.EventNumber + 1
	}
	p.total++
}

// expired says that an event is too old for its stream.
func (p *plan) expired(s *planned, e *es.RecordedEvent) bool {
	return s.limits.age > 0 && e.CreatedDate.Before(p.newest.Add(-s.limits.age))
}

// took counts an event that the target holds.
func (s *planned) took(e *es.RecordedEvent) {
	s.copied++
	if e.EventNumber < s.limits.truncate {
		s.below++
	}
}

// late says that a stream's metadata cannot be copied before its events, since
// it names a revision.
func (s *planned) late() bool { return s.limits.truncate > 0 }

// metadata is what the target should be told of the stream. It is final when
// all events were copied; then revision $tb is below as many events as before.
func (s *planned) metadata() []byte {
	first := s.below
	if s.limits.truncate > s.next {
		first = s.copied + s.limits.truncate - s.next
	}
	if !s.late() || first == s.limits.truncate {
		return s.meta.Data
	}
	return withTruncateBefore(s.meta.Data, first)
}

// limits are what a stream's metadata hides that a copy must heed.
type limits struct {
	truncate uint64        // $tb; 0 for none, and for a stream that is soft-deleted
	age      time.Duration // $maxAge; 0 for none
}

// softDeleted is the $tb of a soft-deleted stream, and no revision.
const softDeleted = math.MaxInt64

// readLimits reads metadata as a server does: where one value is of the wrong
// kind the whole says nothing.
func readLimits(data []byte) limits {
	var fields map[string]json.RawMessage
	if json.Unmarshal(data, &fields) != nil {
		return limits{}
	}
	numbers := map[string]int64{"$tb": 0, "$maxAge": 0, "$maxCount": 0, "$cacheControl": 0}
	for name := range numbers {
		raw, given := fields[name]
		if !given {
			continue
		}
		n, err := strconv.ParseInt(string(raw), 10, 64)
		if err != nil {
			return limits{}
		}
		numbers[name] = n
	}
	if acl, given := fields["$acl"]; given && !bytes.HasPrefix(acl, []byte("{")) {
		return limits{}
	}
	l := limits{age: time.Duration(min(max(0, numbers["$maxAge"]), int64(math.MaxInt64/time.Second))) * time.Second}
	if tb := numbers["$tb"]; tb > 0 && tb != softDeleted {
		l.truncate = uint64(tb)
	}
	return l
}

// withTruncateBefore is metadata with another $tb, and without one of 0, which
// means nothing. The rest is kept.
func withTruncateBefore(data []byte, first uint64) []byte {
	fields := map[string]json.RawMessage{}
	if json.Unmarshal(data, &fields) != nil { // not reached: a $tb was read from it
		return data
	}
	delete(fields, "$tb")
	if first > 0 {
		fields["$tb"] = json.RawMessage(strconv.FormatUint(first, 10))
	}
	changed, err := json.Marshal(fields)
	if err != nil { // not reached: every value was read from JSON
		return data
	}
	return changed
}
