package node

import (
	"errors"
	"io"
	"log/slog"
	"math"
	"time"

	"github.com/EventStore/EventStore-Client-Go/v4/protos/shared"
	api "github.com/EventStore/EventStore-Client-Go/v4/protos/streams"
)

// discarded is how many bytes of a rejected call are received and dropped, so
// that a client that is still sending can read the error.
const discarded = 32 << 20

// writes answers Append, BatchAppend, Delete and Tombstone.
type writes struct {
	writesOptions
	admission  *admission
	batchCalls chan struct{} // one for each call of BatchAppend
	readOnly   bool          // all of them are rejected
}

type writesOptions struct {
	logger *slog.Logger
	now    func() time.Time
	life   *lifecycle
	writer *writer
}

func newWrites(o writesOptions) writes {
	return writes{writesOptions: o, admission: newAdmission(o.life), batchCalls: make(chan struct{}, batchCalls)}
}

func (s writes) Append(call api.Streams_AppendServer) error {
	if err := s.life.ready(); err != nil {
		return answerError(s.logger, err, call.SetTrailer)
	}
	slot, err := s.admission.enter(call.Context())
	if err != nil {
		return answerError(s.logger, err, call.SetTrailer)
	}
	r, err := s.receiveAppend(call, slot)
	if err != nil {
		slot.leave()
		return answerError(s.logger, err, call.SetTrailer)
	}
	out, err := s.writer.submit(call.Context(), r)
	switch {
	case err != nil:
		return answerError(s.logger, err, call.SetTrailer)
	case out.verdict == streamDeleted:
		return answerError(s.logger, refuseDeleted(r.stream), call.SetTrailer)
	}
	return call.SendAndClose(appendResponse(r, out))
}

// receiveAppend receives a whole call, which takes its slot with it.
func (s writes) receiveAppend(call api.Streams_AppendServer, slot *slot) (*request, error) {
	first, err := call.Recv()
	if errors.Is(err, io.EOF) {
		return nil, invalid("an append begins with its options")
	}
	if err != nil {
		return nil, err
	}
	r, refused := newAppend(first, slot)
	if s.readOnly {
		refused = refuseAccess()
	}
	size := 0
	for {
		message, err := call.Recv()
		switch {
		case errors.Is(err, io.EOF):
			return r, refused
		case err != nil:
			return nil, err
		}
		event := message.GetProposedMessage()
		size += eventSize(event)
		if refused == nil {
			refused = r.propose(message, event, size)
		}
		if refused == nil {
			refused = slot.fit(call.Context(), len(r.events), size)
		}
		if refused != nil && size > discarded {
			return nil, refused
		}
	}
}

func newAppend(first *api.AppendReq, slot *slot) (*request, error) {
	options := first.GetOptions()
	if options == nil {
		return nil, invalid("an append begins with its options")
	}
	expected, err := expectation(options)
	if err != nil {
		return nil, err
	}
	stream, err := writableName(options.GetStreamIdentifier())
	return &request{act: actAppend, stream: stream, expected: expected, slot: slot}, err
}

// propose takes one more event into the request; size is that of all so far.
func (r *request) propose(message *api.AppendReq, event *api.AppendReq_ProposedMessage, size int) error {
	if event == nil {
		return invalid("an append has its options once, and then events: %T", message.GetContent())
	}
	if size > maxAppend {
		return refuseSize()
	}
	e, err := newProposed(event)
	r.events = append(r.events, e)
	return err
}

func newProposed(m *api.AppendReq_ProposedMessage) (proposed, error) {
	kind, hasKind := m.GetMetadata()[metaType]
	content, hasContent := m.GetMetadata()[metaContentType]
	if !hasKind || !hasContent {
		return proposed{}, refuseMissingMetadata()
	}
	if kind == "" {
		return proposed{}, invalid("an event's type is empty")
	}
	id, err := eventID(m.GetId())
	return proposed{
		id:       id,
		json:     content == contentJSON,
		kind:     kind,
		data:     string(m.GetData()),
		metadata: string(m.GetCustomMetadata()),
	}, err
}

func eventSize(m *api.AppendReq_ProposedMessage) int {
	return len(m.GetData()) + len(m.GetCustomMetadata()) + 2*utf16Len(m.GetMetadata()[metaType])
}

// utf16Len is a text's length as clients of the platform that EventStoreDB was
// written for count it.
func utf16Len(text string) int {
	n := 0
	for _, c := range text {
		n++
		if c > math.MaxUint16 {
			n++
		}
	}
	return n
}

