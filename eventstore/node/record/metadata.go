package record

import (
	"bytes"
	"encoding/json"
	"math"
	"strconv"
	"strings"
	"time"
)

// Metadata is what a stream's metadata hides: the zero value hides nothing.
type Metadata struct {
	Exists         bool // there is a metadata event at all
	TruncateBefore int64
	maxCount       int64
	maxAge         int64 // seconds
}

// DeletedMetadata is the metadata that a soft delete writes.
const DeletedMetadata = `{"$tb":9223372036854775807}`

func (m Metadata) SoftDeleted() bool { return m.TruncateBefore == math.MaxInt64 }

// First is the revision below which the stream's events are hidden by count or
// truncation, where last is the stream's last revision.
func (m Metadata) First(last int64) int64 {
	first := m.TruncateBefore
	if m.maxCount > 0 && last-m.maxCount+1 > first {
		first = last - m.maxCount + 1
	}
	return first
}

// Oldest is the creation, in ticks, before which events are hidden by age.
func (m Metadata) Oldest(now int64) int64 {
	if m.maxAge == 0 || m.maxAge > now/TicksPerSecond {
		return math.MinInt64
	}
	return now - m.maxAge*TicksPerSecond
}

const TicksPerSecond = int64(time.Second / 100)

func Ticks(t time.Time) int64 { return t.UnixNano() / 100 }

// A metadata stream is named $$ and the stream that it speaks of. It keeps one
// event, whatever is written about itself.
const MetadataPrefix = "$$"

func IsMetadataStream(stream string) bool { return strings.HasPrefix(stream, MetadataPrefix) }

// OriginalOf is the stream that a metadata stream speaks of, and any other
// stream itself.
func OriginalOf(stream string) string { return strings.TrimPrefix(stream, MetadataPrefix) }

var metaOfMetaStreams = Metadata{Exists: true, maxCount: 1}

// MetadataOf returns the metadata of a stream whose metadata event has this data.
func MetadataOf(stream, data string) Metadata {
	if IsMetadataStream(stream) {
		return metaOfMetaStreams
	}
	return ParseMetadata(data)
}

// ParseMetadata reads a metadata event's data. Where one value is of the wrong
// kind the whole counts as empty; an integer that makes no sense is passed
// over alone.
func ParseMetadata(data string) Metadata {
	m, ok := readMeta(data)
	if !ok {
		return Metadata{Exists: true}
	}
	return m
}

// IsMetadata says whether a metadata event's data is as it should be.
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

// WithTruncateBefore is metadata with its $tb replaced and the rest kept.
func WithTruncateBefore(data string, first int64) string {
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
