package node

import (
	"strconv"
	"testing"

	api "github.com/EventStore/EventStore-Client-Go/v4/protos/streams"
	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"
	"pgregory.net/rapid"
)

func drawRecord(t *rapid.T, label string) *record {
	text := rapid.OneOf(rapid.String(), rapid.SampledFrom([]string{"", "match-1", "$>"}))
	return &record{
		position: rapid.Uint64().Draw(t, label+".position"),
		revision: rapid.Uint64().Draw(t, label+".revision"),
		created:  rapid.Int64().Draw(t, label+".created"),
		id:       uuid.UUID(rapid.SliceOfN(rapid.Byte(), 16, 16).Draw(t, label+".id")),
		json:     rapid.Bool().Draw(t, label+".json"),
		stream:   text.Draw(t, label+".stream"),
		kind:     text.Draw(t, label+".kind"),
		data:     string(rapid.SliceOf(rapid.Byte()).Draw(t, label+".data")),
		metadata: string(rapid.SliceOf(rapid.Byte()).Draw(t, label+".metadata")),
	}
}

// What the node encodes by hand is what protobuf reads.
func TestEventsAreEncodedAsProtobuf(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var r resolved
		if rapid.Bool().Draw(t, "linked") {
			r.link = drawRecord(t, "link")
		}
		if r.link == nil || rapid.Bool().Draw(t, "resolved") {
			r.event = drawRecord(t, "event")
		}
		textIDs := rapid.Bool().Draw(t, "textIDs")
		var got api.ReadResp
		require.NoError(t, proto.Unmarshal(appendReadEvent(nil, r, textIDs), &got))
		require.Empty(t, got.ProtoReflect().GetUnknown())
		requireSame(t, r.event, got.GetEvent().GetEvent(), textIDs)
		requireSame(t, r.link, got.GetEvent().GetLink(), textIDs)
		require.Equal(t, r.original().position, got.GetEvent().GetPosition().(*api.ReadResp_ReadEvent_CommitPosition).CommitPosition)
	})
}

func requireSame(t *rapid.T, want *record, got *api.ReadResp_ReadEvent_RecordedEvent, textIDs bool) {
	if want == nil {
		require.Nil(t, got)
		return
	}
	id := structured(want.id)
	require.Equal(t, textIDs, got.GetId().GetString_() != "")
	if textIDs {
		require.Equal(t, want.id.String(), got.GetId().GetString_())
	} else {
		require.True(t, proto.Equal(id, got.GetId()))
	}
	require.Empty(t, got.ProtoReflect().GetUnknown())
	require.Equal(t, want.stream, string(got.GetStreamIdentifier().GetStreamName()))
	require.Equal(t, want.revision, got.GetStreamRevision())
	require.Equal(t, want.position, got.GetCommitPosition())
	require.Equal(t, want.position, got.GetPreparePosition())
	require.Equal(t, map[string]string{
		metaType: want.kind, metaContentType: contentType(want), metaCreated: strconv.FormatInt(want.created, 10),
	}, got.GetMetadata())
	require.Equal(t, want.data, string(got.GetData()))
	require.Equal(t, want.metadata, string(got.GetCustomMetadata()))
}