// writableName checks the name of a stream that is written: those of links are
// the node's own.
func writableName(m *shared.StreamIdentifier) (string, error) {
	name, err := streamName(m)
	if err == nil && isDerived(name) {
		err = refuseAccess()
	}
	return name, err
}

func expectation(options *api.AppendReq_Options) (int64, error) {
	switch e := options.GetExpectedStreamRevision().(type) {
	case *api.AppendReq_Options_Revision:
		return exactly(e.Revision)
	case *api.AppendReq_Options_NoStream:
		return expectNoStream, nil
	case *api.AppendReq_Options_Any:
		return expectAny, nil
	case *api.AppendReq_Options_StreamExists:
		return expectExists, nil
	}
	return 0, invalid("the expected revision is missing")
}

func exactly(revision uint64) (int64, error) {
	if revision > math.MaxInt64 {
		return 0, invalid("no stream has revision %d", revision)
	}
	return int64(revision), nil
}

func appendResponse(r *request, out outcome) *api.AppendResp {
	if out.verdict == wrongVersion {
		return &api.AppendResp{Result: &api.AppendResp_WrongExpectedVersion_{WrongExpectedVersion: wrongVersionResponse(r.expected, out.current)}}
	}
	success := &api.AppendResp_Success{
		CurrentRevisionOption: &api.AppendResp_Success_CurrentRevision{CurrentRevision: uint64(out.current)},
		PositionOption: &api.AppendResp_Success_Position{Position: &api.AppendResp_Position{
			CommitPosition: out.position, PreparePosition: out.position,
		}},
	}
	if out.current < 0 {
		success.CurrentRevisionOption = &api.AppendResp_Success_NoStream{NoStream: &shared.Empty{}}
	}
	if out.position == 0 {
		success.PositionOption = &api.AppendResp_Success_NoPosition{NoPosition: &shared.Empty{}}
	}
	return &api.AppendResp{Result: &api.AppendResp_Success_{Success: success}}
}

// wrongVersionResponse names both revisions, for clients of before and after
// 20.6.1.
func wrongVersionResponse(expected, current int64) *api.AppendResp_WrongExpectedVersion {
	m := &api.AppendResp_WrongExpectedVersion{}
	empty := &shared.Empty{}
	if current < 0 {
		m.CurrentRevisionOption_20_6_0 = &api.AppendResp_WrongExpectedVersion_NoStream_20_6_0{NoStream_20_6_0: empty}
		m.CurrentRevisionOption = &api.AppendResp_WrongExpectedVersion_CurrentNoStream{CurrentNoStream: empty}
	} else {
		m.CurrentRevisionOption_20_6_0 = &api.AppendResp_WrongExpectedVersion_CurrentRevision_20_6_0{CurrentRevision_20_6_0: uint64(current)}
		m.CurrentRevisionOption = &api.AppendResp_WrongExpectedVersion_CurrentRevision{CurrentRevision: uint64(current)}
	}
	switch expected {
	case expectAny:
		m.ExpectedRevisionOption_20_6_0 = &api.AppendResp_WrongExpectedVersion_Any_20_6_0{Any_20_6_0: empty}
		m.ExpectedRevisionOption = &api.AppendResp_WrongExpectedVersion_ExpectedAny{ExpectedAny: empty}
	case expectExists:
		m.ExpectedRevisionOption_20_6_0 = &api.AppendResp_WrongExpectedVersion_StreamExists_20_6_0{StreamExists_20_6_0: empty}
		m.ExpectedRevisionOption = &api.AppendResp_WrongExpectedVersion_ExpectedStreamExists{ExpectedStreamExists: empty}
	case expectNoStream:
		m.ExpectedRevisionOption_20_6_0 = &api.AppendResp_WrongExpectedVersion_ExpectedRevision_20_6_0{ExpectedRevision_20_6_0: math.MaxUint64}
		m.ExpectedRevisionOption = &api.AppendResp_WrongExpectedVersion_ExpectedNoStream{ExpectedNoStream: empty}
	default:
		m.ExpectedRevisionOption_20_6_0 = &api.AppendResp_WrongExpectedVersion_ExpectedRevision_20_6_0{ExpectedRevision_20_6_0: uint64(expected)}
		m.ExpectedRevisionOption = &api.AppendResp_WrongExpectedVersion_ExpectedRevision{ExpectedRevision: uint64(expected)}
	}
	return m
}
