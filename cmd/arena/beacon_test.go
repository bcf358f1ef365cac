package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"hexarena/adapters/drand"
	"hexarena/adapters/drand/drandtest"
	"hexarena/adapters/rest"
	"hexarena/cmd/arena/demo"
	"hexarena/domain/beacon"
	"hexarena/domain/ladder"
	"hexarena/domain/match"
	"hexarena/projections/matches"
)

// serveRelay creates a drand chain with a round per period, and serves it until the test
// ends. It returns the flags that make an arena use this chain.
func serveRelay(t *testing.T, period time.Duration) (relay *drandtest.Relay, flags []string) {
	t.Helper()
	relay = drandtest.New(t.Name(), period)
	server := httptest.NewServer(relay)
	t.Cleanup(server.Close)
	return relay, []string{"--beacon", server.URL + "/", "--beacon-chain", relay.Flag()}
}

// The type upgrades collects the headers of upgrade requests, by match.
type upgrades struct {
	mu    sync.Mutex
	all   []http.Header
	first func() // called at the first upgrade
}

func (u *upgrades) add(h http.Header) {
	u.mu.Lock()
	u.all = append(u.all, h.Clone())
	first := u.first
	u.first = nil
	u.mu.Unlock()
	if first != nil {
		first()
	}
}

// u.of returns the headers of the upgrade requests for one match.
func (u *upgrades) of(matchID string) (list []http.Header) {
	u.mu.Lock()
	defer u.mu.Unlock()
	for _, h := range u.all {
		if h.Get("x-arena-match") == matchID {
			list = append(list, h)
		}
	}
	return list
}

// The method matches() returns the match ids of all upgrade requests, in the order in
// which they arrived.
func (u *upgrades) matches() (ids []string) {
	u.mu.Lock()
	defer u.mu.Unlock()
	for _, h := range u.all {
		ids = append(ids, h.Get("x-arena-match"))
	}
	return ids
}

// join registers the three bots of a table, and collects their upgrade requests. When the
// first of these requests arrives, join calls first(). The first upgrade waits until the
// call that registers the last bot has returned, because first() may kill the arena.
func (u *upgrades) join(s *testArena, first func()) {
	s.t.Helper()
	registered := make(chan struct{})
	defer close(registered)
	u.first = func() {
		<-registered
		if first != nil {
			first()
		}
	}
	players := goodPlayers(s.t, 3, &eventTrigger{})
	for _, p := range players {
		p.upgrade = u.add
	}
	s.join(players...)
}

// House bots play on an arena with a beacon. Every record contains a valid proof of
// its seed.
func TestHouseBotsPlayWithABeacon(t *testing.T) {
	t.Parallel()
	relay, flags := serveRelay(t, time.Second)
	p := launch(t, append([]string{"demo", "--data", t.TempDir(), "--listen", "127.0.0.1:0", "--admin-listen", "127.0.0.1:0", "--node-listen", "127.0.0.1:0"}, flags...)...)
	base := p.await(`Hex Arena is at (http://127\.0\.0\.1:\d+)`)[1]
	p.await(`completed +standard +1\. \w+ \([+-]\d+\.\d\)`)
	anyone := demo.Owner{Base: base}
	var list rest.Matches
	require.NoError(t, anyone.Call(t.Context(), "GET", "/matches?status=completed", nil, &list))
	require.NotEmpty(t, list.Matches)
	for _, summary := range list.Matches {
		var m rest.Match
		require.NoError(t, anyone.Call(t.Context(), "GET", "/matches/"+summary.ID, nil, &m))
		requireSeedOf(t, relay, &m)
	}
	p.end(syscall.SIGTERM)
}

// requireSeedOf requires that a record's seed is derived from a signed round of the
// relay's chain.
func requireSeedOf(t *testing.T, relay *drandtest.Relay, m *rest.Match) {
	t.Helper()
	require.NotNil(t, m.Proof.Beacon)
	require.NoError(t, drand.Verify(relay.Chain(), *m.Proof.Beacon))
	require.Equal(t, match.SeedOf(m.Proof.ServerSeed, m.Proof.Nonces, m.Proof.Beacon), *m.Seed)
	require.NotEqual(t, match.SeedOf(m.Proof.ServerSeed, m.Proof.Nonces, nil), *m.Seed)
}

