package matches_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"iter"
	"log/slog"
	"os"
	"os/exec"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"hexarena/eventstore"
	"hexarena/eventstore/logtest"
	"hexarena/eventstore/memory"
	"hexarena/projections"
	"hexarena/projections/arenatest"
	"hexarena/projections/matches"
)

// folderOfChild and haltOfChild are environment variables. If folderOfChild names a
// folder, this program folds the synthetic log into that folder until it is killed.
// haltOfChild is the number of events after which the program stops reading, so
// that even a late kill comes before the program reaches the end of the log.
const (
	folderOfChild = "MATCHES_TEST_FOLDER"
	haltOfChild   = "MATCHES_TEST_HALT"
)

const killedMatches = 8_000

func TestMain(m *testing.M) {
	if dir := os.Getenv(folderOfChild); dir != "" {
		if err := fold(dir); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

// haltingLog prints the number of events that a subscriber has read. It sends
// CaughtUp at intervals, so that the rows are committed. After halt events, it
// waits until the parent process closes the standard input or exits.
type haltingLog struct {
	*memory.Log
	halt int
}

const (
	tellEvery   = 1000
	commitEvery = 5 * tellEvery
)

func (l haltingLog) Subscribe(ctx context.Context, after eventstore.Position, f eventstore.Filter) iter.Seq2[eventstore.Message, error] {
	return func(yield func(eventstore.Message, error) bool) {
		n := 0
		for m, err := range l.Log.Subscribe(ctx, after, f) {
			if m.Event != nil {
				if n++; n%tellEvery == 0 {
					fmt.Println(n)
				}
				if n == l.halt {
					_, _ = io.Copy(io.Discard, os.Stdin)
					return
				}
			}
			if !yield(m, err) || n%commitEvery == 0 && !yield(eventstore.Message{CaughtUp: true}, nil) {
				return
			}
		}
	}
}

func fold(dir string) error {
	halt, err := strconv.Atoi(os.Getenv(haltOfChild))
	if err != nil {
		return fmt.Errorf("%s: %w", haltOfChild, err)
	}
	s := &synthetic{log: memory.New()}
	s.write(killedMatches)
	r, err := projections.Open(dir, haltingLog{s.log, halt}, matches.New(), slog.New(slog.NewTextHandler(os.Stderr, nil)))
	if err != nil {
		return err
	}
	return r.Run(context.Background())
}

// If a rebuild is killed several times, the final rows must be byte for byte the
// same as those of an uninterrupted rebuild.
func TestKilledRebuildEqualsAnUninterruptedOne(t *testing.T) {
	if raced {
		t.Skip("takes minutes under the race detector: run it without -race")
	}
	s := &synthetic{t: t, log: memory.New()}
	s.write(killedMatches)
	whole := arenatest.Follow(t, s.log, matches.New())
	require.NoError(t, whole.Sync(t.Context()))

	dir, middles := t.TempDir(), 0
	for _, at := range []int{2 * tellEvery, 7 * tellEvery, 8 * tellEvery} {
		child := exec.CommandContext(t.Context(), os.Args[0])
		child.Env = append(os.Environ(), folderOfChild+"="+dir, haltOfChild+"="+strconv.Itoa(at+tellEvery))
		child.Stderr = os.Stderr
		_, err := child.StdinPipe()
		require.NoError(t, err)
		out, err := child.StdoutPipe()
		require.NoError(t, err)
		require.NoError(t, child.Start())
		lines := bufio.NewScanner(out)
		reached := ""
		for reached != strconv.Itoa(at) && lines.Scan() {
			reached = lines.Text()
		}
		require.NoError(t, lines.Err())
		require.Equal(t, strconv.Itoa(at), reached, "the child ended before it was killed")
		require.NoError(t, child.Process.Kill())
		_ = child.Wait() // it was killed

		r, err := projections.Open(dir, s.log, matches.New(), slog.New(slog.DiscardHandler))
		require.NoError(t, err)
		t.Logf("killed at event %d of its run: rows up to %d of %d", at, r.Position(), whole.Position())
		require.Less(t, r.Position(), whole.Position())
		if r.Position() > 0 {
			middles++
		}
		require.NoError(t, r.Close())
	}
	require.Positive(t, middles, "kills in the middle of a rebuild")
	rebuilt := arenatest.FollowIn(t, dir, s.log, matches.New())
	require.NoError(t, rebuilt.Sync(t.Context()))
	logtest.RequireSameText(t, arenatest.Dump(t, whole), arenatest.Dump(t, rebuilt))
}
