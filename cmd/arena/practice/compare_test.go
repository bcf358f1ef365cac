package practice

import (
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"hexarena/adapters/housebot"
	"hexarena/cmd/arena/records"
	"hexarena/domain/tournament"
	"hexarena/eventstore/logtest"
)

func compare(ctx context.Context, args ...string) (string, error) {
	return callCommand(ctx, append([]string{"compare", "--against", "house:random", "--against", "house:random", "--seed", "x"}, args...)...)
}

func compareJSON(t testing.TB, args ...string) compareReport {
	t.Helper()
	out, err := compare(t.Context(), append(args, "--json")...)
	require.NoError(t, err)
	var r compareReport
	require.NoError(t, json.Unmarshal([]byte(out), &r))
	r.Seconds, r.PerSecond = 0, 0
	return r
}

// A clear difference needs the fewest blocks. The order in which matches end changes
// nothing: the folder has another order.
func TestCompare(t *testing.T) {
	dir := t.TempDir()
	r := compareJSON(t, "house:random", "house:greedy", "--parallel", "3", "--out", dir)
	require.Equal(t, "better", r.Verdict)
	require.Equal(t, []int{tournament.MinBlocks, 3}, []int{r.Blocks, r.BlockSize})
	require.Greater(t, r.Low, 0.0)
	require.Less(t, r.Low, r.Difference)
	require.Less(t, r.Difference, r.High)
	require.InDelta(t, r.Difference, r.Old[0].MeanPlacement-r.New[0].MeanPlacement, 1e-9)
	require.Equal(t, []int{90, 90}, []int{r.Old[0].Matches, r.New[2].Matches})
	require.Equal(t, []string{"random", "greedy"}, []string{r.Old[0].Name, r.New[0].Name})
	require.Equal(t, r, compareJSON(t, "house:random", "house:greedy", "--parallel", "1", "--out", dir))

	// The folder has all blocks that another comparison needs.
	out, err := compare(t.Context(), "house:random", "house:greedy", "--out", dir)
	require.NoError(t, err)
	require.Regexp(t, `(?s)^NEW is better: \+\d\.\d\d places \(\d\.\d\d to \d\.\d\d\)\n\n30 blocks of 3 \+ 3 standard matches, seed x\n\nversion +bot +matches .*\nOLD +random +90 .*\nNEW +greedy +90 [^\n]*\n$`, out)
	out, err = compare(t.Context(), "house:random", "house:greedy", "--out", dir, "--effect", "0.001", "--max-blocks", "30")
	require.NoError(t, err)
	require.Regexp(t, `^undecided: \+\d\.\d\d places \(-3\.00 to 3\.00\)\n`, out)
	_, err = compare(t.Context(), "house:greedy", "house:greedy", "--out", dir)
	require.ErrorContains(t, err, `the bots was "house:random house:random house:random" and is now "house:greedy house:random house:random"`)

	// Each version's folder is like that of arena play. Both play the same boards.
	files, err := os.ReadDir(filepath.Join(dir, "old", records.MatchFolder))
	require.NoError(t, err)
	require.GreaterOrEqual(t, len(files), 90)
	for _, version := range versions {
		require.FileExists(t, filepath.Join(dir, version, records.MatchFolder, tournament.Plan{Bots: 3, Blocks: 1, Seed: "x", Rotate: true}.Match(0).ID+".json"))
	}
}

// Equal bots play equal matches, because the other bots have the same chance too.
func TestCompareEqualBots(t *testing.T) {
	if raceEnabled {
		t.Skip("180 matches take long, and TestCompare runs the same code")
	}
	out, err := compare(t.Context(), "house:greedy", "house:greedy")
	require.NoError(t, err)
	require.Regexp(t, `^no difference larger than 0\.1 places: \+0\.00 places \(-0\.\d\d to 0\.\d\d\)\n\n30 blocks `, out)
}

// interrupter is a bot that interrupts a run at the upgrade with a number.
type interrupter struct {
	url string

	mu        sync.Mutex // guards the fields below
	upgrades  int
	at        int
	interrupt func()
}

