package web_test

import (
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/net/html"

	"hexarena/adapters/rest"
	"hexarena/adapters/web"
	"hexarena/projections/leaderboard"
)

// site is a Server with a fake API, whose responses the test sets.
type site struct {
	t   *testing.T
	web *web.Server

	mu      sync.Mutex
	answers map[string]any // responses by method and path; if the value is a refusal, the API rejects the call
	calls   []call
	wait    int           // seconds that Count and CountFile return
	counted int           // calls that pages count as
	passed  time.Duration // how far the pages' clock is ahead
	turns   int           // expensive pages in progress
	noTurn  error         // returned by Turn
	steps   []rest.Step   // steps of the deploy check that each write makes
}

// call is a call that the API received.
type call struct {
	Method, Target, Body   string
	Cookie, Origin, Remote string
	Counted                bool
}

type refusal map[string]any

const (
	botID   = "11111111-1111-4111-8111-111111111111"
	matchID = "22222222-2222-4222-8222-222222222222"
	keyID   = "33333333-3333-4333-8333-333333333333"
	trialID = "66666666-6666-4666-8666-666666666666"
	base    = "https://arena.example"
)

func newSite(t *testing.T) *site {
	t.Helper()
	s := &site{t: t, answers: map[string]any{}}
	for target, answer := range map[string]string{
		"GET /me":            `{"id":"o","name":"ada","email":"ada@example.org","mails":{"failing":true,"unreachable":false,"recovered":true}}`,
		"GET /bots":          `{"bots":[{"id":"` + botID + `","name":"Lovelace","mode":"standard","url":"https://bots.example.org/ada","status":"active","createdAt":"2026-09-06T12:00:00.000Z"}]}`,
		"GET /bots/" + botID: `{"id":"` + botID + `","name":"Lovelace","mode":"standard","url":"https://bots.example.org/ada","status":"active"}`,
		"GET /bots/" + botID + "/history": `{"botId":"` + botID + `","name":"Lovelace","owner":"ada","mode":"standard","abortedMatches":1,"points":[
			{"matchId":"a","endedAt":"2026-09-01T10:00:00.000Z","placement":1,"seat":0,"rating":3.1,"mu":27.6,"sigma":8.2},
			{"matchId":"b","endedAt":"2026-09-02T10:00:00.000Z","placement":2,"seat":1,"rating":4.2,"mu":28.1,"sigma":8.0}]}`,
		"GET /leaderboard": `{"mode":"standard","rows":[
			{"rank":1,"botId":"` + botID + `","name":"Lovelace","owner":"ada","rating":4.2,"gamesPlayed":2},
			{"rank":2,"botId":"44444444-4444-4444-8444-444444444444","name":"Greta","owner":"house","rating":-1.5,"gamesPlayed":1}]}`,
		"GET /matches": `{"matches":[` + matchJSON + `],"next":null}`,
		"GET /matches/" + matchID: strings.TrimSuffix(matchJSON, "}") + `,"replay":[
			{"seq":3,"kind":"action","seat":0,"data":{"elapsedMs":41}},{"seq":4,"kind":"action","seat":1,"data":{"elapsedMs":7}},
			{"seq":5,"kind":"action","seat":0,"data":{"elapsedMs":null}}]}`,
		"GET /matches/" + matchID + "/statistics": `{"matchId":"` + matchID + `","turns":2,"rolls":2,"dice":[{"total":7,"count":2,"expected36":12}],"seats":[
			{"seat":0,"luck36":51,"luck":1.4167,"discarded":4},{"seat":1,"luck36":-9,"luck":-0.25}]}`,
		"GET /bots/" + botID + "/matches/" + matchID + "/decisions": `{"decisions":[
			{"id":1,"seq":3,"kind":"setup","outcome":"played","elapsedMs":41,"played":{"settlement":4,"road":7},"request":{"deadlineMs":4750,"view":{}}},
			{"id":7,"seq":44,"kind":"turn","outcome":"illegal","elapsedMs":3,"reason":"distance_rule","message":"vertex 14 is next to the town on 9",
				"answer":"{\"id\":7}","played":{"type":"end_turn"},"request":{"view":{"board":{"hexes":[{"id":0,"resource":"ore","token":6}],"bandit":0},
				"hand":{"ore":2,"wool":1},"talkLog":[{"seat":1,"message":"a\u202eb","turn":3}],"roads":[{"edge":3,"seat":1}],"towns":[{"vertex":9,"seat":1,"city":true}]}}},
			{"id":9,"seq":50,"kind":"turn","outcome":"timeout","cause":"deadline","elapsedMs":0,"played":{"type":"end_turn"},"request":{"deadlineMs":0,"bankMs":0,"view":{}}},
			{"id":13,"seq":60,"kind":"turn","outcome":"timeout","cause":"malformed","elapsedMs":1,"played":{"type":"end_turn"}},
			{"id":15,"seq":66,"kind":"turn","outcome":"timeout","cause":"dropped","elapsedMs":9,"played":{"type":"end_turn"}},
			{"id":11,"seq":54,"kind":"turn","outcome":"timeout","cause":"deadline","elapsedMs":5000,"played":{"type":"end_turn"},"request":{"deadlineMs":5000,"view":{}},
				"fault":{"code":"late","message":"came 1,004 ms late"},"late":{"lateMs":1004,"answer":"{\"id\":11}"},"strikes":3,"resigned":true}]}`,
		"GET /keys": `{"keys":[{"id":"` + keyID + `","name":"laptop","publicKey":"AAAA","scopes":["bots.read"],"createdAt":"2026-09-06T12:00:00.000Z","lastUsedAt":null,"revokedAt":null},
			{"id":"55555555-5555-4555-8555-555555555555","name":"old","publicKey":"AAAB","scopes":[],"createdAt":"2026-09-06T12:00:00.000Z","lastUsedAt":null,"revokedAt":"2026-09-07T12:00:00.000Z"}]}`,
		"GET /docs/api": `{}`,
		"GET /bots/" + botID + "/trials/" + trialID: `{"id":"` + trialID + `","botId":"` + botID + `","mode":"standard","status":"ended","outcome":"completed",
			"startedAt":"2026-09-06T12:00:00.000Z","endedAt":"2026-09-06T12:01:00.000Z","seat":1,"turns":61,"players":[
			{"seat":0,"botId":"house-1","botName":"greedy","score":10,"placement":1},{"seat":1,"botId":"` + botID + `","botName":"Lovelace","score":7,"placement":2}],
			"decisions":[{"kind":"setup","played":2,"timeouts":0,"illegal":0},{"kind":"turn","played":38,"timeouts":3,"illegal":0}],
			"strikes":[{"id":44,"seq":97,"kind":"turn","outcome":"timeout","elapsedMs":5000,"code":"late","message":"came 1,004 ms late","strikes":1,"resigned":false},
			{"id":45,"seq":99,"kind":"turn","outcome":"timeout","elapsedMs":5000,"code":"syntax","message":"invalid \u202echaracter","strikes":2,"resigned":true}],
			"resigned":true,"latency":{"p50Ms":31,"p95Ms":140,"maxMs":5000},"events":388}`,
	} {
		s.answers[target] = json.RawMessage(answer)
	}
	var err error
	s.web, err = web.New(web.Options{
		API: s.api(true), Reads: s.api(false), Tick: 30 * time.Second, BaseURL: base, Tallies: tallies{},
		Count: func(_ http.Header, _ *http.Request, calls int) int {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.counted += calls
			return s.wait
		},
		Turn: func(ctx context.Context) (func(), error) {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.turns++
			return func() { s.mu.Lock(); defer s.mu.Unlock(); s.turns-- }, s.noTurn
		},
		CountFile: func(http.Header, *http.Request) int { s.mu.Lock(); defer s.mu.Unlock(); return s.wait },
		Spread:    func(string, string) map[string]float64 { return map[string]float64{botID: 2.5} },
		House:     func(id string) bool { return id != botID },
		Registered: func(id string) (web.Bot, bool, error) {
			if id == "unknown-yet" {
				return web.Bot{}, false, errors.New("the directory is being rebuilt")
			}
			return web.Bot{"Newcomer", "ada", "standard"}, id == "newcomer", nil
		},
		Now:    s.now,
		Logger: slog.New(slog.DiscardHandler),
	})
	require.NoError(t, err)
	return s
}

