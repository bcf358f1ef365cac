package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/stretchr/testify/require"
	"nhooyr.io/websocket"

	"hexarena/adapters/rest"
	"hexarena/domain/ladder"
	"hexarena/projections/matches"
)

// playAtHome plays matches with a bot that never answers, and returns their records. Its
// three strikes are in each record. The bot ends the connection, so a strike takes no time,
// and the other bots can have plenty of time for their decisions.
func playAtHome(t *testing.T, out string, n int) (all []rest.LocalMatch) {
	t.Helper()
	silent := newTestBot(t, "silent")
	silent.conduct = func(_ context.Context, conn *websocket.Conn, _ decision) error { return conn.CloseNow() }
	p := launch(t, "play", "house:greedy", "house:random", silent.url, "house:greedy", "-n", fmt.Sprint(n), "--seed", "x", "--decision", "1m", "--out", out)
	p.awaitExit()
	require.Zero(t, p.cmd.ProcessState.ExitCode(), p.err.String())
	files, err := filepath.Glob(filepath.Join(out, "matches", "*.json"))
	require.NoError(t, err)
	for _, file := range files {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		var m rest.LocalMatch
		require.NoError(t, json.Unmarshal(text, &m))
		all = append(all, m)
	}
	return all
}

// The browser shows local records: the list, the replay with the decisions of all seats
// beside the events, the notes, and the decision log of a seat. If ARENA_SCREENSHOTS
// names a folder, the test writes screenshots.
func TestViewRecordsInABrowser(t *testing.T) {
	t.Parallel()
	b, judge := newTab(t), axe(t)
	out := filepath.Join(t.TempDir(), "results")
	all := playAtHome(t, out, 4)
	m := all[0]
	greedy, silent := logOf(t, m, "greedy"), logOf(t, m, "127.0.0.1:")
	second, strike := greedy.Decisions.Decisions[1], silent.Decisions.Decisions[2]
	notes := filepath.Join(t.TempDir(), "notes.jsonl")
	require.NoError(t, os.WriteFile(notes, fmt.Appendf(nil, `{"match":%q,"decision":%d,"note":"the best corner\n<b>is taken</b>"}
{"match":%q,"decision":%d,"note":{"value":0.31,"moves":["end_turn","\u202e"]}}
`, m.ID, second.ID, m.ID, greedy.Decisions.Decisions[2].ID), 0o600))
	p := launch(t, "view", out, "--notes", notes)
	b.visit(p.await(`^4 matches: (http://127\.0\.0\.1:\d+)/ \(Ctrl-C ends the viewer\)\n`)[1])
	examine := func(name string) {
		t.Helper()
		b.examine(name, judge)
		require.Empty(t, b.complaints(), name)
	}
	until := func(condition string) {
		t.Helper()
		_, err := chromedp.Run(b.ctx, chromedp.Poll[bool](condition, chromedp.WithPollingTimeout(patience)))
		require.NoError(t, err, condition)
	}

	b.open("/")
	require.Equal(t, "4 records in results", b.text(".head p"))
	require.Contains(t, b.text(`tr:has(a[href="/watch/`+m.ID+`"])`), "greedy")
	examine("view-list")

	b.open("/watch/" + m.ID + fmt.Sprintf("#%d", second.Seq))
	until(`document.querySelector('.watch.ready [data-decision] article') !== null`)
	require.Contains(t, b.text("[data-decision] h3"), fmt.Sprintf("greedy, decision %d: setup played", second.ID))
	require.Equal(t, "the best corner\n<b>is taken</b>", b.text("[data-decision] .note"))
	require.Contains(t, b.text("[data-decision] [data-request]"), `"kind": "setup"`)
	require.Contains(t, b.text("[data-decision]"), *second.Answer)
	examine("view-match")
	b.do(chromedp.Click(chromedp.CSS("[data-decision] [rel=next]")))
	until(`document.querySelector('[data-decision] .note')?.textContent.includes('"value": 0.31')`)
	require.Equal(t, "{\n  \"value\": 0.31,\n  \"moves\": [\n    \"end_turn\",\n    \"\\u202e\"\n  ]\n}", b.text("[data-decision] .note"))

	b.do(chromedp.Evaluate[chromedp.Void](fmt.Sprintf(`location.hash = '#%d'`, strike.Seq)))
	until(`document.querySelector('[data-decision]').textContent.includes('third strike, so the bot resigned')`)
	require.Contains(t, b.text("[data-decision] .notice"), "dropped")
	examine("view-strike")
	b.do(chromedp.KeyEvent(kb.Home)) // Home: the board, which no bot decided
	until(`document.querySelector('[data-decision]').textContent === 'No bot decided this event.'`)

	b.open("/bot/" + greedy.BotID + "/log/" + m.ID)
	require.Contains(t, b.text("main"), "the best corner")
	examine("view-log")
	b.open("/bot/" + silent.BotID + "/log/" + m.ID)
	require.Contains(t, b.text("#refused"), "Strikes")
	examine("view-log-strikes")
	b.open("/watch/nothing")
	require.Contains(t, b.text("h1"), "This page does not exist")
	b.complaints() // the status 404
	p.end(syscall.SIGINT)
}

