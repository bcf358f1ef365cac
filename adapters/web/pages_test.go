package web_test

import (
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/net/html"
)

func TestPublicPages(t *testing.T) {
	s := newSite(t)
	for path, holds := range map[string][]string{
		"/":                               {"Lovelace", "−1.5", "@ada", "/watch/" + matchID},
		"/ladder/standard":                {"Lovelace", "6.7 ± 2.5", "@house"},
		"/ladder/parley?q=gre":            {"Greta", "1 of 2 bots"},
		"/ladder/standard?q=@ada":         {"Lovelace", "1 of 2 bots"},
		"/ladder/standard?q=nobody":       {"No bot or owner on this ladder matches this name"},
		"/ladder/standard?day=2026-09-06": {"at the end of 2026-09-06"},
		"/bot/" + botID: {
			"Lovelace", "polyline", "1st of 2", "41 ms", "a removed bot", "1.5",
			"3 matches of this bot ran out of time and were aborted. The arena has times for 2 of these matches. In those matches, the bot used 71% of the time that all bots used.",
			"By version", "2.0 &lt;beta&gt;</bdi></th>", "not named", "version&nbsp;<bdi>2.0 &lt;beta&gt;",
		},
		"/watch/" + matchID + "/statistics": {"&#43;1.4", "−0.3", "−4", "0.3", "2 turns, 4 min 0 s", "Compute the win probability"},
		"/sign-in":                          {"Send me a link"},
		"/sign-in?sent=1":                   {"Check your email"},
		"/sign-in/confirm?token=t%3C":       {`value="t&lt;"`},
		"/changelog":                        {"<h1", "Changelog"},
		"/docs/rules":                       {"The rules", "The vertices 0 to 53", `id="the-board"`},
		"/docs/quickstart":                  {"npx tsx bot.ts"},
	} {
		s.is(s.get(path), http.StatusOK, holds...)
		s.is(s.get(path, signedIn), http.StatusOK, holds...)
	}
	require.Empty(t, s.writes())
	for _, c := range s.calls {
		require.False(t, c.Counted, "data for pages does not count against limits: %s", c.Target)
	}
}

// The page of a trial in progress follows the trial's stream. Until the trial has
// ended, the page of its replay redirects to this page.
func TestTrialInProgress(t *testing.T) {
	s := newSite(t)
	path := "/bots/" + botID + "/trials/" + trialID
	s.say("GET "+path, `{"id":"`+trialID+`","botId":"`+botID+`","mode":"standard","status":"waiting","players":[],"decisions":[],"strikes":[],"events":0}`)
	s.is(s.get("/dashboard"+path, signedIn), http.StatusOK, `data-trial="`+path+`/stream"`, "trial.mjs", "data-steps")
	s.leads(s.get("/dashboard"+path+"/replay", signedIn), "/dashboard"+path)
	s.say("GET "+path, `{"id":"`+trialID+`","botId":"`+botID+`","mode":"standard","status":"ended","outcome":"in_match","players":[],"decisions":[],"strikes":[],"events":0}`)
	s.is(s.get("/dashboard"+path, signedIn), http.StatusOK, "the bot was still in a match")
}

func TestButtonOfATrial(t *testing.T) {
	s := newSite(t)
	bot := func(more string) string {
		return `{"id":"` + botID + `","name":"Lovelace","mode":"standard","url":"https://bots.example.org/ada",` + more + `}`
	}
	const button = `name="do" value="trial"`
	s.say("GET /bots/"+botID, bot(`"status":"active"`))
	page := s.get("/dashboard/bots/"+botID, signedIn)
	s.is(page, http.StatusOK, "pause it first")
	require.NotContains(t, page.text, button)
	s.say("GET /bots/"+botID, bot(`"status":"paused","trial":{"id":"`+trialID+`","orderedAt":"2026-09-06T12:00:00.000Z"}`))
	s.is(s.get("/dashboard/bots/"+botID, signedIn), http.StatusOK, button, "in progress", "/trials/"+trialID)
}

