package referee

import (
	"cmp"
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

// legalBot folds the match from the log and chooses legal answers. For the same
// decision, it always chooses the same answer. The test fails if the referee sends a
// decision before it has stored the events that led to it.
type legalBot struct {
	t      *testing.T
	log    eventstore.Log
	stream eventstore.StreamID // empty: the match's stream

	mu   sync.Mutex
	m    match.Match
	next eventstore.Revision
}

// The method now() returns the state of the match, folded from the log.
func (o *legalBot) now() match.Match {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.fold()
}

func (o *legalBot) fold() match.Match {
	for r, err := range o.log.Read(context.Background(), cmp.Or(o.stream, "match-"+testMatch), o.next, eventstore.ReadOptions{}) {
		require.NoError(o.t, err)
		e, err := match.Decode(r.Type, r.Data)
		require.NoError(o.t, err)
		o.m = match.Evolve(o.m, e)
		o.next = r.Revision + 1
	}
	return o.m
}

// answer returns the frame with a legal answer for an open decision.
func (o *legalBot) answer(id int) string {
	o.mu.Lock()
	defer o.mu.Unlock()
	m := o.fold()
	for _, d := range m.Asks() {
		if d.ID == id {
			return answerFrame(id, choose(&m.Game, d))
		}
	}
	require.Failf(o.t, "asked before it was stored", "decision %d", id)
	return ""
}

// choose returns a legal action, which may be a trade offer. The choice depends only on
// the decision.
func choose(g *game.State, d match.Decision) game.Action {
	p := matchtest.Player{Below: rand.New(rand.NewPCG(uint64(d.ID), 1)).IntN}
	return p.Choose(g, d)
}

func answerFrame(id int, a game.Action) string {
	return string(matchtest.Frame(id, match.ActionJSON(a)))
}
