package main

import (
	"crypto/ed25519"
	"encoding/base64"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/stretchr/testify/require"

	"hexarena/adapters/web/webtest"
	"hexarena/domain/ladder"
	"hexarena/domain/match"
	"hexarena/projections/matches"
)

// A page may transfer at most maxWeight bytes, plus maxFrameWeight for each frame of its match
// and maxRowWeight for each row of its table of decisions. A frame usually takes 59 to 65
// bytes, and a row 320. Some pages do not load all frames.
const (
	maxWeight      = 110 << 10
	maxFrameWeight = 90
	maxRowWeight   = 400
)

// The variable hostile is a bot name of the maximum length. It contains things that
// often break pages: markup, emoji and a long word.
var hostile = "<b>Rudi</b>" + strings.Repeat("🏝", 14) + strings.Repeat("W", 15)

// The function played() returns an arena with three house bots that have a rated match.
func played(t *testing.T, flags ...string) *testArena {
	t.Helper()
	s := newTestArena(t, append(flags, "--tick", "500ms", "--rest-standard", "1s")...)
	s.start()
	house := s.owner()
	for name, strategy := range map[string]string{"Greta": "greedy", "Gustav": "greedy", hostile: "random"} {
		url := launch(t, "bot", strategy, "--listen", "127.0.0.1:0", "--think", "5ms").await(`(http://\S+)\n`)[1]
		require.NoError(t, house.Register(t.Context(), name, ladder.Standard, url))
	}
	eventually(t, "a match is rated", func() bool { return len(s.list(matches.Completed)) > 0 })
	return s
}

// signIn signs in as a person does, with the link from the email.
func (b *tab) signIn(s *testArena, address string) {
	b.t.Helper()
	b.open("/sign-in")
	b.fill(`input[name="email"]`, address)
	b.submit("main button")
	require.Equal(b.t, "/sign-in?sent=1", b.path())
	b.do(chromedp.Navigate(lastLink(b.t, s, address)))
	b.submit("main button")
	require.Equal(b.t, "/dashboard", b.path())
}

// lastLink returns the link from the newest email to an address.
func lastLink(t testing.TB, s *testArena, address string) string {
	t.Helper()
	mails, err := filepath.Glob(filepath.Join(s.data, "mail", "*.eml"))
	require.NoError(t, err)
	for i := len(mails) - 1; i >= 0; i-- {
		text, err := os.ReadFile(mails[i])
		require.NoError(t, err)
		if !strings.Contains(string(text), address) {
			continue
		}
		for line := range strings.Lines(string(text)) {
			if strings.Contains(line, "/sign-in/confirm?token=") {
				return strings.TrimSpace(line)
			}
		}
	}
	require.FailNow(t, "no mail to "+address)
	return ""
}