func TestPagesOfSession(t *testing.T) {
	s := newSite(t)
	for path, holds := range map[string][]string{
		"/dashboard":               {"Lovelace", "Rank 1, rating 4.2, 2 games", "Check and register"},
		"/dashboard/bots/" + botID: {"https://bots.example.org/ada", "Remove"},
		"/dashboard/bots/" + botID + "/trials/" + trialID: {
			"The game was played to the end. The bot got 2 strikes and resigned.", "came 1,004 ms late", "invalid \uFFFDcharacter", "trials/" + trialID + "/replay#97",
			`Median</th><td class="n">31 ms`, `95% within</th><td class="n">140 ms`, `Longest</th><td class="n">5000 ms`,
		},
		"/dashboard/bots/" + botID + "/trials/" + trialID + "/replay": {
			`data-path="/bots/` + botID + `/trials/` + trialID + `"`, `data-events="388"`, "Only you see this trial.",
		},
		"/dashboard/keys":    {"laptop", keyID, "Revoked", "old"},
		"/dashboard/account": {"ada@example.org", `name="failing" value="yes" checked`, `name="unreachable" value="yes">`, `name="recovered" value="yes" checked`},
		"/bot/" + botID + "/log/" + matchID: {
			"distance_rule", "vertex 14 is next to the town on 9", "/watch/" + matchID + "#44", `class="town seat-1"`,
			"41 of 4750 ms", "0 of 0 ms", "the bot had no time left in this match, so the arena did not ask it",
			"The bot had 1 wool, 2 ore in its hand.", "The bot had no cards in its hand.", "&#34;message&#34;: &#34;a\uFFFDb&#34;",
			"came 1,004 ms late", `{&#34;id&#34;:11}`, `<span class="tag bad">late</span>`, `<span class="tag bad">no answer</span>`, `<span class="tag bad">illegal</span>`, `<span class="tag bad">unreadable</span>`, `<span class="tag bad">no connection</span>`, "This was the third strike, so the bot resigned.",
		},
	} {
		page := s.get(path, signedIn, func(r *http.Request) { r.Header.Set("Accept-Encoding", "gzip") })
		s.is(page, http.StatusOK, holds...)
		require.Empty(t, page.Header().Get("Content-Encoding"), "the compressed length could reveal secrets")
		require.Equal(t, "no-store", page.Header().Get("Cache-Control"))
	}
	for _, target := range []string{"GET /me", "GET /bots/" + botID, "GET /bots/" + botID + "/matches/" + matchID + "/decisions"} {
		s.refuse(target, http.StatusUnauthorized, "unauthenticated", nil)
	}
	for _, path := range []string{"/dashboard", "/dashboard/keys", "/dashboard/account", "/dashboard/bots/" + botID, "/bot/" + botID + "/log/" + matchID} {
		s.leads(s.get(path, signedIn), "/sign-in")
	}
}

// The page of a removed bot links to the logs, but only for its owner.
func TestRemovedBotsLeadTheirOwnersToTheLogs(t *testing.T) {
	s := newSite(t)
	link := `href="/bot/` + botID + "/log/" + matchID
	s.refuse("GET /bots/"+botID, http.StatusNotFound, "not_found", nil)
	s.say("GET /bots/"+botID+"/decisions", `{"cursor":"`+matchID+`:3"}`)
	page := s.get("/bot/"+botID, signedIn)
	s.is(page, http.StatusOK, link)
	require.NotContains(t, page.Body.String(), "Manage")
	require.Equal(t, "no-store", page.Header().Get("Cache-Control"))
	require.NotContains(t, s.get("/bot/"+botID).Body.String(), link)
	s.refuse("GET /bots/"+botID+"/decisions", http.StatusNotFound, "not_found", nil)
	require.NotContains(t, s.get("/bot/"+botID, signedIn).Body.String(), link)
}

