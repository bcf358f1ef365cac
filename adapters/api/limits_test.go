package api_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"hexarena/adapters/api"
	"hexarena/adapters/api/apitest"
	"hexarena/adapters/api/ratelimit"
	"hexarena/adapters/rest"
	"hexarena/adapters/rest/problem"
	"hexarena/domain/ladder"
	"hexarena/domain/match"
	"hexarena/projections/leaderboard"
)

// The function limited() returns an arena with the default limits. It trusts this
// machine as a proxy, so that a test can call from any address.
func limited(t *testing.T) *arena { return newArena(t, withLimits) }

func withLimits(o *api.Options) {
	o.Limits = ratelimit.Defaults()
	o.TrustedProxies = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}
}

// The function from() returns an edit that makes a request come from the given address.
func from(address string) func(*http.Request) {
	return func(r *http.Request) { r.Header.Set("X-Forwarded-For", address) }
}

// The method refused() requires the status 429, and returns the value of Retry-After.
func (a *answer) refused() time.Duration {
	a.t.Helper()
	a.is(http.StatusTooManyRequests, "rate_limited")
	after, err := strconv.Atoi(a.header.Get("Retry-After"))
	require.NoError(a.t, err)
	require.Positive(a.t, after)
	require.LessOrEqual(a.t, after, 60)
	return time.Duration(after) * time.Second
}

func TestEveryLimit(t *testing.T) {
	a := limited(t)
	a.checks["https://fails.example"] = []rest.Step{{Name: "ping", Detail: "no"}}
	bot := a.signIn("ada@example.org").newBot("bot", "standard")
	for name, c := range map[string]struct {
		method, target, body string
		signedIn             bool
		limit, status        int
	}{
		"registrations":   {"POST", "/bots", `{"name":"x","mode":"standard","url":"https://fails.example"}`, true, 10, 422},
		"new urls":        {"PATCH", "/bots/" + bot, `{"url":"https://fails.example"}`, true, 10, 404},
		"deploy checks":   {"POST", "/bots/" + bot + "/check", ``, true, 10, 404},
		"writes":          {"PATCH", "/me", `{}`, true, 30, 200},
		"removals":        {"DELETE", "/bots/" + bot, ``, true, 30, 404},
		"sign-ins":        {"POST", "/sign-in", `{"email":"x"}`, false, 30, 422},
		"match reads":     {"GET", "/matches", ``, false, 120, 200},
		"one match":       {"GET", "/matches/none", ``, false, 120, 404},
		"frames":          {"GET", "/matches/none/frames", ``, false, 120, 404},
		"a history":       {"GET", "/bots/none/history", ``, false, 120, 404},
		"anything":        {"GET", "/health", ``, false, 600, 200},
		"an unknown path": {"GET", "/nothing", ``, false, 600, 404},
		"another method":  {"GET", "/sign-out", ``, false, 600, 405},
		"own bots":        {"GET", "/bots", ``, true, 600, 200},
		"refused reads":   {"GET", "/me?x=1", ``, true, 600, 422},
	} {
		t.Run(name, func(t *testing.T) {
			client := a.anyone()
			if c.signedIn {
				client = a.signIn(fmt.Sprintf("%d@example.org", len(name)*1000+c.limit))
				a.pass(time.Minute)
			}
			call := func() *answer {
				var body any
				if c.body != "" {
					body = c.body
				}
				return client.do(c.method, c.target, body, from("192.0.2."+strconv.Itoa(len(name))))
			}
			for i := range c.limit {
				got := call()
				require.Equal(t, c.status, got.status, "call %d: %s", i+1, got.body)
			}
			if c.status == 404 && c.target == "/nothing" || c.status == 405 {
				got := call()
				require.Equal(t, c.status, got.status, "a call within the limits")
				a.anyone().do("GET", "/health", nil, from("192.0.2."+strconv.Itoa(len(name)))).refused()
				a.pass(time.Minute)
				return
			}
			wait := call().refused()
			a.pass(wait - time.Second)
			call().refused()
			a.pass(time.Second)
			require.Equal(t, c.status, call().status, "after the Retry-After")
			a.pass(time.Minute)
		})
	}
}