const matchJSON = `{"id":"` + matchID + `","mode":"standard","status":"completed","startedAt":"2026-09-06T12:00:00.000Z","endedAt":"2026-09-06T12:04:00.000Z","players":[
	{"seat":0,"botId":"` + botID + `","botName":"Lovelace","placement":1,"ratingDelta":1.1},
	{"seat":1,"botId":"44444444-4444-4444-8444-444444444444","botName":"Greta","placement":2,"ratingDelta":-1.5}],
	"seats":[{"strikes":0,"resigned":false,"missed":false,"version":"2.0 <beta>"},{"strikes":3,"resigned":true,"missed":false}]}`

type tallies struct{}

func (tallies) BySeat(string) ([]leaderboard.SeatTally, error) {
	return []leaderboard.SeatTally{{Seat: 0, Games: 2, Places: [4]int{1, 1}}}, nil
}

func (tallies) ByVersion(string) ([]leaderboard.VersionTally, error) {
	return []leaderboard.VersionTally{{Version: "2.0 <beta>", Games: 1, Places: [4]int{0, 1}}, {Games: 1, Places: [4]int{1}}}, nil
}

func (tallies) ClockAborts(string) (leaderboard.ClockAborts, error) {
	return leaderboard.ClockAborts{Matches: 3, Measured: 2, UsedMs: 855_000, AllMs: 1_200_000}, nil
}

