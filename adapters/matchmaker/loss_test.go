package matchmaker

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"hexarena/domain/ladder"
	"hexarena/eventstore"
	"hexarena/eventstore/memory"
)

// A ladder that has folded events that the log then loses folds the stream again, even
// if other events have taken their place. Its state equals that of a ladder that never
// saw the lost events.
func TestLadderFoldsAgainWhenTheLogHasLostEvents(t *testing.T) {
	for name, after := range map[string]func(*testing.T, *Ladder){
		"nothing else":    func(*testing.T, *Ladder) {},
		"another event":   void,
		"and more events": func(t *testing.T, l *Ladder) { void(t, l); void(t, l); void(t, l); void(t, l) },
	} {
		t.Run(name, func(t *testing.T) {
			kept, log := memory.New(), &countingLog{}
			log.Log = kept
			l := newLadder(log, ladder.Standard)
			seat(t, l)
			lost := copyLog(t, kept) // the log that the ladder sees first
			log.Log = lost
			void(t, l)
			void(t, l)
			require.EqualValues(t, 3, l.state.Version())

			other := newLadder(kept, ladder.Standard)
			after(t, other)
			log.Log = kept
			require.Equal(t, fromZero(t, kept), stateOf(t, l))
			seat(t, l)
			require.Equal(t, fromZero(t, kept), stateOf(t, l))
		})
	}
}

// A ladder checks again right before it stores tables: the log may have lost events
// since the tick began.
func TestLadderSeatsNobodyIfTheLastCheckFails(t *testing.T) {
	log := memory.New()
	l := newLadder(log, ladder.Standard)
	lost := errors.New("the log has lost events")
	n, err := l.Seat(t.Context(), numbered(40), time.Now(), 0, func(context.Context) error { return lost })
	require.ErrorIs(t, err, lost)
	require.Zero(t, n)
	require.Zero(t, l.state.Version())

	n, err = l.Seat(t.Context(), numbered(2), time.Now(), 0, func(context.Context) error { return lost })
	require.NoError(t, err, "two bots are too few for a table, so there is nothing to check")
	require.Zero(t, n)
	seat(t, l)
}

func unchecked(context.Context) error { return nil }

func seat(t *testing.T, l *Ladder) {
	t.Helper()
	_, err := l.Seat(t.Context(), numbered(40), time.Now(), 0, unchecked)
	require.NoError(t, err)
}

// void voids the oldest unfinished match.
func void(t *testing.T, l *Ladder) {
	t.Helper()
	all, err := l.Unfinished(t.Context())
	require.NoError(t, err)
	require.NotEmpty(t, all)
	require.NoError(t, l.Void(t.Context(), all[0].MatchID, ladder.WhyWallClock))
}

// copyLog returns a log with the same events.
func copyLog(t *testing.T, log eventstore.Log) *memory.Log {
	t.Helper()
	c := memory.New()
	for r, err := range log.ReadAll(t.Context(), 0, eventstore.ReadOptions{}) {
		require.NoError(t, err)
		_, err = c.Append(t.Context(), r.Stream, eventstore.Any, r.Event)
		require.NoError(t, err)
	}
	return c
}
