package main

import (
	"encoding/hex"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"hexarena/adapters/client"
	"hexarena/cmd/arena/remote"
	domain "hexarena/domain/arena"
	"hexarena/domain/ladder"
	"hexarena/domain/match"
	"hexarena/domain/owner"
	"hexarena/eventstore"
	"hexarena/projections/matches"
)

// operatedArena is an arena whose operator calls `arena admin`. Its bots do not
// answer until a gate is open.
type operatedArena struct {
	*testArena
	gate func() // opens the gate
}

func newOperatedArena(t *testing.T) *operatedArena {
	s := &operatedArena{testArena: newTestArena(t, "--tick", "200ms", "--rest-standard", "100ms", "--decision-standard", "5m")}
	s.start()
	open := make(chan struct{})
	s.gate = sync.OnceFunc(func() { close(open) })
	var players []*testBot
	for _, name := range []string{"Ada", "Bob", "Cy", "Dee"} {
		p := newTestBot(t, name)
		p.hold = func(*match.Request) { <-open }
		players = append(players, p)
	}
	t.Cleanup(s.gate)
	s.join(players...)
	return s
}

// admin calls `arena admin` and returns the command's output.
func (s *testArena) admin(args ...string) string {
	s.t.Helper()
	at := s.arena.await(`operators' endpoints on (http://\S+)`)[1]
	p := launch(s.t, append(append([]string{"admin"}, args...), "--admin", at)...)
	p.awaitExit()
	require.Equal(s.t, 0, p.cmd.ProcessState.ExitCode(), p.err.String())
	return p.out.String()
}

// The method refuses() requires that a call of `arena admin` fails: the command must
// print the given line and exit with status 1.
func (s *operatedArena) refuses(line string, args ...string) {
	s.t.Helper()
	at := s.arena.await(`operators' endpoints on (http://\S+)`)[1]
	p := launch(s.t, append(append([]string{"admin"}, args...), "--admin", at)...)
	p.awaitExit()
	require.Equal(s.t, 1, p.cmd.ProcessState.ExitCode())
	require.Equal(s.t, "arena: "+line+"\n", p.err.String())
}

// The method ready() calls /ready until a response reports whether the arena is
// draining, and returns that response.
func (s *operatedArena) ready() (answer map[string]any) {
	s.t.Helper()
	eventually(s.t, "the log answers", func() bool {
		res, err := http.Get("http://" + s.arena.admin() + "/ready")
		s.must(err)
		defer res.Body.Close()
		answer = nil
		s.must(json.NewDecoder(res.Body).Decode(&answer))
		if answer["log"] != nil {
			return false // the log took more than 3 s
		}
		require.Equal(s.t, http.StatusOK, res.StatusCode)
		return answer["draining"] != nil
	})
	return answer
}

// s.as makes a call as the bots' owner.
func (s *operatedArena) as(method, path string, body any) (client.Answer, error) {
	s.t.Helper()
	o := s.owners[0]
	c, err := client.New(client.Options{Base: s.base(), Key: &client.Key{ID: o.KeyID, Private: o.Key}})
	s.must(err)
	return c.Call(s.t.Context(), method, path, body)
}

type botAnswer struct{ ID, Name, Status string }

func (s *operatedArena) bots() (bots []botAnswer) {
	s.t.Helper()
	answer, err := s.as(http.MethodGet, "/bots", nil)
	s.must(err)
	var list struct{ Bots []botAnswer }
	s.must(json.Unmarshal(answer.Body, &list))
	return list.Bots
}

// refusesOtherSites requires that the arena rejects an order that a browser sends on
// behalf of another site.
func (s *operatedArena) refusesOtherSites() {
	s.t.Helper()
	at := s.arena.await(`operators' endpoints on (http://\S+)`)[1]
	r, err := http.NewRequestWithContext(s.t.Context(), http.MethodPost, at+"/admin/undrain", strings.NewReader(`{"reason":"a"}`))
	s.must(err)
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Sec-Fetch-Site", "cross-site")
	res, err := http.DefaultClient.Do(r)
	s.must(err)
	defer res.Body.Close()
	require.Equal(s.t, http.StatusForbidden, res.StatusCode)
	var refusal struct{ Code string }
	s.must(json.NewDecoder(res.Body).Decode(&refusal))
	require.Equal(s.t, "cross_site", refusal.Code)
}