func newInterrupter(t testing.TB) *interrupter {
	t.Helper()
	h, err := housebot.Handler(housebot.Options{Name: "greedy", Seed: 1, Logger: slog.New(slog.DiscardHandler)})
	require.NoError(t, err)
	b := new(interrupter)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b.mu.Lock()
		if b.upgrades++; b.upgrades == b.at {
			b.interrupt()
		}
		b.mu.Unlock()
		h.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	b.url = server.URL
	return b
}

// next returns the context of a run that the bot interrupts.
func (b *interrupter) next(t testing.TB, at int) context.Context {
	ctx, interrupt := context.WithCancel(t.Context())
	t.Cleanup(interrupt)
	b.mu.Lock()
	defer b.mu.Unlock()
	b.at, b.interrupt = at, interrupt
	return ctx
}

// An interrupted comparison continues. It plays no match twice.
func TestInterruptedCompareContinues(t *testing.T) {
	dir, bot := t.TempDir(), newInterrupter(t)
	args := []string{bot.url, "house:random", "--out", dir, "--parallel", "1", "--decision", "1m"}
	out, err := compare(bot.next(t, 5), args...)
	require.EqualError(t, err, "stopped after 1 blocks; run the same command again to continue")
	require.Contains(t, out, "no verdict: a comparison needs at least 30 blocks\n\n1 blocks of 3 + 3 standard matches")

	// The bot plays its fifth match again, then its sixth and the seventh.
	_, err = compare(bot.next(t, 8), args...)
	require.EqualError(t, err, "stopped after 2 blocks; run the same command again to continue")
	results, err := os.ReadFile(filepath.Join(dir, "old", records.ResultsFile))
	require.NoError(t, err)
	require.Equal(t, 6, strings.Count(string(results), "\n"))
}

// Both versions share the programs of the other bots.
func TestCompareSharesPrograms(t *testing.T) {
	dir := t.TempDir()
	bot := newInterrupter(t)
	_, err := callCommand(bot.next(t, 4), "compare", botCommand(t, ""), botCommand(t, ""), "--against", botCommand(t, ""), "--against", bot.url, "--out", dir, "--parallel", "1", "--decision", "1m")
	require.EqualError(t, err, "stopped after 0 blocks; run the same command again to continue")
	for version, want := range map[string][]string{"old": {"bot-1-worker-1.log", "bot-2-worker-1.log"}, "new": {"bot-1-worker-1.log"}} {
		files, err := os.ReadDir(filepath.Join(dir, version, outputFolder))
		require.NoError(t, err)
		var names []string
		for _, f := range files {
			names = append(names, f.Name())
		}
		require.Equal(t, want, names, version)
	}
}

func TestCompareRejectsWrongArguments(t *testing.T) {
	for want, args := range map[string][]string{
		"--effect must be above 0":                 {"house:greedy", "house:random", "--effect", "0"},
		"--alpha must be from 0.001 to 0.25":       {"house:greedy", "house:random", "--alpha", "0.5"},
		"--beta must be from 0.001 to 0.25":        {"house:greedy", "house:random", "--beta", "NaN"},
		"--max-blocks must be at least 30":         {"house:greedy", "house:random", "--max-blocks", "29"},
		"name 2 or 3 bots with --against, not 4":   {"house:greedy", "house:random", "--against", "house:greedy", "--against", "house:greedy"},
		`bot "http://127.0.0.1:1" is both`:         {"http://127.0.0.1:1", "http://127.0.0.1:1"},
		"is listed twice":                          {"house:greedy", "http://127.0.0.1:1", "--against", "http://127.0.0.1:1"},
		"does not accept connections":              {"house:greedy", "http://" + logtest.ClosedAddress(t)},
		"ended (exit status 7) before it listened": {"house:greedy", "cmd:exit 7; {port}"},
		"no house bot has this name":               {"house:greedy", "house:clever"},
	} {
		_, err := compare(t.Context(), args...)
		require.ErrorContains(t, err, want)
	}
}