// A person signs in by email, registers a bot, watches a match to its end, and then
// watches the replay. The person removes the bot, registers and revokes a key, and
// signs out.
func TestPersonRunsABotFromTheDashboard(t *testing.T) {
	t.Parallel()
	b := newTab(t)
	s := played(t, "--decision-standard", "5m")
	b.visit(s.base())
	b.signIn(s, "ada@example.org")

	b.open("/dashboard/account")
	b.fill(`input[name="name"]`, "ada")
	b.submit(`button[value="handle"]`)
	require.Contains(t, b.text("main"), "Your handle is @ada")

	b.open("/dashboard")
	b.fill(`input[name="name"]`, "Lovelace")
	b.fill(`input[name="url"]`, "http://127.0.0.1:1/")
	b.do(chromedp.Click(chromedp.CSS("form[data-check] button")), chromedp.WaitVisible(chromedp.CSS(`form[data-check] [role="alert"]`)))
	require.Contains(t, b.text(".steps .ok"), "resolve")
	require.Contains(t, b.text(".steps .failed"), "ping")
	require.Equal(t, 1, strings.Count(b.text("main"), "no connection could be made"), "the page names the cause once")
	require.Equal(t, "/dashboard", b.path())

	lovelace, shown := newTestBot(t, "Lovelace"), make(chan struct{})
	show := sync.OnceFunc(func() { close(shown) })
	t.Cleanup(show)
	lovelace.hold = func(r *match.Request) {
		if r.Kind == "turn" && r.MatchID != "deploy-check" {
			<-shown
		}
	}
	b.fill(`input[name="url"]`, lovelace.url)
	b.submit("form[data-check] button")
	require.Contains(t, b.text("main"), "Your bot passed the deploy check")
	botPath := strings.TrimSuffix(b.path(), "?done=registered")
	botID := strings.TrimPrefix(botPath, "/dashboard/bots/")

	var running matches.Summary
	eventually(t, "the bot plays", func() bool {
		for _, m := range s.list(matches.Running) {
			if plays(m, botID) {
				running = m
			}
		}
		return running.ID != ""
	})
	b.open("/watch/" + running.ID)
	b.do(chromedp.WaitReady(chromedp.CSS(`.watch.ready[data-status="running"]`)))
	show()
	b.do(chromedp.WaitReady(chromedp.CSS(`.watch[data-status="completed"]`)))
	require.Contains(t, b.text("[data-part=now]"), "The match ends")
	b.do(chromedp.Focus(chromedp.CSS("[data-range]")), chromedp.KeyEvent(kb.Home)) // on a small screen, the result is above the bar
	require.Regexp(t, `^1 / \d+$`, b.text("[data-place]"))
	b.do(chromedp.KeyEvent(kb.ArrowDown), chromedp.KeyEvent("a"), chromedp.WaitVisible(chromedp.CSS("[data-slot=cards]")))

	b.open("/bot/" + botID)
	require.Contains(t, b.text("main"), "@ada")
	require.Contains(t, b.text("#bot-matches .scroll"), "of 4")
	b.open("/bot/" + botID + "/log/" + running.ID)
	require.Contains(t, b.text("main"), "setup")

	b.open(botPath)
	b.do(chromedp.Click(chromedp.CSS(`button[value="check"]`)), chromedp.WaitVisible(chromedp.CSS(".notice.good")))
	require.Contains(t, b.text(".notice.good"), "The bot passes the deploy check")
	b.submit(`button[value="pause"]`)
	require.Contains(t, b.text("main .tag"), "paused")
	b.submit(`button[value="remove"]`)
	require.Contains(t, b.text("h1"), "Remove the bot Lovelace?")
	b.submit(`button[value="remove"]`)
	require.Equal(t, "/dashboard?done=remove", b.path())
	require.Contains(t, b.text("main"), "The bot is removed")
	require.NotContains(t, b.text("main"), "Lovelace")

	public, _, err := ed25519.GenerateKey(nil)
	require.NoError(t, err)
	b.open("/dashboard/keys")
	b.fill(`input[name="name"]`, "laptop")
	b.fill("textarea", base64.StdEncoding.EncodeToString(public))
	b.submit("main .stack button")
	require.Contains(t, b.text(".cards"), "laptop")
	b.submit(".cards button.danger")
	require.Contains(t, b.text("h1"), "Revoke the key laptop?")
	b.submit(`button[value="revoke"]`)
	require.Contains(t, b.text("main"), "The key laptop is revoked")
	require.Contains(t, b.text("main"), "You have no keys")
	require.Contains(t, b.text("main"), "Revoked")

	b.open("/dashboard/account")
	b.submit(`button[value="sign-out"]`)
	require.Equal(t, "/", b.path())
	b.open("/dashboard")
	require.Equal(t, "/sign-in", b.path())
	require.Empty(t, b.complaints())
	s.stop()
}

func plays(m matches.Summary, botID string) bool {
	for _, p := range m.Players {
		if p.BotID == botID {
			return true
		}
	}
	return false
}

