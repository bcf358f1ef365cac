package web_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"hexarena/adapters/web/webtest"
)

// This test writes screenshots of match pages to the folder in ARENA_SCREENSHOTS.
func TestScreenshotsOfMatches(t *testing.T) {
	if webtest.Folder() == "" {
		t.Skip("writes pictures: run make screenshots")
	}
	s := newStage(t)
	ended := s.ended("Ann", "Bea", "Cat", "Dot")
	long := s.ended("Ann the Conqueror of Islands", "Wide name "+strings.Repeat("W", 20), "Cat", "Dot")
	running := s.seat("Eve", "Fay", "Gus")
	running.Play(40)
	s.shown(running)
	p := openTab(t, s.url)
	p.media("prefers-reduced-motion", "reduce")
	key := func(key string) string {
		return fmt.Sprintf(`document.body.dispatchEvent(new KeyboardEvent('keydown', { key: %q, bubbles: true }))`, key)
	}
	for _, shot := range []struct{ name, path, until, prepare string }{
		{"watch-replay", "/watch/" + ended.MatchID + "#300", ready, `true`},
		{"watch-ids", "/watch/" + ended.MatchID + "#300", ready, key("i")},
		{"watch-result", fmt.Sprintf("/watch/%s#%d", ended.MatchID, ended.State.Seq), ready, key("a")},
		{"watch-names", fmt.Sprintf("/watch/%s#%d", long.MatchID, long.State.Seq), ready, key("r")},
		{"watch-live", "/watch/" + running.MatchID, ready, `true`},
		{"watch-keys", "/watch/" + ended.MatchID + "#100", ready, key("?")},
		{"watch-embed", "/watch/" + long.MatchID + "?embed=1#200", ready, `true`},
		{"follow-bot", "/bot/" + running.State.Started.Seats[0].BotID + "/live", ready, `true`},
		{"follow-kiosk", "/bot/" + running.State.Started.Seats[0].BotID + "/live?kiosk=1", ready, `true`},
		{"statistics-names", "/watch/" + long.MatchID + "/statistics?probability=1", graph, `document.querySelector('.win-graph input').focus()`},
	} {
		p.open(shot.path)
		p.until(shot.until)
		eval[bool](p, `(`+shot.prepare+`, new Promise((done) => setTimeout(() => done(true), 300)))`) // charts lag behind
		require.NoError(t, webtest.Shoot(p.ctx, shot.name))
	}
}