func TestAnswersShowTheLimits(t *testing.T) {
	a := limited(t)
	first := a.anyone().do("GET", "/matches", nil).is(200)
	require.Equal(t, `"all";q=600;w=60, "match-reads";q=120;w=60`, first.header.Get("RateLimit-Policy"))
	require.Equal(t, `"all";r=599;t=60, "match-reads";r=119;t=60`, first.header.Get("RateLimit"))
	a.pass(10500 * time.Millisecond)
	second := a.anyone().do("GET", "/matches", nil).is(200)
	require.Equal(t, `"all";r=598;t=50, "match-reads";r=118;t=50`, second.header.Get("RateLimit"))

	ada := a.signIn("ada@example.org")
	created := ada.do("POST", "/bots", `{}`).is(422)
	require.Equal(t, `"all";q=600;w=60, "writes";q=30;w=60, "registrations";q=10;w=60`, created.header.Get("RateLimit-Policy"))
	require.Equal(t, `"all";r=599;t=60, "writes";r=29;t=60, "registrations";r=9;t=60`, created.header.Get("RateLimit"), "the limits of the account, not of the address")
	for range 9 {
		ada.do("POST", "/bots", `{}`).is(422)
	}
	over := ada.do("POST", "/bots", `{}`)
	require.Equal(t, 60*time.Second, over.refused())
	require.Contains(t, over.header.Get("RateLimit"), `"registrations";r=0;t=60`)
	require.Contains(t, over.json["detail"], "more than 10 registrations")
}

// A call that costs the arena a lot of time counts as several calls. An ordinary call
// to the same endpoint counts as one.
func TestHeavyCallsCountAsSeveral(t *testing.T) {
	s := newSpectated(t, withLimits)
	ended, running := "/matches/"+s.four.MatchID, "/matches/"+s.running.MatchID
	s.counts(map[string]int{
		ended: 1, ended + "/frames": 3, ended + "/frames?seat=all": 3, running + "/frames": 1, "/bots/" + s.bots[0] + "/history": 1,
	})
	s.counts(map[string]int{ended: 1, ended + "/frames": 1})
	for limit := range 40 { // a different response each time, and a short one, so that the test is fast
		s.anyone().do("GET", fmt.Sprintf("%s/frames?limit=%d", ended, 1+limit), nil, from("198.51.100.1")).is(200)
	}
	s.anyone().do("GET", ended, nil, from("198.51.100.1")).refused()
}

// A request for a long history or a past ranking counts as several calls.
func TestLongAnswersCountAsSeveral(t *testing.T) {
	s := newSpectated(t, withLimits, func(o *api.Options) { o.Leaderboard = crowded{o.Leaderboard} })
	s.counts(map[string]int{"/bots/" + s.bots[0] + "/history": 3, "/leaderboard": 1, "/leaderboard?at=2026-09-06T12:00:00Z": 3})
}

// The number of expensive calls that run at the same time is limited to half the number
// of processors. Additional expensive calls wait, but only for a limited time. Other
// calls do not wait.
func TestExpensiveCallsTakeTurns(t *testing.T) {
	s := newSpectated(t)
	var ends []func()
	for range max(1, runtime.GOMAXPROCS(0)/2) {
		end, err := s.server.Turn(t.Context())
		require.NoError(t, err)
		ends = append(ends, end)
	}
	synctest.Test(t, func(t *testing.T) {
		begun := time.Now()
		_, err := s.server.Turn(t.Context())
		require.ErrorIs(t, err, problem.ErrBusy)
		require.Equal(t, 5*time.Second, time.Since(begun))
	})
	s.get("/health").is(200)
	s.get("/matches/" + s.four.MatchID).is(200)
	frames := make(chan *answer)
	go func() { frames <- s.get("/matches/" + s.four.MatchID + "/frames") }()
	for _, end := range ends {
		end()
	}
	(<-frames).is(200)

	slow := &slowClient{httptest.NewRecorder(), s}
	s.server.ServeHTTP(slow, httptest.NewRequest(http.MethodGet, "/matches/"+s.four.MatchID+"/frames?seat=all", nil))
	require.Equal(t, http.StatusOK, slow.Code)
}

