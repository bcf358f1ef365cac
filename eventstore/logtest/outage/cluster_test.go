package outage_test

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	es "github.com/EventStore/EventStore-Client-Go/v4/esdb"
	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"hexarena/eventstore/logtest/outage"
)

// connect returns a client of one node.
func connect(t *testing.T, address string) *es.Client {
	t.Helper()
	config, err := es.ParseConnectionString(address)
	require.NoError(t, err)
	config.Logger = es.NoopLogging()
	client, err := es.NewClient(config)
	require.NoError(t, err)
	t.Cleanup(func() { client.Close() })
	return client
}

// appendOne appends an event. If the call ends while the client is still sending, gRPC
// returns io.EOF, and the client never reads the server's status. The next try gets a
// status.
func appendOne(ctx context.Context, c *es.Client) error {
	for {
		_, err := c.AppendToStream(ctx, "double-1", es.AppendToStreamOptions{ExpectedRevision: es.Any{}},
			es.EventData{EventID: uuid.New(), EventType: "Counted", ContentType: es.ContentTypeJson, Data: []byte(`{}`)})
		if !errors.Is(err, io.EOF) {
			return err
		}
	}
}

// count returns the number of events of the stream that appendOne writes.
func count(ctx context.Context, c *es.Client) (n int, err error) {
	r, err := c.ReadStream(ctx, "double-1", es.ReadStreamOptions{From: es.Start{}}, 1000)
	if err != nil {
		return 0, err
	}
	defer r.Close()
	for ; ; n++ {
		if _, err := r.Recv(); err != nil {
			var own *es.Error
			if errors.Is(err, io.EOF) || errors.As(err, &own) && own.Code() == es.ErrorCodeResourceNotFound {
				return n, nil
			}
			return n, err
		}
	}
}

// answer describes the outcome of a call in one word.
func answer(err error) string {
	var own *es.Error
	switch {
	case err == nil:
		return "served"
	case errors.As(err, &own) && own.Code() == es.ErrorCodeNotLeader:
		return "not leader"
	}
	return strings.ToLower(status.Code(err).String())
}

// Each state answers as the real nodes do.
func TestClusterStates(t *testing.T) {
	for _, row := range []struct {
		state                                                    outage.State
		appendToLeader, appendToAny, readFromLeader, readFromAny string
	}{
		{outage.Leader, "served", "served", "served", "served"},
		{outage.Follower, "not leader", "served", "not leader", "served"},
		{outage.CatchingUp, "not leader", "aborted", "not leader", "served"},
		{outage.PreLeader, "unavailable", "unavailable", "unavailable", "unavailable"},
		{outage.Unknown, "unavailable", "unavailable", "unavailable", "unavailable"},
		{outage.Discovering, "unavailable", "unavailable", "unavailable", "unavailable"},
		{outage.Alone, "aborted", "aborted", "served", "served"},
		{outage.Doubtful, "aborted", "aborted", "served", "served"},
		{outage.Down, "unavailable", "unavailable", "unavailable", "unavailable"},
	} {
		t.Run(row.state.String(), func(t *testing.T) {
			t.Parallel()
			c := outage.NewCluster(t, 3, outage.Brisk)
			leader := metadata.AppendToOutgoingContext(t.Context(), "requires-leader", "true")
			node := 1
			if row.state == outage.Leader {
				node = 0
			}
			for _, call := range []struct {
				what string
				ctx  context.Context
				want string
				make func(context.Context, *es.Client) error
			}{
				{"append with the header", leader, row.appendToLeader, appendOne},
				{"append", t.Context(), row.appendToAny, appendOne},
				{"read with the header", leader, row.readFromLeader, func(ctx context.Context, c *es.Client) error { _, err := count(ctx, c); return err }},
				{"read", t.Context(), row.readFromAny, func(ctx context.Context, c *es.Client) error { _, err := count(ctx, c); return err }},
			} {
				client := connect(t, c.NodeAddress(node))
				_, err := client.GetServerVersion()
				require.NoError(t, err)
				c.SetState(node, row.state)
				ctx, cancel := context.WithTimeout(call.ctx, patience)
				require.Equal(t, call.want, answer(call.make(ctx, client)), call.what)
				cancel()
				c.SetState(node, outage.Follower)
				c.SetState(0, outage.Leader)
			}
		})
	}
}

