package wire

import (
	"testing"

	"github.com/EventStore/EventStore-Client-Go/v4/protos/shared"
	api "github.com/EventStore/EventStore-Client-Go/v4/protos/streams"
	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
)

// usualAppend returns the encoded messages of an append as clients send them.
func usualAppend(t testing.TB) [][]byte {
	t.Helper()
	var encoded [][]byte
	for _, m := range []*api.AppendReq{
		{Content: &api.AppendReq_Options_{Options: &api.AppendReq_Options{
			StreamIdentifier:       &shared.StreamIdentifier{StreamName: []byte("match-1")},
			ExpectedStreamRevision: &api.AppendReq_Options_Revision{Revision: 300},
		}}},
		{Content: &api.AppendReq_ProposedMessage_{ProposedMessage: &api.AppendReq_ProposedMessage{
			Id:             StructuredUUID(uuid.MustParse("0f0e0d0c-0b0a-4908-8706-050403020100")),
			Metadata:       map[string]string{MetaType: "T", MetaContentType: ContentJSON},
			CustomMetadata: []byte("{}"),
			Data:           []byte("data"),
		}}},
	} {
		b, err := proto.MarshalOptions{Deterministic: true}.Marshal(m)
		require.NoError(t, err)
		encoded = append(encoded, b)
	}
	return encoded
}

func TestUsualAppendsAreDecodedByHand(t *testing.T) {
	for _, encoded := range usualAppend(t) {
		require.True(t, decodeAppend(encoded, new(api.AppendReq)))
	}
}

// For every message, the codec returns the same result or error as the protobuf
// library.
func FuzzDecodeAppend(f *testing.F) {
	usual := usualAppend(f)
	options, event := usual[0], usual[1]
	field := func(b []byte, n protowire.Number, value string) []byte {
		return protowire.AppendString(protowire.AppendTag(b, n, protowire.BytesType), value)
	}
	for _, encoded := range [][]byte{
		options, event, nil, append(options, event...), append(event, options...), append(event, event...), event[:len(event)-1],
		field(nil, fieldAppendOptions, ""), field(nil, fieldAppendProposed, ""),
		field(nil, fieldAppendProposed, string(field(field(nil, fieldProposedData, "a"), fieldProposedData, "b"))),
		field(nil, fieldAppendProposed, string(field(nil, fieldProposedData, ""))),
		field(nil, fieldAppendProposed, string(field(nil, fieldProposedMetadata, string(field(field(nil, fieldKey, "\xff"), fieldValue, "v"))))),
		field(nil, fieldAppendProposed, string(field(nil, fieldProposedMetadata, string(field(field(nil, fieldValue, "v"), fieldKey, "k"))))),
		field(nil, fieldAppendProposed, string(field(nil, fieldProposedID, string(field(nil, fieldUUIDString, "id"))))),
		field(nil, 15, "unknown"),
	} {
		f.Add(encoded)
	}
	f.Fuzz(func(t *testing.T, encoded []byte) {
		requireSameDecoding(t, encoded, new(api.AppendReq), new(api.AppendReq))
	})
}

// requireSameDecoding compares the codec with the protobuf library. A message may arrive
// in several buffers.
func requireSameDecoding(t *testing.T, encoded []byte, want, got proto.Message) {
	t.Helper()
	codec := NewCodec().(codec)
	half := len(encoded) / 2
	data := mem.BufferSlice{mem.SliceBuffer(encoded[:half]), mem.SliceBuffer(encoded[half:])}
	wantErr := codec.CodecV2.Unmarshal(data, want)
	gotErr := codec.Unmarshal(data, got)
	require.Equal(t, wantErr, gotErr)
	if wantErr == nil && !proto.Equal(want, got) {
		t.Fatalf("%q: got %v, want %v", encoded, got, want)
	}
}

func BenchmarkDecodeAppend(b *testing.B) {
	codec, usual := NewCodec().(codec), usualAppend(b)
	for name, decode := range map[string]func(mem.BufferSlice, any) error{"by hand": codec.Unmarshal, "by the library": codec.CodecV2.Unmarshal} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				for _, encoded := range usual {
					if err := decode(mem.BufferSlice{mem.SliceBuffer(encoded)}, new(api.AppendReq)); err != nil {
						b.Fatal(err)
					}
				}
			}
		})
	}
}
