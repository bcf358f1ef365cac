package main

import (
	"bufio"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"hexarena/domain/match"
	"hexarena/projections/matches"
)

// The type spies collects all public responses during a match.
type spies struct {
	matchID string
	pages   map[string]string // headers and bodies of responses, by path
	streams map[string]*overheard
}

// The type overheard holds everything that a stream sent, from the first read to the
// end of the match.
type overheard struct {
	text string
	done chan struct{}
}

// untilSpied holds back a bot's answer until the spies have read the pages of its match,
// but never longer than the limit. A match has so many decisions that it outlasts the spies
// even on a slow machine.
func untilSpied(done <-chan struct{}, limit time.Duration) func(*match.Request) {
	return func(*match.Request) {
		timer := time.NewTimer(limit)
		defer timer.Stop()
		select {
		case <-done:
		case <-timer.C:
		}
	}
}

// spyOn reads every public page while a bot plays a match.
func spyOn(s *testArena, bot string) *spies {
	s.t.Helper()
	sp := &spies{pages: map[string]string{}, streams: map[string]*overheard{}}
	var id string // of the bot
	eventually(s.t, bot+" plays", func() bool {
		for _, m := range s.list(matches.Running) {
			for _, p := range m.Players {
				if p.BotName == bot {
					sp.matchID, id = m.ID, p.BotID
				}
			}
		}
		return sp.matchID != ""
	})
	for _, path := range []string{"/live/" + sp.matchID + "/stream", "/live/stream"} {
		sp.streams[path] = overhear(s, path, sp.matchID)
	}
	record := "/matches/" + sp.matchID
	history := "/bots/" + id + "/history"
	eventually(s.t, bot+" has a history", func() bool { return answers(s, history) == http.StatusOK })
	for _, path := range []string{
		record, record + "/frames", "/live", "/live/" + sp.matchID, "/matches", "/matches?status=running", "/leaderboard", "/leaderboard?at=" + time.Now().UTC().Format(time.RFC3339),
		history, history + "?aborted=true", "/matches?bot=" + id, "/games", "/games?status=running&bot=" + id, "/bot/" + id + "/live", "/watch/" + sp.matchID, "/health", "/.well-known/arena.json", "/ladder/standard/events",
	} {
		sp.pages[path] = page(s, path, http.StatusOK)
	}
	sp.pages[record+"/frames?seat=0"] = page(s, record+"/frames?seat=0", http.StatusUnprocessableEntity)
	for _, part := range []string{"/statistics", "/win-probability"} {
		sp.pages[record+part] = page(s, record+part, http.StatusConflict)
	}
	require.Contains(s.t, page(s, record, http.StatusOK), `"status":"running"`, "the match must outlast the spies")
	return sp
}

// overhear reads a stream. If the stream's events have ids, overhear starts at the
// match's first frame.
func overhear(s *testArena, path, matchID string) *overheard {
	s.t.Helper()
	req, err := http.NewRequestWithContext(s.t.Context(), http.MethodGet, s.base()+path, nil)
	require.NoError(s.t, err)
	req.Header.Set("Last-Event-ID", "0")
	res, err := http.DefaultClient.Do(req)
	require.NoError(s.t, err)
	require.Equal(s.t, http.StatusOK, res.StatusCode)
	o := &overheard{done: make(chan struct{})}
	go func() {
		defer close(o.done)
		defer res.Body.Close()
		var text strings.Builder
		_ = res.Header.Write(&text)
		for lines, end := bufio.NewReader(res.Body), false; ; {
			line, err := lines.ReadString('\n')
			if err != nil || end && strings.Contains(line, matchID) {
				break // the test may kill the arena before the end
			}
			end = line == "event: end\n"
			text.WriteString(line)
		}
		o.text = text.String()
	}()
	return o
}

// The function answers() calls a path with GET and returns the response's status.
func answers(s *testArena, path string) int {
	s.t.Helper()
	res, err := http.Get(s.base() + path)
	require.NoError(s.t, err)
	defer res.Body.Close()
	return res.StatusCode
}

// page calls a path with GET, requires the given status, and returns the response's
// headers and body.
func page(s *testArena, path string, status int) string {
	s.t.Helper()
	res, err := http.Get(s.base() + path)
	require.NoError(s.t, err)
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	require.NoError(s.t, err)
	require.Equal(s.t, status, res.StatusCode, "%s: %s", path, body)
	var text strings.Builder
	require.NoError(s.t, res.Header.Write(&text))
	return text.String() + string(body)
}

// requireSecrecy checks the data that becomes public only at the end of a match: it
// must not have been public earlier. A bot's URL must never have been public.
func (sp *spies) requireSecrecy(t testing.TB, s *testArena, r record) {
	t.Helper()
	if r.ID != sp.matchID {
		return
	}
	running := sp.pages["/matches/"+sp.matchID]
	require.Contains(t, running, `"seed":null`)
	require.Contains(t, running, `"replay":[]`)
	require.NotContains(t, running, `"proof"`)
	frames := sp.pages["/matches/"+sp.matchID+"/frames"]
	require.Contains(t, frames, `"event":`)
	for _, hidden := range []string{`"data":`, `"hand":`, `"devCards":`, `"devBoughtThisTurn":`, `"myScore":`} {
		require.NotContains(t, frames, hidden)
	}
	for path, o := range sp.streams {
		select {
		case <-o.done:
		case <-t.Context().Done():
		}
		require.Contains(t, o.text, "event: frame\n", path)
		for _, hidden := range []string{`"data":`, `"hand":`, `"devCards":`, `"devBoughtThisTurn":`, `"myScore":`} {
			require.NotContains(t, o.text, hidden, path)
		}
		sp.pages[path] = o.text
	}
	for path, text := range sp.pages {
		require.NotContains(t, text, r.Seed, path)
		require.NotContains(t, text, r.Proof.ServerSeed.String(), path)
		for _, p := range s.players {
			require.NotContains(t, text, strings.TrimPrefix(p.url, "http://"), path)
		}
	}
	for _, p := range s.players {
		if m := p.memory(r.ID); m != nil {
			for _, q := range m.requests {
				require.NotContains(t, q.frame, r.Seed)
				require.NotContains(t, q.frame, r.Proof.ServerSeed.String())
			}
		}
	}
}
