package tournament_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"hexarena/domain/tournament"
	"hexarena/eventstore/logtest"
)

// place returns the outcome of a match of three bots in which bot 0 finished in a place.
func place(number, placed int) tournament.Outcome {
	o := tournament.Outcome{Match: number}
	for _, bot := range []int{1, 0, 2} {
		o.Seats = append(o.Seats, tournament.SeatResult{Bot: bot, Placement: (bot+placed-1)%3 + 1})
	}
	return o
}

func newDuel() (tournament.Plan, *tournament.Duel) {
	p := tournament.Plan{Bots: 3, Blocks: 100, Seed: "x", Rotate: true}
	return p, tournament.NewDuel(p, tournament.Test{Effect: 0.5, Alpha: 0.05, Beta: 0.05, MaxBlocks: 100})
}

// A block counts once it and all earlier blocks are complete.
func TestDuelCountsBlocksInOrder(t *testing.T) {
	_, d := newDuel()
	for _, number := range []int{3, 4, 5, 0, 1} {
		d.Add(tournament.Old, place(number, 2))
		d.Add(tournament.New, place(number, 1))
	}
	d.Add(tournament.New, place(2, 3))
	require.Zero(t, d.Comparison.Blocks())
	d.Add(tournament.Old, place(2, 2))
	require.Equal(t, 2, d.Comparison.Blocks())
	require.InDelta(t, (1.0/3+1)/2, d.Comparison.Estimate().Mean, 1e-9) // +1, +1 and −1, then +1 three times
	require.Equal(t, 6, d.Standings[tournament.Old].Completed())
	require.InDelta(t, 2, d.Standings[tournament.Old].Rows()[0].MeanPlacement, 1e-9)
	require.InDelta(t, 8.0/6, d.Standings[tournament.New].Rows()[0].MeanPlacement, 1e-9)
}

// If a match was aborted, its pair does not count. A block without pairs does not count.
func TestDuelLeavesOutAbortedMatches(t *testing.T) {
	_, d := newDuel()
	for number := range 6 {
		before, after := place(number, 2), place(number, 1)
		if number < 2 {
			before = tournament.Outcome{Match: number, Aborted: "wall clock", Seats: []tournament.SeatResult{{Bot: 0}, {Bot: 1}, {Bot: 2}}}
		}
		if number > 2 {
			after = tournament.Outcome{Match: number, Aborted: "wall clock", Seats: []tournament.SeatResult{{Bot: 0}, {Bot: 1}, {Bot: 2}}}
		}
		d.Add(tournament.Old, before)
		d.Add(tournament.New, after)
	}
	require.Equal(t, 1, d.Comparison.Blocks())
	require.InDelta(t, 1, d.Comparison.Estimate().Mean, 1e-9)
	require.Equal(t, 2, d.Standings[tournament.Old].Aborted)
	require.Equal(t, 3, d.Standings[tournament.New].Aborted)
}

// The order of the outcomes changes nothing, and no block counts after the verdict.
func TestDuelVerdictDoesNotDependOnOrder(t *testing.T) {
	p, want := newDuel()
	random := logtest.Random(t)
	type add struct {
		version int
		outcome tournament.Outcome
	}
	var all []add
	for number := range p.Matches() {
		all = append(all, add{tournament.Old, place(number, 2+random.IntN(2))}, add{tournament.New, place(number, 1+random.IntN(2))})
	}
	for _, a := range all {
		want.Add(a.version, a.outcome)
	}
	require.Equal(t, tournament.Better, want.Comparison.Verdict())
	require.Less(t, want.Comparison.Blocks(), p.Blocks)
	require.Equal(t, 3*want.Comparison.Blocks(), want.Standings[tournament.New].Completed())

	random.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	_, got := newDuel()
	for _, a := range all {
		got.Add(a.version, a.outcome)
	}
	require.Equal(t, want.Comparison, got.Comparison)
	require.Equal(t, want.Standings[tournament.New].Rows(), got.Standings[tournament.New].Rows())
}
