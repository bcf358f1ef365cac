package membership_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"hexarena/eventstore/logtest"
)

// bound is the longest time until a match moves if one other member runs all the time: 8 s,
// and a second for retries.
const bound = 9 * time.Second

// victim is a member with random faults.
type victim struct {
	id    string
	p     *process // nil while it is dead
	since time.Time
	good  bool   // it runs, and reaches the log
	heal  func() // ends its fault; nil if it is dead or good
}

// Members are killed, paused, cut off and started again, in random order and many of them in
// a row. Nobody seats most of the time. No match ever has two members that may call its
// bots, and no match stays with a member that has a fault. In the end, all matches are
// played.
func TestRandomFaults(t *testing.T) {
	rng := logtest.Random(t)
	withFixture(t, func(f *fixture) {
		var all []*victim
		for _, id := range []string{"a", "b", "c", "d"} {
			v := &victim{id: id}
			v.start(f, rng)
			all = append(all, v)
		}
		defer func() { // a process that is paused would not stop
			for _, v := range all {
				if v.heal != nil {
					v.heal()
				}
			}
		}()
		var open []string
		o := owners{}
		generation := uint64(0)
		for n := range 300 {
			v := all[rng.IntN(len(all))]
			switch {
			case v.p == nil:
				v.start(f, rng)
			case v.heal != nil:
				v.heal()
				v.heal, v.good, v.since = nil, true, time.Now()
			case rng.IntN(3) == 0:
				generation++
				for i := range rng.IntN(4) {
					open = append(open, fmt.Sprintf("match-%d-%d", n, i))
					f.seat(open[len(open)-1])
				}
				v.p.generation = generation
				require.NoError(f.t, v.p.divide(f.t.Context()))
				for len(open) > 12 {
					f.end(open[0])
					open = open[1:]
				}
			case rng.IntN(4) == 0:
				v.p.setMaxMatches(capacity(rng))
			default:
				v.hurt(rng)
			}
			for range rng.IntN(16) {
				later(250 * time.Millisecond)
				requireOnePlayer(f.t, all, open)
				o.requireInTime(f, all, open)
			}
		}
		for _, v := range all {
			if v.p == nil {
				v.start(f, rng)
			} else if v.heal != nil {
				v.heal()
			}
		}
		all[rng.IntN(len(all))].p.seats(generation + 1)
		later(20 * time.Second)
		all[rng.IntN(len(all))].p.setMaxMatches(100)
		later(3 * time.Second)
		var played []string
		for _, v := range all {
			require.True(t, v.p.mayCallBots())
			played = append(played, v.p.Matches()...)
		}
		require.Subset(t, played, open)
		requireOnePlayer(t, all, open)
	})
}

// start starts a process that takes a random number of matches.
func (v *victim) start(f *fixture, rng *rand.Rand) {
	v.p, v.good, v.since = f.start(v.id, capacity(rng)), true, time.Now()
}

// capacity returns how many matches a process takes.
func capacity(rng *rand.Rand) int { return []int{0, 1, 3, 100}[rng.IntN(4)] }

// hurt begins a random fault.
func (v *victim) hurt(rng *rand.Rand) {
	p := v.p
	switch rng.IntN(4) {
	case 0:
		v.heal = p.log.freeze()
	case 1:
		p.log.away.Store(true)
		v.heal = func() { p.log.away.Store(false) }
	default:
		p.stop()
		v.p = nil
	}
	v.good, v.since = false, time.Now()
}

// requireOnePlayer requires that at most one member may call the bots of an open match.
func requireOnePlayer(t *testing.T, all []*victim, open []string) {
	t.Helper()
	players := map[string]string{}
	for _, v := range all {
		if v.p == nil || !v.p.mayCallBots() {
			continue
		}
		for _, id := range v.p.Matches() {
			if !slices.Contains(open, id) {
				continue // the fake referee does not notice the end of a match
			}
			require.Empty(t, players[id], "%s also plays %s", v.id, id)
			players[id] = v.id
		}
	}
}

// owners says since when each match has belonged to its member.
type owners map[string]ownership

type ownership struct {
	member string
	since  time.Time
}

// requireInTime requires that no match stays with a faulty member for longer than bound, if
// another member has run for as long.
func (o owners) requireInTime(f *fixture, all []*victim, open []string) {
	f.t.Helper()
	observed := time.Duration(0)
	for _, v := range all {
		if v.good {
			observed = max(observed, time.Since(v.since))
		}
	}
	assigned := f.assigned()
	for _, v := range all {
		for _, id := range assigned[v.id] {
			if o[id].member != v.id {
				o[id] = ownership{v.id, time.Now()}
			}
			if !v.good && min(observed, time.Since(v.since), time.Since(o[id].since)) > bound {
				require.NotContains(f.t, open, id, "it belongs to %s, which has had a fault for %s", v.id, time.Since(v.since))
			}
		}
	}
}