func (tallies) Against(string, string) ([]leaderboard.SeatRival, error) {
	return []leaderboard.SeatRival{{Seat: 0, Rival: leaderboard.Rival{Games: 3, Above: 2, Below: 1}}, {Seat: 2, Rival: leaderboard.Rival{Games: 4, Level: 4}}}, nil
}

func (tallies) HeadToHead(string) ([]leaderboard.Rival, error) {
	return []leaderboard.Rival{{BotID: "44444444-4444-4444-8444-444444444444", Games: 2, Above: 2}, {BotID: "gone", Games: 1, Below: 1}}, nil
}

func (s *site) now() time.Time {
	return time.Date(2026, 9, 6, 12, 0, 0, 0, time.UTC).Add(s.passed)
}

// pass moves the pages' clock.
func (s *site) pass(d time.Duration) { s.passed += d }

// say sets the API's response to a call.
func (s *site) say(target, body string) { s.answers[target] = json.RawMessage(body) }

// refuse makes the API reject a call.
func (s *site) refuse(target string, status int, code string, more refusal) {
	r := refusal{"status": status, "title": http.StatusText(status), "code": code, "detail": "a sentence about " + code, "requestId": "r-1"}
	for name, value := range more {
		r[name] = value
	}
	s.answers[target] = r
}

func (s *site) api(counted bool) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		s.mu.Lock()
		s.calls = append(s.calls, call{r.Method, r.URL.RequestURI(), string(body), r.Header.Get("Cookie"), r.Header.Get("Origin"), r.RemoteAddr, counted})
		answer, known := s.answers[r.Method+" "+r.URL.Path]
		s.mu.Unlock()
		if !known {
			answer = refusal{"status": 404, "title": "Not Found", "code": "not_found", "detail": "there is nothing at this path"}
		}
		if r.Method != http.MethodGet {
			if follower, ok := w.(rest.StepWriter); ok {
				for _, step := range s.steps {
					follower.WriteStep(step)
				}
			}
		}
		if answer, ok := answer.(refusal); ok {
			w.Header().Set("Content-Type", "application/problem+json")
			w.WriteHeader(answer["status"].(int))
			_ = json.NewEncoder(w).Encode(answer)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(answer)
	})
}

// The method writes() returns the calls other than GET.
func (s *site) writes() []call {
	s.mu.Lock()
	defer s.mu.Unlock()
	var list []call
	for _, c := range s.calls {
		if c.Method != http.MethodGet {
			list = append(list, c)
		}
	}
	return list
}

// The type shown is a page as a browser receives it.
type shown struct {
	*httptest.ResponseRecorder
	text string
	tree *html.Node
}

func (s *site) get(path string, edit ...func(*http.Request)) shown {
	s.t.Helper()
	r := httptest.NewRequest(http.MethodGet, path, nil)
	return s.do(r, edit...)
}

// post sends a form the way a page of the arena does.
func (s *site) post(path, form string, edit ...func(*http.Request)) shown {
	s.t.Helper()
	r := httptest.NewRequest(http.MethodPost, path, strings.NewReader(form))
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	r.Header.Set("Sec-Fetch-Site", "same-origin")
	r.Header.Set("Origin", base)
	return s.do(r, append([]func(*http.Request){signedIn}, edit...)...)
}

