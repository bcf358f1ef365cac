package main

import (
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"hexarena/eventstore/logtest"
)

// An arena stops in the middle of its matches and is moved to another log. It
// continues there as if it had never stopped. During the move, the test kills the
// copy command again and again.
func TestMoveToAnotherLogLosesNothing(t *testing.T) {
	t.Parallel()
	rng := logtest.Random(t)
	f := &eventTrigger{}
	s := stoppedDuringPlay(t, rng, f)
	before := shown(s)

	source, from := serveNode(t, filepath.Join(s.data, "node"))
	folder := t.TempDir() // a data folder for the other log
	target, to := serveNode(t, filepath.Join(folder, "node"))
	kills := 0
	for delay := 100 * time.Millisecond; ; delay += time.Duration(rng.IntN(400)) * time.Millisecond {
		copying := launch(t, "node", "copy", "--from", from, "--to", to)
		copying.killAfter(delay)
		<-copying.exited
		if copying.cmd.ProcessState.ExitCode() == 0 {
			break
		}
		kills++
		require.Equal(t, syscall.SIGKILL, copying.cmd.ProcessState.Sys().(syscall.WaitStatus).Signal(), copying.err.String())
	}
	again := launch(t, "node", "copy", "--from", from, "--to", to)
	said := again.await(`copied and verified: (\d+) events \(0 of them by this run\) in (\d+) streams, 0 of them tombstoned`)
	again.awaitExit()
	t.Logf("%d kills of the copying, %s events in %s streams", kills, said[1], said[2])
	source.end(syscall.SIGTERM)

	s.flags = append(s.flags, "--eventstore", to)
	require.Equal(t, before, shown(s))
	s.start()
	f.fireAfter(t, 100, func() {})
	c := settleOn(s, target, folder)
	compared, claims := c.audit(t, s.players)
	t.Logf("%d matches rated, %d of them resumed by a claim, %d public events equal to those of runs without a move", len(c.order), claims, compared)
	require.Positive(t, claims)
}

// serveNode serves a log in its own process.
func serveNode(t testing.TB, folder string) (p *process, connection string) {
	t.Helper()
	p = launch(t, "node", "--data", folder, "--listen", "127.0.0.1:0")
	return p, p.await(`event store on (esdb://\S+),`)[1]
}

// The function shown() returns the ladder and the matches that an arena shows before it
// continues to play.
func shown(s *testArena) (page struct{ Rows, Matches []any }) {
	s.t.Helper()
	s.start("--no-play")
	s.get("/leaderboard", &page)
	s.get("/matches?limit=200", &page)
	s.stop()
	require.NotEmpty(s.t, page.Matches)
	return page
}

// settleOn is like testArena.settle, but for a log in another process.
func settleOn(s *testArena, node *process, folder string) *matchHistory {
	s.t.Helper()
	for {
		s.retire()
		s.finish(0)
		s.stop()
		node.end(syscall.SIGTERM)
		c := readHistory(s.t, folder)
		if len(c.unfinished) == 0 {
			return c
		}
		var connection string
		node, connection = serveNode(s.t, filepath.Join(folder, "node"))
		s.flags[len(s.flags)-1] = connection
		s.start()
		s.awaitEnd(c.unfinished)
	}
}

func TestCopyErrorsHaveOneLine(t *testing.T) {
	t.Parallel()
	_, one := serveNode(t, t.TempDir())
	_, other := serveNode(t, t.TempDir())
	s := newTestArena(t)
	s.flags = []string{"--eventstore", other, "--no-play"}
	s.start()
	s.stop() // the arena has stored its keys in the log
	for _, c := range []struct {
		name string
		args []string
		want string
	}{
		{"nothing named", nil, "missing flags: --from=ESDB://…, --to=ESDB://…"},
		{"the same log", []string{"--from", one, "--to", one}, "--from and --to are the same log"},
		{"a wrong address", []string{"--from", "http://localhost", "--to", one}, "--from: event store address: must begin with esdb://"},
		{"a wrong target", []string{"--from", one, "--to", "esdb://localhost?tsl=false"}, `--to: event store address: unknown setting "tsl"`},
		{"an unreachable source", []string{"--from", "esdb://127.0.0.1:1?tls=false", "--to", one}, "--from does not respond"},
		{"a target that holds something else", []string{"--from", one, "--to", other}, "the target: it contains events that were not copied from this source: arena-keys@0"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			p := launch(t, append([]string{"node", "copy"}, c.args...)...)
			p.awaitExit()
			require.NotZero(t, p.cmd.ProcessState.ExitCode())
			said := p.err.String()
			require.True(t, strings.HasPrefix(said, "arena: "+c.want), said)
			require.Equal(t, 1, strings.Count(said, "\n"), said)
			require.Empty(t, p.out.String())
		})
	}
}