// An operator gives every kind of order to a real process. The arena drains, and
// still drains after a restart. It aborts a match while the bots are thinking,
// suspends and restores a bot and its owner, and rotates the seed key during a match.
// The log shows the reason and the request id of each order.
func TestOperators(t *testing.T) {
	t.Parallel()
	s := newOperatedArena(t)

	// While an arena drains, running matches continue.
	held := s.awaitRunning().ID
	require.Equal(t, "draining: no more bots are seated, and running matches continue until they end\n", s.admin("drain", "--reason", "a new release"))
	require.Equal(t, "the arena is already draining\n", s.admin("drain", "--reason", "once more"))
	require.Regexp(t, `(?s)plays +yes\nseats tables +yes\nmatches running +1\ndraining +yes, since \S+: a new release\nseed key +\S+\n`+
		`lease +(\S+) on \S+, generation 1\nmatches taken over +0\nfenced appends +0\nmember +\S+ on \S+ \(this process\): plays 1 of \d+ matches, \d+ free, since \S+\n$`, s.admin("status"))
	require.Equal(t, map[string]any{"ready": true, "draining": true}, s.ready())

	s.refusesOtherSites()

	// An abort does not wait for bots that are thinking, and causes no strikes.
	require.Equal(t, "aborted: the match has no placements and changes no ratings\n", s.admin("abort", held, "--reason", "a fault of ours"))
	var aborted struct {
		Status string
		Seed   string
		Replay []event
	}
	eventually(t, "the abort is public", func() bool {
		s.get("/matches/"+held, &aborted)
		return aborted.Status == matches.Aborted
	})
	require.NotEmpty(t, aborted.Seed)
	for _, e := range aborted.Replay {
		require.NotContains(t, []string{"timeout", "illegal", "end"}, e.Kind)
	}
	s.refuses("refused (409 match_over): the match is over", "abort", held, "--reason", "again")
	s.refuses("refused (404 not_found): no such match", "abort", "nobody", "--reason", "again")

	// The arena still drains after a restart.
	s.stop()
	s.start()
	require.Regexp(t, `matches running +0\ndraining +yes`, s.admin("status"))
	require.Equal(t, "bots are seated again\n", s.admin("undrain", "--reason", "released"))
	require.Equal(t, map[string]any{"ready": true, "draining": false}, s.ready())

	// After a rotation, the running match keeps its key, and the next match uses the
	// new one.
	underOld := s.awaitRunning().ID
	var rotation struct {
		SeedKey string
		Retired []string
	}
	s.must(json.Unmarshal([]byte(s.admin("rotate-seed-key", "--reason", "once a year", "--json")), &rotation))
	require.Len(t, rotation.Retired, 1)
	require.Contains(t, s.admin("status"), rotation.SeedKey)
	s.gate()
	eventually(t, "two more are rated", func() bool { return len(s.list(matches.Completed)) >= 2 })
	rated := s.list(matches.Completed) // the newest first
	require.Equal(t, underOld, rated[len(rated)-1].ID)
	require.Equal(t, rotation.Retired[0], s.record(underOld).Proof.SeedKey)
	require.Equal(t, rotation.SeedKey, s.record(rated[0].ID).Proof.SeedKey)

	suspendAndRestore(s)

	// After the rotation, the arena has two secret seed keys. Its log lines contain
	// neither of them, and no sign-in token, email address or URL.
	secretKeys := s.seedKeys()
	require.Len(t, secretKeys, 2)
	logged := s.arena.err.String()
	s.stop()
	token, err := remote.MailedToken(filepath.Join(s.data, "mail"), "owner-1@example.org")
	s.must(err)
	for _, secret := range append(secretKeys, token, "@example.org", "http://127.0.0.1") {
		require.NotContains(t, logged, secret)
	}
	s.start("--no-play")
	s.refuses("refused (409 not_playing): this arena does not play matches: send the order to the arena that does", "abort", held, "--reason", "again")
	s.refuses("refused (409 not_playing): this arena does not play matches: send the order to the arena that does", "rotate-seed-key", "--reason", "again")
	require.Regexp(t, `plays +no\n(?s).*\nlease +nobody\n$`, s.admin("status"))
	s.stop()

	requireOrdersInTheLog(s, logged, held, rotation.SeedKey)
}

