package writes

import (
	"context"
	"errors"
	"io"
	"sync"
	"time"

	"github.com/EventStore/EventStore-Client-Go/v4/protos/shared"
	api "github.com/EventStore/EventStore-Client-Go/v4/protos/streams"
	"github.com/google/uuid"
	"golang.org/x/sync/errgroup"
	rpc "google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"
	"google.golang.org/protobuf/types/known/emptypb"

	"hexarena/eventstore/node/recent"
	"hexarena/eventstore/node/wire"
	"hexarena/eventstore/node/writer"
)

// These are the limits of BatchAppend: how many incomplete appends one call may have, and
// how many calls may be open.
const (
	batchesOpen  = 1024
	batchesBytes = 16 << 20 // as large as the largest message, so that the largest append fits
	batchCalls   = 64
)

// The type batches is the state of one call to BatchAppend. The client sends several
// appends, in messages that may be interleaved, and does not wait for the responses. If
// one append fails, the response to that append contains the error, and the call
// continues. The writer decides the appends in the order in which they become complete,
// and the client gets the outcomes in the same order. An append that does not become
// complete within its deadline gets an error.
type batches struct {
	Writes
	call    api.Streams_BatchAppendServer
	pending chan *batch // complete appends that have no response yet, in their order

	mu     sync.Mutex                       // guards the fields below, and the appends in open
	open   map[uuid.UUID]*batch             // incomplete appends by correlation id
	bytes  int                              // total size of the events in open
	late   *recent.Map[uuid.UUID, struct{}] // appends that missed their deadline before they became complete
	timers sync.WaitGroup                   // the deadlines of the appends in open

	sending sync.Mutex
}

// batch is one append of a call.
type batch struct {
	writer.Request
	answer  *api.BatchAppendResp // initially contains the fields that are copied from the request
	began   time.Time
	within  time.Duration // the time limit for the response
	size    appendSize    // the size of its events; zero if the append is rejected
	refused error         // why the append is rejected
	timer   *time.Timer   // its deadline, while it is incomplete
}

// BatchAppend receives appends until the client closes its sending side.
func (s Writes) BatchAppend(call api.Streams_BatchAppendServer) error {
	select {
	case s.batchCalls <- struct{}{}:
		defer func() { <-s.batchCalls }()
	default:
		return status.Errorf(codes.ResourceExhausted, "%d BatchAppend calls are already open", batchCalls)
	}
	b := &batches{
		Writes: s, call: call, pending: make(chan *batch, batchesOpen),
		open: map[uuid.UUID]*batch{}, late: recent.New[uuid.UUID, struct{}](batchesOpen),
	}
	answers := new(errgroup.Group)
	answers.Go(b.answer)
	err := b.receive()
	incomplete := b.abandon()
	close(b.pending)
	if err != nil {
		_ = answers.Wait() // no answer may be sent after the call has ended
		return err
	}
	for _, one := range incomplete {
		answers.Go(func() error { return b.expire(one) })
	}
	return answers.Wait()
}

// receive handles messages until the client closes its sending side.
func (b *batches) receive() error {
	for {
		m, err := b.call.Recv()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err == nil {
			err = b.take(m)
		}
		if err != nil {
			return err
		}
	}
}

// answer sends the responses to complete appends, and returns the first error. There is
// one goroutine for all of them, because a goroutine for each append would have to grow
// its stack for each response. So an append may have to wait for the deadline of an
// earlier one, even if its own deadline is shorter.
func (b *batches) answer() (failed error) {
	for one := range b.pending {
		out, err := b.await(one)
		if err == nil {
			err = b.respond(one, out)
		} else {
			err = b.refuse(one, err)
		}
		if failed == nil {
			failed = err
		}
	}
	return failed
}

// await waits for the outcome of an append. Most outcomes are already known, because the
// appends share a sync.
func (b *batches) await(one *batch) (writer.Outcome, error) {
	if out, known := one.Outcome(); known {
		return out, nil
	}
	ctx, cancel := context.WithDeadline(b.call.Context(), one.began.Add(one.within))
	defer cancel()
	return b.Await(ctx, &one.Request)
}

// abandon returns the incomplete appends, whose remaining parts will never arrive.
func (b *batches) abandon() (incomplete []*batch) {
	b.mu.Lock()
	for id, one := range b.open {
		b.remove(id, one)
		incomplete = append(incomplete, one)
	}
	b.mu.Unlock()
	b.timers.Wait()
	return incomplete
}

// The method take() handles one message. An error ends the call.
func (b *batches) take(m *api.BatchAppendReq) error {
	id, err := wire.EventID(m.GetCorrelationId())
	if err != nil {
		return b.refuse(&batch{answer: &api.BatchAppendResp{CorrelationId: m.GetCorrelationId()}}, wire.Invalid("a correlation id is missing or is not a UUID"))
	}
	one, err := b.collect(id, m)
	switch {
	case err != nil || one == nil:
		return err
	case one.refused != nil:
		return b.refuse(one, one.refused)
	}
	return b.submit(one)
}

