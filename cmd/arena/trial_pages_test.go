package main

import (
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"

	"hexarena/domain/ladder"
)

// A person registers three paused bots, and orders a trial of each: a good one, a slow
// one and a broken one. The page follows the trial, shows its result, and leads to its
// replay.
func TestTrialsOnThePages(t *testing.T) {
	t.Parallel()
	b, judge := newTab(t), axe(t)
	s := newTestArena(t, trialFlags...)
	s.start()
	b.visit(s.base())
	b.signIn(s, "ada@example.org")
	good, slow, broken := newTestBot(t, "good"), newTestBot(t, "slow"), newTestBot(t, "broken")
	slow.conduct, broken.conduct = slowly, brokenly
	for _, c := range []struct {
		*testBot
		mode, text string
	}{
		{good, ladder.Standard, "The game was played to its end. The bot got no strike."},
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
		b.do(chromedp.WaitVisible(chromedp.CSS("main .notice")))
		result := b.path()
		require.Regexp(t, c.text, b.text("main"))
		b.as(820, "light")
		b.do(chromedp.Evaluate[chromedp.Void](judge + "; void 0"))
		b.judge(result+", light", "undefined")
		b.shoot("trial-" + c.name)

		b.open(result + "/replay")
		b.do(chromedp.WaitReady(chromedp.CSS(".watch.ready")))
		require.Regexp(t, `^1 / \d+$`, b.text("[data-place]"))
		require.Contains(t, b.text("main"), "Only you see this trial.")
		b.shoot("trial-replay-" + c.name)
	}
	require.Empty(t, b.complaints())
	s.stop()
}
