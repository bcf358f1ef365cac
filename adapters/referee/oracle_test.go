package referee

import (
	"context"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"hexarena/domain/game"
	"hexarena/domain/match"
	"hexarena/domain/match/matchtest"
	"hexarena/eventstore"
)

// oracle knows the whole match from the log, so that its bots can answer
// lawfully, and always the same to the same decision. What it is asked about
// must be stored before.
type oracle struct {
	t   *testing.T
	log eventstore.Log

	mu   sync.Mutex
	m    match.Match
	next eventstore.Revision
}

// now folds what was stored since.
func (o *oracle) now() match.Match {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.fold()
}

func (o *oracle) fold() match.Match {
	for r, err := range o.log.Read(context.Background(), "match-"+testMatch, o.next, eventstore.ReadOptions{}) {
		require.NoError(o.t, err)
		e, err := match.Decode(r.Type, r.Data)
		require.NoError(o.t, err)
		o.m = match.Evolve(o.m, e)
		o.next = r.Revision + 1
	}
	return o.m
}

// lawful is the frame that answers a decision that is open in the log.
func (o *oracle) lawful(id int) string {
	o.mu.Lock()
	defer o.mu.Unlock()
	m := o.fold()
	for _, d := range m.Asks() {
		if d.ID == id {
			return answer(id, choose(&m.Game, d))
		}
	}
	require.Failf(o.t, "asked before it was stored", "decision %d", id)
	return ""
}

// choose picks a legal action, offers included. It depends on the decision only.
func choose(g *game.State, d match.Decision) game.Action {
	p := matchtest.Player{Below: rand.New(rand.NewPCG(uint64(d.ID), 1)).IntN}
	return p.Choose(g, d)
}

func answer(id int, a game.Action) string { return string(matchtest.Frame(id, match.ActionJSON(a))) }
