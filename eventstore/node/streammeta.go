package node

import (
	"bytes"
	"encoding/json"
	"math"
	"strconv"
	"strings"
	"time"
)

// streamMeta is what a stream's metadata hides: the zero value hides nothing.
type streamMeta struct {
	exists         bool // there is a metadata event at all
	truncateBefore int64
	maxCount       int64
	maxAge         int64 // seconds
}

// deletedMeta is the metadata that a soft delete writes.
const deletedMeta = `{"$tb":9223372036854775807}`

func (m streamMeta) softDeleted() bool { return m.truncateBefore == math.MaxInt64 }

// first is the revision below which the stream's events are hidden by count or
// truncation, where last is the stream's last revision.
func (m streamMeta) first(last int64) int64 {
	first := m.truncateBefore
	if m.maxCount > 0 && last-m.maxCount+1 > first {
		first = last - m.maxCount + 1
	}
	return first
}

// oldest is the creation, in ticks, before which events are hidden by age.
func (m streamMeta) oldest(now int64) int64 {
	if m.maxAge == 0 || m.maxAge > now/ticksPerSecond {
		return math.MinInt64
	}
	return now - m.maxAge*ticksPerSecond
}

const ticksPerSecond = int64(time.Second / 100)

func ticks(t time.Time) int64 { return t.UnixNano() / 100 }

// A metadata stream is named $$ and the stream that it speaks of. It keeps one
// event, whatever is written about itself.
const metaPrefix = "$$"

func isMetaStream(stream string) bool { return strings.HasPrefix(stream, metaPrefix) }

// originalOf is the stream that a metadata stream speaks of, and any other
// stream itself.
func originalOf(stream string) string { return strings.TrimPrefix(stream, metaPrefix) }

var metaOfMetaStreams = streamMeta{exists: true, maxCount: 1}

// parseMeta reads a metadata event's data. Where one value is of the wrong
// kind the whole counts as empty; an integer that makes no sense is passed
// over alone.
func parseMeta(data string) streamMeta {
	m, ok := readMeta(data)
	if !ok {
		return streamMeta{exists: true}
	}
	return m
}

// isMeta says whether a metadata event's data is as it should be.
func isMeta(data string) bool {
	_, ok := readMeta(data)
	return ok
}

func readMeta(data string) (m streamMeta, ok bool) {
	m = streamMeta{exists: true}
	var fields map[string]json.RawMessage
	if json.Unmarshal([]byte(data), &fields) != nil {
		return m, false
	}
	cache := int64(0)
	for name, to := range map[string]*int64{"$tb": &m.truncateBefore, "$maxCount": &m.maxCount, "$maxAge": &m.maxAge, "$cacheControl": &cache} {
		if !readPositive(fields[name], to) {
			return m, false
		}
	}
	acl, there := fields["$acl"]
	return m, !there || isACL(acl)
}

// readPositive sets to if raw is a positive integer, and says whether raw is
// an integer, or absent.
func readPositive(raw json.RawMessage, to *int64) bool {
	if raw == nil {
		return true
	}
	n, err := strconv.ParseInt(string(raw), 10, 64)
	if err == nil && n > 0 {
		*to = n
	}
	return err == nil
}

// isACL says whether raw is an object of roles: each a string or strings.
func isACL(raw json.RawMessage) bool {
	var roles map[string]json.RawMessage
	if json.Unmarshal(raw, &roles) != nil || roles == nil {
		return false
	}
	for _, role := range roles {
		if !isRole(role) {
			return false
		}
	}
	return true
}

func isRole(raw json.RawMessage) bool {
	var names []*string
	if !bytes.HasPrefix(raw, []byte("[")) {
		raw = append(append(json.RawMessage{'['}, raw...), ']')
	}
	if json.Unmarshal(raw, &names) != nil {
		return false
	}
	for _, name := range names {
		if name == nil {
			return false
		}
	}
	return true
}

// withTruncateBefore is metadata with its $tb replaced and the rest kept.
func withTruncateBefore(data string, first int64) string {
	fields := map[string]json.RawMessage{}
	if json.Unmarshal([]byte(data), &fields) != nil || fields == nil {
		fields = map[string]json.RawMessage{}
	}
	fields["$tb"] = json.RawMessage(strconv.FormatInt(first, 10))
	merged, err := json.Marshal(fields)
	if err != nil { // not reached: every value was read from JSON
		return `{"$tb":` + strconv.FormatInt(first, 10) + `}`
	}
	return string(merged)
}
