package main

import (
	"bufio"
	"encoding/json"
	"io"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"hexarena/adapters/rest"
	"hexarena/domain/match"
	"hexarena/eventstore/logtest/outage"
)

// outageAnswer is the response to a call during an outage of the log.
type outageAnswer struct {
	status int
	header http.Header
	body   string
	took   time.Duration
}

// callAll makes all calls at the same time.
func callAll(t *testing.T, urls []string) map[string]outageAnswer {
	t.Helper()
	client := &http.Client{Timeout: patience}
	var mu sync.Mutex
	var all sync.WaitGroup
	answers := map[string]outageAnswer{}
	for _, url := range urls {
		all.Go(func() {
			began := time.Now()
			res, err := client.Get(url)
			if err != nil {
				t.Error(err)
				return
			}
			defer res.Body.Close()
			body, err := io.ReadAll(res.Body)
			if err != nil {
				t.Error(err)
			}
			mu.Lock()
			defer mu.Unlock()
			answers[url] = outageAnswer{res.StatusCode, res.Header, string(body), time.Since(began)}
		})
	}
	all.Wait()
	return answers
}

// While the log does not respond, the arena answers every call. It serves the state that it
// has folded, with its age. /ready, /metrics and the status say how long the log has been
// unavailable and what has stopped. The test prints how long the calls took. The arena
// promises 5 s on a machine that is not too busy.
func TestReadsDuringAnOutage(t *testing.T) {
	t.Parallel()
	n := newNodeProcess(t)
	s := newTestArena(t, append([]string{"--eventstore", n.connection()}, quick...)...)
	s.start()
	open := make(chan struct{})
	t.Cleanup(sync.OnceFunc(func() { close(open) }))
	var asked atomic.Int64
	var players []*testBot
	for _, name := range []string{"Ada", "Bob", "Cy", "Dee"} {
		p := newTestBot(t, name)
		p.hold = func(*match.Request) {
			if asked.Add(1) > 20 {
				<-open
			}
		}
		players = append(players, p)
	}
	s.join(players...)
	m := s.awaitRunning()
	eventually(t, "the bots are held", func() bool { return asked.Load() > 20 })
	var newest match.Frame
	eventually(t, "the board is shown", func() bool {
		s.get("/live/"+m.ID, &newest)
		return newest.Seq > 20
	})
	stream, err := http.Get(s.base() + "/live/" + m.ID + "/stream")
	require.NoError(t, err)
	defer stream.Body.Close()
	bot, base, operators := m.Players[0].BotID, s.base(), "http://"+s.arena.admin()

	n.proxy.Set(outage.BlackHoled)
	ready := operators + "/ready"
	first := callAll(t, []string{ready, operators + "/admin/status", operators + "/metrics", base + "/matches/" + m.ID, base + "/live/" + m.ID, base + "/ladder/standard/events"})
	require.Equal(t, http.StatusServiceUnavailable, first[ready].status, first[ready].body)
	eventually(t, "responses say how old they may be", func() bool {
		health := callAll(t, []string{base + "/health"})[base+"/health"]
		return health.header.Get(rest.HeaderStale) != ""
	})
	served := []string{
		"/matches/" + m.ID, "/live/" + m.ID, "/live", "/matches", "/leaderboard?mode=standard", "/leaderboard?mode=standard&at=2026-01-01T00:00:00Z", "/bots/" + bot + "/history", "/queue",
		"/ladder/standard/checkpoint", "/log/standard/head", "/health",
		"/", "/ladder/standard", "/bot/" + bot, "/watch/" + m.ID, "/docs/rules",
	}
	refused := []string{"/ladder/standard/events?from=1", "/log/keys"}
	urls := []string{ready, operators + "/metrics", operators + "/admin/status"}
	for _, path := range append(served, refused...) {
		urls = append(urls, base+path)
	}
	answers := callAll(t, urls)
	slowest := time.Duration(0)
	for _, answers := range []map[string]outageAnswer{first, answers} {
		for _, a := range answers {
			slowest = max(slowest, a.took)
		}
	}
	t.Logf("the slowest of %d calls took %v; the first answer of /ready took %v", len(first)+len(answers), slowest.Round(time.Millisecond), first[ready].took.Round(time.Millisecond))

	for _, path := range served {
		a := answers[base+path]
		require.Equal(t, http.StatusOK, a.status, "%s: %s", path, a.body)
		require.Regexp(t, `^\d+\.\d$`, a.header.Get(rest.HeaderStale), path)
	}
	for _, path := range refused {
		a := answers[base+path]
		require.Equal(t, http.StatusServiceUnavailable, a.status, "%s: %s", path, a.body)
		require.Contains(t, a.body, "log_unavailable")
		require.Equal(t, "1", a.header.Get("Retry-After"))
	}
	for _, path := range []string{"/matches/" + m.ID, "/live/" + m.ID, "/live"} {
		var body struct{ StaleSeconds float64 }
		require.NoError(t, json.Unmarshal([]byte(answers[base+path].body), &body))
		require.Positive(t, body.StaleSeconds, path)
	}
	var frame struct{ match.Frame }
	require.NoError(t, json.Unmarshal([]byte(answers[base+"/live/"+m.ID].body), &frame))
	require.GreaterOrEqual(t, frame.Seq, newest.Seq)
	for _, body := range []string{first[ready].body, answers[ready].body} {
		var state struct {
			Log struct {
				UnavailableSeconds float64
				Stopped            string
			}
		}
		require.NoError(t, json.Unmarshal([]byte(body), &state))
		require.Positive(t, state.Log.UnavailableSeconds)
		require.Contains(t, state.Log.Stopped, "nobody is seated")
	}
	require.Contains(t, answers[operators+"/metrics"].body, "\narena_log_available 0\n")
	require.Regexp(t, `(?s)plays +yes\n.*log +unavailable for \d+\.\d s\nstopped +nobody is seated.*\nmember +\S+ on \S+ \(this process\): plays 1 of`, s.admin("status"))
	awaitStale(t, stream.Body)

	n.proxy.Set(outage.None)
	eventually(t, "the log is back", func() bool { status, _ := fetch(t, ready); return status == http.StatusOK })
	res, err := http.Get(base + "/live/" + m.ID)
	require.NoError(t, err)
	defer res.Body.Close()
	require.Empty(t, res.Header.Get(rest.HeaderStale))
}

// awaitStale reads a stream of a live board until it says how old the board may be.
func awaitStale(t *testing.T, stream io.Reader) {
	t.Helper()
	for lines := bufio.NewScanner(stream); lines.Scan(); {
		if lines.Text() == "event: stale" && lines.Scan() {
			require.Regexp(t, `^data: {"staleSeconds":\d+(\.\d)?}$`, lines.Text())
			return
		}
	}
	require.Fail(t, "the stream has ended")
}
