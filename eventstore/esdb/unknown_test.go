package esdb

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"hexarena/eventstore"
	"hexarena/eventstore/logtest/outage"
)

// The proxy drops the acknowledgement of every committed append. In half of the cases,
// the Log sends the append again during the call, with the same ids and the same expected
// revision. In the other half, the caller does so in a second call. The stream must be
// identical to one that was written without faults.
func TestCommitUnknown(t *testing.T) {
	t.Parallel()
	const rounds = 12
	log, p := openThrough(t)
	sound := openDirect(t, startNode(t))
	const id eventstore.StreamID = "unknown-1"
	expected, byCaller := eventstore.NoStream, 0
	for i := range rounds {
		batch := events(1 + i%5)
		for j := range batch {
			batch[j].Data, batch[j].Metadata = fmt.Appendf(nil, `{"n":%d}`, 10*i+j), []byte(`{"schema":1}`)
		}
		want, err := sound.Append(t.Context(), id, expected, batch...)
		require.NoError(t, err)
		got, again := appendUnknown(t, log, p, id, expected, batch, i%2 == 0)
		if again {
			byCaller++
		}
		require.Equal(t, want.Revision, got.Revision)
		expected = eventstore.At(got.Revision)
	}
	written := identity(t, sound, id)
	require.Equal(t, written, identity(t, log, id))
	t.Logf("%d appends, each acknowledgement dropped after the commit; the caller sent %d of them again, and the log sent the others again: %d events, and the stream is identical",
		rounds, byCaller, len(written))
}

// appendUnknown makes an append whose first response is lost. If deadline is true,
// the caller's context ends before the caller learns the outcome, and the caller
// appends again. The second result reports whether the caller appended again.
func appendUnknown(t *testing.T, log *Log, p *outage.Proxy, id eventstore.StreamID, expected eventstore.Expected, batch []eventstore.Event, deadline bool) (eventstore.Appended, bool) {
	t.Helper()
	require.NoError(t, log.Ping(t.Context()))
	stored := storedBehind(t, p, id)
	ctx, end := context.WithTimeout(t.Context(), testPatience)
	defer end()
	p.Set(outage.OneWay)
	dropped := make(chan struct{})
	go func() {
		defer close(dropped)
		<-stored
		if deadline {
			end() // before a response can arrive
		}
		p.Cut()
		p.Set(outage.None)
	}()
	appended, err := log.Append(ctx, id, expected, batch...)
	<-dropped
	if !deadline {
		require.NoError(t, err)
		return appended, false
	}
	require.ErrorIs(t, err, context.Canceled)
	appended, err = log.Append(t.Context(), id, expected, batch...)
	require.NoError(t, err)
	return appended, true
}

// identity returns the events of a stream without their positions and dates.
func identity(t *testing.T, log *Log, id eventstore.StreamID) []eventstore.Recorded {
	t.Helper()
	var all []eventstore.Recorded
	for r, err := range log.Read(t.Context(), id, 0, eventstore.ReadOptions{}) {
		require.NoError(t, err)
		r.Position, r.Created = 0, time.Time{}
		all = append(all, r)
	}
	return all
}