// suspendAndRestore suspends and restores a bot, and then the bot's owner. While the
// owner is suspended, they can still read data, and running matches continue.
func suspendAndRestore(s *operatedArena) {
	t := s.t
	t.Helper()
	bot := s.bots()[0]
	require.Equal(t, "suspended\n", s.admin("suspend", "bot", bot.ID, "--reason", "floods"))
	require.Equal(t, "it is already suspended\n", s.admin("suspend", "bot", bot.ID, "--reason", "floods"))
	require.Equal(t, "paused", s.bots()[0].Status)
	_, err := s.as(http.MethodPatch, "/bots/"+bot.ID, map[string]string{"status": "active"})
	require.ErrorContains(t, err, "refused (409 suspended): ")
	require.Equal(t, "restored\n", s.admin("restore", "bot", bot.ID, "--reason", "fixed"))
	require.Equal(t, "active", s.bots()[0].Status)

	var done struct{ Owner string }
	s.must(json.Unmarshal([]byte(s.admin("suspend", "bot", bot.ID, "--reason", "floods again", "--json")), &done))
	s.admin("restore", "bot", bot.ID, "--reason", "fixed again")
	require.Equal(t, "suspended\n", s.admin("suspend", "owner", done.Owner, "--reason", "abuse"))
	_, err = s.as(http.MethodPatch, "/bots/"+bot.ID, map[string]string{"name": "Eve"})
	require.ErrorContains(t, err, "refused (403 suspended): ")
	for _, b := range s.bots() {
		require.Equal(t, "paused", b.Status, b.Name)
	}
	require.Equal(t, "restored\n", s.admin("restore", "owner", done.Owner, "--reason", "settled"))
	require.Equal(t, "it is not suspended\n", s.admin("restore", "owner", done.Owner, "--reason", "settled"))
	s.refuses("refused (404 not_found): no such account", "suspend", "owner", "nobody", "--reason", "abuse")
}

// seedKeys returns the seed keys of the secrets file, in hex.
func (s *operatedArena) seedKeys() (keys []string) {
	s.t.Helper()
	text, err := os.ReadFile(filepath.Join(s.data, "secrets.json"))
	s.must(err)
	var file struct{ SeedKeys []struct{ Key string } }
	s.must(json.Unmarshal(text, &file))
	for _, k := range file.SeedKeys {
		_, err := hex.DecodeString(k.Key)
		s.must(err)
		keys = append(keys, k.Key)
	}
	return keys
}

// The type filed is an event of the log with its metadata.
type filed struct {
	eventstore.Recorded
	data, correlation string
}

func (s *operatedArena) file(log eventstore.Log, stream string) (all []filed) {
	s.t.Helper()
	for r, err := range log.Read(s.t.Context(), eventstore.StreamID(stream), 0, eventstore.ReadOptions{}) {
		s.must(err)
		m, err := eventstore.DecodeMetadata(r)
		s.must(err)
		all = append(all, filed{r, string(r.Data), m.Correlation})
	}
	return all
}

// requireOrdersInTheLog requires that the log contains each order as an event with a
// reason. The event's correlation must be the id of a logged request. The arena must
// not have seated bots while it was draining, or under a retired key.
func requireOrdersInTheLog(s *operatedArena, logged, held, newKey string) {
	t := s.t
	t.Helper()
	log, closeLog := openLog(t, s.data)
	defer closeLog()
	requests := regexp.MustCompile(`operator's order carried out" .*request=(\S+)`).FindAllStringSubmatch(logged, -1)
	require.GreaterOrEqual(t, len(requests), 7)
	var ids []string
	for _, r := range requests {
		ids = append(ids, r[1])
	}

	operations, keys, seatings := s.file(log, domain.OperationsStream), s.file(log, domain.KeysStream), s.file(log, ladder.Stream(ladder.Standard))
	require.Len(t, operations, 2)
	require.Equal(t, []string{"DrainStarted", `{"reason":"a new release"}`}, []string{operations[0].Type, operations[0].data})
	require.Equal(t, []string{"DrainEnded", `{"reason":"released"}`}, []string{operations[1].Type, operations[1].data})
	require.Contains(t, ids, operations[1].correlation)
	added, retired, published := keys[len(keys)-3], keys[len(keys)-2], keys[len(keys)-1]
	require.Equal(t, "SeedKeyAdded", added.Type)
	require.Equal(t, "SeedKeyRetired", retired.Type)
	require.Contains(t, retired.data, `"reason":"once a year"`)
	require.Contains(t, ids, retired.correlation)
	require.Equal(t, "SeedKeyPublished", published.Type, "the key was published once the last match under it was over")

	drained, rotated := 0, 0
	for _, e := range seatings {
		if e.Type != "TablesSeated" {
			continue
		}
		require.False(t, e.Position > operations[0].Position && e.Position < operations[1].Position, "seated during a drain")
		require.Equal(t, e.Position > retired.Position, strings.Contains(e.data, newKey), "seated under the key in use")
		if e.Position < operations[0].Position {
			drained++
		} else if e.Position > retired.Position {
			rotated++
		}
	}
	require.Equal(t, 1, drained)
	require.NotZero(t, rotated)

	abort := s.file(log, match.Stream(held))
	last := abort[len(abort)-1]
	require.Equal(t, "MatchAborted", last.Type)
	require.Contains(t, last.data, `{"why":"operator","reason":"a fault of ours",`)
	require.NotEqual(t, held, last.correlation)
	require.Equal(t, held, abort[0].correlation)
	require.True(t, slices.ContainsFunc(seatings, func(e filed) bool {
		return e.Type == "MatchVoided" && e.data == `{"match":"`+held+`","why":"operator"}`
	}))

	requireSuspensions(s, log, ids)
}

