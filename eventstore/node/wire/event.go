// Package wire translates between records and EventStoreDB's protocol: events as
// protobuf bytes, errors as gRPC statuses with trailers, and the parts of requests
// that several services share (names, ids, filters, starts). It has no state.
package wire

import (
	"encoding/binary"
	"strconv"

	api "github.com/EventStore/EventStore-Client-Go/v4/protos/streams"
	"github.com/google/uuid"
	"google.golang.org/grpc/encoding"
	"google.golang.org/grpc/encoding/proto"
	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/encoding/protowire"

	"hexarena/eventstore/node/record"
)

// Frame is an encoded message. Most messages that the node sends are events, so the
// node encodes events by hand instead of creating message objects.
type Frame []byte

// codec is gRPC's protobuf codec with two differences: it passes frames through
// unchanged, and it decodes the usual appends and events by hand.
type codec struct{ encoding.CodecV2 }

// library is gRPC's codec, even if a program registers another one with its name.
var library = encoding.GetCodecV2(proto.Name)

// NewCodec returns the codec for the node's servers, and for clients in Go.
func NewCodec() encoding.CodecV2 { return codec{library} }

func (c codec) Marshal(v any) (mem.BufferSlice, error) {
	if f, ok := v.(*Frame); ok {
		return mem.BufferSlice{mem.SliceBuffer(*f)}, nil
	}
	return c.CodecV2.Marshal(v)
}

func (c codec) Unmarshal(data mem.BufferSlice, v any) error {
	if decodeByHand(data, v) {
		return nil
	}
	return c.CodecV2.Unmarshal(data, v)
}

func decodeByHand(data mem.BufferSlice, v any) bool {
	switch v.(type) {
	case *api.AppendReq, *api.ReadResp:
	default:
		return false
	}
	buf := data.MaterializeToBuffer(mem.DefaultBufferPool())
	defer buf.Free()
	if m, ok := v.(*api.ReadResp); ok {
		return decodeRead(buf.ReadOnlyData(), m)
	}
	return decodeAppend(buf.ReadOnlyData(), v.(*api.AppendReq))
}

// These are the field numbers of ReadResp and of the messages in it.
const (
	fieldRespEvent = 1

	fieldEventEvent  = 1
	fieldEventLink   = 2
	fieldEventCommit = 3

	fieldEventRetries = 5 // only in a persistent subscription

	fieldRecordedID       = 1
	fieldRecordedStream   = 2
	fieldRecordedRevision = 3
	fieldRecordedPrepare  = 4
	fieldRecordedCommit   = 5
	fieldRecordedMetadata = 6
	fieldRecordedCustom   = 7
	fieldRecordedData     = 8

	fieldStreamName     = 3
	fieldUUIDStructured = 1
	fieldUUIDString     = 2
)

// AppendReadEvent appends to buf an encoded ReadResp with an event, for a read or a
// subscription.
func AppendReadEvent(buf []byte, r record.Resolved, textIDs bool) []byte {
	return appendEvent(buf, r, textIDs, nil)
}

// AppendRetriedEvent appends to buf an encoded message of a persistent subscription.
// The message has the fields of a ReadResp plus the number of retries.
func AppendRetriedEvent(buf []byte, r record.Resolved, textIDs bool, retries int32) []byte {
	return appendEvent(buf, r, textIDs, appendVarint(nil, fieldEventRetries, uint64(retries)))
}

// appendEvent appends to buf an encoded event, followed by the encoded fields in the
// parameter more.
func appendEvent(buf []byte, r record.Resolved, textIDs bool, more []byte) []byte {
	position := r.Original().Position
	size := len(more) + protowire.SizeTag(fieldEventCommit) + protowire.SizeVarint(position)
	sizes := [2]int{}
	for i, rec := range [2]*record.Record{r.Event, r.Link} {
		if rec != nil {
			sizes[i] = recordedSize(rec, textIDs)
			size += fieldSize(sizes[i])
		}
	}
	buf = appendHeader(buf, fieldRespEvent, size)
	if r.Event != nil {
		buf = appendRecorded(appendHeader(buf, fieldEventEvent, sizes[0]), r.Event, textIDs)
	}
	if r.Link != nil {
		buf = appendRecorded(appendHeader(buf, fieldEventLink, sizes[1]), r.Link, textIDs)
	}
	return append(appendVarint(buf, fieldEventCommit, position), more...)
}

