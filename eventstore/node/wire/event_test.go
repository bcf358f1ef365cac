package wire

import (
	"strconv"
	"testing"

	api "github.com/EventStore/EventStore-Client-Go/v4/protos/streams"
	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"
	"pgregory.net/rapid"

	"hexarena/eventstore/node/record"
)

func drawRecord(t *rapid.T, label string) *record.Record {
	text := rapid.OneOf(rapid.String(), rapid.SampledFrom([]string{"", "match-1", "$>"}))
	return &record.Record{
		Position: rapid.Uint64().Draw(t, label+".position"),
		Revision: rapid.Uint64().Draw(t, label+".revision"),
		Created:  rapid.Int64().Draw(t, label+".created"),
		ID:       uuid.UUID(rapid.SliceOfN(rapid.Byte(), 16, 16).Draw(t, label+".id")),
		JSON:     rapid.Bool().Draw(t, label+".json"),
		Stream:   text.Draw(t, label+".stream"),
		Type:     text.Draw(t, label+".kind"),
		Data:     string(rapid.SliceOf(rapid.Byte()).Draw(t, label+".data")),
		Metadata: string(rapid.SliceOf(rapid.Byte()).Draw(t, label+".metadata")),
	}
}

// The protobuf library decodes the events that the node encodes by hand.
func TestEventsAreEncodedAsProtobuf(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var r record.Resolved
		if rapid.Bool().Draw(t, "linked") {
			r.Link = drawRecord(t, "link")
		}
		if r.Link == nil || rapid.Bool().Draw(t, "resolved") {
			r.Event = drawRecord(t, "event")
		}
		textIDs := rapid.Bool().Draw(t, "textIDs")
		var got api.ReadResp
		require.NoError(t, proto.Unmarshal(AppendReadEvent(nil, r, textIDs), &got))
		require.Empty(t, got.ProtoReflect().GetUnknown())
		requireSame(t, r.Event, got.GetEvent().GetEvent(), textIDs)
		requireSame(t, r.Link, got.GetEvent().GetLink(), textIDs)
		require.Equal(t, r.Original().Position, got.GetEvent().GetPosition().(*api.ReadResp_ReadEvent_CommitPosition).CommitPosition)
	})
}

func requireSame(t *rapid.T, want *record.Record, got *api.ReadResp_ReadEvent_RecordedEvent, textIDs bool) {
	if want == nil {
		require.Nil(t, got)
		return
	}
	id := StructuredUUID(want.ID)
	require.Equal(t, textIDs, got.GetId().GetString_() != "")
	if textIDs {
		require.Equal(t, want.ID.String(), got.GetId().GetString_())
	} else {
		require.True(t, proto.Equal(id, got.GetId()))
	}
	require.Empty(t, got.ProtoReflect().GetUnknown())
	require.Equal(t, want.Stream, string(got.GetStreamIdentifier().GetStreamName()))
	require.Equal(t, want.Revision, got.GetStreamRevision())
	require.Equal(t, want.Position, got.GetCommitPosition())
	require.Equal(t, want.Position, got.GetPreparePosition())
	require.Equal(t, map[string]string{
		MetaType: want.Type, MetaContentType: contentType(want), "created": strconv.FormatInt(want.Created, 10),
	}, got.GetMetadata())
	require.Equal(t, want.Data, string(got.GetData()))
	require.Equal(t, want.Metadata, string(got.GetCustomMetadata()))
}
