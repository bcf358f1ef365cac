package main

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"hexarena/adapters/witness"
	"hexarena/eventstore/esdb"
	"hexarena/eventstore/logtest"
	"hexarena/eventstore/logtest/outage"
)

// While matches are running, the event store is unavailable for longer than the time
// for a decision. No bot gets a strike, no match's history forks, and all matches
// end.
func TestEventStoreOutageCausesNoStrikes(t *testing.T) {
	t.Parallel()
	playThrough(t, 7*time.Second)
}

// The outages in this test also last longer than the player's lease, so the arena may
// exit. If it does, the test starts it again, as a process supervisor would.
func TestSoakEventStoreOutage(t *testing.T) {
	if os.Getenv("ARENA_SOAK") == "" {
		t.Skip("takes minutes: run make soak")
	}
	for _, away := range []time.Duration{25 * time.Second, 3 * time.Minute} {
		t.Run(away.String(), func(t *testing.T) {
			t.Parallel()
			playThrough(t, away)
		})
	}
}

func playThrough(t *testing.T, away time.Duration) {
	const decision = 5 * time.Second // shorter than an outage, but long enough for bots on a busy machine
	rng := logtest.Random(t)
	f := &eventTrigger{}
	s := newTestArena(t, "--tick", "250ms", "--rest-standard", "0s", "--decision-standard", decision.String())
	n := newNodeProcessIn(t, filepath.Join(s.data, "node"))
	s.flags = append(s.flags, "--eventstore", n.connection())
	s.start()
	s.join(goodPlayers(t, 8, f)...)
	var resumes []time.Duration
	restarts := 0
	faults := []func(){n.restart}
	for _, k := range []outage.Kind{outage.Refused, outage.Reset, outage.Hung, outage.BlackHoled} {
		faults = append(faults, func() {
			n.proxy.Set(k)
			pause(away)
		})
	}
	faults = append(faults, func() { // all responses are lost
		n.proxy.Set(outage.OneWay)
		pause(away)
		n.proxy.Cut()
	})
	rng.Shuffle(len(faults), func(i, j int) { faults[i], faults[j] = faults[j], faults[i] })
	for _, fault := range faults {
		f.fireAfter(t, 1+rng.IntN(300), func() {})
		fault()
		back, over := f.next(), time.Now()
		n.proxy.Set(outage.None)
		at, goesOn := s.resumed(back)
		if !goesOn {
			restarts++
			back = f.next()
			s.start()
			at = awaitEvent(t, back)
		}
		resumes = append(resumes, at.Sub(over).Round(time.Millisecond))
	}
	c := n.settle(s)
	compared, claims := c.audit(t, s.players)
	t.Logf("%d faults, with outages of %v and %v for a decision: from the end of each outage to the next request %v; %d more starts of the arena; %d matches rated, %d claims, "+
		"%d public events equal to those of runs without an outage, no strike", len(faults), away, decision, resumes, restarts, len(c.order), claims, compared)
	require.NotEmpty(t, c.order)
}

// The method resumed() waits until the arena continues, and returns the time at which
// that happened. If the arena has exited instead, goesOn is false.
func (s *testArena) resumed(back <-chan time.Time) (at time.Time, goesOn bool) {
	s.t.Helper()
	timer := time.NewTimer(patience)
	defer timer.Stop()
	select {
	case at := <-back:
		return at, true
	case <-s.arena.exited:
	case <-timer.C:
		require.FailNow(s.t, "the arena neither continues nor ends")
	}
	return time.Time{}, false
}

// settle waits until all matches have ended, stops the arena and the node, and
// reads the log.
func (n *nodeProcess) settle(s *testArena) *matchHistory {
	n.t.Helper()
	s.retire()
	for {
		s.finish(0)
		s.stop()
		n.process.end(syscall.SIGTERM)
		c := readHistory(n.t, s.data)
		if len(c.unfinished) == 0 {
			return c
		}
		n.proxy.SetTarget(n.start())
		s.start()
		s.awaitEnd(c.unfinished)
	}
}

// The operators' endpoints serve the metrics of the log's client.
func TestMetricsShowTheLog(t *testing.T) {
	n := newNodeProcess(t)
	a := &arena{log: n.connect().(*esdb.Log), cosigners: witness.New(witness.Options{})}
	require.NoError(t, a.log.Ping(t.Context()))
	for range 2 { // the second call must also work
		answer := httptest.NewRecorder()
		a.adminHandler().ServeHTTP(answer, httptest.NewRequest(http.MethodGet, "http://localhost/metrics", nil))
		require.Equal(t, http.StatusOK, answer.Code)
		for _, name := range []string{
			`arena_log_appends_total{result="conflict"} 0`, `arena_log_reads_total{result="done"} 0`, "arena_log_conflicts_total 0",
			"arena_log_retries_total", "arena_log_reconnects_total 0", "arena_log_available 1", "arena_log_unavailable_seconds_total 0",
			"arena_log_append_seconds_bucket", "arena_log_read_seconds_bucket", "go_goroutines", "process_open_fds",
		} {
			require.Contains(t, answer.Body.String(), name)
		}
	}
}