// These are keys and values of an event's metadata in the protocol.
const (
	MetaType        = "type"
	MetaContentType = "content-type"
	metaCreated     = "created"

	ContentJSON   = "application/json"
	contentBinary = "application/octet-stream"

	textIDLen = 36
	maxDigits = 20
)

func contentType(r *record.Record) string {
	if r.JSON {
		return ContentJSON
	}
	return contentBinary
}

// recordedSize returns the length of the bytes that appendRecorded appends.
func recordedSize(r *record.Record, textIDs bool) int {
	size := fieldSize(uuidSize(r.ID, textIDs)) + fieldSize(fieldSize(len(r.Stream)))
	size += varintSize(r.Revision) + 2*varintSize(r.Position)
	size += entrySize(MetaType, r.Type) + entrySize(MetaContentType, contentType(r)) + entrySize(metaCreated, created(r, make([]byte, 0, maxDigits)))
	return size + fieldSize(len(r.Metadata)) + fieldSize(len(r.Data))
}

func appendRecorded(buf []byte, r *record.Record, textIDs bool) []byte {
	buf = appendUUID(appendHeader(buf, fieldRecordedID, uuidSize(r.ID, textIDs)), r.ID, textIDs)
	buf = appendText(appendHeader(buf, fieldRecordedStream, fieldSize(len(r.Stream))), fieldStreamName, r.Stream)
	buf = appendVarint(buf, fieldRecordedRevision, r.Revision)
	buf = appendVarint(buf, fieldRecordedPrepare, r.Position)
	buf = appendVarint(buf, fieldRecordedCommit, r.Position)
	buf = appendEntry(buf, MetaType, r.Type)
	buf = appendEntry(buf, MetaContentType, contentType(r))
	buf = appendEntry(buf, metaCreated, created(r, make([]byte, 0, maxDigits)))
	buf = appendText(buf, fieldRecordedCustom, r.Metadata)
	return appendText(buf, fieldRecordedData, r.Data)
}

func created[B ~[]byte](r *record.Record, buf B) B { return strconv.AppendInt(buf, r.Created, 10) }

// UUIDBits returns the two halves of an id, the more significant half first.
func UUIDBits(id uuid.UUID) (most, least uint64) {
	return binary.BigEndian.Uint64(id[:8]), binary.BigEndian.Uint64(id[8:])
}

func uuidSize(id uuid.UUID, text bool) int {
	if text {
		return fieldSize(textIDLen)
	}
	most, least := UUIDBits(id)
	return fieldSize(varintSize(most) + varintSize(least))
}

func appendUUID(buf []byte, id uuid.UUID, text bool) []byte {
	if text {
		return appendText(buf, fieldUUIDString, id.String())
	}
	most, least := UUIDBits(id)
	buf = appendHeader(buf, fieldUUIDStructured, varintSize(most)+varintSize(least))
	return appendVarint(appendVarint(buf, 1, most), 2, least)
}

// fieldSize returns the length of a field with n bytes of content. All field
// numbers in this package fit in one byte.
func fieldSize(n int) int { return 1 + protowire.SizeBytes(n) }

func varintSize(v uint64) int { return 1 + protowire.SizeVarint(v) }

func entrySize[T ~string | ~[]byte](key string, value T) int {
	return fieldSize(fieldSize(len(key)) + fieldSize(len(value)))
}

func appendHeader(buf []byte, field protowire.Number, size int) []byte {
	return protowire.AppendVarint(protowire.AppendTag(buf, field, protowire.BytesType), uint64(size))
}

func appendText[T ~string | ~[]byte](buf []byte, field protowire.Number, text T) []byte {
	return append(appendHeader(buf, field, len(text)), text...)
}

func appendVarint(buf []byte, field protowire.Number, v uint64) []byte {
	return protowire.AppendVarint(protowire.AppendTag(buf, field, protowire.VarintType), v)
}

func appendEntry[T ~string | ~[]byte](buf []byte, key string, value T) []byte {
	buf = appendHeader(buf, fieldRecordedMetadata, fieldSize(len(key))+fieldSize(len(value)))
	return appendText(appendText(buf, 1, key), 2, value)
}
