package main

import (
	"errors"
	"fmt"
	"net/http"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"hexarena/domain/match"
	"hexarena/eventstore/logtest"
	"hexarena/projections/matches"
)

// The variable quick contains flags that make the next match start immediately, without
// a rest. The time for a decision is long, so that bots get no strikes on a busy
// machine.
var quick = []string{"--tick", "250ms", "--rest-standard", "0s", "--decision-standard", "30s"}

func TestKill9LosesNothing(t *testing.T) {
	t.Parallel()
	killAgainAndAgain(t, 10)
}

func TestSoakKill9LosesNothing(t *testing.T) {
	if os.Getenv("ARENA_SOAK") == "" {
		t.Skip("takes minutes: run make soak")
	}
	killAgainAndAgain(t, 50)
}

// killAgainAndAgain kills the arena at random points in running matches, and starts
// it again on the same folder. It requires that the matches are the same as they
// would be without the kills.
func killAgainAndAgain(t *testing.T, kills int) {
	rng := logtest.Random(t)
	eventTrigger := &eventTrigger{}
	s := newTestArena(t, quick...)
	s.behindProxy()
	s.start()
	heads := newSavedHeads(t, s.base())
	heads.watch(s.arena)
	players := goodPlayers(t, 8, eventTrigger)
	for _, p := range players {
		p.upgrade = func(header http.Header) {
			if err := heads.seated(header); err != nil && !errors.Is(err, errNoCheckpoint) {
				t.Errorf("upgrade: %v", err)
			}
			eventTrigger.count()
		}
	}
	s.join(players...)
	var resumes []time.Duration
	starts := 0 // kills during startup
	for range kills {
		after := 1 + rng.IntN(600)
		delay := time.Duration(max(0, rng.IntN(6000)-3000)) * time.Microsecond
		eventTrigger.fireAfter(t, after, func() { s.arena.killAfter(delay) })
		<-s.arena.exited
		for ; rng.IntN(3) == 0; starts++ {
			s.launch()
			pause(time.Duration(rng.IntN(300)) * time.Millisecond)
			s.arena.kill()
		}
		began := time.Now()
		back := eventTrigger.next()
		s.start()
		heads.watch(s.arena)
		resumes = append(resumes, awaitEvent(t, back).Sub(began))
	}
	heads.check(t.Context())
	c := s.settle()
	heads.watching.Wait()
	compared, claims := c.audit(t, s.players)
	slices.Sort(resumes)
	t.Logf("%d kills and %d more while it started, %d matches resumed by a claim, %d matches rated, "+
		"%d public events equal to those of runs without a kill, %d heads saved; from the start to the first request: median %v, max %v",
		kills, starts, claims, len(c.order), compared, len(heads.bySize), resumes[len(resumes)/2].Round(time.Millisecond), resumes[len(resumes)-1].Round(time.Millisecond))
	require.Positive(t, claims)
	auditRecords(t, s, c)
}

// auditRecords starts the arena once more. It requires that the events of every
// replay are numbered 1, 2, 3, … and are the same as in the log.
func auditRecords(t testing.TB, s *testArena, c *matchHistory) {
	t.Helper()
	s.start("--no-play")
	for _, id := range c.order {
		var record struct {
			Status string
			Seed   string
			Replay []match.PublicEvent
		}
		s.get("/matches/"+id, &record)
		require.Equal(t, matches.Completed, record.Status)
		require.Len(t, record.Seed, 64)
		stored, _ := public(t, c.matches[id])
		require.Len(t, record.Replay, len(stored))
		for i, e := range record.Replay {
			require.Equal(t, i+1, e.Seq)
		}
	}
	s.stop()
}

// goodPlayers returns bots that never break the protocol. They report their events to
// the trigger f.
func goodPlayers(t testing.TB, n int, f *eventTrigger) (list []*testBot) {
	t.Helper()
	for i := range n {
		p := newTestBot(t, fmt.Sprintf("player-%d", i+1))
		p.asked = func(*match.Request) { f.count() }
		p.answered = f.count
		p.upgrade = func(http.Header) { f.count() }
		list = append(list, p)
	}
	return list
}
