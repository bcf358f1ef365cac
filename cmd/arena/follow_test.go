package main

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"hexarena/domain/ladder"
	"hexarena/domain/match"
	"hexarena/projections/arenatest"
	"hexarena/projections/health"
)

// The type following is a process of `arena follow` that handles an owner's events. For
// each event, its command appends a line to a file. If the file "kill" exists, the
// command then kills the process, which has not stored its position yet.
type following struct {
	*testArena
	dir     string
	process *process
	flags   []string
}

func (s *testArena) follow() *following {
	s.t.Helper()
	f := &following{testArena: s, dir: s.t.TempDir()}
	f.flags = append([]string{"follow", "--position", "position", "--exec",
		`echo "$ARENA_EVENT_ID $ARENA_EVENT_TYPE $(cat)" >>handled; if [ -e kill ]; then rm kill; kill -9 $PPID; fi`}, s.as(s.owners[0])...)
	f.launch()
	return f
}

func (f *following) launch() { f.process = launchIn(f.t, processOptions{dir: f.dir}, f.flags...) }

func (f *following) handled() []string {
	f.t.Helper()
	text, err := os.ReadFile(filepath.Join(f.dir, "handled"))
	if !os.IsNotExist(err) {
		f.must(err)
	}
	lines := strings.SplitAfter(string(text), "\n")
	return lines[:len(lines)-1]
}

// logged returns the beginning of the line for each of the owner's events. It reads the
// events from the log of the stopped arena.
func (f *following) logged(ownerID string) (lines []string) {
	f.t.Helper()
	log, closeLog := openLog(f.t, f.data)
	defer closeLog()
	model := health.New()
	f.must(arenatest.Follow(f.t, log, model).Sync(f.t.Context()))
	events, err := model.Events(ownerID, 0, health.KeptEvents)
	f.must(err)
	for _, e := range events {
		lines = append(lines, e.ID+" "+e.Type+" ")
	}
	return lines
}

// The command of `arena follow --exec` runs at least once for each event in the log,
// however often the arena and the command are killed. A repeat has the same id.
func TestFollowHandlesEveryEvent(t *testing.T) {
	t.Parallel()
	s := newTestArena(t, quick...)
	s.behindProxy()
	s.start("--no-play")
	s.join(newTestBot(t, "one"), newTestBot(t, "two"), newTestBot(t, "three"), newTestBot(t, "four"))
	f := s.follow()
	eventually(t, "the position is stored", func() bool { _, err := os.Stat(filepath.Join(f.dir, "position")); return err == nil })
	s.stop()
	s.start()
	const kills = 10
	killCommand := func() {
		s.must(os.WriteFile(filepath.Join(f.dir, "kill"), nil, 0o600))
		f.process.awaitExit()
	}
	killArena := func() {
		s.arena.kill()
		s.start()
	}
	for i := range kills {
		if i%2 == 0 {
			killCommand()
			killArena()
		} else {
			killArena() // while the command is connected
			killCommand()
		}
		f.launch()
	}
	history := s.settle()
	started, ok := history.matches[history.order[0]][0].(match.Started)
	require.True(t, ok)
	want := f.logged(started.Seats[0].OwnerID)
	s.start("--no-play")
	newest := want[len(want)-1]
	eventually(t, "the newest event was handled", func() bool {
		lines := f.handled()
		return len(lines) > 0 && strings.HasPrefix(lines[len(lines)-1], newest)
	})
	f.process.end(syscall.SIGTERM)

	lines := f.handled()
	once := slices.Compact(slices.Clone(lines)) // a repeat comes right after the first run
	require.Len(t, lines, len(once)+kills, "each kill of the command repeats one event")
	require.Len(t, once, len(want))
	types := map[string]int{}
	for i, line := range once {
		require.True(t, strings.HasPrefix(line, want[i]), "%q, want %q", line, want[i])
		types[strings.Fields(line)[1]]++
	}
	seats := 0 // a table has three seats if the fourth bot is still busy
	for _, id := range history.order {
		started, ok := history.matches[id][0].(match.Started)
		require.True(t, ok)
		seats += len(started.Seats)
	}
	for _, kind := range []string{health.BotSeated, health.MatchCompleted} {
		require.Equal(t, seats, types[kind], kind)
	}
	require.Equal(t, 4, types[health.BotPaused])
	t.Logf("%d matches, %d events, %d runs of the command", len(history.order), len(once), len(lines))
}