func requireSuspensions(s *operatedArena, log eventstore.Log, ids []string) {
	t := s.t
	t.Helper()
	var orders []string
	for _, e := range s.file(log, owner.AccountStream(s.ownerID(log))) {
		if strings.Contains(e.data, `"reason"`) {
			require.Contains(t, ids, e.correlation, "%s %s", e.Type, e.data)
			var said struct{ Reason string }
			s.must(json.Unmarshal(e.Data, &said))
			orders = append(orders, e.Type+": "+said.Reason)
		}
	}
	require.Equal(t, []string{
		"BotPaused: floods", "BotUnpaused: fixed", "BotPaused: floods again", "BotUnpaused: fixed again",
		"OwnerSuspended: abuse", "OwnerRestored: settled",
	}, orders)
}

// ownerID returns the id of the only owner whose bots play in the log's matches.
func (s *operatedArena) ownerID(log eventstore.Log) string {
	s.t.Helper()
	tables := readStream(s.t, log, ladder.Stream(ladder.Standard), ladder.Decode)
	started := readStream(s.t, log, match.Stream(tables[0].(ladder.TablesSeated).Tables[0].MatchID), match.Decode)
	return started[0].(match.Started).Seats[0].OwnerID
}

// The events that a REST call causes contain the id of the request. The response
// contains the same id.
func TestEventsNameTheirRequest(t *testing.T) {
	t.Parallel()
	s := newOperatedArena(t)
	answer, err := s.as(http.MethodPatch, "/bots/"+s.bots()[0].ID, map[string]string{"name": "Lovelace"})
	require.NoError(t, err)
	request := answer.Header.Get("X-Request-Id")
	require.NotEmpty(t, request)
	id := s.bots()[0]
	require.Equal(t, "Lovelace", id.Name)
	s.awaitRunning()
	s.stop()

	log, closeLog := openLog(t, s.data)
	defer closeLog()
	events := s.file(log, owner.AccountStream(s.ownerID(log)))
	renamed := slices.IndexFunc(events, func(e filed) bool { return e.Type == "BotRenamed" })
	require.Equal(t, request, events[renamed].correlation)
	for _, e := range events {
		require.Len(t, e.correlation, 36, "%s belongs to a request", e.Type)
	}
}

// The arena accepts orders only on a loopback address.
func TestOrdersAreTakenOnlyOnLoopback(t *testing.T) {
	t.Parallel()
	s := newTestArena(t)
	s.launch("--admin-listen", "0.0.0.0:0")
	_, port, err := net.SplitHostPort(s.arena.await(`operators' endpoints on http://(\S+)`)[1])
	require.NoError(t, err)
	at := "http://127.0.0.1:" + port
	for _, path := range []string{"/admin/status", "/admin/drain", "/debug/pprof/"} {
		res, err := http.Get(at + path)
		require.NoError(t, err)
		body, err := io.ReadAll(res.Body)
		require.NoError(t, err)
		require.NoError(t, res.Body.Close())
		require.Equal(t, http.StatusNotFound, res.StatusCode, "%s: %s", path, body)
	}
	eventually(t, "the arena is ready", func() bool {
		status, _ := fetch(t, at+"/ready")
		return status == http.StatusOK
	})
	s.stop()
}
