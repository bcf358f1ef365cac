package export_test

import (
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"hexarena/adapters/export"
	"hexarena/domain/ladder"
	"hexarena/eventstore"
	"hexarena/eventstore/memory"
	"hexarena/projections/arenatest"
	"hexarena/projections/directory"
	"hexarena/projections/leaderboard"
)

// fixture is an arena with running matches, and with matches of both modes that have
// ended in every possible way.
type fixture struct {
	arena *arenatest.Arena
	log   eventstore.Log
	games []*arenatest.Game // the ended matches in ladder order
	bots  map[string][]string
}

func newFixture(t *testing.T) *fixture {
	log := memory.New()
	w := &fixture{arena: arenatest.New(t, log, 7), log: log, bots: map[string][]string{}}
	w.bots[ladder.Standard] = w.arena.Register("ada", ladder.Standard, "Ann", "Bea", "Cat", "Dot", "Eve")
	w.bots[ladder.Parley] = w.arena.Register("bob", ladder.Parley, "Fay", "Gus", "Hal")
	w.complete(ladder.Standard, 0, 1, 2, 3)
	w.complete(ladder.Parley, 0, 1, 2)
	w.complete(ladder.Standard, 1, 2, 3, 4)
	w.abort(ladder.WhyWallClock, 0, 2, 3, 4)
	never := w.arena.Seat(ladder.Standard, w.bots[ladder.Standard][:3]...)[0]
	never.Void(ladder.WhyOperator)
	w.complete(ladder.Standard, 0, 1, 2)
	w.complete(ladder.Standard, 0, 2, 3)
	w.startOnly(ladder.Parley, 0, 1, 2)
	w.complete(ladder.Standard, 2, 3, 4)
	return w
}

func (w *fixture) chosen(mode string, numbers []int) []string {
	var ids []string
	for _, n := range numbers {
		ids = append(ids, w.bots[mode][n])
	}
	return ids
}

func (w *fixture) complete(mode string, bots ...int) {
	w.games = append(w.games, w.arena.Complete(mode, w.chosen(mode, bots)...))
}

func (w *fixture) abort(why string, bots ...int) {
	g := w.arena.Seat(ladder.Standard, w.chosen(ladder.Standard, bots)...)[0]
	g.Start()
	g.Play(5)
	g.Abort(why)
	g.Conclude()
	w.games = append(w.games, g)
}

// startOnly starts a match and leaves it running.
func (w *fixture) startOnly(mode string, bots ...int) {
	g := w.arena.Seat(mode, w.chosen(mode, bots)...)[0]
	g.Start()
	g.Play(5)
}

// leaderboard returns the ranking of the arena's read model.
func (w *fixture) leaderboard(t *testing.T, mode string) []leaderboard.Row {
	board, names := leaderboard.New(), directory.New()
	require.NoError(t, arenatest.Follow(t, w.log, board).Sync(t.Context()))
	require.NoError(t, arenatest.Follow(t, w.log, names).Sync(t.Context()))
	rows := board.Rows(mode, func(id string) (string, string, bool) {
		b, ok := names.Bot(id)
		return b.Name, "", ok
	})
	require.NotEmpty(t, rows)
	return rows
}

func options(dir, format string) export.Options {
	return export.Options{Dir: dir, Format: format, PerFile: 2, Report: func(uint64, uint64) {}}
}

func run(t *testing.T, ctx context.Context, log eventstore.Log, o export.Options) export.Done {
	t.Helper()
	done, err := export.Run(ctx, log, o)
	require.NoError(t, err)
	return done
}

// The function contents() returns the contents of all files in a folder by path, except
// for the lock file.
func contents(t *testing.T, dir string) map[string]string {
	t.Helper()
	files := map[string]string{}
	require.NoError(t, filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() || strings.HasPrefix(e.Name(), "lock") {
			return err
		}
		text, err := os.ReadFile(path)
		name, _ := filepath.Rel(dir, path)
		files[name] = string(text)
		return err
	}))
	return files
}
