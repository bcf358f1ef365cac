package stats_test

import (
	"errors"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"hexarena/domain/match"
	"hexarena/domain/stats"
)

// The chances of all seats add up to 1, and the winner's chance rises to 1.
func TestWinProbabilityEndsWithTheResult(t *testing.T) {
	for n := range uint64(3) {
		m, events := play(rand.New(rand.NewPCG(n, 2)), 3+int(n%2), func(match.Match, match.Event) {})
		begin := match.Evolve(match.New(m.ServerSeed), m.Started)
		start := time.Now()
		list, err := stats.WinProbability(begin, events, 10, func() error { return nil })
		require.NoError(t, err)
		t.Logf("%d turns: %v for 10 play-outs at each", m.Game.Turn, time.Since(start))
		require.Len(t, list, int(m.Game.Turn)+2)
		for i, o := range list {
			total := 0.0
			for _, share := range o.Wins {
				total += share
			}
			require.InDelta(t, 1, total, 1e-9)
			if i > 0 && i < len(list)-1 {
				require.Equal(t, i, o.Turn)
			}
		}
		end := list[len(list)-1]
		require.Equal(t, m.Seq, end.Seq)
		for seat, place := range m.Game.Placements() {
			if seat < len(end.Wins) {
				require.Equal(t, place == 1, end.Wins[seat] > 0)
			}
		}
		again, err := stats.WinProbability(begin, events, 10, func() error { return nil })
		require.NoError(t, err)
		require.Equal(t, list, again, "the match's seed decides")
	}
}

func TestWinProbabilityStopsAtAnError(t *testing.T) {
	m, events := play(rand.New(rand.NewPCG(1, 2)), 3, func(match.Match, match.Event) {})
	stop := errors.New("stop")
	calls := 0
	_, err := stats.WinProbability(match.Evolve(match.New(m.ServerSeed), m.Started), events, 10, func() error {
		if calls++; calls == 15 {
			return stop
		}
		return nil
	})
	require.ErrorIs(t, err, stop)
	require.Equal(t, 15, calls)
}
