package api_test

import (
	"bytes"
	"compress/gzip"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"hexarena/adapters/api"
	"hexarena/adapters/auth"
	"hexarena/eventstore/logtest"
	"hexarena/projections/arenatest"
	"hexarena/projections/live"
	"hexarena/projections/matches"
)

// Caches may store responses about an ended match forever, but must not store responses
// about a running match.
func TestCachingOfMatches(t *testing.T) {
	s := newSpectated(t)
	for _, g := range []*arenatest.Game{s.four, s.aborted} {
		record := "/matches/" + g.MatchID
		seen := map[string]bool{}
		for _, query := range []string{"", "/frames?limit=3", "/frames?after=2&limit=2", "/frames?seat=all&limit=4", "/frames?seat=1&limit=4"} {
			target := record + query
			whole := s.get(target).is(http.StatusOK)
			require.Equal(t, "public, max-age=31536000, immutable", whole.header.Get("Cache-Control"), target)
			tag := whole.header.Get("ETag")
			require.False(t, seen[tag], "each response has its own ETag: %s", target)
			seen[tag] = true
			again := s.get(target).is(http.StatusOK)
			require.Equal(t, tag, again.header.Get("ETag"))
			logtest.RequireSameText(t, string(whole.body), string(again.body))
			have := s.anyone().do(http.MethodGet, target, nil, func(r *http.Request) { r.Header.Set("If-None-Match", tag) }).is(http.StatusNotModified)
			require.Empty(t, have.body)
			require.Equal(t, tag, have.header.Get("ETag"))
			require.Equal(t, whole.header.Get("Cache-Control"), have.header.Get("Cache-Control"))
			packed := s.anyone().do(http.MethodGet, target, nil, func(r *http.Request) { r.Header.Set("Accept-Encoding", "gzip") }).is(http.StatusOK)
			if packed.header.Get("Content-Encoding") == "gzip" {
				z, err := gzip.NewReader(bytes.NewReader(packed.body))
				require.NoError(t, err)
				text, err := io.ReadAll(z)
				require.NoError(t, err)
				logtest.RequireSameText(t, string(whole.body), string(text))
			}
			require.Equal(t, "Accept-Encoding", packed.header.Get("Vary"))
		}
	}
	for _, path := range []string{"", "/frames"} {
		running := s.get("/matches/" + s.running.MatchID + path)
		require.Equal(t, "no-store", running.header.Get("Cache-Control"))
		require.Empty(t, running.header.Get("ETag"))
	}
}

// The type listed is a match list with only one match. It replaces the read model,
// because SQLite connections cannot run in a synctest bubble.
type listed matches.Summary

// Get implements api.Matches.
func (l listed) Get(id string) (matches.Summary, bool, error) {
	return matches.Summary(l), id == l.ID, nil
}

// Voided implements api.Matches.
func (listed) Voided(string) (mode, reason string, found bool, err error) { return "", "", false, nil }

// List implements api.Matches.
func (l listed) List(matches.Query) ([]matches.Summary, string, bool, error) {
	return []matches.Summary{matches.Summary(l)}, "", true, nil
}

// From implements api.Matches.
func (l listed) From(string, string, int) ([]matches.Summary, bool, error) {
	return []matches.Summary{matches.Summary(l)}, true, nil
}

// The match list may be behind the live boards. A match that only they show has a record and
// frames.
func TestLiveMatchThatIsNotListedYet(t *testing.T) {
	s := newSpectated(t, func(o *api.Options) { o.Matches = unlisted{o.Matches} })
	s.shown(s.running)
	path := "/matches/" + s.running.MatchID
	record := s.get(path).is(http.StatusOK).json
	require.Equal(t, "running", record["status"])
	require.Len(t, record["players"], 4)
	require.Len(t, s.frames(s.running), s.running.State.Seq)
	s.get(path + "/statistics").is(http.StatusConflict)
	s.get("/matches/"+s.seated.MatchID).is(http.StatusNotFound, "not_found")
}

// The type unlisted is a match list without running matches.
type unlisted struct{ api.Matches }

// Get implements api.Matches.
func (l unlisted) Get(id string) (m matches.Summary, found bool, err error) {
	if m, found, err = l.Matches.Get(id); m.Status == matches.Running {
		return matches.Summary{}, false, nil
	}
	return m, found, err
}

// Callers get 503 while the live boards are not ready. They also get 503 for a running
// match that the boards do not show yet.
func TestLiveBoardsThatAreNotReady(t *testing.T) {
	s := newSpectated(t)
	running, found, err := s.read.list.Get(s.running.MatchID)
	require.True(t, found)
	require.NoError(t, err)
	synctest.Test(t, func(t *testing.T) {
		server, err := api.New(api.Options{
			Log: s.log, Accounts: s.server.Accounts, Auth: s.server.Auth, Logger: s.server.Logger, ParsePublicKey: auth.ParsePublicKey, Checker: s, Directory: s, Matches: listed(running), Leaderboard: s.read,
			Live: live.New(live.Options{}), PlatformKey: s.platform, BaseURL: "https://arena.example", Now: time.Now,
		})
		require.NoError(t, err)
		for _, path := range []string{"/live", "/live/" + s.running.MatchID, "/live/stream", "/live/" + s.running.MatchID + "/stream"} {
			w := httptest.NewRecorder()
			server.ServeHTTP(w, httptest.NewRequest(http.MethodGet, path, nil))
			require.Equal(t, http.StatusServiceUnavailable, w.Code, path)
			require.Equal(t, "1", w.Header().Get("Retry-After"))
			require.Contains(t, w.Body.String(), `"code":"log_unavailable"`)
		}
	})
}
