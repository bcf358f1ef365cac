package referee

import (
	"cmp"
	"context"
	"iter"
	"math/rand/v2"
	"slices"
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
	for r, e := range o.events(o.next) {
		o.m = match.Evolve(o.m, e)
		o.next = r + 1
	}
	return o.m
}

// The method events() returns the events of the match from a revision on.
func (o *legalBot) events(from eventstore.Revision) iter.Seq2[eventstore.Revision, match.Event] {
	return func(yield func(eventstore.Revision, match.Event) bool) {
		for r, err := range o.log.Read(context.Background(), cmp.Or(o.stream, "match-"+testMatch), from, eventstore.ReadOptions{}) {
			require.NoError(o.t, err)
			e, err := match.Decode(r.Type, r.Data)
			require.NoError(o.t, err)
			if !yield(r.Revision, e) {
				return
			}
		}
	}
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
	require.True(o.t, m.Over() && o.wasOpen(id), "decision %d was asked before it was stored", id)
	return "" // another process has just ended the match
}

// wasOpen reports whether a decision was open after any event of the match.
func (o *legalBot) wasOpen(id int) (open bool) {
	var m match.Match
	for _, e := range o.events(0) {
		m = match.Evolve(m, e)
		open = open || slices.ContainsFunc(m.Asks(), func(d match.Decision) bool { return d.ID == id })
	}
	return open
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
