package api_test

import (
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"hexarena/adapters/api"
	"hexarena/domain/ladder"
	"hexarena/domain/match"
	"hexarena/domain/seed"
	"hexarena/eventstore/logtest"
	"hexarena/projections/arenatest"
)

// The method fits() requires that a response has the shape s.
func (a *answer) fits(s shape) *answer {
	a.t.Helper()
	a.is(http.StatusOK)
	require.NoError(a.t, s(a.json), "the answer")
	return a
}

// The method statuses() returns the status of each match of s, as /matches shows it.
func (s *spectated) statuses() map[*arenatest.Game]string {
	return map[*arenatest.Game]string{
		s.four: "completed", s.three: "completed", s.aborted: "aborted", s.unrated: "running", s.unvoid: "running", s.running: "running",
	}
}

func TestMatchList(t *testing.T) {
	s := newSpectated(t)
	page := s.get("/matches").is(http.StatusOK)
	require.NoError(t, object(map[string]shape{"matches": listOf(func(any) error { return nil }, 6), "next": null})(page.json))
	for i, g := range []*arenatest.Game{s.running, s.unvoid, s.unrated, s.aborted, s.three, s.four} {
		m := page.json["matches"].([]any)[i].(map[string]any)
		require.NoError(t, object(summary(s.statuses()[g]))(m), "match %d", i)
		require.Equal(t, g.MatchID, m["id"])
		require.Equal(t, g.Mode, m["mode"])
		require.Equal(t, g.Times[0].Format(match.TimeFormat), m["startedAt"])
		require.Len(t, m["players"], len(g.Bots))
		for at, p := range m["players"].([]any) {
			p := p.(map[string]any)
			require.Equal(t, float64(at), p["seat"])
			require.Equal(t, g.State.Started.Seats[at].BotID, p["botId"])
			require.Equal(t, g.State.Started.Seats[at].BotName, p["botName"])
			if m["status"] == "completed" {
				require.Equal(t, float64(g.State.End.Placements[at]), p["placement"])
			}
		}
		if m["status"] != "running" {
			require.Equal(t, g.Times[len(g.Times)-1].Format(match.TimeFormat), m["endedAt"])
		}
	}
}

func TestMatchListQueries(t *testing.T) {
	s := newSpectated(t)
	ids := func(games ...*arenatest.Game) []string {
		list := []string{}
		for _, g := range games {
			list = append(list, g.MatchID)
		}
		return list
	}
	for query, want := range map[string][]string{
		"limit=200":                            ids(s.running, s.unvoid, s.unrated, s.aborted, s.three, s.four),
		"mode=standard":                        ids(s.running, s.unvoid, s.aborted, s.four),
		"mode=parley":                          ids(s.unrated, s.three),
		"status=running":                       ids(s.running, s.unvoid, s.unrated),
		"status=completed":                     ids(s.three, s.four),
		"status=aborted":                       ids(s.aborted),
		"bot=" + s.bots[3]:                     ids(s.running, s.four),
		"bot=" + s.bots[0] + "&status=running": ids(s.unvoid),
		"bot=" + s.bots[7]:                     ids(), // seated, not started
		"bot=nobody":                           ids(),
		"before=" + s.aborted.MatchID:          ids(s.three, s.four),
		"before=" + s.four.MatchID:             ids(),
		"before=" + s.unrated.MatchID + "&mode=standard": ids(s.aborted, s.four),
		"after=" + s.four.MatchID + "&limit=200":         ids(s.three, s.aborted, s.unrated, s.unvoid, s.running),
		"after=" + s.four.MatchID + "&status=running":    ids(s.unrated, s.unvoid, s.running),
		"after=" + s.running.MatchID:                     ids(),
		"from=" + day(s.four) + "&to=" + day(s.running):  ids(s.running, s.unvoid, s.unrated, s.aborted, s.three, s.four),
		"from=2100-01-01":                                ids(),
		"to=2000-01-01":                                  ids(),
		"bot=" + s.bots[0] + "&rival=nobody":             ids(),
		"bot=" + s.bots[0] + "&rival=" + s.bots[3]:       both(s, s.bots[0], s.bots[3]),
		"bot=" + s.bots[3] + "&rival=" + s.bots[0]:       both(s, s.bots[0], s.bots[3]),
	} {
		got, next := s.listed("/matches?" + query)
		require.Equal(t, want, got, query)
		require.Nil(t, next, query)
	}

	got, next := s.listed("/matches?limit=4")
	require.Equal(t, ids(s.running, s.unvoid, s.unrated, s.aborted), got)
	require.Equal(t, s.aborted.MatchID, next)
	got, next = s.listed("/matches?limit=2&before=" + s.aborted.MatchID)
	require.Equal(t, ids(s.three, s.four), got)
	require.Nil(t, next, "no older matches are left")

	for query, field := range map[string]string{
		"limit=0": "limit", "limit=201": "limit", "limit=-1": "limit", "limit=ten": "limit", "limit=": "limit", "limit=1.0": "limit",
		"mode=blitz": "mode", "mode=": "mode", "status=over": "status", "bot=": "bot", "before=": "before", "before=nothing": "before",
		"before=" + s.seated.MatchID: "before", "before=" + s.bots[0]: "before", "after=1": "after", "after=": "after", "after=" + s.seated.MatchID: "after",
		"after=" + s.four.MatchID + "&before=" + s.four.MatchID: "after", "rival=" + s.bots[0]: "rival", "rival=&bot=" + s.bots[0]: "rival", "bot=x&rival=x": "rival",
		"from=": "from", "from=today": "from", "to=2026-02-30": "to", "to=2026-09-06T12:00:00Z": "to", "limit=1&limit=1": "limit",
	} {
		s.get("/matches?"+query).is(http.StatusUnprocessableEntity, "invalid").names(field)
	}
}