// pagesOf returns all pages, with the names of their screenshots. botID is the id of
// the person's bot, which has played.
func pagesOf(s *testArena, botID string) []struct{ name, path string } {
	var seen matches.Summary
	eventually(s.t, "the bot has a rated match", func() bool {
		for _, m := range s.list(matches.Completed) {
			if plays(m, botID) {
				seen = m
			}
		}
		return seen.ID != ""
	})
	rival := seen.Players[0].BotID
	if rival == botID {
		rival = seen.Players[1].BotID
	}
	return []struct{ name, path string }{
		{"games", "/games"}, {"games-filtered", "/games?status=completed&from=2026-01-01&bot=" + botID + "&rival=" + rival}, {"games-unknown", "/games?bot=nobody"},
		{"owner", "/@ada"}, {"against", "/bot/" + botID + "/against/" + rival}, {"waiting", "/watch/top/parley"}, {"kiosk", "/watch/" + seen.ID + "?kiosk=1"},
		{"embed", "/watch/" + seen.ID + "?embed=1"}, {"match-statistics", "/watch/" + seen.ID + "/statistics"}, {"win-probability", "/watch/" + seen.ID + "/statistics?probability=1"},
		{"home", "/"}, {"ladder", "/ladder/standard"}, {"ladder-empty", "/ladder/parley"}, {"bot", "/bot/" + botID}, {"watch", "/watch/" + seen.ID},
		{"sign-in", "/sign-in"}, {"sent", "/sign-in?sent=1"}, {"confirm", "/sign-in/confirm?token=x"},
		{"dashboard", "/dashboard"}, {"bot-manage", "/dashboard/bots/" + botID}, {"log", "/bot/" + botID + "/log/" + seen.ID},
		{"keys", "/dashboard/keys"}, {"account", "/dashboard/account"},
		{"quickstart", "/docs/quickstart"}, {"practice", "/docs/practice"}, {"rules", "/docs/rules"}, {"protocol", "/docs/protocol"}, {"events", "/docs/events"},
		{"errors", "/docs/errors"}, {"analysts", "/docs/analysts"}, {"statistics", "/docs/statistics"}, {"audit", "/docs/audit"}, {"security", "/docs/security"}, {"architecture", "/docs/architecture"}, {"durability", "/docs/durability"}, {"operations", "/docs/operations"}, {"contributing", "/docs/contributing"},
		{"api", "/docs/api"}, {"changelog", "/changelog"}, {"missing", "/nowhere"},
	}
}

// In both themes, no page prints errors, loads data from other hosts, transfers too
// many bytes, or has accessibility problems that axe-core finds. If the environment
// variable ARENA_SCREENSHOTS names a folder, the test writes screenshots of each
// page to that folder.
func TestEveryPageIsSoundInABrowser(t *testing.T) {
	t.Parallel()
	b, judge := newTab(t), axe(t)
	s := played(t)
	b.visit(s.base())
	b.signIn(s, "ada@example.org")
	botID := s.settleDashboard(b)
	keyID := strings.TrimPrefix(b.path(), "/dashboard/keys?new=")
	question := struct{ name, path string }{"question", "/dashboard/keys/" + keyID}
	for _, p := range append(pagesOf(s, botID), question) {
		b.as(768, "light")
		b.open(p.path)
		b.awaitBoards()
		weight, frames := b.bytes()
		t.Logf("%-16s %6.1f KB, and frames %6.1f KB", p.name, weight/1024, frames/1024)
		rows, _ := strconv.Atoi(b.value(`document.querySelector(".decisions")?.rows.length`)) // 0 without a table
		require.Less(t, weight-float64(rows*maxRowWeight), float64(maxWeight), "%s has %d decisions, %s strikes", p.path, rows, b.value(`document.querySelectorAll(".refused").length`))
		if last, err := strconv.Atoi(b.value(`document.querySelector(".watch [data-range]")?.max`)); err == nil {
			require.Less(t, frames/float64(last+1), float64(maxFrameWeight), p.path)
		}
		b.do(chromedp.Evaluate[chromedp.Void](`document.querySelectorAll("main details:not([open])").forEach((d) => { d.open = true; d.dataset.opened = "" }); void 0`))
		b.examine(p.name, judge)
		require.Empty(t, b.complaints("404"), p.path)
	}
	t.Logf("first contentful paint of the ladder, median of 10: %.0f ms", b.firstPaint("/ladder/standard"))
	s.stop()
}

// awaitBoards waits until scripts have drawn the boards.
func (b *tab) awaitBoards() {
	b.t.Helper()
	for _, unfinished := range []string{".watch:not(.ready)", ".refused [data-position]:not(:has(.hx-island))"} {
		b.do(chromedp.WaitNotPresent(chromedp.CSS(unfinished)))
	}
}

