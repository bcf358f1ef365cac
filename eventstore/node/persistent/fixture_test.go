package persistent

import (
	"context"
	"io"
	"log/slog"
	"sync"
	"testing"
	"time"

	api "github.com/EventStore/EventStore-Client-Go/v4/protos/persistent"
	"github.com/EventStore/EventStore-Client-Go/v4/protos/shared"
	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"

	"hexarena/eventstore/node/openlog"
	"hexarena/eventstore/node/streams"
	"hexarena/eventstore/node/wire"
	"hexarena/eventstore/node/writer"
)

// patience limits how long a test waits. No test result depends on its value.
const patience = 3 * time.Minute

// fixture is the service with an in-memory log. Tests call the service without a
// network.
type fixture struct {
	t   *testing.T
	ctx context.Context
	Service
	calls sync.WaitGroup // subscribers' calls, which must end before the store closes
}

func open(t *testing.T) *fixture {
	t.Helper()
	log, err := openlog.Open("log", vfs.NewMem(), slog.New(slog.DiscardHandler), time.Now)
	require.NoError(t, err)
	w, err := writer.New(log)
	require.NoError(t, err)
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	f := &fixture{t: t, ctx: ctx, Service: New(&streams.Reader{Log: log}, w, Quotas{})}
	t.Cleanup(func() {
		cancel()
		log.Life.Close()
		f.calls.Wait()
		log.Life.Wait()
		w.Stop()
		w.Wait()
		require.NoError(t, log.Store.Close())
	})
	return f
}

// append stores one event and returns its id and position.
func (f *fixture) append(stream string) (id uuid.UUID, position uint64) {
	f.t.Helper()
	id = uuid.New()
	out, err := f.writer.Submit(f.ctx, &writer.Request{Stream: stream, Expected: writer.Any, Events: []writer.Proposed{{ID: id, Type: "T"}}})
	require.NoError(f.t, err)
	return id, out.Position
}

// group creates a group that begins at the start of its source. The group saves a
// checkpoint after every ack or nack.
func (f *fixture) group(stream string, change ...func(*groupConfig)) *group {
	f.t.Helper()
	c := groupConfig{Stream: stream, Group: "g", groupSettings: groupSettings{
		MaxRetryCount: 10, LiveBufferSize: 500, HistoryBufferSize: 500, ReadBatchSize: 20,
		MinCheckpoint: 1, MaxCheckpoint: 1, Strategy: roundRobin,
	}}
	for _, c2 := range change {
		c2(&c)
	}
	require.NoError(f.t, f.groups.create(caller{owner: c.Owner}, c))
	g, err := f.groups.find(stream, "g")
	require.NoError(f.t, err)
	return g
}

// subscriber is a client's call to Read.
type subscriber struct {
	grpc.ServerStream
	*fixture
	requests chan *api.ReadReq
	sent     chan *api.ReadResp
	ended    chan error
}

// join calls Read for the group of a stream.
func (f *fixture) join(stream string, size int32) *subscriber {
	f.t.Helper()
	s := &subscriber{fixture: f, requests: make(chan *api.ReadReq, 16), sent: make(chan *api.ReadResp), ended: make(chan error, 1)}
	options := &api.ReadReq_Options{GroupName: "g", BufferSize: size}
	if stream == sourceAll {
		options.StreamOption = &api.ReadReq_Options_All{All: &shared.Empty{}}
	} else {
		options.StreamOption = &api.ReadReq_Options_StreamIdentifier{StreamIdentifier: &shared.StreamIdentifier{StreamName: []byte(stream)}}
	}
	s.requests <- &api.ReadReq{Content: &api.ReadReq_Options_{Options: options}}
	f.calls.Go(func() { s.ended <- s.Read(s) })
	return s
}

func (s *subscriber) Context() context.Context { return s.ctx }

func (s *subscriber) Recv() (*api.ReadReq, error) {
	select {
	case m := <-s.requests:
		return m, nil
	case <-s.ctx.Done():
		return nil, io.EOF
	}
}

func (s *subscriber) Send(m *api.ReadResp) error {
	select {
	case s.sent <- m:
		return nil
	case <-s.ctx.Done():
		return s.ctx.Err()
	}
}

func (s *subscriber) SendMsg(m any) error {
	decoded := &api.ReadResp{}
	if err := proto.Unmarshal(*m.(*wire.Frame), decoded); err != nil {
		return err
	}
	return s.Send(decoded)
}

// next returns the next message after the confirmation.
func (s *subscriber) next() *api.ReadResp_ReadEvent {
	s.t.Helper()
	for {
		select {
		case m := <-s.sent:
			if e := m.GetEvent(); e != nil {
				return e
			}
		case err := <-s.ended:
			s.t.Fatalf("the call ended: %v", err)
		case <-s.ctx.Done():
			s.t.Fatal("no message came")
		}
	}
}

func (s *subscriber) ack(e *api.ReadResp_ReadEvent) {
	s.requests <- &api.ReadReq{Content: &api.ReadReq_Ack_{Ack: &api.ReadReq_Ack{Ids: []*shared.UUID{e.GetEvent().GetId()}}}}
}

// The method until() waits for a condition, which it checks under the group's lock.
func (f *fixture) until(g *group, holds func() bool) {
	f.t.Helper()
	for {
		g.mu.Lock()
		ok := holds()
		g.mu.Unlock()
		if ok {
			return
		}
		require.NoError(f.t, f.ctx.Err())
		<-time.After(time.Millisecond)
	}
}
