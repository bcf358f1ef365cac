package web_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"
)

// This test writes screenshots of match pages to the folder in ARENA_SCREENSHOTS.
func TestScreenshotsOfMatches(t *testing.T) {
	dir := os.Getenv("ARENA_SCREENSHOTS")
	if dir == "" {
		t.Skip("writes pictures: run make screenshots")
	}
	s := newStage(t)
	ended := s.ended("Ann", "Bea", "Cat", "Dot")
	running := s.seat("Eve", "Fay", "Gus")
	running.Play(40)
	p := openTab(t, s.url)
	shots := []struct{ name, path, prepare string }{
		{"watch-replay", "/watch/" + ended.MatchID + "#300", ``},
		{"watch-result", fmt.Sprintf("/watch/%s#%d", ended.MatchID, ended.State.Seq), `dispatchKey('a')`},
		{"watch-live", "/watch/" + running.MatchID, ``},
		{"watch-keys", "/watch/" + ended.MatchID + "#100", `dispatchKey('?')`},
		{"watch-embed", "/watch/" + ended.MatchID + "?embed=1#200", ``},
	}
	for _, theme := range []string{"light", "dark"} {
		for _, width := range []int64{390, 768, 1440} {
			p.do(chromedp.EmulateViewport(width, 900))
			p.media("prefers-color-scheme", theme)
			for _, shot := range shots {
				p.open(shot.path)
				p.until(ready)
				if shot.prepare != "" {
					eval[bool](p, `(() => { const dispatchKey = (key) => document.body.dispatchEvent(new KeyboardEvent('keydown', { key, bubbles: true })); `+shot.prepare+`; return true })()`)
				}
				eval[bool](p, `Promise.all(document.getAnimations().map((a) => a.finished)).then(() => new Promise((done) => setTimeout(() => done(true), 300)))`)
				png, err := chromedp.Run(p.ctx, chromedp.FullScreenshot(100))
				require.NoError(t, err)
				require.NoError(t, os.WriteFile(filepath.Join(dir, fmt.Sprintf("%s-%d-%s.png", shot.name, width, theme)), png, 0o600))
			}
		}
	}
}
