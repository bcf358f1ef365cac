package main

import (
	"bytes"
	"context"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"hexarena/domain/match"
	"hexarena/eventstore"
	"hexarena/eventstore/logtest"
)

// A match with a time bank survives kill -9. No event is lost or stored twice, and the
// clocks of the seats continue from their values in the log. Each request states how
// much time its seat has left. The test recomputes this time from the log.
func TestKill9KeepsTheClocks(t *testing.T) {
	t.Parallel()
	rng := logtest.Random(t)
	trigger := &eventTrigger{}
	s := newTestArena(t, append([]string{"--time-bank", "--wall-standard", "1h"}, quick...)...)
	s.start()
	asked := newAskedBanks()
	players := goodPlayers(t, 4, trigger)
	for _, p := range players {
		p.asked = func(r *match.Request) { asked.add(r); trigger.count() }
		p.hold = func(*match.Request) { pause(3 * time.Millisecond) }
	}
	s.join(players...)
	for range 6 {
		trigger.fireAfter(t, 1+rng.IntN(400), func() { s.arena.killAfter(0) })
		<-s.arena.exited
		s.start()
	}
	c := s.settle()
	compared, claims := c.audit(t, s.players)
	log, closeLog := openLog(t, s.data)
	defer closeLog()
	requests, total := 0, int64(0)
	for _, id := range c.order {
		n, used := asked.check(t, log, id)
		requests, total = requests+n, total+used
	}
	t.Logf("6 kills, %d matches resumed by a claim, %d matches rated, %d public events and the clocks of all appends equal to a recomputation; "+
		"%d requests state the time left according to the log; all seats used %d ms", claims, len(c.order), compared, requests, total)
	require.Positive(t, claims)
	require.Positive(t, total)
}

// askedBanks remembers the bankMs of all requests, by match and decision. A decision
// may have several requests, because the arena sends a request again after a kill.
type askedBanks struct {
	mu  sync.Mutex
	all map[string]map[int][]int64
}

func newAskedBanks() *askedBanks { return &askedBanks{all: map[string]map[int][]int64{}} }

func (a *askedBanks) add(r *match.Request) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.all[r.MatchID] == nil {
		a.all[r.MatchID] = map[int][]int64{}
	}
	left := int64(-1) // no time bank
	if r.BankMs != nil {
		left = *r.BankMs
	}
	a.all[r.MatchID][r.ID] = append(a.all[r.MatchID][r.ID], left)
}

// check recomputes the clocks of a match from its events, and compares them with the
// metadata of each append and with the requests. It returns the number of requests
// that it compared, and the total time that the seats used.
func (a *askedBanks) check(t *testing.T, log eventstore.Log, id string) (requests int, total int64) {
	t.Helper()
	batches := appends(t, log, id)
	last := batches[len(batches)-1].events
	m := match.New(last[len(last)-1].(match.GameEnded).Proof.ServerSeed)
	var used match.Clocks
	for i, b := range batches {
		if i == 0 {
			started := b.events[0].(match.Started)
			require.Positive(t, started.Deadlines.BankMs)
			used = match.NewClocks(len(started.Seats))
		}
		outcomes := outcomesOf(&m, b)
		for j, o := range outcomes {
			left := *m.Allow(used, m.Asks()[j].Seat).BankMs
			for _, stated := range a.all[id][o.Decision] {
				require.LessOrEqual(t, stated, left)
				require.GreaterOrEqual(t, stated, left-o.RedialMs)
				requests++
			}
		}
		if outcomes != nil {
			used = m.Charge(used, outcomes)
		}
		require.Equal(t, []int64(used), b.meta.UsedMs, "match %s", id)
		m = match.EvolveAll(m, b.events)
	}
	for _, ms := range used {
		total += ms
	}
	return requests, total
}

// The type stored is one append to a match's stream.
type stored struct {
	raw    []byte
	meta   eventstore.Metadata
	events []match.Event
}

// The function appends() reads a match's stream. All events of an append have the same
// metadata, and each append names the event before it.
func appends(t *testing.T, log eventstore.Log, id string) (list []stored) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	for r, err := range log.Read(ctx, eventstore.StreamID(match.Stream(id)), 0, eventstore.ReadOptions{}) {
		require.NoError(t, err)
		e, err := match.Decode(r.Type, r.Data)
		require.NoError(t, err)
		meta, err := eventstore.DecodeMetadata(r)
		require.NoError(t, err)
		if len(list) == 0 || !bytes.Equal(list[len(list)-1].raw, r.Metadata) {
			list = append(list, stored{raw: r.Metadata, meta: meta})
		}
		b := &list[len(list)-1]
		b.events = append(b.events, e)
	}
	return list
}

// outcomesOf returns the outcomes of the decisions that an append settles, or nil if
// it settles none. The outcomes contain only the times. The bots of this test answer
// every decision.
func outcomesOf(m *match.Match, b stored) (outcomes []match.Outcome) {
	for _, d := range m.Asks() {
		for _, e := range b.events {
			played, ok := e.(match.ActionPlayed)
			if !ok || played.Decision != d.ID {
				continue
			}
			o := match.Outcome{Decision: d.ID, UsedMs: *played.ElapsedMs}
			if b.meta.RedialMs != nil {
				o.RedialMs = b.meta.RedialMs[d.Seat]
				o.UsedMs += o.RedialMs
			}
			outcomes = append(outcomes, o)
		}
	}
	return outcomes
}
