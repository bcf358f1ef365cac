package endings

import (
	"testing"

	"github.com/stretchr/testify/require"

	"hexarena/domain/ladder"
	"hexarena/eventstore"
	"hexarena/eventstore/memory"
	"hexarena/projections/arenatest"
)

// world is a log of two whole matches, side by side, and one in the middle.
func world(t *testing.T) (log *memory.Log, whole [2]*arenatest.Game, middle *arenatest.Game) {
	log = memory.New()
	a := arenatest.New(t, log, 4)
	bots := a.Register("ada", ladder.Standard, "Ann", "Bea", "Cat", "Dot", "Eve", "Fay", "Gus", "Hal", "Ida", "Joe", "Kit", "Lea")
	for i := range whole {
		whole[i] = a.Seat(ladder.Standard, bots[4*i:4*i+4]...)[0]
		whole[i].Start()
	}
	middle = a.Seat(ladder.Standard, bots[8:]...)[0]
	middle.Start()
	for !whole[0].State.Over() || !whole[1].State.Over() {
		for _, g := range whole {
			if !g.State.Over() {
				g.Step()
			}
		}
	}
	middle.Play(3)
	return log, whole, middle
}

func gather(t *testing.T, g *Gatherer, log eventstore.Log, from eventstore.Position) {
	t.Helper()
	for r, err := range log.ReadAll(t.Context(), from, eventstore.ReadOptions{}) {
		require.NoError(t, err)
		g.Add(r)
	}
}

// What is gathered is what the streams hold; it is handed over once.
func TestGatheredEqualsRead(t *testing.T) {
	log, whole, middle := world(t)
	g := New()
	gather(t, g, log, 0)
	for _, game := range whole {
		read, err := Read(t.Context(), log, game.MatchID)
		require.NoError(t, err)
		require.Len(t, read, len(game.Events))
		require.Equal(t, read, g.Take(game.MatchID))
		require.Nil(t, g.Take(game.MatchID))
	}
	require.Nil(t, g.Take(middle.MatchID), "it has not ended")
	read, err := Read(t.Context(), log, middle.MatchID)
	require.NoError(t, err)
	require.Nil(t, read)
	require.Equal(t, room, g.room, "nothing is held any more")
}

// Of a match that began before, or that does not fit, nothing is held.
func TestWhatIsNotHeld(t *testing.T) {
	log, whole, _ := world(t)
	g := New()
	second := eventstore.Position(0)
	for r, err := range log.Read(t.Context(), eventstore.StreamID("match-"+whole[1].MatchID), 1, eventstore.ReadOptions{Limit: 1}) {
		require.NoError(t, err)
		second = r.Position
	}
	gather(t, g, log, second)
	require.Nil(t, g.Take(whole[0].MatchID))
	require.Nil(t, g.Take(whole[1].MatchID))

	tight := New()
	tight.room = 60_000
	gather(t, tight, log, 0)
	require.GreaterOrEqual(t, tight.room, 0)
	require.Nil(t, tight.Take(whole[0].MatchID))
}
