package node

import (
	"context"

	"github.com/EventStore/EventStore-Client-Go/v4/protos/shared"
	api "github.com/EventStore/EventStore-Client-Go/v4/protos/streams"
)

// Delete soft-deletes a stream: it is hidden by its metadata, and comes back,
// further numbered, with the next append.
func (s writes) Delete(ctx context.Context, m *api.DeleteReq) (*api.DeleteResp, error) {
	var expected int64
	var err error
	switch e := m.GetOptions().GetExpectedStreamRevision().(type) {
	case *api.DeleteReq_Options_Revision:
		expected, err = exactly(e.Revision)
	case *api.DeleteReq_Options_NoStream:
		expected = expectNoStream
	case *api.DeleteReq_Options_Any:
		expected = expectAny
	case *api.DeleteReq_Options_StreamExists:
		expected = expectExists
	default:
		err = invalid("the expected revision is missing")
	}
	if err != nil {
		return nil, answerUnary(ctx, s.logger, err)
	}
	position, err := s.remove(ctx, actDelete, m.GetOptions().GetStreamIdentifier(), expected)
	if err != nil {
		return nil, answerUnary(ctx, s.logger, err)
	}
	return &api.DeleteResp{PositionOption: &api.DeleteResp_Position_{
		Position: &api.DeleteResp_Position{CommitPosition: position, PreparePosition: position},
	}}, nil
}

// Tombstone deletes a stream for ever.
func (s writes) Tombstone(ctx context.Context, m *api.TombstoneReq) (*api.TombstoneResp, error) {
	var expected int64
	var err error
	switch e := m.GetOptions().GetExpectedStreamRevision().(type) {
	case *api.TombstoneReq_Options_Revision:
		expected, err = exactly(e.Revision)
	case *api.TombstoneReq_Options_NoStream:
		expected = expectNoStream
	case *api.TombstoneReq_Options_Any:
		expected = expectAny
	case *api.TombstoneReq_Options_StreamExists:
		expected = expectExists
	default:
		err = invalid("the expected revision is missing")
	}
	if err != nil {
		return nil, answerUnary(ctx, s.logger, err)
	}
	position, err := s.remove(ctx, actTombstone, m.GetOptions().GetStreamIdentifier(), expected)
	if err != nil {
		return nil, answerUnary(ctx, s.logger, err)
	}
	return &api.TombstoneResp{PositionOption: &api.TombstoneResp_Position_{
		Position: &api.TombstoneResp_Position{CommitPosition: position, PreparePosition: position},
	}}, nil
}

var operations = map[act]string{actDelete: "Delete", actTombstone: "Tombstone"}

// remove has a stream deleted in one of the two ways.
func (s writes) remove(ctx context.Context, act act, id *shared.StreamIdentifier, expected int64) (position uint64, err error) {
	if err := s.life.ready(); err != nil {
		return 0, err
	}
	if s.readOnly {
		return 0, refuseAccess()
	}
	stream, err := writableName(id)
	if err != nil {
		return 0, err
	}
	if isMetaStream(stream) {
		return 0, invalid("a metadata stream cannot be deleted: %s", stream)
	}
	out, err := s.writer.submit(ctx, &request{act: act, stream: stream, expected: expected})
	switch {
	case err != nil:
		return 0, err
	case out.verdict == streamDeleted:
		return 0, refuseDeleted(stream)
	case out.verdict == wrongVersion:
		return 0, refuseVersion(operations[act], stream, expected, out.current)
	}
	return out.position, nil
}
