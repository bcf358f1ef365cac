package matches_test

import (
	"bufio"
	"context"
	"fmt"
	"iter"
	"log/slog"
	"os"
	"os/exec"
	"testing"

	"github.com/stretchr/testify/require"

	"hexarena/eventstore"
	"hexarena/eventstore/memory"
	"hexarena/projections"
	"hexarena/projections/arenatest"
	"hexarena/projections/matches"
)

// folderOfChild has this program fold the synthetic log into a folder, and be
// killed at it.
const folderOfChild = "MATCHES_TEST_FOLDER"

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

// told says after how many events of a run it was, and now and then that it has
// caught up, which has the rows committed.
type told struct{ *memory.Log }

const (
	tellEvery   = 1000
	commitEvery = 5 * tellEvery
)

func (l told) Subscribe(ctx context.Context, after eventstore.Position, f eventstore.Filter) iter.Seq2[eventstore.Message, error] {
	return func(yield func(eventstore.Message, error) bool) {
		n := 0
		for m, err := range l.Log.Subscribe(ctx, after, f) {
			if m.Event != nil {
				if n++; n%tellEvery == 0 {
					fmt.Println(n)
				}
			}
			if !yield(m, err) || n%commitEvery == 0 && !yield(eventstore.Message{CaughtUp: true}, nil) {
				return
			}
		}
	}
}

func fold(dir string) error {
	s := &synthetic{log: memory.New()}
	s.write(killedMatches)
	r, err := projections.Open(dir, told{s.log}, matches.New(), slog.New(slog.NewTextHandler(os.Stderr, nil)))
	if err != nil {
		return err
	}
	return r.Run(context.Background())
}

// A rebuild that is killed again and again ends with the rows of one that was
// let alone, byte for byte.
func TestKilledRebuild(t *testing.T) {
	if raced {
		t.Skip("what is killed shares nothing, and takes minutes under the race detector")
	}
	s := &synthetic{t: t, log: memory.New()}
	s.write(killedMatches)
	whole := arenatest.Follow(t, s.log, matches.New())
	require.NoError(t, whole.Sync(t.Context()))

	dir, middles := t.TempDir(), 0
	for _, at := range []string{"2000", "7000", "8000"} {
		child := exec.CommandContext(t.Context(), os.Args[0])
		child.Env = append(os.Environ(), folderOfChild+"="+dir)
		child.Stderr = os.Stderr
		out, err := child.StdoutPipe()
		require.NoError(t, err)
		require.NoError(t, child.Start())
		lines := bufio.NewScanner(out)
		for lines.Scan() && lines.Text() != at { //revive:disable-line:empty-block // the condition reads
		}
		require.NoError(t, child.Process.Kill())
		_ = child.Wait() // it was killed

		r, err := projections.Open(dir, s.log, matches.New(), slog.New(slog.DiscardHandler))
		require.NoError(t, err)
		t.Logf("killed at event %s of its run: rows up to %d of %d", at, r.Position(), whole.Position())
		if r.Position() > 0 && r.Position() < whole.Position() {
			middles++
		}
		require.NoError(t, r.Close())
	}
	require.Positive(t, middles, "a kill came in the middle")
	rebuilt := arenatest.FollowIn(t, dir, s.log, matches.New())
	require.NoError(t, rebuilt.Sync(t.Context()))
	require.Equal(t, arenatest.Dump(t, whole), arenatest.Dump(t, rebuilt))
}