// If an expensive call gets no turn, the response is 503 busy. The OpenAPI document
// lists this response for exactly the endpoints that have expensive calls: do compares
// each response with the document.
func TestBusyResponsesAreDescribed(t *testing.T) {
	s := newRivals(t, func(o *api.Options) { o.Leaderboard, o.SignedLog = crowded{o.Leaderboard}, unread{} })
	var ended string
	for range 2 { // a bot's decisions are expensive if they are from several matches
		g := s.play.Seat(ladder.Standard, s.bots...)[0]
		g.Start()
		g.Abort(match.Operator)
		g.Conclude()
		ended = g.MatchID
	}
	s.read.sync()
	expensive := map[string]string{
		"get-frames": "/matches/" + ended + "/frames",

		"get-bot-statistics":  "/bots/" + s.bots[0] + "/statistics",
		"get-win-probability": "/matches/" + ended + "/win-probability",
		"get-leaderboard":     "/leaderboard?at=2026-09-06T12:00:00Z",
		"get-bot-history":     "/bots/" + s.bots[0] + "/history",
		"list-bot-decisions":  "/bots/" + s.bots[0] + "/decisions",
		"list-ladder-events":  "/ladder/standard/events?limit=500",
	}
	for range max(1, runtime.GOMAXPROCS(0)/2) {
		end, err := s.server.Turn(t.Context())
		require.NoError(t, err)
		defer end()
	}
	s.server.SetTurnTime(0)
	for id, target := range expensive {
		busy := s.ada.do(http.MethodGet, target, nil).is(http.StatusServiceUnavailable, "busy")
		require.Contains(t, busy.json["detail"], "expensive calls", id)
		require.Equal(t, "1", busy.header.Get("Retry-After"))
	}
	contractOf(t, s.server).Operations(func(_, method string, op apitest.Operation) {
		if method == "get" { // other methods list busy because writes may conflict
			_, listed := op.Responses["503"].Content[rest.ProblemType].Examples["busy"]
			require.Equal(t, expensive[op.ID] != "", listed, op.ID)
		}
	})
}

// The type unread is a signed log that no call reads.
type unread struct{ api.SignedLog }

// slowClient is a response writer. It fails the test if the call still has its turn
// when the response is written.
type slowClient struct {
	*httptest.ResponseRecorder
	*spectated
}

func (c *slowClient) Write(b []byte) (int, error) {
	end, err := c.server.Turn(c.t.Context())
	require.NoError(c.t, err)
	end()
	return c.ResponseRecorder.Write(b)
}

// The type crowded is a leaderboard that reports more rows and more matches than there
// are.
type crowded struct{ api.Leaderboard }

func (crowded) Games(string) int { return 4500 }

func (crowded) Rows(string) ([]leaderboard.Row, error) {
	return slices.Repeat([]leaderboard.Row{{Rank: 1, GamesPlayed: 1}}, 1200), nil
}

// The method counts() makes each call in the map want once, each from a different
// address. It requires that the call counts as the given number of calls.
func (s *spectated) counts(want map[string]int) {
	s.t.Helper()
	n := 0
	for target, calls := range want {
		n++
		s.pass(time.Minute)
		got := s.anyone().do("GET", target, nil, from(fmt.Sprintf("192.0.2.%d", n))).is(200)
		require.Contains(s.t, got.header.Get("RateLimit"), fmt.Sprintf(`"all";r=%d;t=60`, 600-calls), target)
		if strings.Contains(got.header.Get("RateLimit"), "match-reads") {
			require.Contains(s.t, got.header.Get("RateLimit"), fmt.Sprintf(`"match-reads";r=%d;t=60`, 120-calls), target)
		}
	}
}