// collect adds a message to its append. It returns the append once it is complete.
func (b *batches) collect(id uuid.UUID, m *api.BatchAppendReq) (*batch, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	one, known := b.open[id]
	if !known {
		if _, late := b.late.Get(id); late && m.GetOptions() == nil {
			return nil, nil // it has its response
		}
		one = b.begin(m)
	}
	before := one.size.all
	b.propose(one, m.GetProposedMessages())
	b.bytes += one.size.all - before
	switch {
	case m.GetIsFinal():
		b.remove(id, one)
		return one, nil
	case !known:
		b.open[id] = one
		b.timers.Add(1)
		one.timer = time.AfterFunc(one.within-time.Since(one.began), func() {
			defer b.timers.Done()
			b.missed(id, one)
		})
	}
	if len(b.open) > batchesOpen || b.bytes > batchesBytes {
		return nil, status.Errorf(codes.ResourceExhausted, "too many incomplete appends: %d, with %d bytes", len(b.open), b.bytes)
	}
	return nil, nil
}

// remove forgets an incomplete append. The caller holds the lock mu.
func (b *batches) remove(id uuid.UUID, one *batch) {
	delete(b.open, id)
	b.bytes -= one.size.all
	if one.timer != nil && one.timer.Stop() {
		b.timers.Done()
	}
}

// missed responds to an append that is still incomplete at its deadline.
func (b *batches) missed(id uuid.UUID, one *batch) {
	b.mu.Lock()
	missed := b.open[id] == one
	if missed {
		b.remove(id, one)
		b.late.Put(id, struct{}{})
	}
	b.mu.Unlock()
	if missed {
		_ = b.expire(one) // fails only if the connection is broken, and then the call ends
	}
}

// expire sends the error for an append that did not become complete.
func (b *batches) expire(one *batch) error {
	if one.refused != nil {
		return b.refuse(one, one.refused)
	}
	return b.refuse(one, context.DeadlineExceeded)
}

// begin reads an append's options, which are in its first message.
func (b *batches) begin(m *api.BatchAppendReq) *batch {
	o := m.GetOptions()
	one := &batch{began: time.Now(), within: b.commitTimeout, answer: &api.BatchAppendResp{CorrelationId: m.GetCorrelationId()}}
	if o == nil {
		one.refused = errNoOptions
		return one
	}
	one.answer.StreamIdentifier = o.GetStreamIdentifier()
	if err := one.expect(o); err != nil {
		one.refused = err
		return one
	}
	one.Stream, one.refused = writableName(o.GetStreamIdentifier())
	if b.ReadOnly {
		one.refused = wire.RefuseAccess()
	}
	one.readDeadline(o, b.Now())
	return one
}

func (one *batch) expect(o *api.BatchAppendReq_Options) (err error) {
	switch e := o.GetExpectedStreamPosition().(type) {
	case *api.BatchAppendReq_Options_StreamPosition:
		one.answer.ExpectedStreamPosition = &api.BatchAppendResp_StreamPosition{StreamPosition: e.StreamPosition}
		one.Expected, err = exactly(e.StreamPosition)
	case *api.BatchAppendReq_Options_NoStream:
		one.answer.ExpectedStreamPosition = &api.BatchAppendResp_NoStream{NoStream: e.NoStream}
		one.Expected = writer.NoStream
	case *api.BatchAppendReq_Options_Any:
		one.answer.ExpectedStreamPosition = &api.BatchAppendResp_Any{Any: e.Any}
		one.Expected = writer.Any
	case *api.BatchAppendReq_Options_StreamExists:
		one.answer.ExpectedStreamPosition = &api.BatchAppendResp_StreamExists{StreamExists: e.StreamExists}
		one.Expected = writer.StreamExists
	default:
		err = errNoExpectation
	}
	return err
}

// readDeadline reads a deadline, in the form that clients before 21.10 send or in
// the form that later clients send.
func (one *batch) readDeadline(o *api.BatchAppendReq_Options, now time.Time) {
	switch d := o.GetDeadlineOption().(type) {
	case *api.BatchAppendReq_Options_Deadline:
		one.within = min(one.within, d.Deadline.AsDuration())
	case *api.BatchAppendReq_Options_Deadline_21_10_0:
		one.within = min(one.within, d.Deadline_21_10_0.AsTime().Sub(now))
	}
}

// propose adds events to an append.
func (b *batches) propose(one *batch, events []*api.BatchAppendReq_ProposedMessage) {
	for _, e := range events {
		if one.refused != nil {
			return
		}
		one.size.add(e)
		if one.refused = b.checkSize(one.size); one.refused != nil {
			one.size, one.Events = appendSize{}, nil
			return
		}
		p, err := newProposed(e)
		one.Events, one.refused = append(one.Events, p), err
	}
}