// The seating, the upgrade request and the record name the same round, which appears
// at least two periods after the tick. The API describes the arena's chain.
func TestMatchesUseTheRoundOfTheirTable(t *testing.T) {
	t.Parallel()
	relay, flags := serveRelay(t, time.Second)
	s, u := newTestArena(t, append(flags, quick...)...), &upgrades{}
	s.start()
	var known rest.Arena
	s.get("/.well-known/arena.json", &known)
	text, err := json.Marshal(known.Beacon)
	require.NoError(t, err)
	chain, err := beacon.ParseInfo(text)
	require.NoError(t, err)
	require.Equal(t, relay.Chain(), chain)
	eventually(t, "/ready shows the beacon", func() bool {
		status, body := fetch(t, "http://"+s.arena.admin()+"/ready")
		return status == http.StatusOK && strings.Contains(body, `"up":true`)
	})

	u.join(s, nil)
	s.finish(2)
	records := map[string]*rest.Match{}
	for _, summary := range s.list(matches.Completed) {
		m := &rest.Match{}
		s.get("/matches/"+summary.ID, m)
		requireSeedOf(t, relay, m)
		records[m.ID] = m
	}
	s.settle()
	tables := seatingsOf(t, s.data)
	for id, m := range records {
		seated := tables[id]
		require.Equal(t, &beacon.Named{Chain: chain.Hash, Round: chain.After(seated.Tick)}, seated.Beacon)
		require.Equal(t, seated.Beacon.Round, m.Proof.Beacon.Round)
		require.Len(t, u.of(id), len(m.Players))
		for _, h := range u.of(id) {
			require.Equal(t, strconv.FormatUint(seated.Beacon.Round, 10), h.Get("x-arena-beacon-round"))
			require.Equal(t, strconv.FormatUint(m.Proof.Revision, 10), h.Get("x-arena-log-index"))
			require.Equal(t, m.Commitment.String(), h.Get("x-arena-commitment"))
		}
	}
}

// seatingsOf returns the seatings of a stopped arena's standard ladder, by match.
func seatingsOf(t *testing.T, data string) map[string]ladder.TablesSeated {
	t.Helper()
	log, closeLog := openLog(t, data)
	defer closeLog()
	all := map[string]ladder.TablesSeated{}
	for _, e := range readStream(t, log, ladder.Stream(ladder.Standard), ladder.Decode) {
		if e, ok := e.(ladder.TablesSeated); ok {
			for _, table := range e.Tables {
				all[table.MatchID] = e
			}
		}
	}
	return all
}

// slowRounds is the period of a chain whose relay starts to fail at the first dial. The
// round of the table is due only after that.
const slowRounds = 5 * time.Second

// If the named round does not arrive, the match is voided, and its bots play again
// without a rest.
func TestLateBeaconVoidsTheMatch(t *testing.T) {
	t.Parallel()
	for name, fault := range map[string]drandtest.Fault{
		"late": drandtest.Late, "wrong signature": drandtest.WrongSignature, "wrong round": drandtest.WrongRound, "forked": drandtest.Forked,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			relay, flags := serveRelay(t, slowRounds)
			s, u := newTestArena(t, append(flags, "--tick", "250ms", "--rest-standard", "24h", "--decision-standard", "30s")...), &upgrades{}
			s.start()
			u.join(s, func() { relay.Fail(fault) })
			s.arena.awaitLog(0, `msg="match ended before it started" .*why=beacon`)
			relay.Fail(drandtest.None)
			s.finish(1)
			played := s.list(matches.Completed)
			s.stop()

			log, closeLog := openLog(t, s.data)
			defer closeLog()
			var voided []ladder.MatchVoided
			for _, e := range readStream(t, log, ladder.Stream(ladder.Standard), ladder.Decode) {
				if e, ok := e.(ladder.MatchVoided); ok {
					voided = append(voided, e)
				}
			}
			require.Len(t, voided, 1)
			require.Equal(t, ladder.WhyBeacon, voided[0].Why)
			require.NotEqual(t, played[0].ID, voided[0].MatchID)
			require.NotEmpty(t, u.of(voided[0].MatchID), "the bots were dialed before the round was due")
			require.Empty(t, readStream(t, log, match.Stream(voided[0].MatchID), match.Decode), "the match never started")
		})
	}
}

