package record

import (
	"bytes"
	"encoding/json"
	"math"
	"strconv"
	"strings"
	"time"
)

// Metadata is the part of a stream's metadata that hides events. The zero value
// hides nothing.
type Metadata struct {
	Exists         bool // a metadata event exists
	TruncateBefore int64
	maxCount       int64
	maxAge         int64 // seconds
}

// DeletedMetadata is the metadata that a soft delete writes.
const DeletedMetadata = `{"$tb":9223372036854775807}`

// SoftDeleted reports whether the stream is deleted until the next append.
func (m Metadata) SoftDeleted() bool { return m.TruncateBefore == math.MaxInt64 }

// First returns the first revision that $maxCount and $tb do not hide. The parameter
// last is the last revision of the stream.
func (m Metadata) First(last int64) int64 {
	first := m.TruncateBefore
	if m.maxCount > 0 && last-m.maxCount+1 > first {
		first = last - m.maxCount + 1
	}
	return first
}

// Oldest returns a creation time in ticks. $maxAge hides events that were created
// before this time.
func (m Metadata) Oldest(now int64) int64 {
	if m.maxAge == 0 || m.maxAge > now/TicksPerSecond {
		return math.MinInt64
	}
	return now - m.maxAge*TicksPerSecond
}

// TicksPerSecond is the number of ticks of 100 ns in a second.
const TicksPerSecond = int64(time.Second / 100)

// Ticks returns a time in ticks since the Unix epoch, as records store it.
func Ticks(t time.Time) int64 { return t.UnixNano() / 100 }

// MetadataPrefix is the prefix of a metadata stream's name. The name of the
// described stream follows the prefix. A metadata stream shows only its last event.
// It has no metadata of its own.
const MetadataPrefix = "$$"

// IsMetadataStream reports whether stream is the name of a metadata stream.
func IsMetadataStream(stream string) bool { return strings.HasPrefix(stream, MetadataPrefix) }

// OriginalOf returns the stream that a metadata stream describes. If the stream is not
// a metadata stream, OriginalOf returns it unchanged.
func OriginalOf(stream string) string { return strings.TrimPrefix(stream, MetadataPrefix) }

var metaOfMetaStreams = Metadata{Exists: true, maxCount: 1}

// MetadataOf returns the metadata of a stream whose metadata event has this data.
func MetadataOf(stream, data string) Metadata {
	if IsMetadataStream(stream) {
		return metaOfMetaStreams
	}
	return ParseMetadata(data)
}

// ParseMetadata parses a metadata event's data. If any value has the wrong type, the
// result is empty. ParseMetadata ignores an integer below 1, but keeps the other
// values.
func ParseMetadata(data string) Metadata {
	m, ok := readMeta(data)
	if !ok {
		return Metadata{Exists: true}
	}
	return m
}

// IsMetadata reports whether a metadata event's data is well-formed.
func IsMetadata(data string) bool {
	_, ok := readMeta(data)
	return ok
}

func readMeta(data string) (m Metadata, ok bool) {
	m = Metadata{Exists: true}
	var fields map[string]json.RawMessage
	if json.Unmarshal([]byte(data), &fields) != nil {
		return m, false
	}
	cache := int64(0)
	for name, to := range map[string]*int64{"$tb": &m.TruncateBefore, "$maxCount": &m.maxCount, "$maxAge": &m.maxAge, "$cacheControl": &cache} {
		if !readPositive(fields[name], to) {
			return m, false
		}
	}
	acl, there := fields["$acl"]
	return m, !there || isACL(acl)
}

// readPositive sets *to if raw is a positive integer. It reports whether raw is
// an integer or missing.
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

// isACL reports whether raw is an object in which each value is a role: a string or
// a list of strings.
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

// WithTruncateBefore returns the metadata in data with its $tb set to first.
func WithTruncateBefore(data string, first int64) string {
	fields := map[string]json.RawMessage{}
	if json.Unmarshal([]byte(data), &fields) != nil || fields == nil {
		fields = map[string]json.RawMessage{}
	}
	fields["$tb"] = json.RawMessage(strconv.FormatInt(first, 10))
	merged, err := json.Marshal(fields)
	if err != nil { // impossible: every value was decoded from JSON
		return `{"$tb":` + strconv.FormatInt(first, 10) + `}`
	}
	return string(merged)
}