// A subscription on a node without a leader stays open and silent. It ends when the
// node restarts.
func TestClusterSubscriptions(t *testing.T) {
	c := outage.NewCluster(t, 3, outage.Brisk)
	writer := connect(t, c.NodeAddress(0))
	sub, err := connect(t, c.NodeAddress(1)).SubscribeToAll(t.Context(), es.SubscribeToAllOptions{
		From: es.Start{}, Filter: &es.SubscriptionFilter{Type: es.StreamFilterType, Prefixes: []string{"double-"}},
	})
	require.NoError(t, err)
	arrived := make(chan string, 100)
	go func() {
		defer close(arrived)
		for {
			e := sub.Recv()
			switch {
			case e.SubscriptionDropped != nil:
				return
			case e.EventAppeared != nil:
				arrived <- e.EventAppeared.OriginalEvent().EventType
			}
		}
	}()
	await := func() {
		t.Helper()
		select {
		case _, open := <-arrived:
			require.True(t, open)
		case <-time.After(patience):
			require.Fail(t, "the event did not arrive")
		}
	}
	require.NoError(t, appendOne(t.Context(), writer))
	await()
	c.SetState(1, outage.Unknown)
	require.NoError(t, appendOne(t.Context(), writer))
	select {
	case <-arrived:
		require.Fail(t, "the subscription must be silent")
	case <-time.After(short):
	}
	c.SetState(1, outage.Follower)
	await()
	c.SetState(1, outage.Discovering)
	select {
	case _, open := <-arrived:
		require.False(t, open)
	case <-time.After(patience):
		require.Fail(t, "the subscription did not end")
	}
}

// A leader that is cut off acknowledges nothing, and the others do not have what it
// took. A rewound cluster has lost events that clients have read.
func TestClusterLosesEvents(t *testing.T) {
	c := outage.NewCluster(t, 3, outage.Brisk)
	at := func(node, want int) {
		t.Helper()
		n, err := count(t.Context(), connect(t, c.NodeAddress(node)))
		require.NoError(t, err)
		require.Equal(t, want, n)
	}
	require.NoError(t, appendOne(t.Context(), connect(t, c.NodeAddress(0))))
	mark := c.Mark()
	old := c.CutOffLeader(1)
	require.Equal(t, 0, old)
	require.Equal(t, 1, c.Leader())
	require.NoError(t, appendOne(t.Context(), connect(t, c.NodeAddress(1))))
	at(2, 2)
	c.SetState(old, outage.Alone)
	at(old, 1)
	c.Heal(old)
	at(old, 2)
	c.Rewind(mark, 2)
	require.Equal(t, 2, c.Leader())
	at(0, 1)
	require.NoError(t, appendOne(t.Context(), connect(t, c.NodeAddress(2))))
	at(1, 2)
}

// A held append waits at the leader, which does not store it before the release. If the
// leader changes its state, the append continues in the new state.
func TestClusterHoldsAnAppend(t *testing.T) {
	c := outage.NewCluster(t, 3, outage.Brisk)
	client := connect(t, c.NodeAddress(0))
	for n, end := range []struct {
		want string
		how  func(*outage.Held)
	}{
		{"served", (*outage.Held).Release},
		{"aborted", func(*outage.Held) { c.SetState(0, outage.Doubtful) }},
	} {
		held := c.Hold("Counted")
		done := make(chan error, 1)
		go func() { done <- appendOne(t.Context(), client) }()
		<-held.Arrived
		stored, err := count(t.Context(), connect(t, c.NodeAddress(2)))
		require.NoError(t, err)
		require.Equal(t, n, stored)
		end.how(held)
		require.Equal(t, end.want, answer(<-done))
	}
	c.Elect(1)
	stored, err := count(t.Context(), connect(t, c.NodeAddress(2)))
	require.NoError(t, err)
	require.Equal(t, 2, stored)
}
