// Package nodebench contains the parts of `arena bench log` that need the protocol.
// Batches appends through BatchAppend, which the official client does not support.
// NewBareServer returns a gRPC server that stores nothing, to compare a node with.
package nodebench

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/EventStore/EventStore-Client-Go/v4/protos/shared"
	api "github.com/EventStore/EventStore-Client-Go/v4/protos/streams"
	"github.com/google/uuid"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/protobuf/types/known/emptypb"

	"hexarena/eventstore/node/record"
	"hexarena/eventstore/node/wire"
)

// Batches appends events to n new streams until the given time, and returns how many it
// has appended. It uses one BatchAppend call. Each stream gets the next event, at an
// exact revision, after the response to the previous one.
func Batches(ctx context.Context, address string, n int, until time.Time, data, metadata []byte) (appends int, err error) {
	conn, err := grpc.NewClient(address, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, conn.Close()) }()
	call, err := api.NewStreamsClient(conn).BatchAppend(ctx)
	if err != nil {
		return 0, err
	}
	send := func(o *api.BatchAppendReq_Options) error {
		return call.Send(&api.BatchAppendReq{
			CorrelationId: wire.StructuredUUID(uuid.New()), Options: o, IsFinal: true,
			ProposedMessages: []*api.BatchAppendReq_ProposedMessage{{
				Id:       wire.StructuredUUID(uuid.New()),
				Metadata: map[string]string{wire.MetaType: "ActionPlayed", wire.MetaContentType: wire.ContentJSON},
				Data:     data, CustomMetadata: metadata,
			}},
		})
	}
	for i := range n {
		o := &api.BatchAppendReq_Options{
			StreamIdentifier:       &shared.StreamIdentifier{StreamName: fmt.Appendf(nil, "batch-%d", i)},
			ExpectedStreamPosition: &api.BatchAppendReq_Options_NoStream{NoStream: &emptypb.Empty{}},
		}
		if err := send(o); err != nil {
			return 0, err
		}
	}
	for open := n; open > 0; {
		m, err := call.Recv()
		if err != nil {
			return appends, err
		}
		if m.GetSuccess() == nil {
			return appends, fmt.Errorf("an append was rejected: %v", m.GetError())
		}
		appends++
		if time.Now().After(until) {
			open--
			continue
		}
		o := &api.BatchAppendReq_Options{
			StreamIdentifier:       m.GetStreamIdentifier(),
			ExpectedStreamPosition: &api.BatchAppendReq_Options_StreamPosition{StreamPosition: m.GetSuccess().GetCurrentRevision()},
		}
		if err := send(o); err != nil {
			return appends, err
		}
	}
	return appends, call.CloseSend()
}

// NewBareServer returns a server that answers appends without storing them. Its $all
// contains two events again and again. A server that stores events can hardly be faster
// with the same client.
func NewBareServer(data, metadata []byte) *grpc.Server {
	b := bare{}
	for i := range b.events {
		r := record.Record{
			Position: uint64(i + 1), ID: uuid.New(), JSON: true,
			Stream: "bench-1", Type: "ActionPlayed", Data: string(data), Metadata: string(metadata),
		}
		b.events[i] = wire.AppendReadEvent(nil, record.Resolved{Event: &r}, false)
	}
	s := grpc.NewServer(grpc.ForceServerCodecV2(wire.NewCodec()))
	api.RegisterStreamsServer(s, b)
	return s
}

type bare struct {
	api.UnimplementedStreamsServer
	events [2]wire.Frame // two, because the client drops an event with the position of the previous one
}

// Append responds as soon as the client has sent its events.
func (b bare) Append(call api.Streams_AppendServer) error {
	for {
		if _, err := call.Recv(); err != nil {
			return call.SendAndClose(&api.AppendResp{Result: &api.AppendResp_Success_{Success: &api.AppendResp_Success{
				CurrentRevisionOption: &api.AppendResp_Success_CurrentRevision{CurrentRevision: 1},
				PositionOption:        &api.AppendResp_Success_Position{Position: &api.AppendResp_Position{CommitPosition: 1, PreparePosition: 1}},
			}}})
		}
	}
}

// bareEvents is the largest number of events in a read.
const bareEvents = 100_000

func (b bare) Read(m *api.ReadReq, call api.Streams_ReadServer) error {
	for i := range min(bareEvents, m.GetOptions().GetCount()) {
		if err := call.SendMsg(&b.events[i%2]); err != nil {
			return err
		}
	}
	return nil
}
