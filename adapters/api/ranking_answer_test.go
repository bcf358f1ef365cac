package api_test

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"
)

// If a caller already has the current ranking, it gets 304 until a match ends or a name
// changes.
func TestRankingHasAnETag(t *testing.T) {
	s := newSpectated(t)
	ask := func(tag string) *answer {
		return s.anyone().do(http.MethodGet, "/leaderboard", nil, func(r *http.Request) { r.Header.Set("If-None-Match", tag) })
	}
	first := s.get("/leaderboard").is(http.StatusOK)
	require.Equal(t, "no-cache", first.header.Get("Cache-Control"))
	tag := first.header.Get("ETag")
	require.Regexp(t, `^(W/)?"[^"]+"$`, tag)
	require.Empty(t, ask(tag).is(http.StatusNotModified).body)
	require.Equal(t, first.body, ask(`"another"`).is(http.StatusOK).body)
	require.NotEqual(t, tag, s.get("/leaderboard?mode=parley").is(http.StatusOK).header.Get("ETag"))

	for _, change := range []func(){
		func() { s.play.Own("ada", botCalled(s.bots[0], "Anna")) },
		func() { s.running.PlayOut(); s.running.Conclude() },
		func() { s.play.Own("ada", botGone(s.bots[0])) },
	} {
		change()
		s.read.sync()
		fresh := ask(tag).is(http.StatusOK)
		require.NotEqual(t, tag, fresh.header.Get("ETag"))
		require.NotEqual(t, first.body, fresh.body)
		tag, first = fresh.header.Get("ETag"), fresh
		require.Empty(t, ask(tag).is(http.StatusNotModified).body)
	}
}