func signedIn(r *http.Request) { r.AddCookie(&http.Cookie{Name: "__Host-session", Value: "s"}) }

func (s *site) do(r *http.Request, edit ...func(*http.Request)) shown {
	s.t.Helper()
	r.Header.Set("Accept", "text/html,application/xhtml+xml,*/*;q=0.8")
	for _, e := range edit {
		e(r)
	}
	w := httptest.NewRecorder()
	s.web.ServeHTTP(w, r)
	page := shown{ResponseRecorder: w, text: w.Body.String()}
	if w.Header().Get("Content-Encoding") == "gzip" {
		z, err := gzip.NewReader(w.Body)
		require.NoError(s.t, err)
		text, err := io.ReadAll(z)
		require.NoError(s.t, err)
		page.text = string(text)
	}
	if strings.HasPrefix(w.Header().Get("Content-Type"), "text/html") {
		s.judge(page.text)
		var err error
		page.tree, err = html.Parse(strings.NewReader(page.text))
		require.NoError(s.t, err)
		require.Contains(s.t, w.Header().Get("Content-Security-Policy"), "default-src 'none'; script-src 'self'; style-src 'self'")
	}
	return page
}

var void = map[string]bool{"meta": true, "link": true, "input": true, "br": true, "hr": true, "img": true, "wbr": true}

// judge requires that a page closes its elements in order. The page must not have
// inline scripts, styles or handlers, and must not load anything from other sites.
func (s *site) judge(page string) {
	s.t.Helper()
	var open []string
	for z := html.NewTokenizer(strings.NewReader(page)); ; {
		kind := z.Next()
		token := z.Token()
		switch kind {
		case html.ErrorToken:
			require.ErrorIs(s.t, z.Err(), io.EOF)
			require.Empty(s.t, open)
			return
		case html.StartTagToken:
			s.judgeTag(token)
			if !void[token.Data] {
				open = append(open, token.Data)
			}
		case html.SelfClosingTagToken:
			s.judgeTag(token)
		case html.EndTagToken:
			require.NotEmpty(s.t, open, "</%s>", token.Data)
			require.Equal(s.t, open[len(open)-1], token.Data, "in %v", open)
			open = open[:len(open)-1]
		case html.TextToken:
			if len(open) > 0 && (open[len(open)-1] == "script" || open[len(open)-1] == "style") {
				require.Empty(s.t, strings.TrimSpace(token.Data))
			}
		}
	}
}

func (s *site) judgeTag(token html.Token) {
	s.t.Helper()
	require.NotEqual(s.t, "style", token.Data)
	for _, a := range token.Attr {
		require.False(s.t, a.Key == "style" || strings.HasPrefix(a.Key, "on"), "%s", token)
		loads := a.Key == "src" || a.Key == "action" || a.Key == "href" && token.Data == "link"
		if loads {
			require.Regexp(s.t, `^/[^/]`, strings.Replace(a.Val, "/", "/x", 1), "%s", token)
		}
		if a.Key == "href" {
			require.NotContains(s.t, strings.ToLower(a.Val), "javascript:")
		}
	}
}

// The method all() returns the elements with the given tag name.
func (p shown) all(name string) []*html.Node {
	var list []*html.Node
	for n := range p.tree.Descendants() {
		if n.Type == html.ElementNode && n.Data == name {
			list = append(list, n)
		}
	}
	return list
}

func attribute(n *html.Node, name string) string {
	for _, a := range n.Attr {
		if a.Key == name {
			return a.Val
		}
	}
	return ""
}

func values(pairs ...string) string {
	v := url.Values{}
	for i := 0; i < len(pairs); i += 2 {
		v.Add(pairs[i], pairs[i+1])
	}
	return v.Encode()
}

func (s *site) is(p shown, status int, holds ...string) {
	s.t.Helper()
	require.Equal(s.t, status, p.Code, p.text)
	for _, text := range holds {
		require.Contains(s.t, p.text, text)
	}
}

func (s *site) leads(p shown, to string) {
	s.t.Helper()
	require.Equal(s.t, http.StatusSeeOther, p.Code, fmt.Sprint(p.text))
	require.Equal(s.t, to, p.Header().Get("Location"))
}
