// Package writes implements the calls that change streams: Append, BatchAppend, Delete
// and Tombstone. It checks clients' requests and passes them to the writer.
package writes

import (
	"errors"
	"io"
	"math"
	"time"

	"github.com/EventStore/EventStore-Client-Go/v4/protos/shared"
	api "github.com/EventStore/EventStore-Client-Go/v4/protos/streams"

	"hexarena/eventstore/node/categories"
	"hexarena/eventstore/node/wire"
	"hexarena/eventstore/node/writer"
)

// The node receives and drops up to this many bytes of a rejected call, so that a
// client that is still sending can read the error.
const discarded = 32 << 20

// Writes implements Append, BatchAppend, Delete and Tombstone.
type Writes struct {
	*writer.Writer
	ReadOnly      bool // reject every call
	maxAppend     int  // bytes of data in one append
	commitTimeout time.Duration
	admission     *writer.Admission
	batchCalls    chan struct{} // holds one element for each open BatchAppend call
}

// New returns a Writes that passes requests to w. The parameter maxAppend limits the data
// of one append, in bytes. The parameter commitTimeout limits how long an append of
// BatchAppend may wait for its response.
func New(w *writer.Writer, maxAppend int, commitTimeout time.Duration) Writes {
	return Writes{
		Writer: w, maxAppend: maxAppend, commitTimeout: commitTimeout,
		admission: writer.NewAdmission(w.Life), batchCalls: make(chan struct{}, batchCalls),
	}
}

// Append receives events and appends them to a stream.
func (s Writes) Append(call api.Streams_AppendServer) error {
	r := &writer.Request{Act: writer.Append}
	var err error
	if r.Slot, err = s.admission.Enter(call.Context()); err != nil {
		return err
	}
	o, err := s.receiveAppend(call, r)
	if err != nil {
		r.Slot.Leave()
		return err
	}
	out, err := s.Submit(call.Context(), r)
	if err == nil && out.Verdict == writer.StreamDeleted {
		err = wire.RefuseDeleted(r.Stream)
	}
	if err != nil {
		return err
	}
	return call.SendAndClose(appendResponse(o, out))
}

// receiveAppend receives all messages of a call and stores them in a request. It
// returns the call's options.
func (s Writes) receiveAppend(call api.Streams_AppendServer, r *writer.Request) (*api.AppendReq_Options, error) {
	first, err := call.Recv()
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	o := first.GetOptions()
	refused := readOptions(r, o)
	if s.ReadOnly {
		refused = wire.RefuseAccess()
	}
	var size appendSize
	for {
		message, err := call.Recv()
		switch {
		case errors.Is(err, io.EOF):
			return o, refused
		case err != nil:
			return nil, err
		}
		event := message.GetProposedMessage()
		size.add(event)
		if refused == nil {
			refused = s.propose(r, message, event, size)
		}
		if refused == nil {
			refused = r.Slot.Fit(call.Context(), len(r.Events), size.all)
		}
		if refused != nil && size.all > discarded {
			return nil, refused
		}
	}
}

var errNoOptions = wire.Invalid("an append must begin with its options")

func readOptions(r *writer.Request, o *api.AppendReq_Options) (err error) {
	if o == nil {
		return errNoOptions
	}
	if r.Expected, err = expectation(o, o.GetExpectedStreamRevision() != nil); err == nil {
		r.Stream, err = writableName(o.GetStreamIdentifier())
	}
	return err
}

// propose adds one event to a request. The parameter size is the size of all events
// so far.
func (s Writes) propose(r *writer.Request, message *api.AppendReq, event *api.AppendReq_ProposedMessage, size appendSize) error {
	if event == nil {
		return wire.Invalid("an append must have its options once and then only events, not %T", message.GetContent())
	}
	if err := s.checkSize(size); err != nil {
		return err
	}
	e, err := newProposed(event)
	r.Events = append(r.Events, e)
	return err
}

// The interface proposed is an event in a message of Append or BatchAppend.
type proposed interface {
	GetId() *shared.UUID
	GetMetadata() map[string]string
	GetCustomMetadata() []byte
	GetData() []byte
}

func newProposed(m proposed) (writer.Proposed, error) {
	kind, hasKind := m.GetMetadata()[wire.MetaType]
	content, hasContent := m.GetMetadata()[wire.MetaContentType]
	if !hasKind || !hasContent {
		return writer.Proposed{}, wire.RefuseMissingMetadata()
	}
	if kind == "" {
		return writer.Proposed{}, wire.Invalid("an event's type is empty")
	}
	id, err := wire.EventID(m.GetId())
	return writer.Proposed{
		ID:       id,
		JSON:     content == wire.ContentJSON,
		Type:     kind,
		Data:     string(m.GetData()),
		Metadata: string(m.GetCustomMetadata()),
	}, err
}

// appendSize is the size of the events of one append, in bytes.
type appendSize struct {
	events int
	data   int // this counts for the client
	all    int // data, metadata and types: this uses memory
}

func (s *appendSize) add(m proposed) {
	s.events++
	s.data += len(m.GetData())
	s.all += len(m.GetData()) + len(m.GetCustomMetadata()) + len(m.GetMetadata()[wire.MetaType])
}

