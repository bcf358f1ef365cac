package arenatest_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"hexarena/domain/ladder"
	"hexarena/domain/match"
	"hexarena/eventstore"
	"hexarena/eventstore/memory"
	"hexarena/projections/arenatest"
)

func TestGamesHaveEveryPublicKind(t *testing.T) {
	log := memory.New()
	a := arenatest.New(t, log, 1)
	bots := a.Register("ada", ladder.Standard, "Ann", "Bea", "Cat", "Dot")
	kinds := map[string]int{}
	for _, n := range []int{4, 3} {
		g := a.Complete(ladder.Standard, bots[:n]...)
		require.Len(t, g.State.Started.Seats, n)
		require.NotNil(t, g.State.End)
		for _, e := range g.Events {
			kind, _, _ := match.Publish(e)
			kinds[kind]++
		}
		stored := 0
		for r, err := range log.Read(t.Context(), eventstore.StreamID(match.Stream(g.MatchID)), 0, eventstore.ReadOptions{}) {
			require.NoError(t, err)
			require.Equal(t, g.Events[stored].EventType(), r.Type)
			stored++
		}
		require.Len(t, g.Events, stored)
		t.Logf("%d seats: %d events, turn %d, %s", n, stored, g.State.Game.Turn, g.State.End.Reason)
	}
	for _, k := range match.PublicKinds {
		require.NotZero(t, kinds[k.Kind], k.Kind)
	}
}