// When a page calls the API, the call has the reader's cookie, origin and
// address.
func TestAPICallsCarryTheReadersIdentity(t *testing.T) {
	s := newSite(t)
	s.say("PATCH /bots/"+botID, "{}")
	s.leads(s.post("/dashboard/bots/"+botID, "do=pause", func(r *http.Request) { r.RemoteAddr = "192.0.2.7:99" }), "/dashboard/bots/"+botID+"?done=pause")
	require.Equal(t, []call{{"PATCH", "/bots/" + botID, `{"status":"paused"}`, "__Host-session=s", base, "192.0.2.7:99", true}}, s.writes())
}

func TestLadderIsPaged(t *testing.T) {
	s := newSite(t)
	var rows []map[string]any
	for i := range 230 {
		rows = append(rows, map[string]any{"rank": i + 1, "botId": botID, "name": "Bot", "rating": 1, "gamesPlayed": 1})
	}
	encoded, err := json.Marshal(map[string]any{"rows": rows})
	require.NoError(t, err)
	s.say("GET /leaderboard", string(encoded))
	for query, want := range map[string][2]string{"": {"Page 1 of 3", "?page=2"}, "?page=3&q=bot": {"Page 3 of 3", "?page=2&amp;q=bot"}, "?page=99": {"Page 3 of 3", "?page=2"}, "?page=x": {"Page 1 of 3", "?page=2"}} {
		s.is(s.get("/ladder/standard"+query), http.StatusOK, want[0], want[1])
	}
}

// The lists and the page of a match say in plain words why a match was aborted.
func TestAbortedMatches(t *testing.T) {
	for reason, want := range map[string]string{
		`"wall_clock"`: "aborted: the time limit was reached", `"operator"`: "aborted by the operator", `"beacon"`: "voided: the beacon’s round did not arrive in time",
		`null`: "aborted", `"later"`: "aborted",
	} {
		s := newSite(t)
		m := `{"id":"` + matchID + `","mode":"standard","status":"aborted","reason":` + reason + `,"startedAt":"2026-09-06T12:00:00.000Z","endedAt":"2026-09-06T12:04:00.000Z","players":[
			{"seat":0,"botId":"` + botID + `","botName":"Lovelace","placement":null,"ratingDelta":null}],"replay":[]}`
		s.say("GET /matches", `{"matches":[`+m+`],"next":null}`)
		s.say("GET /matches/"+matchID, m)
		for _, path := range []string{"/", "/bot/" + botID} {
			s.is(s.get(path), http.StatusOK, `<span class="tag aborted">`+want+`</span>`)
		}
		s.is(s.get("/watch/"+matchID), http.StatusOK, strings.ToUpper(want[:1])+want[1:]+". The match has no placements and changes no ratings.")
	}
}

// Lists and the pages of bots and matches mark seats with strikes, a resignation or a
// miss.
func TestMarkedSeats(t *testing.T) {
	for seat, want := range map[string]string{
		`"strikes":3,"resigned":true,"missed":true`: "missed: sent no answer", `"strikes":3,"resigned":true,"missed":false`: "resigned", `"strikes":1,"resigned":false,"missed":false`: "1 strike",
	} {
		s := newSite(t)
		m := `{"id":"` + matchID + `","mode":"standard","status":"completed","startedAt":"2026-09-06T12:00:00.000Z","endedAt":"2026-09-06T12:04:00.000Z","players":[
			{"seat":0,"botId":"` + botID + `","botName":"Lovelace","placement":1,"ratingDelta":1.5}],"seats":[{` + seat + `}],"replay":[]}`
		s.say("GET /matches", `{"matches":[`+m+`],"next":null}`)
		s.say("GET /matches/"+matchID, m)
		for _, path := range []string{"/", "/bot/" + botID, "/dashboard/bots/" + botID} {
			s.is(s.get(path), http.StatusOK, `<span class="tag bad">`+want+`</span>`)
		}
		s.is(s.get("/watch/"+matchID), http.StatusOK, `data-slot="mark">`+want+`</span>`)
	}
}