// submit waits for admission and passes an append to the writer. The method answer()
// sends the response later.
func (b *batches) submit(one *batch) error {
	ctx := b.call.Context()
	var err error
	if one.Slot, err = b.admission.Enter(ctx); err != nil {
		return err
	}
	if err := one.Slot.Fit(ctx, len(one.Events), one.size.all); err != nil {
		one.Slot.Leave()
		return err
	}
	if time.Since(one.began) >= one.within {
		one.Slot.Leave()
		return b.refuse(one, context.DeadlineExceeded)
	}
	if err := b.Begin(&one.Request); err != nil {
		return err
	}
	b.pending <- one
	return nil
}

// respond sends the outcome of an append that the writer has decided.
func (b *batches) respond(one *batch, out writer.Outcome) error {
	switch out.Verdict {
	case writer.WrongVersion:
		return b.fail(one, codes.AlreadyExists, "the stream is not at the expected revision", wrongVersionDetail(one.Expected, out.Current))
	case writer.StreamDeleted:
		return b.fail(one, codes.NotFound, "the stream is deleted", &shared.StreamDeleted{StreamIdentifier: one.answer.GetStreamIdentifier()})
	}
	success := &api.BatchAppendResp_Success{
		CurrentRevisionOption: &api.BatchAppendResp_Success_CurrentRevision{CurrentRevision: uint64(out.Current)},
		PositionOption: &api.BatchAppendResp_Success_Position{
			Position: &shared.AllStreamPosition{CommitPosition: out.Position, PreparePosition: out.Position},
		},
	}
	if out.Current < 0 {
		success.CurrentRevisionOption = &api.BatchAppendResp_Success_NoStream{NoStream: &emptypb.Empty{}}
	}
	if out.Position == 0 {
		success.PositionOption = &api.BatchAppendResp_Success_NoPosition{NoPosition: &emptypb.Empty{}}
	}
	one.answer.Result = &api.BatchAppendResp_Success_{Success: success}
	return b.send(one)
}

// refuse sends an error for an append that the writer has not decided. An error that
// the client did not cause ends the call.
func (b *batches) refuse(one *batch, why error) error {
	var r *wire.Refusal
	switch {
	case errors.Is(why, context.DeadlineExceeded):
		return b.fail(one, codes.DeadlineExceeded, "the append took too long", &shared.Timeout{})
	case !errors.As(why, &r):
		return why
	case r.Code == codes.PermissionDenied:
		return b.fail(one, r.Code, r.Message, &shared.AccessDenied{})
	case r.IsTooLarge():
		return b.fail(one, codes.InvalidArgument, r.Message, &shared.MaximumAppendSizeExceeded{MaxAppendSize: uint32(b.maxAppend)})
	case r.Code == codes.ResourceExhausted:
		return b.fail(one, r.Code, r.Message, &shared.BadRequest{Message: r.Message})
	}
	return b.fail(one, codes.InvalidArgument, r.Message, &shared.BadRequest{Message: r.Message})
}

func (b *batches) fail(one *batch, code codes.Code, message string, detail proto.Message) error {
	packed, err := anypb.New(detail)
	if err != nil {
		return err
	}
	one.answer.Result = &api.BatchAppendResp_Error{Error: &rpc.Status{Code: int32(code), Message: message, Details: []*anypb.Any{packed}}}
	return b.send(one)
}

func (b *batches) send(one *batch) error {
	b.sending.Lock()
	defer b.sending.Unlock()
	return b.call.Send(one.answer)
}

func wrongVersionDetail(expected, current int64) *shared.WrongExpectedVersion {
	m := &shared.WrongExpectedVersion{
		CurrentStreamRevisionOption: &shared.WrongExpectedVersion_CurrentStreamRevision{CurrentStreamRevision: uint64(current)},
	}
	if current < 0 {
		m.CurrentStreamRevisionOption = &shared.WrongExpectedVersion_CurrentNoStream{CurrentNoStream: &emptypb.Empty{}}
	}
	switch expected {
	case writer.Any:
		m.ExpectedStreamPositionOption = &shared.WrongExpectedVersion_ExpectedAny{ExpectedAny: &emptypb.Empty{}}
	case writer.StreamExists:
		m.ExpectedStreamPositionOption = &shared.WrongExpectedVersion_ExpectedStreamExists{ExpectedStreamExists: &emptypb.Empty{}}
	case writer.NoStream:
		m.ExpectedStreamPositionOption = &shared.WrongExpectedVersion_ExpectedNoStream{ExpectedNoStream: &emptypb.Empty{}}
	default:
		m.ExpectedStreamPositionOption = &shared.WrongExpectedVersion_ExpectedStreamPosition{ExpectedStreamPosition: uint64(expected)}
	}
	return m
}
