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

// plan summarizes a source: its streams and its last event.
type plan struct {
	streams map[string]*planned
	last    *es.Position // position of the last event; nil for an empty log
	newest  time.Time    // creation of the last event
	total   uint64       // events and tombstones to copy
}

// The type planned is a stream to copy.
type planned struct {
	next       uint64            // revision after the last event in the source
	tombstoned bool              // whether the stream is tombstoned in the source
	meta       *es.RecordedEvent // last metadata in the source; nil if the stream has none
	limits     limits            // the limits in meta
	held       *es.RecordedEvent // last metadata in the target
	copied     uint64            // events in the target
	below      uint64            // copied events whose revision in the source is below limits.truncate
}

func newPlan() plan { return plan{streams: map[string]*planned{}} }

// metaPrefix is the prefix of a metadata stream's name. The name of the described
// stream follows the prefix.
const metaPrefix = "$$"

func describes(stream string) bool { return strings.HasPrefix(stream, metaPrefix) }

// originalStream returns the stream that a metadata stream describes. It returns any
// other stream unchanged.
func originalStream(stream string) string { return strings.TrimPrefix(stream, metaPrefix) }

// systemStream reports whether a stream is the server's own.
func systemStream(stream string) bool { return strings.HasPrefix(stream, "$") }

// tombstone reports whether an event is a tombstone. A tombstone has the
// highest possible revision, which has 64 bits, or 32 bits in old logs.
func tombstone(e *es.RecordedEvent) bool {
	return e.EventType == "$streamDeleted" && e.EventNumber >= math.MaxInt32
}

// note adds an event from the source to the plan.
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

// The method expired() reports whether an event is older than the $maxAge of its
// stream.
func (p *plan) expired(s *planned, e *es.RecordedEvent) bool {
	return s.limits.age > 0 && e.CreatedDate.Before(p.newest.Add(-s.limits.age))
}

// The method took() records that the target contains an event of the stream.
func (s *planned) took(e *es.RecordedEvent) {
	s.copied++
	if e.EventNumber < s.limits.truncate {
		s.below++
	}
}

// The method late() reports whether the metadata must be copied after the events.
// This is true if the metadata sets $tb, because $tb is a revision, and revisions
// may differ in the target.
func (s *planned) late() bool { return s.limits.truncate > 0 }

// metadata returns the metadata for the target. The result is final once all
// events have been copied. Its $tb then hides the same events as in the source.
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

// The type limits holds the limits in a stream's metadata that affect the copy of the
// stream.
type limits struct {
	truncate uint64        // $tb; 0 if it is not set or the stream is soft-deleted
	age      time.Duration // $maxAge; 0 if it is not set
}

// softDeleted is the value of $tb in a soft-deleted stream. It is not a
// revision.
const softDeleted = math.MaxInt64

// readLimits reads metadata as a server does: if one value has the wrong type,
// it ignores all values.
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

// withTruncateBefore returns metadata with a new $tb and the other fields
// unchanged. If the new $tb is 0, withTruncateBefore removes the field, because 0
// hides nothing.
func withTruncateBefore(data []byte, first uint64) []byte {
	fields := map[string]json.RawMessage{}
	if json.Unmarshal(data, &fields) != nil { // impossible: readLimits read a $tb from it
		return data
	}
	delete(fields, "$tb")
	if first > 0 {
		fields["$tb"] = json.RawMessage(strconv.FormatUint(first, 10))
	}
	changed, err := json.Marshal(fields)
	if err != nil { // impossible: all values come from JSON
		return data
	}
	return changed
}