// The home page has a list for live boards even if no match is running.
func TestHomeWithoutMatches(t *testing.T) {
	s := newSite(t)
	s.say("GET /matches", `{"matches":[],"next":null}`)
	s.is(s.get("/"), http.StatusOK, "data-live-boards", "No match is running right now", "Enter the first bots.")
}

// The page of a ladder says how many bots are waiting. The page of an earlier day does
// not.
func TestQueueOnTheLadder(t *testing.T) {
	s := newSite(t)
	s.say("GET /queue", `{"mode":"standard","waiting":2,"nextTick":"2026-09-06T12:00:30.000Z"}`)
	s.is(s.get("/ladder/standard"), http.StatusOK, "2 bots are waiting for a table.", `seated at <time datetime="2026-09-06T12:00:30.000Z">12:00:30</time> UTC`)
	require.NotContains(t, s.get("/ladder/standard?day=2026-09-05").text, "for a table")
	s.say("GET /queue", `{"mode":"standard","waiting":1,"nextTick":null}`)
	page := s.get("/ladder/standard")
	s.is(page, http.StatusOK, "1 bot is waiting for a table.")
	require.NotContains(t, page.text, "seated at")
	s.say("GET /queue", `{"mode":"standard","waiting":0,"nextTick":null}`)
	s.is(s.get("/ladder/standard"), http.StatusOK, "No bot is waiting for a table.")
}

func TestTrends(t *testing.T) {
	s := newSite(t)
	s.is(s.get("/ladder/standard"), http.StatusOK, "±0")
	s = newSite(t)
	now := `{"rows":[{"rank":1,"botId":"a","name":"Up","rating":3},{"rank":2,"botId":"b","name":"Down","rating":-2},{"rank":3,"botId":"c","name":"Young","rating":0.7}]}`
	then := `{"rows":[{"botId":"a","rating":1.25},{"botId":"b","rating":-0.5}]}`
	s.answers["GET /leaderboard"] = turns{now, then}.next() // now and a week ago
	s.is(s.get("/ladder/standard"), http.StatusOK, "▲ &#43;1.8", "▼ −1.5", "▲ &#43;0.7")
}

// The pages of a large ladder may show a ranking that is a few seconds old. A page that
// needs a past ranking of such a ladder counts as several calls, unless another page
// has just read that ranking.
func TestLargeLadders(t *testing.T) {
	s := newSite(t)
	ranking := func(name string) string {
		return `{"rows":[` + strings.Repeat(`{"name":"`+name+`"},`, 2499) + `{"name":"` + name + `"}]}`
	}
	shows := func(path, name string, calls, reads int) {
		t.Helper()
		s.counted, s.calls = 0, nil
		s.is(s.get(path), http.StatusOK, name)
		require.Equal(t, calls, s.counted, "counts as")
		rankings := slices.DeleteFunc(s.calls, func(c call) bool { return !strings.HasPrefix(c.Target, "/leaderboard") })
		require.Len(t, rankings, reads, "rankings that the page reads")
	}
	s.say("GET /leaderboard", ranking("Old"))
	shows("/ladder/standard", "Old", 1+5, 2)
	s.say("GET /leaderboard", ranking("Newer"))
	shows("/ladder/standard", "Old", 1, 0)
	shows("/ladder/standard?q=ol", "Old", 1, 0)
	s.pass(5 * time.Second)
	shows("/ladder/standard", "Newer", 1, 1)
	shows("/ladder/standard?day=2026-01-01", "Newer", 1+5+5, 2)
	shows("/ladder/standard?day=2026-01-01", "Newer", 1, 0)
	s.pass(time.Minute)
	shows("/ladder/standard?day=2026-01-01", "Newer", 1+5+5, 2)
}