// While the relay is down, nobody is seated. /ready and the metrics say so.
func TestNobodyIsSeatedWithoutTheBeacon(t *testing.T) {
	t.Parallel()
	relay, flags := serveRelay(t, time.Second)
	s, u := newTestArena(t, append(flags, quick...)...), &upgrades{}
	s.start()
	operators := "http://" + s.arena.admin()
	ready := func(want int) {
		eventually(t, fmt.Sprintf("/ready has status %d", want), func() bool {
			status, _ := fetch(t, operators+"/ready")
			return status == want
		})
	}
	ready(http.StatusOK)
	relay.Fail(drandtest.Down)
	eventually(t, "the beacon is behind", func() bool {
		_, body := fetch(t, operators+"/ready")
		return strings.Contains(body, "the arena seats nobody: the beacon is behind")
	})
	u.join(s, nil)
	joined := len(s.arena.err.String())
	s.arena.awaitLog(joined, `(?s)(msg="tables not seated; retrying at the next tick" mode=standard error="the beacon is behind.*){3}`)
	_, body := fetch(t, operators+"/ready")
	var answer struct {
		Ready  bool
		Why    string
		Beacon struct{ Up bool }
	}
	require.NoError(t, json.Unmarshal([]byte(body), &answer), body)
	require.False(t, answer.Ready)
	require.False(t, answer.Beacon.Up)
	require.Contains(t, answer.Why, "the arena seats nobody: the beacon is behind")
	_, metrics := fetch(t, operators+"/metrics")
	require.Contains(t, strings.Split(metrics, "\n"), "arena_beacon_up 0")
	require.Regexp(t, `(?m)^arena_beacon_failures_total\{reason="unavailable"\} [1-9]`, metrics)
	require.Empty(t, append(s.list(matches.Running), s.list(matches.Completed)...))
	require.Empty(t, u.matches())

	relay.Fail(drandtest.None)
	s.finish(1)
	ready(http.StatusOK)
	s.stop()
	require.NotEmpty(t, seatingsOf(t, s.data))
}

// A crash between the seating and the start of a match does not change its round.
// While the beacon is unavailable, the match waits and the arena dials no bot.
func TestCrashBeforeTheStartKeepsTheRound(t *testing.T) {
	t.Parallel()
	relay, flags := serveRelay(t, time.Second)
	s, u := newTestArena(t, quick...), &upgrades{}
	s.start(flags...)
	u.join(s, func() { s.arena.signal(syscall.SIGKILL) })
	<-s.arena.exited

	s.start()
	s.arena.awaitLog(0, `level=ERROR msg="match cannot start: its seed needs a beacon chain.* chain=`+relay.Chain().Hash)
	dialed := len(u.matches())
	require.Empty(t, append(s.list(matches.Running), s.list(matches.Completed)...))
	s.stop()
	require.Len(t, u.matches(), dialed)

	s.start(flags...)
	s.finish(1)
	s.flags = append(s.flags, flags...) // for settle
	s.settle()
	tables := seatingsOf(t, s.data)
	id := u.matches()[0]
	log, closeLog := openLog(t, s.data)
	defer closeLog()
	events := readStream(t, log, match.Stream(id), match.Decode)
	started := events[0].(match.Started)
	require.Equal(t, tables[id].Beacon.Round, started.Beacon.Round)
	require.NoError(t, drand.Verify(relay.Chain(), *started.Beacon))
	require.IsType(t, match.GameEnded{}, events[len(events)-1])
	rounds := map[string]bool{}
	for _, h := range u.of(id) {
		rounds[h.Get("x-arena-beacon-round")] = true
	}
	require.Equal(t, map[string]bool{fmt.Sprint(started.Beacon.Round): true}, rounds)
}

// An operator can abort a match that waits for its round.
func TestAbortOfAMatchThatWaitsForTheBeacon(t *testing.T) {
	t.Parallel()
	relay, flags := serveRelay(t, slowRounds)
	s := &operatedArena{testArena: newTestArena(t, append(flags, "--tick", "250ms", "--rest-standard", "24h")...)}
	s.start()
	u, dialed := &upgrades{}, make(chan string, 1)
	u.join(s.testArena, func() { relay.Fail(drandtest.Late); dialed <- "" })
	<-dialed
	id := u.matches()[0]
	require.Equal(t, "aborted: the match has no placements and changes no ratings\n", s.admin("abort", id, "--reason", "the relay is gone"))
	s.arena.awaitLog(0, `msg="match ended before it started" .*why=operator reason="the relay is gone"`)
	s.stop()
	log, closeLog := openLog(t, s.data)
	defer closeLog()
	events := readStream(t, log, ladder.Stream(ladder.Standard), ladder.Decode)
	require.Equal(t, ladder.MatchVoided{MatchID: id, Why: ladder.WhyOperator}, events[len(events)-1])
	require.Empty(t, readStream(t, log, match.Stream(id), match.Decode))
	require.False(t, slices.ContainsFunc(events, func(e ladder.Event) bool { _, rated := e.(ladder.RatingsChanged); return rated }))
}
