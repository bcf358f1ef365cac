package main

import (
	"fmt"
	"net/http"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"

	"hexarena/adapters/rest"
	"hexarena/domain/ladder"
)

// One owner's bots are in all states: failing, unreachable, untested, paused and
// suspended. The pages that show these bots and their matches are sound in a browser.
// So are the pages that ask for confirmation, and those that explain rejected forms.
func TestPagesOfAilingBotsInABrowser(t *testing.T) {
	t.Parallel()
	b, judge := newTab(t), axe(t)
	a := newAiling(t)
	a.strikes.Store(true)
	a.dead.kill()
	a.start()
	a.becomes("dead", "unreachable")
	a.becomes("striking", "failing")
	a.settle()
	a.start("--tick", "1h", "--rest-standard", "1h") // the states stay as they are
	a.must(a.owner.Register(t.Context(), hostile, ladder.Standard, newTestBot(t, "untested").url))
	for _, name := range []string{"dead", "striking", "better"} {
		a.must(a.owner.Call(t.Context(), http.MethodPatch, "/bots/"+a.bot(name).ID, rest.BotPatch{Status: new("active")}, nil))
	}
	require.Equal(t, "suspended\n", a.admin("suspend", "bot", a.bot("better").ID, "--reason", "floods the arena with offers"))
	states := map[string]string{}
	for _, name := range []string{"striking", "dead", hostile, "good", "better"} {
		bot := a.bot(name)
		states[name] = bot.Health.State + ", " + bot.Seating.State
	}
	require.Equal(t, map[string]string{
		"striking": "failing, resting", "dead": "unreachable, resting", hostile: "untested, waiting", "good": "ok, paused", "better": "ok, suspended",
	}, states)

	b.visit(a.base())
	b.signIn(a.testArena, "owner-1@example.org")
	look := func(name string, caused ...string) {
		t.Helper()
		b.examine(name, judge)
		require.Empty(t, b.complaints(caused...), name)
	}
	show := func(name, path string) {
		t.Helper()
		b.open(path)
		look(name)
	}
	show("ailing-dashboard", "/dashboard")
	show("ailing-home", "/")
	show("ailing-ladder", "/ladder/standard")
	for name, bot := range map[string]string{"failing": "striking", "unreachable": "dead", "untested": hostile, "paused": "good", "suspended": "better"} {
		show("manage-"+name, "/dashboard/bots/"+a.bot(bot).ID)
	}
	show("public-untested", "/bot/"+a.bot(hostile).ID)
	show("live-untested", "/bot/"+a.bot(hostile).ID+"/live")
	for name, bot := range map[string]rest.Bot{"failing": a.bot("striking"), "unreachable": a.bot("dead")} {
		e := bot.Health.LastError
		show("public-"+name, "/bot/"+bot.ID)
		show("log-"+name, "/bot/"+bot.ID+"/log/"+e.MatchID)
		b.open(fmt.Sprintf("/watch/%s#%d", e.MatchID, e.Seq))
		b.do(chromedp.WaitReady(chromedp.CSS(".watch.ready")))
		b.do(chromedp.Evaluate[chromedp.Void](`document.querySelectorAll(".watch details").forEach((d) => { d.open = true }); void 0`))
		look("watch-" + name)
	}

	b.do(chromedp.Navigate(lastLink(t, a.testArena, "owner-1@example.org")))
	b.submit("main button")
	require.Contains(t, b.text("h1"), "This link no longer works")
	look("link-used", "401")

	b.open("/dashboard/bots/" + a.bot("good").ID)
	b.submit(`button[value="remove"]`)
	look("question-remove")
	b.submit(`button[value="remove"]`)
	require.Contains(t, b.text("main"), "The bot is removed")
	look("removed")

	for _, c := range []struct{ name, url, cause string }{
		{"url-without-scheme", "bots.example.org/ada", "must begin with http:// or https://: add it in front of the host"},
		{"url-of-the-arena", a.base() + "/bot", "the address is not allowed"},
		{"check-failed", "http://127.0.0.1:1/", "no connection could be made"},
	} {
		b.open("/dashboard")
		b.fill(`input[name="name"]`, "Lovelace")
		b.fill(`input[name="url"]`, c.url)
		b.do(chromedp.Click(chromedp.CSS("form[data-check] button")), chromedp.WaitVisible(chromedp.CSS(`form[data-check] [role="alert"]`)))
		require.Contains(t, b.text("form[data-check]"), c.cause)
		look(c.name)
	}
	a.stop()
}