// The function day() returns the day on which a match started.
func day(g *arenatest.Game) string { return g.Times[0].UTC().Format(time.DateOnly) }

// The function both() returns the ids of the started matches of two bots, newest first.
func both(s *spectated, a, b string) []string {
	list := []string{}
	for _, g := range []*arenatest.Game{s.running, s.unvoid, s.unrated, s.aborted, s.three, s.four} {
		plays := func(bot string) bool {
			return slices.ContainsFunc(g.Bots, func(e ladder.Entrant) bool { return e.BotID == bot })
		}
		if plays(a) && plays(b) {
			list = append(list, g.MatchID)
		}
	}
	return list
}

// A response from /matches contains 50 matches by default.
func TestMatchListPages(t *testing.T) {
	a := newArena(t)
	p := arenatest.New(t, a.log, 1)
	bots := p.Register("ada", ladder.Standard, "Ann", "Bea", "Cat")
	for range 53 {
		g := p.Seat(ladder.Standard, bots...)[0]
		g.Start()
		g.Abort(match.Operator)
		g.Conclude()
	}
	a.read.sync()
	s := &spectated{arena: a}
	first, next := s.listed("/matches")
	require.Len(t, first, 50)
	require.Equal(t, first[49], next)
	rest, next := s.listed("/matches?before=" + first[49])
	require.Len(t, rest, 3)
	require.Nil(t, next)
}

// Events from older versions of the arena do not contain the time that each seat used.
func TestRecordOfAMatchWithoutClocks(t *testing.T) {
	a := newArena(t)
	p := arenatest.New(t, a.log, 1)
	p.Unmeasured = true
	g := p.Complete(ladder.Standard, p.Register("ada", ladder.Standard, "Ann", "Bea", "Cat")...)
	a.read.sync()
	s := &spectated{arena: a}
	for _, seat := range s.get("/matches/" + g.MatchID).is(http.StatusOK).json["seats"].([]any) {
		require.Contains(t, seat, "timeUsedMs")
		require.Nil(t, seat.(map[string]any)["timeUsedMs"])
	}
}

