package main

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"hexarena/domain/match"
	"hexarena/eventstore"
	"hexarena/projections/matches"
)

// hostileAddresses is how many addresses use up their rate limits.
const hostileAddresses = 8

func TestHostileAddresses(t *testing.T) { t.Parallel(); hostility(t, 5*time.Second) }

func TestSoakHostileAddresses(t *testing.T) {
	if os.Getenv("ARENA_SOAK") == "" {
		t.Skip("takes a minute: run make soak")
	}
	hostility(t, 60*time.Second)
}

// While strangers make the most expensive calls as often as their limits allow,
// matches continue and other callers are served. The test prints the delays but sets
// no limit for them, because they depend on the machine.
func hostility(t *testing.T, last time.Duration) {
	s := newTestArena(t, "--tick", "1s", "--rest-standard", "1s", "--decision-standard", "30s")
	s.start()
	delays := &decisionDelays{answered: map[string]time.Time{}}
	for _, name := range []string{"Ann", "Bea", "Cat", "Dot", "Eve", "Fay", "Gus", "Hal"} {
		b := newTestBot(t, name)
		b.asked, b.hold = delays.asked, delays.answer
		s.join(b)
	}
	s.finishedOnce()

	calm := measureHealth(t, s, last)
	calmDecisions := delays.take()
	ctx, cancel := context.WithCancel(t.Context())
	var hostile sync.WaitGroup
	counts := &statusCounts{n: map[int]int{}}
	targets := s.expensiveTargets()
	for i := range hostileAddresses {
		hostile.Go(func() { attack(ctx, s.base(), net.IPv4(127, 79, 0, byte(1+i)), targets, counts) })
	}
	besieged := measureHealth(t, s, last)
	decisions := delays.take()
	cancel()
	hostile.Wait()
	t.Logf("calls of %d hostile addresses, by status: %v", hostileAddresses, counts.n)
	t.Logf("GET /health: %s; without them %s", quantiles(besieged), quantiles(calm))
	t.Logf("from a bot's answer to the next request: %s; without them %s", quantiles(decisions), quantiles(calmDecisions))
	require.NotEmpty(t, decisions, "matches are played")
	require.Positive(t, counts.n[http.StatusOK])
	require.Zero(t, counts.n[http.StatusInternalServerError])

	s.retire()
	s.finish(0)
	require.Empty(t, s.list(matches.Aborted))
	for _, m := range s.list(matches.Completed) {
		var r record
		s.get("/matches/"+m.ID, &r)
		r.requireWhole(t) // no bot has a strike
	}
}

// finishedOnce waits until a match has been rated.
func (s *testArena) finishedOnce() {
	s.t.Helper()
	eventually(s.t, "a match is rated", func() bool { return len(s.list(matches.Completed)) > 0 })
}

// expensiveTargets lists the targets that cost the most CPU time, relative to how many
// calls they count as (see "What calls cost" in docs/operations.md).
func (s *testArena) expensiveTargets() []string {
	id := s.list(matches.Completed)[0].ID
	bot := s.list(matches.Completed)[0].Players[0].BotID
	list := []string{
		"/ladder/standard", "/ladder/standard?q=a", "/", "/bot/" + bot, "/leaderboard?at=2026-01-01T00:00:00Z",
		"/matches?limit=200", "/ladder/standard/events?limit=250",
	}
	for limit := range 40 {
		list = append(list, fmt.Sprintf("/matches/%s/frames?seat=all&limit=%d", id, 5000+limit))
	}
	for _, m := range s.list(matches.Completed) {
		list = append(list, "/watch/"+m.ID+"/preview.png", "/matches/"+m.ID, "/ladder/standard")
	}
	return list
}

// attack makes as many calls as the limits allow, spread evenly over time.
func attack(ctx context.Context, base string, from net.IP, targets []string, counts *statusCounts) {
	d := net.Dialer{LocalAddr: &net.TCPAddr{IP: from}}
	client := &http.Client{Transport: &http.Transport{DialContext: d.DialContext, DisableCompression: true}}
	defer client.CloseIdleConnections()
	for i := 0; eventstore.Sleep(ctx, 100*time.Millisecond) == nil; i++ { // 600 a minute
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, base+targets[7*i%len(targets)], nil)
		if err != nil {
			return
		}
		res, err := client.Do(req)
		if err != nil {
			continue // the test has ended
		}
		_, _ = io.Copy(io.Discard, res.Body)
		res.Body.Close()
		counts.add(res.StatusCode)
	}
}

type statusCounts struct {
	mu sync.Mutex
	n  map[int]int // by status
}

func (c *statusCounts) add(status int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.n[status]++
}

// measureHealth calls /health 20 times a second, each time from another address.
func measureHealth(t *testing.T, s *testArena, last time.Duration) []time.Duration {
	t.Helper()
	var took []time.Duration
	for until := time.Now().Add(last); time.Now().Before(until); {
		require.NoError(t, eventstore.Sleep(t.Context(), 50*time.Millisecond))
		begun := time.Now()
		res, err := http.Get(s.base() + "/health")
		require.NoError(t, err)
		_, _ = io.Copy(io.Discard, res.Body)
		res.Body.Close()
		require.Equal(t, http.StatusOK, res.StatusCode)
		took = append(took, time.Since(begun))
	}
	return took
}

// decisionDelays measures the arena's share of the time that decisions take: the time
// from a bot's answer until a bot receives the match's next request.
type decisionDelays struct {
	mu       sync.Mutex
	answered map[string]time.Time // by match
	took     []time.Duration
}

func (d *decisionDelays) answer(r *match.Request) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.answered[r.MatchID] = time.Now()
}

func (d *decisionDelays) asked(r *match.Request) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if at, ok := d.answered[r.MatchID]; ok {
		d.took = append(d.took, time.Since(at))
	}
}

// take returns the delays that were measured since the last call of take.
func (d *decisionDelays) take() []time.Duration {
	d.mu.Lock()
	defer d.mu.Unlock()
	took := d.took
	d.took = nil
	return took
}

func quantiles(took []time.Duration) string {
	if len(took) == 0 {
		return "nothing measured"
	}
	took = slices.Sorted(slices.Values(took))
	at := func(q float64) time.Duration {
		return took[int(q*float64(len(took)-1))].Round(10 * time.Microsecond)
	}
	return fmt.Sprintf("p50 %s, p99 %s, max %s (%d)", at(0.5), at(0.99), at(1), len(took))
}