func logOf(t *testing.T, m rest.LocalMatch, name string) rest.DecisionLog {
	t.Helper()
	for _, p := range m.Players {
		if p.BotName == name || strings.HasSuffix(name, ":") && strings.HasPrefix(p.BotName, name) {
			return m.DecisionLogs[p.Seat]
		}
	}
	require.Fail(t, "no bot "+name)
	return rest.DecisionLog{}
}

// arena view downloads a match from an arena. An owner sees the decisions of their own
// bots, and everyone else only the replay.
func TestViewAMatchOfAnArena(t *testing.T) {
	t.Parallel()
	s := newTestArena(t)
	s.start("--no-play")
	s.join(newTestBot(t, "Ann"), newTestBot(t, "Bea"), newTestBot(t, "Cat"))
	require.NoError(t, s.owner().Register(t.Context(), "Dot", ladder.Standard, newTestBot(t, "Dot").url))
	s.stop()
	s.start("--tick", "10s", "--rest-standard", "1h") // one tick seats the only table
	s.finish(1)
	m := s.list(matches.Completed)[0]
	owner := newLogReader(s, 0)
	foreign := m.Players[slices.IndexFunc(m.Players, func(p matches.Player) bool { return p.BotName == "Dot" })].BotID

	page := func(p *process) string {
		address := p.await(`^match: (http://127\.0\.0\.1:\d+/watch/` + m.ID + `) \(Ctrl-C`)[1]
		answer, err := (&http.Client{}).Get(address)
		require.NoError(t, err)
		defer answer.Body.Close()
		text, err := io.ReadAll(answer.Body)
		require.NoError(t, err)
		return string(text)
	}
	p := launchIn(t, processOptions{env: owner.env}, append([]string{"view", m.ID}, owner.flags...)...)
	text := page(p)
	require.Equal(t, 3, strings.Count(text, "/log/"+m.ID), "the owner's bots have logs")
	require.NotContains(t, text, "/bot/"+foreign)
	require.Empty(t, p.err.String())
	p.end(syscall.SIGTERM)

	p = launchIn(t, processOptions{env: []string{"XDG_CONFIG_HOME=" + t.TempDir()}}, "view", m.ID, "--arena", s.base())
	require.NotContains(t, page(p), "/log/")
	p.awaitLog(0, "without decision logs: not signed in at "+regexp.QuoteMeta(s.base()))
	p.end(syscall.SIGINT)
	p = launch(t, "view", foreign, "--arena", s.base())
	p.awaitExit()
	require.Contains(t, p.err.String(), "arena: match "+foreign+": ")
	require.Contains(t, p.err.String(), "404")
}
