package main

import (
	"fmt"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/stretchr/testify/require"

	"hexarena/projections/matches"
)

// value returns the value of an expression, or "" while the browser opens another page.
func (b *tab) value(expression string) string {
	v, err := chromedp.Run(b.ctx, chromedp.Evaluate[string](fmt.Sprintf("String((%s) ?? '')", expression)))
	if err != nil {
		return ""
	}
	return v
}

// A page follows a bot from match to match. Nobody touches the page.
func TestPageFollowsABotThroughThreeMatches(t *testing.T) {
	t.Parallel()
	b := newTab(t)
	s := played(t)
	b.visit(s.base())
	bot := s.list(matches.Completed)[0].Players[0].BotID
	b.open("/bot/" + bot + "/live?kiosk=1")
	seen := map[string]bool{}
	for len(seen) < 3 {
		var id string
		eventually(t, "the page shows another match", func() bool {
			id = b.value(`document.querySelector(".watch.ready")?.dataset.watch`)
			return id != "" && !seen[id]
		})
		seen[id] = true
		require.Equal(t, "none", b.value(`getComputedStyle(document.querySelector(".bar")).display`), "no controls")
		require.NotEqual(t, "none", b.value(`getComputedStyle(document.querySelector(".dice-chart .bar")).display`), "the bars of the dice")
		require.Equal(t, "0", b.value(`document.querySelectorAll("header.site, footer.site").length`))
	}
	for id := range seen {
		var m matches.Summary
		s.get("/matches/"+id, &m)
		require.True(t, plays(m, bot), id)
	}
	require.Contains(t, b.path(), "/bot/"+bot+"/live?kiosk=1")
	require.Empty(t, b.complaints())

	b.open("/watch/top/parley")
	eventually(t, "the page counts down to the next tick", func() bool {
		return b.value(`/^(The next tables are seated in \d+ s|Waiting for the next match)\.$/.test(document.querySelector(".next-match").textContent)`) == "true"
	})
	require.Empty(t, b.complaints())
	s.stop()
}

// The home page and the page of a bot show new results, but do not load again.
func TestPagesShowEndedMatches(t *testing.T) {
	t.Parallel()
	b := newTab(t)
	s := played(t)
	b.visit(s.base())
	bot := s.list(matches.Completed)[0].Players[0].BotID
	for path, link := range map[string]string{"/": "#replays .when", "/bot/" + bot: "#bot-matches tbody a", "/games?status=completed": "#games .when"} {
		b.open(path)
		newest := fmt.Sprintf(`document.querySelector(%q)?.getAttribute("href")`, link)
		first := b.value(newest)
		require.NotEmpty(t, first, path)
		b.do(chromedp.Evaluate[chromedp.Void](`{ document.documentElement.dataset.kept = "yes" }`))
		eventually(t, path+" shows a newer match", func() bool { return b.value(newest) != first })
		require.Equal(t, "yes", b.value(`document.documentElement.dataset.kept`), path)
		require.Empty(t, b.complaints(), path)
	}
	s.stop()
}

// Results can be hidden and shown with the keyboard, and the choice lasts.
func TestResultsAreHiddenOnRequest(t *testing.T) {
	t.Parallel()
	b := newTab(t)
	s := played(t)
	b.visit(s.base())
	const visible = `[...document.querySelectorAll("#games .won")].filter((e) => e.checkVisibility()).length > 0`
	b.open("/games?status=completed")
	require.Equal(t, "true", b.value(visible))
	b.do(chromedp.Evaluate[chromedp.Void](`document.querySelector('.spoilers [value="hide"]').focus()`), chromedp.KeyEvent(kb.Enter))
	eventually(t, "the results are hidden", func() bool { return b.value(visible) == "false" })
	require.Equal(t, "Show results", b.value(`document.activeElement.textContent`))
	m := s.list(matches.Completed)[0]
	b.open("/watch/" + m.ID)
	b.do(chromedp.WaitReady(chromedp.CSS(".watch.ready")))
	require.Equal(t, "false", b.value(`[...document.querySelectorAll(".marks, .charts")].some((e) => e.checkVisibility())`))
	b.open("/games?status=completed")
	require.Equal(t, "false", b.value(visible), "the choice lasts")
	b.submit(".brand")
	require.Equal(t, "/", b.path())
	require.Equal(t, "false", b.value(`[...document.querySelectorAll("#replays .won")].some((e) => e.checkVisibility())`))
	require.Empty(t, b.complaints())
	s.stop()
}