// Expensive pages wait for their turn.
func TestExpensivePagesTakeTurns(t *testing.T) {
	s := newSite(t)
	s.is(s.get("/bot/"+botID), http.StatusOK)
	require.Zero(t, s.turns, "the page gives up its turn")
	watched := &turnWatcher{httptest.NewRecorder(), s}
	s.web.ServeHTTP(watched, httptest.NewRequest(http.MethodGet, "/bot/"+botID, nil))
	require.Equal(t, http.StatusOK, watched.Code)
	s.noTurn = errors.New("no turn")
	busy := s.get("/bot/" + botID)
	s.is(busy, http.StatusServiceUnavailable, "Too many pages of this kind")
	require.Equal(t, "5", busy.Header().Get("Retry-After"))
	s.is(s.get("/ladder/standard"), http.StatusOK)
}

// turnWatcher requires that a page gives up its turn before it is written, because
// its client may be slow.
type turnWatcher struct {
	*httptest.ResponseRecorder
	*site
}

func (w *turnWatcher) Write(b []byte) (int, error) {
	require.Zero(w.t, w.turns)
	return w.ResponseRecorder.Write(b)
}

func TestLadderFilter(t *testing.T) {
	s := newSite(t)
	s.say("GET /leaderboard", `{"rows":[{"name":"Ann","owner":"bo"},{"name":"Bob","owner":""},{"name":"Cat","owner":"abo"}]}`)
	for filter, want := range map[string][]string{
		"": {"Ann", "Bob", "Cat"}, "BO": {"Ann", "Bob", "Cat"}, "@bo": {"Ann", "Bob"}, "@": {"Ann", "Bob", "Cat"}, "@abo": {"Cat"}, "x": nil,
	} {
		var names []string
		for _, name := range s.get("/ladder/standard?q=" + filter).all("bdi") {
			names = append(names, name.FirstChild.Data)
		}
		require.Equal(t, want, names, filter)
	}
}

// The type turns contains the responses to consecutive calls.
type turns []string

func (t turns) next() json.Marshaler { return &turn{left: t} }

type turn struct{ left []string }

// MarshalJSON implements json.Marshaler.
func (t *turn) MarshalJSON() ([]byte, error) {
	first := t.left[0]
	t.left = t.left[1:]
	return []byte(first), nil
}

func TestMissingPages(t *testing.T) {
	s := newSite(t)
	for _, path := range []string{"/nowhere", "/ladder/other", "/docs/nothing", "/bots/x", "/watch/x", "/dashboard/nothing"} {
		s.is(s.get(path), http.StatusNotFound, "<h1>This page does not exist</h1>")
	}
	s.say("GET /matches", `{"matches":[],"next":null}`)
	s.is(s.get("/bot/unknown"), http.StatusNotFound, "This bot does not exist")
	s.is(s.get("/bot/newcomer"), http.StatusOK, "<bdi>Newcomer</bdi>", "@ada", "This bot has not played yet. Every 30 seconds")
	s.is(s.get("/bot/unknown-yet"), http.StatusServiceUnavailable, "The arena cannot look up this bot at the moment.")
	s.is(s.get("/ladder/standard?day=yesterday"), http.StatusUnprocessableEntity, "2026-09-06")

	program := s.get("/nowhere", func(r *http.Request) { r.Header.Set("Accept", "application/json") })
	require.Equal(t, "application/problem+json", program.Header().Get("Content-Type"))
	require.JSONEq(t, `{"status":404,"title":"Not Found","code":"not_found","detail":"there is nothing at this path"}`, program.text)

	r := httptest.NewRequest(http.MethodDelete, "/ladder/standard", nil)
	s.is(s.do(r), http.StatusMethodNotAllowed)
}

// Pages explain errors in the arena's own sentences, and do not show HTTP's status
// texts.
func TestPagesDoNotShowNamesOfStatuses(t *testing.T) {
	for status := 400; status < 600; status++ {
		name := http.StatusText(status)
		if name == "" || status == http.StatusUnauthorized {
			continue // a page that needs a session leads to the sign-in page
		}
		s := newSite(t)
		s.refuse("GET /leaderboard", status, "a_code", nil)
		s.refuse("POST /bots", status, "a_code", nil)
		for _, page := range []shown{s.get("/ladder/standard"), s.post("/dashboard/bots", forms["register"].form)} {
			s.is(page, status, "A sentence about a_code.")
			require.NotContains(t, page.text, name)
		}
	}
}