func TestRecords(t *testing.T) {
	s := newSpectated(t)
	kinds := map[string]int{} // number of events of each kind, in all replays
	for g, status := range s.statuses() {
		got := s.get("/matches/" + g.MatchID).fits(record(status)).json
		require.Equal(t, g.MatchID, got["id"])
		require.Equal(t, seed.Commitment(g.State.ServerSeed).String(), got["commitment"])
		if status == "running" {
			continue
		}
		p := g.State.Proof()
		require.Equal(t, g.State.Seed.String(), got["seed"])
		require.Equal(t, map[string]any{
			"serverSeed": p.ServerSeed.String(), "nonces": anys(p.Nonces), "table": anys(p.Table),
			"revision": float64(p.Revision), "index": float64(p.Index), "seedKey": p.SeedKey,
		}, got["proof"])
		require.Len(t, got["thinkingMs"], len(g.Bots))
		for i, seat := range got["seats"].([]any) {
			want := map[string]any{
				"strikes": float64(g.State.Strikes[i]), "resigned": g.State.Resigned[i], "missed": g.State.Missed(i), "timeUsedMs": float64(g.Used[i]),
				"ratingBefore": nil, "ratingAfter": nil,
			}
			if status == "completed" { // in the first match of every bot
				want["ratingBefore"], want["ratingAfter"] = 0.0, got["players"].([]any)[i].(map[string]any)["ratingDelta"]
			}
			if version := g.State.Started.Seats[i].Version; version != "" {
				want["version"] = version
			}
			require.Equal(t, want, seat)
		}

		replay := got["replay"].([]any)
		require.Len(t, replay, g.State.Seq)
		var order []string
		for i, e := range replay {
			e := e.(map[string]any)
			require.Equal(t, float64(i+1), e["seq"])
			order = append(order, e["kind"].(string))
			kinds[order[i]]++
		}
		require.Equal(t, "board", order[0])
		require.Equal(t, status == "completed", slices.Contains(order, "end"), "an aborted match has no end")
	}
	require.Equal(t, 3, kinds["board"])
	require.Equal(t, 2, kinds["end"])
	for kind := range eventData {
		require.NotZero(t, kinds[kind], kind)
	}
}

// A match that never started has no record. The response explains what happened.
func TestMatchThatWasVoidedBeforeItStarted(t *testing.T) {
	s := newSpectated(t)
	unknown := s.get("/matches/"+s.seated.MatchID).is(http.StatusNotFound, "not_found").json["detail"]
	s.seated.Void(ladder.WhyBeacon)
	s.read.sync()
	for _, path := range []string{"/matches/%s", "/matches/%s/frames", "/matches/%s/statistics", "/matches/%s/win-probability", "/live/%s", "/live/%s/stream"} {
		got := s.get(fmt.Sprintf(path, s.seated.MatchID)).is(http.StatusNotFound, "not_found").json["detail"]
		require.Equal(t, "the match was voided before it started, because the beacon's round did not arrive in time (reason: beacon); GET /ladder/standard/events lists its MatchVoided event", got)
		require.NotEqual(t, unknown, got)
	}
	ids, _ := s.listed("/matches?status=aborted")
	require.Equal(t, []string{s.aborted.MatchID}, ids)
}

func anys(list []string) []any {
	all := make([]any, len(list))
	for i, v := range list {
		all[i] = v
	}
	return all
}

// The API shows a match as running until its ladder has rated or voided it.
func TestMatchEndsWithItsLadder(t *testing.T) {
	s := newSpectated(t)
	for g, status := range map[*arenatest.Game]string{s.unrated: "completed", s.unvoid: "aborted"} {
		path := "/matches/" + g.MatchID
		s.get(path).fits(record("running"))
		s.get(path + "/frames").fits(frameList(false, nil))
		s.get(path+"/frames?seat=0").is(http.StatusUnprocessableEntity, "invalid").names("seat")
		g.Conclude()
		s.read.sync()
		s.get(path).fits(record(status))
		s.get(path + "/frames").fits(frameList(true, nil))
		s.get(path + "/frames?seat=0").fits(frameList(true, oneHand))
	}
}

func TestFrames(t *testing.T) {
	s := newSpectated(t)
	for g, status := range s.statuses() {
		got := s.get("/matches/" + g.MatchID + "/frames").fits(frameList(status != "running", nil)).json
		require.Equal(t, g.MatchID, got["matchId"])
		list := got["frames"].([]any)
		require.Len(t, list, g.State.Seq)
		for i, f := range list {
			f := f.(map[string]any)
			require.Equal(t, float64(i+1), f["seq"])
			require.Equal(t, f["seq"], f["event"].(map[string]any)["seq"])
		}
		// The board and the last frame show what the player in a seat sees.
		written, err := json.Marshal(g.State.View(0))
		require.NoError(t, err)
		var view map[string]any
		require.NoError(t, json.Unmarshal(written, &view))
		board := view["board"].(map[string]any)
		require.Equal(t, map[string]any{"hexes": board["hexes"], "ports": board["ports"]}, got["board"])
		last := list[len(list)-1].(map[string]any)
		require.Equal(t, map[string]any{"bandit": board["bandit"]}, last["board"])
		for name := range publicView {
			if name != "board" {
				require.Equal(t, view[name], last[name], name)
			}
		}
	}
}

