package esdb

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"strings"
	"testing"
	"time"

	es "github.com/EventStore/EventStore-Client-Go/v4/esdb"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"hexarena/eventstore"
	"hexarena/eventstore/logtest/outage"
)

// NotFound is not a decision: a node that is not the leader answers with it.
func TestDefiniteErrors(t *testing.T) {
	for c := codes.Canceled; c <= codes.Unauthenticated; c++ {
		want := map[codes.Code]bool{
			codes.InvalidArgument: true, codes.AlreadyExists: true, codes.PermissionDenied: true,
			codes.FailedPrecondition: true, codes.OutOfRange: true, codes.Unimplemented: true, codes.DataLoss: true,
			codes.Unauthenticated: true,
		}[c]
		require.Equal(t, want, definite(fmt.Errorf("wrapped: %w", status.Error(c, "said"))), c)
	}
	require.True(t, definite(panicked{"unreachable code"}))
	require.True(t, definite(status.Error(codes.ResourceExhausted, "grpc: received message larger than max (9 vs. 8)")))
	require.False(t, definite(io.EOF))
	require.False(t, definite(errSilent))
	require.False(t, answered(panicked{"unreachable code"}))
}

func TestCurrentRevision(t *testing.T) {
	for text, want := range map[string]eventstore.Expected{
		"wrong expected version: expecting '3' but got '12'":                    12,
		"wrong expected version: expecting 'no_stream' but got '0'":             0,
		"wrong expected version: expecting 'stream_exists' but got 'no_stream'": eventstore.NoStream,
	} {
		current, known := currentRevision(errors.New(text))
		require.True(t, known, text)
		require.Equal(t, want, current, text)
	}
	for _, text := range []string{"", "but got", "but got '-4'", "but got '99999999999999999999'"} {
		_, known := currentRevision(errors.New(text))
		require.False(t, known, text)
	}
}

func TestTranslate(t *testing.T) {
	said := status.Error(codes.PermissionDenied, "not\nfor you")
	require.EqualError(t, translate("read s", fmt.Errorf("deep: %w", said)), "read s: PermissionDenied: not for you")
	require.ErrorIs(t, translate("append to s", status.Error(codes.InvalidArgument, "Maximum Append Size of 1048576 Exceeded.")), eventstore.ErrTooLarge)
	require.ErrorIs(t, translate("append to s", fmt.Errorf("deep: %w", ErrClosed)), ErrClosed)
}

func TestGaveUp(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	err := gaveUp(ctx, "read s", nil)
	require.ErrorIs(t, err, context.Canceled)
	require.NotErrorIs(t, err, eventstore.ErrUnavailable, "the caller cancelled, so the log is not at fault")
	late, cancel := context.WithTimeout(t.Context(), -time.Second)
	defer cancel()
	err = gaveUp(late, "read s", errSilent)
	require.ErrorIs(t, err, eventstore.ErrUnavailable)
	require.EqualError(t, err, "read s: the log is unavailable: context deadline exceeded (the server stopped responding)")
}

func TestPanicOfTheClientIsAnError(t *testing.T) {
	log := openDirect(t, startNode(t))
	_, err := attempt(t.Context(), log, "call", func(context.Context, *es.Client) (int, error) { panic("unreachable code") })
	require.ErrorContains(t, err, "unreachable code")
	require.NoError(t, log.Ping(t.Context()), "the log still works")
}

func TestCheckpointsNeverGoBack(t *testing.T) {
	nowhere := es.Position{Commit: math.MaxUint64, Prepare: math.MaxUint64}
	require.Equal(t, arrival{}, arrived(&es.SubscriptionEvent{CheckPointReached: &nowhere}, eventstore.Filter{}))
	require.Equal(t, arrival{}, arrived(&es.SubscriptionEvent{FellBehind: &es.Subscription{}}, eventstore.Filter{}))
	var got []eventstore.Message
	s := subscription{lag: new(lag), after: 10, yield: func(m eventstore.Message, _ error) bool { got = append(got, m); return true }}
	for _, at := range []eventstore.Position{9, 10, 11} {
		require.True(t, s.take(arrival{message: eventstore.Message{Checkpoint: at}, at: at}))
	}
	require.Equal(t, []eventstore.Message{{Checkpoint: 11}}, got, "a checkpoint never moves backwards")
}

func TestReadsFromTheEnds(t *testing.T) {
	require.Equal(t, es.End{}, streamPosition(eventstore.EndRevision, eventstore.Backwards))
	require.Equal(t, es.Revision(math.MaxInt64-1), streamPosition(eventstore.EndRevision, eventstore.Forwards))
	require.Equal(t, es.Start{}, allPosition(0))
	require.Equal(t, es.End{}, allPosition(eventstore.EndPosition))
}

// When a call reaches its deadline, the error describes the server's failure in
// one line.
func TestErrorAtADeadlineNamesTheCause(t *testing.T) {
	p := outage.New(t, "")
	p.Set(outage.Refused)
	log := openDirect(t, p.Address())
	err := log.Ping(afterFailedConnects(t, log))
	require.ErrorContains(t, err, "ping: the log is unavailable: context deadline exceeded (Unavailable: ")
	require.ErrorContains(t, err, "connection refused")
	require.NotContains(t, err.Error(), "\n")
}

func FuzzParse(f *testing.F) {
	for _, address := range []string{"esdb://localhost:2113?tls=false", "esdb+discover://u:p@h", "esdb://a,b:1,c", "esdb://u:p@h:x", "esdb://%", "esdb://h?a=b;c", "esdb://[::1]:2113"} {
		f.Add(address)
	}
	f.Fuzz(func(t *testing.T, address string) {
		if strings.Contains(strings.ToLower(address), "file") {
			t.Skip("names a file on this machine")
		}
		config, err := parse(address)
		if err != nil {
			require.NotContains(t, err.Error(), "\n")
			return
		}
		require.True(t, config.Address != "" || len(config.GossipSeeds) > 0)
	})
}