// The pages name the real time between two ticks.
func TestPagesNameTheTick(t *testing.T) {
	s := newSite(t)
	s.is(s.get("/"), http.StatusOK, "Every 30 seconds, the arena seats active bots", "Every 30 seconds, the arena seats idle bots.")
	s.web.Tick = 2 * time.Second
	s.is(s.get("/"), http.StatusOK, "Every 2 seconds,")
	s.is(s.get("/dashboard/bots/"+botID+"?done=registered"), http.StatusOK, "Every 2 seconds, the arena seats bots")
	s.web.Tick = time.Second
	s.is(s.get("/"), http.StatusOK, "Every second,")
	s.web.Tick = time.Hour
	s.is(s.get("/"), http.StatusOK, "Every 60 minutes,")
	s.web.Tick = 250 * time.Millisecond
	s.is(s.get("/"), http.StatusOK, "Every 250 ms,")
}

// The arena records the use of a key at most once an hour.
func TestKeysShowOnlyTheHourOfUse(t *testing.T) {
	s := newSite(t)
	s.say("GET /keys", `{"keys":[{"id":"`+keyID+`","name":"laptop","publicKey":"AAAA","scopes":[],"createdAt":"2026-09-06T12:00:00.000Z","lastUsedAt":"2026-09-07T14:25:36.000Z"}]}`)
	page := s.get("/dashboard/keys")
	s.is(page, http.StatusOK, "Last used 7 Sep, around 14:00 UTC")
	require.NotContains(t, page.text, "14:25")
}

func TestInternalErrorsRevealNothing(t *testing.T) {
	s := newSite(t)
	s.say("GET /leaderboard", `"no object"`)
	page := s.get("/ladder/standard")
	s.is(page, http.StatusInternalServerError, "Something went wrong on our side")
	require.NotContains(t, page.text, "unmarshal")
	s.refuse("GET /leaderboard", http.StatusServiceUnavailable, "log_unavailable", nil)
	s.is(s.get("/ladder/standard"), http.StatusServiceUnavailable, "A sentence about log_unavailable.", "r-1")
}

func TestReadersOverLimitMustWait(t *testing.T) {
	s := newSite(t)
	s.wait = 17
	page := s.get("/")
	s.is(page, http.StatusTooManyRequests, "Try again in 17 s")
	require.Equal(t, 1, strings.Count(page.text, "17 s"), "the page states the wait once")
	require.Equal(t, "17", page.Header().Get("Retry-After"))
	require.Empty(t, s.calls)

	file := s.get("/assets/x/style.css")
	require.Equal(t, http.StatusTooManyRequests, file.Code)
	require.Equal(t, "17", file.Header().Get("Retry-After"))
}

func TestAPIServesSharedPathsToPrograms(t *testing.T) {
	s := newSite(t)
	s.say("POST /sign-in", `{}`)
	s.say("GET /changelog", `{"entries":[]}`)
	log := s.get("/changelog", func(r *http.Request) { r.Header.Set("Accept", "*/*") })
	s.is(log, http.StatusOK, `{"entries":[]}`)
	require.Equal(t, "Accept", log.Header().Get("Vary"))
	r := httptest.NewRequest(http.MethodPost, "/sign-in", strings.NewReader(`{"email":"a@example.org"}`))
	r.Header.Set("Content-Type", "application/json")
	s.is(s.do(r), http.StatusOK)
	require.Equal(t, `{"email":"a@example.org"}`, s.writes()[0].Body)
}