func TestFramesWithHands(t *testing.T) {
	s := newSpectated(t)
	for g, n := range map[*arenatest.Game]int{s.four: 4, s.three: 3, s.aborted: 3} {
		path := "/matches/" + g.MatchID + "/frames"
		all := s.get(path + "?seat=all").fits(frameList(true, allHands)).json["frames"].([]any)
		for seat := range n {
			one := s.get(fmt.Sprintf("%s?seat=%d", path, seat)).fits(frameList(true, oneHand)).json["frames"].([]any)
			require.Len(t, one, len(all))
			for i := range all {
				for field := range oneHand {
					require.Equal(t, all[i].(map[string]any)[field].([]any)[seat], one[i].(map[string]any)[field])
				}
			}
		}
		for seat := n; seat < 4; seat++ {
			s.get(fmt.Sprintf("%s?seat=%d", path, seat)).is(http.StatusUnprocessableEntity, "invalid").names("seat")
		}
	}
	for _, seat := range []string{"0", "3", "all"} {
		s.get("/matches/"+s.running.MatchID+"/frames?seat="+seat).is(http.StatusUnprocessableEntity, "invalid").names("seat")
	}
}

func TestFrameWindows(t *testing.T) {
	s := newSpectated(t)
	for g, query := range map[*arenatest.Game]string{s.unvoid: "", s.running: "", s.aborted: "seat=all&"} {
		path := "/matches/" + g.MatchID + "/frames?" + query
		all := s.get(strings.TrimRight(path, "?&")).is(http.StatusOK)
		frames := all.json["frames"].([]any)
		n := len(frames)
		for window, want := range map[string][]any{
			"limit=1": frames[:1], "after=3": frames[3:], "after=3&limit=2": frames[3:5], "after=0": frames, fmt.Sprintf("limit=%d", n+1): frames,
			fmt.Sprintf("after=%d", n-1): frames[n-1:], fmt.Sprintf("after=%d", n): {}, fmt.Sprintf("after=%d&limit=5", n+7): {},
			"after=9223372036854775807&limit=9223372036854775807": {},
		} {
			got := s.get(path + window).is(http.StatusOK)
			require.Equal(t, want, got.json["frames"], window)
			require.Equal(t, all.json["board"], got.json["board"], "every window comes with the board")
		}
	}
	for query, field := range map[string]string{
		"after=-1": "after", "after=x": "after", "after=": "after", "limit=0": "limit", "limit=x": "limit", "seat=4": "seat", "seat=": "seat",
		"seat=-1": "seat", "seat=ALL": "seat", "before=1": "before",
	} {
		s.get("/matches/"+s.four.MatchID+"/frames?"+query).is(http.StatusUnprocessableEntity, "invalid").names(field)
	}
}

func TestUnknownMatch(t *testing.T) {
	s := newSpectated(t)
	for _, id := range []string{
		"0b1c8a3e-1111-5222-8333-444455556666", "x", "..", "%2e%2e", "%00", "a%2Fb", s.seated.MatchID, s.bots[0],
		strings.ToUpper(s.four.MatchID), s.four.MatchID + "%20", "match-" + s.four.MatchID, strings.Repeat("x", 5000),
	} {
		for _, rest := range []string{"", "/frames", "?x=1", "/frames?limit=0", "/frames?seat=9"} {
			s.get("/matches/"+id+rest).is(http.StatusNotFound, "not_found")
		}
	}
	s.get("/matches/").is(http.StatusNotFound, "not_found")
	s.get("/matches/"+s.four.MatchID+"/").is(http.StatusNotFound, "not_found")
	s.get("/matches/"+s.four.MatchID+"?x=1").is(http.StatusUnprocessableEntity, "invalid").names("x")
	s.anyone().do(http.MethodPost, "/matches", nil).is(http.StatusMethodNotAllowed, "method_not_allowed")
	s.anyone().do(http.MethodDelete, "/matches/"+s.four.MatchID, nil).is(http.StatusMethodNotAllowed, "method_not_allowed")
}