// An owner follows their events at two processes. Both processes send the same events
// with the same ids, so a reader of one process can continue at the other.
func TestFollowAtAnotherProcess(t *testing.T) {
	t.Parallel()
	s := newTrialArena(t)
	bot := s.registerPaused(s.ada, newTestBot(t, "good"), ladder.Standard)
	other := s.registerPaused(s.ada, newTestBot(t, "other"), ladder.Standard)
	trial := orderTrial(t, s.ada, bot)
	dir := t.TempDir()
	follow := func(at *testArena, flags ...string) *process {
		args := append([]string{"follow", "--json"}, s.as(s.ada)...)
		return launchIn(t, processOptions{dir: dir}, append(append(args, "--arena", at.base()), flags...)...)
	}
	const line = `(?s)^(.*"type":"trial.completed"[^\n]*\n)`
	here, there := follow(s.testArena, "--all"), follow(s.peer, "--all")
	events := here.await(line)[1]
	require.Equal(t, events, there.await(line)[1])
	require.Contains(t, events, `"trialId":"`+trial.ID+`","outcome":"completed"}`)

	id := regexp.MustCompile(`"id":"([^"]+)"`).FindAllStringSubmatch(events, -1)
	require.Len(t, id, 3, events)
	s.must(os.WriteFile(filepath.Join(dir, "position"), fmt.Appendf(nil, `{"arena":%q,"lastId":%q}`, s.peer.base(), id[0][1]), 0o600))
	_, rest, _ := strings.Cut(events, "\n")
	require.Equal(t, rest, follow(s.peer, "--position", "position").await(line)[1])

	s.must(s.ada.Call(t.Context(), http.MethodPatch, "/bots/"+other, map[string]string{"status": "active"}, nil))
	s.must(s.ada.Call(t.Context(), http.MethodPatch, "/bots/"+other, map[string]string{"status": "paused"}, nil))
	const next = `"outcome":"completed"\}\n(\{[^\n]*"type":"bot.paused"[^\n]*\n)`
	require.Equal(t, here.await(next)[1], there.await(next)[1])
}

// Without --exec, the command prints the events. It refuses positions that it cannot
// use.
func TestFollowPrints(t *testing.T) {
	t.Parallel()
	s := newTestArena(t, quick...)
	s.start("--no-play")
	s.join(newTestBot(t, "one"))
	s.retire()
	flags := s.as(s.owners[0])
	dir := t.TempDir()
	p := launchIn(t, processOptions{dir: dir}, append([]string{"follow", "--all", "--position", "position"}, flags...)...)
	p.await(`^20\S+ \S+ UTC  bot\.paused  one  by owner\n`)
	p.end(syscall.SIGINT)
	p = launchIn(t, processOptions{dir: dir}, append([]string{"follow", "--all", "--json"}, flags...)...)
	p.await(`^\{"id":"\d+\.1","type":"bot\.paused",.*"botName":"one","mode":"standard","by":"owner"\}\n`)
	p.end(syscall.SIGINT)

	file := filepath.Join(dir, "position")
	for content, want := range map[string]string{
		`{}`: "does not contain a position",
		`{"arena":"https://other.example","lastId":"1.1"}`:   "belongs to the arena https://other.example",
		fmt.Sprintf(`{"arena":%q,"lastId":"1.7"}`, s.base()): "refused (422 invalid): Last-Event-ID must be 0 or the id of one of your events",
	} {
		s.must(os.WriteFile(file, []byte(content), 0o600))
		p = launchIn(t, processOptions{dir: dir}, append([]string{"follow", "--position", "position"}, flags...)...)
		p.awaitExit()
		require.Equal(t, 1, p.cmd.ProcessState.ExitCode())
		require.Contains(t, p.err.String(), want)
	}
	p = launch(t, append([]string{"follow", "--exec", "true"}, flags...)...)
	p.awaitExit()
	require.Contains(t, p.err.String(), "--exec needs --position FILE")
}
