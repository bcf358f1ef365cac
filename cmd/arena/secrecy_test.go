package main

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"hexarena/projections/matches"
)

// spies keep what anyone could read while a match was running.
type spies struct {
	matchID string
	pages   map[string]string // bodies and headers, by path
}

// spyOn reads every public page while a bot's match runs.
func spyOn(s *stand, bot string) *spies {
	s.t.Helper()
	sp := &spies{pages: map[string]string{}}
	eventually(s.t, bot+" plays", func() bool {
		for _, m := range s.list(matches.Running) {
			for _, p := range m.Players {
				if p.BotName == bot {
					sp.matchID = m.ID
				}
			}
		}
		return sp.matchID != ""
	})
	record := "/matches/" + sp.matchID
	for _, path := range []string{record, record + "/frames", "/matches", "/matches?status=running", "/leaderboard", "/health", "/.well-known/arena.json"} {
		sp.pages[path] = page(s, path, http.StatusOK)
	}
	sp.pages[record+"/frames?seat=0"] = page(s, record+"/frames?seat=0", http.StatusUnprocessableEntity)
	require.Contains(s.t, page(s, record, http.StatusOK), `"status":"running"`, "the match must outlast the spies")
	return sp
}

// page is what an address answers, headers too.
func page(s *stand, path string, status int) string {
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

// requireSecrecy demands that nothing that became public with a match's end
// was to be read before, and no bot's address ever.
func (sp *spies) requireSecrecy(t testing.TB, s *stand, r record) {
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
