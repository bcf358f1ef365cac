package matchcollector

import (
	"testing"

	"github.com/stretchr/testify/require"

	"hexarena/domain/ladder"
	"hexarena/eventstore"
	"hexarena/eventstore/memory"
	"hexarena/projections/arenatest"
)

// playedLog returns a log with two ended matches, whose events alternate, and a
// running match.
func playedLog(t *testing.T) (log *memory.Log, ended [2]*arenatest.Game, running *arenatest.Game) {
	log = memory.New()
	a := arenatest.New(t, log, 4)
	bots := a.Register("ada", ladder.Standard, "Ann", "Bea", "Cat", "Dot", "Eve", "Fay", "Gus", "Hal", "Ida", "Joe", "Kit", "Lea")
	for i := range ended {
		ended[i] = a.Seat(ladder.Standard, bots[4*i:4*i+4]...)[0]
		ended[i].Start()
	}
	running = a.Seat(ladder.Standard, bots[8:]...)[0]
	running.Start()
	for !ended[0].State.Over() || !ended[1].State.Over() {
		for _, g := range ended {
			if !g.State.Over() {
				g.Step()
			}
		}
	}
	running.Play(3)
	return log, ended, running
}

func collect(t *testing.T, c *Collector, log eventstore.Log, from eventstore.Position) {
	t.Helper()
	for r, err := range log.ReadAll(t.Context(), from, eventstore.ReadOptions{}) {
		require.NoError(t, err)
		c.Add(r)
	}
}

func TestTakeReturnsTheEventsOfTheStreamOnce(t *testing.T) {
	log, ended, running := playedLog(t)
	c := New()
	collect(t, c, log, 0)
	for _, game := range ended {
		read, err := Read(t.Context(), log, game.MatchID)
		require.NoError(t, err)
		require.Len(t, read, len(game.Events))
		require.Equal(t, read, c.Take(game.MatchID))
		require.Nil(t, c.Take(game.MatchID))
	}
	require.Nil(t, c.Take(running.MatchID), "a running match")
	read, err := Read(t.Context(), log, running.MatchID)
	require.NoError(t, err)
	require.Nil(t, read)
	require.Equal(t, maxBytes, c.free, "free bytes after all matches were taken")
}

func TestTakeReturnsNilForAnIncompleteMatch(t *testing.T) {
	log, ended, _ := playedLog(t)
	c := New()
	second := eventstore.Position(0)
	for r, err := range log.Read(t.Context(), eventstore.StreamID("match-"+ended[1].MatchID), 1, eventstore.ReadOptions{Limit: 1}) {
		require.NoError(t, err)
		second = r.Position
	}
	collect(t, c, log, second)
	require.Nil(t, c.Take(ended[0].MatchID))
	require.Nil(t, c.Take(ended[1].MatchID))

	small := New()
	small.free = 60_000
	collect(t, small, log, 0)
	require.GreaterOrEqual(t, small.free, 0)
	require.Nil(t, small.Take(ended[0].MatchID))
}
