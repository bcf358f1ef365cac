package export_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"hexarena/adapters/export"
	"hexarena/domain/ladder"
	"hexarena/domain/owner"
	"hexarena/eventstore/logtest"
)

// After an owner deletes an account, the next run leaves the owner out of all files,
// both old and new. The files are the same as those of a single run after the deletion.
// Files that did not name the owner do not change.
func TestDeletedOwnersAreLeftOut(t *testing.T) {
	for _, format := range export.Formats {
		w := newFixture(t)
		o := options(t.TempDir(), format)
		o.PerFile = 1
		run(t, t.Context(), w.log, o)
		before := contents(t, o.Dir)

		w.arena.Own("bob", owner.Deleted{})
		run(t, t.Context(), w.log, o)
		after := contents(t, o.Dir)
		changed := 0
		for name, text := range before {
			if after[name] != text {
				require.Contains(t, name, "seats/")
				changed++
			}
		}
		require.Equal(t, 1, changed, "one match had bots that bob owns")

		w.complete(ladder.Standard, 1, 3, 4)
		w.arena.Own("ada", owner.Deleted{})
		w.complete(ladder.Standard, 0, 1, 2)
		run(t, t.Context(), w.log, o)
		once := o
		once.Dir = t.TempDir()
		run(t, t.Context(), w.log, once)
		logtest.RequireSameFiles(t, contents(t, once.Dir), contents(t, o.Dir))
		for name, text := range contents(t, o.Dir) {
			require.NotContains(t, text, `"owner_id":"ada"`, name)
			require.NotContains(t, text, `"owner_id":"bob"`, name)
		}
	}
}

// An earlier version of the program did not remove the ids of deleted accounts from
// complete files. The next run replaces such files too.
func TestFilesOfEarlierVersionsAreReplaced(t *testing.T) {
	w := newFixture(t)
	o := options(t.TempDir(), export.JSONL)
	run(t, t.Context(), w.log, o)
	named := contents(t, o.Dir)
	w.arena.Own("ada", owner.Deleted{})
	w.complete(ladder.Standard, 0, 1, 2)
	run(t, t.Context(), w.log, o)
	want := contents(t, o.Dir)
	for name, text := range named {
		if strings.HasPrefix(name, "seats/") {
			require.NoError(t, os.WriteFile(filepath.Join(o.Dir, name), []byte(text), 0o600))
		}
	}
	state := filepath.Join(o.Dir, "export.json")
	require.NoError(t, os.WriteFile(state, []byte(strings.Replace(want["export.json"], `"schema":2`, `"schema":1`, 1)), 0o600))
	run(t, t.Context(), w.log, o)
	logtest.RequireSameFiles(t, want, contents(t, o.Dir))
}

// The export leaves out only those owners who have deleted their accounts.
func TestOtherOwnersStayInTheTables(t *testing.T) {
	w := newFixture(t)
	o := options(t.TempDir(), export.JSONL)
	run(t, t.Context(), w.log, o)
	want := contents(t, o.Dir)
	w.arena.Own("bob", owner.Deleted{})
	run(t, t.Context(), w.log, o)
	for name, text := range want {
		want[name] = strings.ReplaceAll(text, `"owner_id":"bob"`, `"owner_id":""`)
	}
	logtest.RequireSameFiles(t, want, contents(t, o.Dir))
}
