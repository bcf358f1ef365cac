package node

import (
	"net"
	"testing"

	"github.com/EventStore/EventStore-Client-Go/v4/esdb"
	"github.com/EventStore/EventStore-Client-Go/v4/protos/shared"
	api "github.com/EventStore/EventStore-Client-Go/v4/protos/streams"
	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"

	"hexarena/eventstore/node/wire"
	"hexarena/eventstore/node/writer"
)

// readOnly returns the same node behind a listener that rejects writes.
func (f *fixture) readOnly() *fixture {
	f.t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(f.t, err)
	served := make(chan error, 1)
	go func() { served <- f.node.ServeReadOnly(l) }()
	conn, err := grpc.NewClient(l.Addr().String(), grpc.WithTransportCredentials(insecure.NewCredentials()))
	require.NoError(f.t, err)
	f.t.Cleanup(func() {
		require.NoError(f.t, conn.Close())
		require.NoError(f.t, f.node.Close())
		require.NoError(f.t, <-served)
	})
	return &fixture{t: f.t, ctx: f.ctx, node: f.node, addr: l.Addr().String(), l: l, conn: conn, streams: api.NewStreamsClient(conn)}
}

// On a read-only listener, reads and subscriptions work, including persistent
// subscriptions. The node rejects every write, even the largest append, with the error
// that clients expect.
func TestReadOnly(t *testing.T) {
	f := serve(t)
	public := f.readOnly()
	f.must("s", writer.Any, fresh(2)...)
	require.Len(t, public.events(ofStream("s")), 2)
	require.Len(t, public.events(ofAll), 2)
	live := public.subscribe(ofStream("s"), theEnd).confirmed().caughtUp()

	client := public.official()
	denied := func(err error) {
		t.Helper()
		require.Equal(t, esdb.ErrorCodeAccessDenied, code(t, err))
	}
	_, err := client.AppendToStream(f.ctx, "s", esdb.AppendToStreamOptions{ExpectedRevision: esdb.Any{}}, esdb.EventData{EventType: "T"})
	denied(err)
	_, err = client.AppendToStream(f.ctx, "s", esdb.AppendToStreamOptions{ExpectedRevision: esdb.Any{}}, esdb.EventData{EventType: "T", Data: make([]byte, wire.MaxAppend)})
	denied(err)
	_, err = client.SetStreamMetadata(f.ctx, "s", esdb.AppendToStreamOptions{ExpectedRevision: esdb.Any{}}, maxCountOf(1))
	denied(err)
	_, err = client.DeleteStream(f.ctx, "s", esdb.DeleteStreamOptions{ExpectedRevision: esdb.Any{}})
	denied(err)
	_, err = client.TombstoneStream(f.ctx, "s", esdb.TombstoneStreamOptions{ExpectedRevision: esdb.Any{}})
	denied(err)
	require.Equal(t, []string{"access-denied"}, public.append("s", writer.Any, fresh(1)...).trailers.Get("exception"))
	refusedWith[*shared.AccessDenied](t, public.batches().one(batchOptions("s", writer.Any), fresh(1)...), codes.PermissionDenied, "AccessDenied")

	team := public.team("s", settings(checkpointing))
	w := team.join(2)
	w.ack(w.next(0))
	team.untilData(team.checkpoint(), `"0"`)
	w.nack(esdb.NackActionPark, w.next(0))
	team.until(team.parked(), 1)

	id := uuid.New()
	f.must("s", 1, wireEvent("T", id, "{}"))
	require.EqualValues(t, 2, live.event().GetStreamRevision())
	require.Len(t, public.events(ofStream("s")), 3)
}

// The normal and the read-only listener close when the node closes.
func TestReadOnlyEndsWithTheNode(t *testing.T) {
	f := serve(t)
	public := f.readOnly()
	live := public.subscribe(ofAll).confirmed()
	require.NoError(t, f.node.Close())
	for {
		m, err := live.call.Recv()
		if err != nil {
			break
		}
		require.NotNil(t, m)
	}
	_, err := public.l.Accept()
	require.ErrorIs(t, err, net.ErrClosed)
}
