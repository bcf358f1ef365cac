package main

import (
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"hexarena/domain/match"
)

// A machine that stands still, here by SIGSTOP, is no bot's fault: what its
// socket had received counts, however late the arena reads it.
func TestStandingStillCostsNobodyAStrike(t *testing.T) {
	t.Parallel()
	const decision, still = 2 * time.Second, 3 * time.Second
	rng := newChance(t)
	f := &fuse{}
	s := newStand(t, "--tick", "250ms", "--rest-standard", "0s", "--decision-standard", decision.String())
	s.start()
	var answered atomic.Int64
	players := goodPlayers(t, 8, &fuse{})
	for _, p := range players {
		p.hold = func(*match.Request) { f.moment() } // so it stops before an answer is written
		p.answered = func() { answered.Add(1) }
	}
	s.join(players...)
	var waiting int64
	for range 3 {
		var before int64
		f.burn(t, 1+rng.IntN(200), func() {
			s.arena.signal(syscall.SIGSTOP)
			before = answered.Load()
		})
		pause(still)
		waiting += answered.Load() - before
		s.arena.signal(syscall.SIGCONT)
	}
	c := s.settle()
	compared, _ := c.audit(t, s.players)
	t.Logf("3 stops of %v with %v a decision; %d answers written into sockets meanwhile; %d matches, %d events, no strike",
		still, decision, waiting, len(c.order), compared)
	require.GreaterOrEqual(t, waiting, int64(3))
}

// A deploy costs nobody a strike: SIGTERM leaves running matches in the log as
// they stand, and the next arena plays on at once.
func TestAGracefulStopLosesNothing(t *testing.T) {
	t.Parallel()
	rng := newChance(t)
	f := &fuse{}
	s := newStand(t, quick...)
	s.start()
	s.join(goodPlayers(t, 8, f)...)
	for range 5 {
		f.burn(t, 1+rng.IntN(400), func() { s.arena.signal(syscall.SIGTERM) })
		s.stop()
		s.start()
	}
	c := s.settle()
	compared, claims := c.audit(t, s.players)
	t.Logf("5 graceful stops, %d matches resumed by a claim, %d matches rated, %d public events equal to those of runs without a stop",
		claims, len(c.order), compared)
	require.Positive(t, claims)
}