func TestAssets(t *testing.T) {
	s := newSite(t)
	css := attribute(s.get("/").all("link")[1], "href")
	now := s.get(css, func(r *http.Request) { r.Header.Set("Accept-Encoding", "gzip, br") })
	s.is(now, http.StatusOK, "--accent")
	require.Equal(t, "public, max-age=31536000, immutable", now.Header().Get("Cache-Control"))
	require.Equal(t, "gzip", now.Header().Get("Content-Encoding"))
	require.Equal(t, "text/css; charset=utf-8", now.Header().Get("Content-Type"))

	before := s.get("/assets/0000000000000000/style.css")
	s.is(before, http.StatusOK, "--accent")
	require.Equal(t, "no-cache", before.Header().Get("Cache-Control"))
	known := s.get("/favicon.svg", func(r *http.Request) { r.Header.Set("If-None-Match", before.Header().Get("ETag")) })
	require.Equal(t, http.StatusNotModified, known.Code)
	s.is(s.get("/robots.txt"), http.StatusOK, "Disallow: /dashboard")
	s.is(s.get("/assets/x/nothing.css"), http.StatusNotFound)
}

func TestThemeIsStored(t *testing.T) {
	s := newSite(t)
	p := s.post("/theme", values("theme", "dark", "back", "/ladder/standard?q=a"))
	s.leads(p, "/ladder/standard?q=a")
	require.Contains(t, p.Header().Get("Set-Cookie"), "theme=dark")
	for _, back := range []string{"//evil.example", "https://evil.example", `/\evil.example`, "", "/\t/evil.example"} {
		s.leads(s.post("/theme", values("theme", "light", "back", back)), "/")
	}
	s.is(s.post("/theme", "theme=pink"), http.StatusUnprocessableEntity)
	s.is(s.get("/", func(r *http.Request) { r.AddCookie(&http.Cookie{Name: "theme", Value: "dark"}) }), http.StatusOK, `data-theme="dark"`)
	page := s.get("/", func(r *http.Request) { r.Header.Set("Cookie", "theme=dark'><b>") })
	require.NotContains(t, page.text, "data-theme=")
}

// Pages show user-supplied strings as text, never as markup.
func TestChosenNamesAreEscaped(t *testing.T) {
	hostile := "<img src=x onerror=alert(1)>\u202e\u2066\u200b\x00\x1b&amp;" + strings.Repeat("🏝", 240)
	s := newSite(t)
	name, err := json.Marshal(hostile)
	require.NoError(t, err)
	for target, answer := range s.answers {
		if raw, ok := answer.(json.RawMessage); ok {
			text := string(raw)
			for _, good := range []string{`"Lovelace"`, `"Greta"`, `"laptop"`, `"old"`, `"vertex 14 is next to the town on 9"`, `"{\"id\":7}"`} {
				text = strings.ReplaceAll(text, good, string(name))
			}
			s.say(target, text)
		}
	}
	s.refuse("POST /bots", http.StatusUnprocessableEntity, "deploy_check_failed", refusal{
		"detail": hostile, "errors": []map[string]any{{"in": "body", "field": "url", "message": hostile}},
		"steps": []map[string]any{{"name": "ping", "ok": false, "detail": hostile, "elapsedMs": 1}},
	})
	pages := map[string]shown{"a form": s.post("/dashboard/bots", values("name", hostile, "url", hostile, "mode", hostile))}
	for _, path := range []string{
		"/", "/ladder/standard", "/ladder/standard?q=" + strings.NewReplacer("<", "%3C", ">", "%3E", " ", "+").Replace("<img src=x onerror=alert(1)>"),
		"/games", "/@ada", "/bot/" + botID + "/against/" + rivalID, "/bot/" + botID + "/live",
		"/bot/" + botID, "/dashboard", "/dashboard/bots/" + botID, "/dashboard/keys", "/bot/" + botID + "/log/" + matchID, "/watch/" + matchID + "/statistics",
	} {
		pages[path] = s.get(path, signedIn)
	}
	for path, page := range pages {
		require.Empty(t, page.all("img"), path)
		require.NotContains(t, page.text, "<img", path)
		for n := range page.tree.Descendants() { // form fields keep the typed text unchanged
			require.False(t, n.Type == html.TextNode && strings.ContainsAny(n.Data, "\x00\x1b\u202e\u2066\u200b"), "%s: %q", path, n.Data)
		}
		require.Contains(t, page.text, "&lt;img", path)
	}
}