// checkSize rejects an append with too much data, or with so many events and so much
// metadata that it does not fit into memory.
func (s Writes) checkSize(size appendSize) error {
	if size.data > s.maxAppend {
		return wire.RefuseSize(s.maxAppend)
	}
	if memory := writer.Memory(size.events, size.all); memory > writer.MaxMemory {
		return wire.RefuseMemory(memory, writer.MaxMemory)
	}
	return nil
}

// writableName reads a stream's name and rejects link streams, because clients may not
// write to them.
func writableName(m *shared.StreamIdentifier) (string, error) {
	name, err := wire.StreamName(m)
	if err == nil && categories.IsDerived(name) {
		err = wire.RefuseAccess()
	}
	return name, err
}

// The interface expecting contains the methods that the options of Append, Delete and
// Tombstone have in common.
type expecting interface {
	GetRevision() uint64
	GetNoStream() *shared.Empty
	GetAny() *shared.Empty
	GetStreamExists() *shared.Empty
}

// expectation reads the expected revision, if it is set.
func expectation(o expecting, set bool) (int64, error) {
	switch {
	case !set:
		return 0, errNoExpectation
	case o.GetNoStream() != nil:
		return writer.NoStream, nil
	case o.GetAny() != nil:
		return writer.Any, nil
	case o.GetStreamExists() != nil:
		return writer.StreamExists, nil
	default:
		return exactly(o.GetRevision())
	}
}

var errNoExpectation = wire.Invalid("the expected revision is missing")

// exactly reads an exact expected revision. The highest number is -1 to clients with
// signed revisions, so it means that the stream must not exist.
func exactly(revision uint64) (int64, error) {
	switch {
	case revision == math.MaxUint64:
		return writer.NoStream, nil
	case revision > math.MaxInt64:
		return 0, wire.Invalid("no stream has revision %d", revision)
	}
	return int64(revision), nil
}

func appendResponse(o *api.AppendReq_Options, out writer.Outcome) *api.AppendResp {
	if out.Verdict == writer.WrongVersion {
		return &api.AppendResp{Result: &api.AppendResp_WrongExpectedVersion_{WrongExpectedVersion: wrongVersionResponse(o, out.Current)}}
	}
	success := &api.AppendResp_Success{
		CurrentRevisionOption: &api.AppendResp_Success_CurrentRevision{CurrentRevision: uint64(out.Current)},
		PositionOption: &api.AppendResp_Success_Position{Position: &api.AppendResp_Position{
			CommitPosition: out.Position, PreparePosition: out.Position,
		}},
	}
	if out.Current < 0 {
		success.CurrentRevisionOption = &api.AppendResp_Success_NoStream{NoStream: &shared.Empty{}}
	}
	if out.Position == 0 {
		success.PositionOption = &api.AppendResp_Success_NoPosition{NoPosition: &shared.Empty{}}
	}
	return &api.AppendResp{Result: &api.AppendResp_Success_{Success: success}}
}

// wrongVersionResponse returns a response with both revisions: the current one, and the
// expected one as the client sent it. It sets the fields for clients before version
// 20.6.1 and the fields for later clients.
func wrongVersionResponse(o *api.AppendReq_Options, current int64) *api.AppendResp_WrongExpectedVersion {
	m := &api.AppendResp_WrongExpectedVersion{}
	empty := &shared.Empty{}
	if current < 0 {
		m.CurrentRevisionOption_20_6_0 = &api.AppendResp_WrongExpectedVersion_NoStream_20_6_0{NoStream_20_6_0: empty}
		m.CurrentRevisionOption = &api.AppendResp_WrongExpectedVersion_CurrentNoStream{CurrentNoStream: empty}
	} else {
		m.CurrentRevisionOption_20_6_0 = &api.AppendResp_WrongExpectedVersion_CurrentRevision_20_6_0{CurrentRevision_20_6_0: uint64(current)}
		m.CurrentRevisionOption = &api.AppendResp_WrongExpectedVersion_CurrentRevision{CurrentRevision: uint64(current)}
	}
	switch {
	case o.GetAny() != nil:
		m.ExpectedRevisionOption_20_6_0 = &api.AppendResp_WrongExpectedVersion_Any_20_6_0{Any_20_6_0: empty}
		m.ExpectedRevisionOption = &api.AppendResp_WrongExpectedVersion_ExpectedAny{ExpectedAny: empty}
	case o.GetStreamExists() != nil:
		m.ExpectedRevisionOption_20_6_0 = &api.AppendResp_WrongExpectedVersion_StreamExists_20_6_0{StreamExists_20_6_0: empty}
		m.ExpectedRevisionOption = &api.AppendResp_WrongExpectedVersion_ExpectedStreamExists{ExpectedStreamExists: empty}
	case o.GetNoStream() != nil:
		m.ExpectedRevisionOption_20_6_0 = &api.AppendResp_WrongExpectedVersion_ExpectedRevision_20_6_0{ExpectedRevision_20_6_0: math.MaxUint64}
		m.ExpectedRevisionOption = &api.AppendResp_WrongExpectedVersion_ExpectedNoStream{ExpectedNoStream: empty}
	default:
		m.ExpectedRevisionOption_20_6_0 = &api.AppendResp_WrongExpectedVersion_ExpectedRevision_20_6_0{ExpectedRevision_20_6_0: o.GetRevision()}
		m.ExpectedRevisionOption = &api.AppendResp_WrongExpectedVersion_ExpectedRevision{ExpectedRevision: o.GetRevision()}
	}
	return m
}