// examine requires that the current page fits on a phone, that the links of its menu stay
// whole, and that axe-core, the script judge, finds no serious problem in either theme. It
// waits until scripts have drawn the boards. It then writes screenshots, if they are wanted.
func (b *tab) examine(name, judge string) {
	b.t.Helper()
	b.awaitBoards()
	b.as(768, "light")
	b.do(chromedp.Evaluate[chromedp.Void](judge + "; void 0"))
	b.judge(name+", light", "undefined")
	for _, width := range []int64{390, 500} {
		b.as(width, "light")
		over, err := chromedp.Run(b.ctx, chromedp.Evaluate[int](`document.documentElement.scrollWidth - innerWidth`))
		require.NoError(b.t, err)
		require.LessOrEqual(b.t, over, 0, "%s is wider than %d px", name, width)
		broken, err := chromedp.Run(b.ctx, chromedp.Evaluate[[]string](brokenLinks))
		require.NoError(b.t, err)
		require.Empty(b.t, broken, "the links in the menu of %s that wrap at %d px", name, width)
	}
	b.as(768, "dark")
	b.judge(name+", dark", `["color-contrast"]`) // all other rules have the same results in both themes
	// Screenshots show the page as readers see it.
	b.do(chromedp.Evaluate[chromedp.Void](`document.querySelectorAll("[data-opened]").forEach((d) => { d.open = false }); void 0`))
	require.NoError(b.t, webtest.Shoot(b.ctx, name))
}

// The constant brokenLinks is a script that returns the links of the site's menu that
// need more than one line. The API reference has no such menu.
const brokenLinks = `[...document.querySelectorAll("header.site nav a")].filter((a) => {
	const text = document.createRange();
	text.selectNodeContents(a);
	return new Set([...text.getClientRects()].map((r) => r.top)).size > 1;
}).map((a) => a.textContent)`

// firstPaint returns the time to the first paint of a page, in milliseconds: the
// median of ten visits.
func (b *tab) firstPaint(path string) float64 {
	b.t.Helper()
	b.as(1440, "light")
	var all []float64
	for range 10 {
		b.open(path)
		at, err := chromedp.Run(b.ctx, chromedp.Evaluate[float64](`new Promise((paint) => new PerformanceObserver((list) => {
			for (const e of list.getEntriesByName("first-contentful-paint")) paint(e.startTime);
		}).observe({type: "paint", buffered: true}))`, chromedp.EvalAwaitPromise))
		require.NoError(b.t, err)
		all = append(all, at)
	}
	slices.Sort(all)
	return (all[4] + all[5]) / 2
}

// judge requires that axe-core finds no serious problems on the page. It checks the
// rules in the parameter rules, or all rules if it is empty. The page must have
// loaded axe-core.
func (b *tab) judge(what, rules string) {
	b.t.Helper()
	found, err := chromedp.Run(b.ctx, chromedp.Evaluate[[]string](fmt.Sprintf(serious, rules), chromedp.EvalAwaitPromise))
	require.NoError(b.t, err)
	require.Empty(b.t, found, what)
}

// The constant serious is a script that returns the serious problems that axe-core
// finds.
const serious = `axe.run(document, {resultTypes: ["violations"], runOnly: %s}).then((r) => r.violations
	.filter((v) => v.impact === "serious" || v.impact === "critical")
	.map((v) => v.id + ": " + v.nodes.map((n) => n.target.join(" ") + " (" + n.failureSummary.replaceAll("\n", " ") + ")").slice(0, 3).join("; ")))`

// settleDashboard gives the person a handle, a bot and a key, and returns the
// bot's id.
func (s *testArena) settleDashboard(b *tab) string {
	b.t.Helper()
	url := launch(b.t, "bot", "greedy", "--listen", "127.0.0.1:0", "--think", "5ms").await(`(http://\S+)\n`)[1]
	b.open("/dashboard/account")
	b.fill(`input[name="name"]`, "ada")
	b.submit(`button[value="handle"]`)
	b.open("/dashboard")
	b.fill(`input[name="name"]`, "Lovelace")
	b.fill(`input[name="url"]`, url)
	b.submit("form[data-check] button")
	botID := strings.TrimSuffix(strings.TrimPrefix(b.path(), "/dashboard/bots/"), "?done=registered")
	public, _, err := ed25519.GenerateKey(nil)
	require.NoError(b.t, err)
	b.open("/dashboard/keys")
	b.fill(`input[name="name"]`, "laptop")
	b.fill("textarea", base64.StdEncoding.EncodeToString(public))
	b.submit("main .stack button")
	return botID
}