// If the match list and a match's stream contradict each other, the response is an
// internal error and not an incorrect record.
func TestMatchWhoseStreamHasNoEnd(t *testing.T) {
	s := newSpectated(t)
	s.running.Void(ladder.WhyOperator)
	s.read.sync()
	for _, rest := range []string{"", "/frames", "/frames?seat=all"} {
		s.get("/matches/"+s.running.MatchID+rest).is(http.StatusInternalServerError, "internal")
	}
	_, _ = s.listed("/matches")
}

func TestLongAnswersAreCompressed(t *testing.T) {
	s := newSpectated(t)
	path := "/matches/" + s.aborted.MatchID + "/frames"
	plain := s.get(path).is(http.StatusOK).body
	accepting := func(codings ...string) *answer {
		return s.anyone().do(http.MethodGet, path, nil, func(r *http.Request) { r.Header["Accept-Encoding"] = codings }).is(http.StatusOK)
	}
	for _, codings := range [][]string{{"gzip"}, {"br, GZIP;q=0.5"}, {"*"}, {"br", "gzip"}, {"identity;q=0, *;q=0.1"}} {
		got := accepting(codings...)
		require.Equal(t, "gzip", got.header.Get("Content-Encoding"), codings)
		require.Equal(t, "Accept-Encoding", got.header.Get("Vary"))
		require.Less(t, len(got.body), len(plain)/5)
		z, err := gzip.NewReader(strings.NewReader(string(got.body)))
		require.NoError(t, err)
		read, err := io.ReadAll(z)
		require.NoError(t, err)
		logtest.RequireSameText(t, string(plain), string(read))
	}
	for _, codings := range [][]string{{"identity"}, {"br"}, {"gzip;q=0"}, {"gzip;q=0, *"}, {"*;q=0"}, {"gzip;level=9"}, {"gzip;q=x"}, {""}} {
		got := accepting(codings...)
		require.Empty(t, got.header.Get("Content-Encoding"), codings)
		require.Equal(t, "Accept-Encoding", got.header.Get("Vary"))
		logtest.RequireSameText(t, string(plain), string(got.body))
	}
}

// Private responses are not compressed, because the length of a compressed response
// could reveal a secret in it.
func TestPrivateAnswersAreNotCompressed(t *testing.T) {
	a := newArena(t)
	ada := a.signIn("ada@example.org")
	for range 12 {
		ada.newKey()
	}
	listed := ada.do(http.MethodGet, "/keys", nil, func(r *http.Request) { r.Header.Set("Accept-Encoding", "gzip") }).is(http.StatusOK)
	require.Greater(t, len(listed.body), 2000)
	require.Empty(t, listed.header.Get("Content-Encoding"))
}

func TestLeaderboard(t *testing.T) {
	s := newSpectated(t)
	for query, mode := range map[string]string{"": "standard", "?mode=standard": "standard", "?mode=parley": "parley"} {
		got := s.get("/leaderboard" + query).fits(ranking).json
		require.Equal(t, mode, got["mode"])
		rows := got["rows"].([]any)
		require.Len(t, rows, map[string]int{"standard": 4, "parley": 3}[mode])
		for i, row := range rows {
			row := row.(map[string]any)
			require.Equal(t, float64(i+1), row["rank"])
			require.Equal(t, 1.0, row["gamesPlayed"])
			require.Equal(t, map[string]string{"standard": "countess", "parley": ""}[mode], row["owner"], "empty until chosen")
			require.Equal(t, arenatest.ID(row["name"].(string)), row["botId"])
			if i > 0 {
				require.LessOrEqual(t, row["rating"], rows[i-1].(map[string]any)["rating"])
			}
		}
	}
	for query, field := range map[string]string{"mode=blitz": "mode", "mode=": "mode", "limit=1": "limit"} {
		s.get("/leaderboard?"+query).is(http.StatusUnprocessableEntity, "invalid").names(field)
	}
}

