package writes

import (
	"context"

	"github.com/EventStore/EventStore-Client-Go/v4/protos/shared"
	api "github.com/EventStore/EventStore-Client-Go/v4/protos/streams"

	"hexarena/eventstore/node/record"
	"hexarena/eventstore/node/wire"
	"hexarena/eventstore/node/writer"
)

// Delete soft-deletes a stream: new metadata hides all its events. The next append
// makes the stream visible again and continues its revisions.
func (s Writes) Delete(ctx context.Context, m *api.DeleteReq) (*api.DeleteResp, error) {
	o := m.GetOptions()
	position, err := s.remove(ctx, writer.Delete, o.GetStreamIdentifier(), o, o.GetExpectedStreamRevision() != nil)
	return &api.DeleteResp{PositionOption: &api.DeleteResp_Position_{
		Position: &api.DeleteResp_Position{CommitPosition: position, PreparePosition: position},
	}}, err
}

// Tombstone deletes a stream forever.
func (s Writes) Tombstone(ctx context.Context, m *api.TombstoneReq) (*api.TombstoneResp, error) {
	o := m.GetOptions()
	position, err := s.remove(ctx, writer.Tombstone, o.GetStreamIdentifier(), o, o.GetExpectedStreamRevision() != nil)
	return &api.TombstoneResp{PositionOption: &api.TombstoneResp_Position_{
		Position: &api.TombstoneResp_Position{CommitPosition: position, PreparePosition: position},
	}}, err
}

var operations = map[writer.Act]string{writer.Delete: "Delete", writer.Tombstone: "Tombstone"}

// remove deletes a stream, either softly or with a tombstone.
func (s Writes) remove(ctx context.Context, act writer.Act, id *shared.StreamIdentifier, o expecting, set bool) (position uint64, err error) {
	expected, err := expectation(o, set)
	if err != nil {
		return 0, err
	}
	if s.ReadOnly {
		return 0, wire.RefuseAccess()
	}
	stream, err := writableName(id)
	if err != nil {
		return 0, err
	}
	if record.IsMetadataStream(stream) {
		return 0, wire.Invalid("a metadata stream cannot be deleted: %s", stream)
	}
	out, err := s.Submit(ctx, &writer.Request{Act: act, Stream: stream, Expected: expected})
	switch {
	case err != nil:
		return 0, err
	case out.Verdict == writer.StreamDeleted:
		return 0, wire.RefuseDeleted(stream)
	case out.Verdict == writer.WrongVersion:
		return 0, wire.RefuseVersion(operations[act], stream, expected, out.Current)
	}
	return out.Position, nil
}
