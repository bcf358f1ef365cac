package main

import (
	"slices"
	"sync"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"

	"hexarena/domain/ladder"
	"hexarena/domain/match"
)

// A person registers a good bot, a slow bot and a broken bot. All three are paused, and
// the person tries each of them. The page follows the trial, shows its result, and
// leads to its replay.
func TestTrialsOnThePages(t *testing.T) {
	t.Parallel()
	b, judge := newTab(t), axe(t)
	s := newTestArena(t, slices.Concat(trialFlags, []string{"--decision-standard", "5m"})...)
	s.start()
	b.visit(s.base())
	b.signIn(s, "ada@example.org")
	good, slow, broken := newTestBot(t, "good"), newTestBot(t, "slow"), newTestBot(t, "broken")
	slow.conduct, broken.conduct = oneBehind(), brokenly
	seen := make(chan struct{})
	release := sync.OnceFunc(func() { close(seen) })
	t.Cleanup(release)
	good.hold = func(r *match.Request) {
		if r.Kind == "turn" && r.MatchID != "deploy-check" {
			<-seen
		}
	}
	for _, c := range []struct {
		*testBot
		mode, text string
	}{
		{good, ladder.Standard, "The game was played to the end. The bot got no strikes."},
		{slow, ladder.Parley, `The bot got 3 strikes and resigned.(?s:.*)came [\d,]+ ms late`},
		{broken, ladder.Standard, `The bot got 3 strikes and resigned.(?s:.*)invalid character '}'`},
	} {
		b.open("/dashboard")
		b.fill(`input[name="name"]`, c.name)
		b.fill(`input[name="url"]`, c.url)
		b.do(chromedp.Click(chromedp.CSS(`input[value="`+c.mode+`"]`)), chromedp.Click(chromedp.CSS(`input[name="paused"]`)))
		b.submit("form[data-check] button")
		require.Contains(t, b.text("main"), "It is paused, so you can try it first.")
		b.submit(`button[value="trial"]`)
		if c.testBot == good {
			b.do(chromedp.WaitVisible(chromedp.CSS("[data-steps] li")))
			require.Equal(t, "running", b.text("[data-status]"))
			b.examine("trial-running", judge)
			release()
		}
		b.do(chromedp.WaitVisible(chromedp.CSS("main .notice")))
		b.awaitLoad() // the page has loaded itself again
		result := b.path()
		require.Regexp(t, c.text, b.text("main"))
		b.examine("trial-"+c.name, judge)

		b.open(result + "/replay")
		b.do(chromedp.WaitReady(chromedp.CSS(".watch.ready")))
		require.Regexp(t, `^1 / \d+$`, b.text("[data-place]"))
		require.Contains(t, b.text("main"), "Only you see this trial.")
		b.examine("trial-replay-"+c.name, judge)
	}
	require.Empty(t, b.complaints())
	s.stop()
}