// A removed bot no longer appears on the leaderboard. Its matches still show
// its name.
func TestRemovedBot(t *testing.T) {
	s := newSpectated(t)
	before := s.get("/matches/" + s.four.MatchID).is(http.StatusOK).body
	s.play.Own("ada", botGone(s.bots[1]), botCalled(s.bots[2], "Renamed"))
	s.read.sync()
	var names []any
	for _, row := range s.get("/leaderboard").fits(ranking).json["rows"].([]any) {
		names = append(names, row.(map[string]any)["name"])
	}
	require.ElementsMatch(t, []any{"Ann", "Renamed", "Dot"}, names)
	logtest.RequireSameText(t, string(before), string(s.get("/matches/"+s.four.MatchID).is(http.StatusOK).body))
	got, _ := s.listed("/matches?bot=" + s.bots[1])
	require.NotEmpty(t, got)
}

func TestReadsWhileTheLogIsUnavailable(t *testing.T) {
	s := newSpectated(t)
	s.log.setUnread(true)
	for _, path := range []string{"/matches/" + s.four.MatchID, "/matches/" + s.four.MatchID + "/frames"} {
		away := s.get(path).is(http.StatusServiceUnavailable, "log_unavailable")
		require.Equal(t, "1", away.header.Get("Retry-After"))
	}
	s.get("/matches").is(http.StatusOK)
	s.get("/leaderboard").is(http.StatusOK)
}

// While the log is unavailable, a running match is served as far as this process has
// folded it. The response says how old it may be.
func TestRunningMatchIsServedWhileTheLogIsUnavailable(t *testing.T) {
	var away time.Duration
	s := newSpectated(t, func(o *api.Options) { o.Outage = func() time.Duration { return away } })
	s.shown(s.running)
	path := "/matches/" + s.running.MatchID
	before, frames := s.get(path).is(http.StatusOK), s.get(path+"/frames").is(http.StatusOK)
	require.NotContains(t, before.json, "staleSeconds")
	require.NotContains(t, frames.json, "staleSeconds")
	s.log.setUnread(true)
	away = 12300 * time.Millisecond
	for target, want := range map[string]map[string]any{path: before.json, path + "/frames": frames.json} {
		got := s.get(target).is(http.StatusOK).json
		require.GreaterOrEqual(t, got["staleSeconds"], 12.3, target)
		delete(got, "staleSeconds")
		require.Equal(t, want, got, target)
	}
	s.get("/live/" + s.running.MatchID).is(http.StatusOK)
	s.server.Forget()
	s.get(path+"/frames").is(http.StatusServiceUnavailable, "log_unavailable")
}

func TestReadsAreDescribed(t *testing.T) {
	a := newArena(t)
	document := a.anyone().do(http.MethodGet, "/openapi.json", nil).is(http.StatusOK).json
	schemas := document["components"].(map[string]any)["schemas"].(map[string]any)
	for path, parameters := range map[string][]any{
		"/matches": {"mode", "status", "bot", "rival", "from", "to", "before", "after", "limit"}, "/matches/{id}": {"id"}, "/matches/{id}/frames": {"id", "after", "limit", "seat"}, "/leaderboard": {"mode", "at"}, "/bots/{id}/history": {"id", "aborted", "version"},
	} {
		get := document["paths"].(map[string]any)[path].(map[string]any)["get"].(map[string]any)
		var names []any
		for _, p := range get["parameters"].([]any) {
			names = append(names, p.(map[string]any)["name"])
		}
		require.ElementsMatch(t, parameters, names, path)
	}
	for schema, fields := range map[string]map[string]shape{
		"MatchSummary": with(summary("aborted"), map[string]shape{"scores": nil}), "Match": with(summary("aborted"), map[string]shape{"scores": nil, "seed": nil, "replay": nil, "commitment": nil, "proof": nil, "thinkingMs": nil, "staleSeconds": nil}),
	} {
		require.Contains(t, schemas, schema)
		properties := schemas[schema].(map[string]any)["properties"].(map[string]any)
		require.Len(t, properties, len(fields), schema)
		for name := range fields {
			require.Contains(t, properties, name, schema)
		}
	}
}