func TestLimitsAreByCaller(t *testing.T) {
	a := limited(t)
	ada := a.signIn("ada@example.org")
	keys := []*client{ada.newKey(), ada.newKey(), ada}
	a.pass(time.Minute)

	t.Run("an account with several keys and addresses", func(t *testing.T) {
		for i := range 600 {
			keys[i%3].do("GET", "/bots", nil, from(fmt.Sprintf("192.0.2.%d", i%250))).is(200)
		}
		for _, c := range keys {
			c.do("GET", "/bots", nil, from("192.0.2.251")).refused()
		}
		a.pass(time.Minute)
	})
	t.Run("calls from an account do not count against its address", func(t *testing.T) {
		for range 600 {
			ada.do("GET", "/bots", nil, from("198.51.100.1")).is(200)
		}
		ada.do("GET", "/bots", nil, from("198.51.100.1")).refused()
		for range 599 {
			a.anyone().do("GET", "/health", nil, from("198.51.100.1")).is(200)
		}
		a.pass(time.Minute)
	})
	t.Run("an IPv6 address shares the limit of its /64", func(t *testing.T) {
		for i := range 600 {
			a.anyone().do("GET", "/health", nil, from(fmt.Sprintf("2001:db8:0:1::%x", i+1))).is(200)
		}
		a.anyone().do("GET", "/health", nil, from("2001:db8:0:1:ffff::1")).refused()
		a.anyone().do("GET", "/health", nil, from("2001:db8:0:2::1")).is(200)
	})
}

// A call with a wrong signature counts only against the address that sent it, and not
// against the owner of the key id.
func TestFailedAuthenticationCountsByAddress(t *testing.T) {
	a := limited(t)
	ada := a.signIn("ada@example.org")
	key := ada.newKey()
	forged := &client{arena: a, keyID: key.keyID, key: ada.newKey().key}
	a.pass(time.Minute)
	for range 600 {
		forged.do("GET", "/bots", nil, from("203.0.113.1")).is(401, "unauthenticated")
	}
	forged.do("GET", "/bots", nil, from("203.0.113.1")).refused()
	key.do("GET", "/bots", nil, from("203.0.113.1")).refused()
	for range 600 {
		key.do("GET", "/bots", nil, from("203.0.113.2")).is(200)
	}
}

// The server checks the limit of the address before the credentials (401). It checks
// the credentials and the scope (403) before the limit of the account.
func TestLimitsInTheOrderOfErrors(t *testing.T) {
	a := limited(t)
	ada := a.signIn("ada@example.org")
	key, blind := ada.newKey("account.read"), ada.newKey("bots.read")
	a.pass(time.Minute)
	for range 600 {
		key.do("GET", "/me", nil, from("192.0.2.1")).is(200)
	}
	key.do("GET", "/me", nil, from("192.0.2.1")).refused()
	blind.do("GET", "/me", nil, from("192.0.2.1")).is(403, "scope_missing")
	a.anyone().do("GET", "/me", nil, from("192.0.2.1")).is(401, "unauthenticated")
	key.do("GET", "/me", "{}", from("192.0.2.1")).refused()

	for range 599 {
		a.anyone().do("GET", "/me", nil, from("192.0.2.1")).is(401, "unauthenticated")
	}
	a.anyone().do("GET", "/me", nil, from("192.0.2.1")).refused()
	key.do("GET", "/nothing", nil, from("192.0.2.1")).is(404, "not_found")
	ada.do("PATCH", "/me", "{}", from("192.0.2.1"), func(r *http.Request) { r.Header.Set("Sec-Fetch-Site", "cross-site") }).is(403, "cross_site")
	ada.do("PATCH", "/me", make([]byte, 70000), from("192.0.2.1")).is(413, "body_too_large")
}
