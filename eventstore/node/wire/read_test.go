package wire

import (
	"slices"
	"testing"

	api "github.com/EventStore/EventStore-Client-Go/v4/protos/streams"
	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"hexarena/eventstore/node/record"
)

// usualEvent returns an encoded event as the node sends it, and as the protobuf library
// encodes it.
func usualEvent(t testing.TB) [2][]byte {
	t.Helper()
	r := record.Record{
		Position: 300, Created: 17, ID: uuid.MustParse("0f0e0d0c-0b0a-4908-8706-050403020100"), JSON: true,
		Stream: "match-1", Type: "T", Data: "data", Metadata: "{}",
	}
	encoded := AppendReadEvent(nil, record.Resolved{Event: &r}, false)
	var m api.ReadResp
	require.NoError(t, proto.Unmarshal(encoded, &m))
	again, err := proto.MarshalOptions{Deterministic: true}.Marshal(&m)
	require.NoError(t, err)
	return [2][]byte{encoded, again}
}

func TestUsualEventsAreDecodedByHand(t *testing.T) {
	for _, encoded := range usualEvent(t) {
		require.True(t, decodeRead(encoded, new(api.ReadResp)))
	}
}

// A client may keep an event after gRPC has used its buffer again.
func TestDecodedEventsKeepNoBuffer(t *testing.T) {
	encoded := usualEvent(t)[0]
	var got, want api.ReadResp
	require.NoError(t, proto.Unmarshal(encoded, &want))
	require.True(t, decodeRead(encoded, &got))
	clear(encoded)
	require.True(t, proto.Equal(&want, &got))
}

// For every message, the codec returns the same result or error as the protobuf
// library.
func FuzzDecodeRead(f *testing.F) {
	usual := usualEvent(f)[0]
	field := func(n protowire.Number, parts ...[]byte) []byte {
		content := slices.Concat(parts...)
		return append(appendHeader(nil, n, len(content)), content...)
	}
	number := func(n protowire.Number, v uint64) []byte { return appendVarint(nil, n, v) }
	linked := AppendReadEvent(nil, record.Resolved{Event: &record.Record{Type: "T"}, Link: &record.Record{Type: "$>"}}, false)
	texts := AppendReadEvent(nil, record.Resolved{Event: &record.Record{Type: "T"}}, true)
	name, id := field(fieldRecordedStream, field(fieldStreamName, []byte("s"))), field(fieldRecordedID, field(fieldUUIDStructured, number(1, 1), number(2, 2)))
	event := func(parts ...[]byte) []byte {
		return field(fieldRespEvent, field(fieldEventEvent, parts...), number(fieldEventCommit, 7))
	}
	for _, encoded := range [][]byte{
		usual, linked, texts, nil, append(usual, usual...), usual[:len(usual)-1],
		event(), event(id), event(name), event(id, name), event(name, id), event(id, id, name), event(id, name, name),
		event(id, name, field(fieldRecordedData), field(fieldRecordedData, []byte("d"))),
		event(id, name, number(fieldRecordedCommit, 1), number(fieldRecordedRevision, 2)),
		event(id, name, number(fieldRecordedMetadata, 1), number(15, 2)),
		event(id, name, field(fieldRecordedMetadata)),
		event(id, name, field(fieldRecordedMetadata, field(fieldKey, []byte("\xff")), field(fieldValue, []byte("v")))),
		field(fieldRespEvent, field(fieldEventEvent, id, name)),
		field(fieldRespEvent, field(fieldEventEvent, id, name), number(fieldEventCommit, 1), number(fieldEventCommit, 2)),
	} {
		f.Add(encoded)
	}
	f.Fuzz(func(t *testing.T, encoded []byte) {
		requireSameDecoding(t, encoded, new(api.ReadResp), new(api.ReadResp))
	})
}

func BenchmarkDecodeRead(b *testing.B) {
	codec, usual := NewCodec().(codec), usualEvent(b)[0]
	for name, decode := range map[string]func(mem.BufferSlice, any) error{"by hand": codec.Unmarshal, "by the library": codec.CodecV2.Unmarshal} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if err := decode(mem.BufferSlice{mem.SliceBuffer(usual)}, new(api.ReadResp)); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
