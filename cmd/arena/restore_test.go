package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"hexarena/eventstore/logtest"
)

// A backup consists of a stopped arena's log and, in a separate place, the arena's
// secrets. An arena that is restored from the backup shows the same ladder and
// continues to play. It does not start with the secrets of another arena.
func TestARestoredBackupPlaysOn(t *testing.T) {
	t.Parallel()
	rng := logtest.Random(t)
	f := &eventTrigger{}
	s := stoppedDuringPlay(t, rng, f)

	log, secrets := t.TempDir(), filepath.Join(t.TempDir(), "secrets.json")
	require.NoError(t, os.CopyFS(log, os.DirFS(filepath.Join(s.data, "node"))))
	copyFile(t, filepath.Join(s.data, "secrets.json"), secrets)
	before := shown(s)

	t.Run("without secrets", func(t *testing.T) {
		requireRefused(t, restore(t, s, log, ""), "is missing, but this log was started with a secrets file: restore the file from its backup")
	})
	t.Run("with another arena's secrets", func(t *testing.T) {
		other := newTestArena(t, "--no-play")
		other.start()
		other.stop()
		requireRefused(t, restore(t, s, log, filepath.Join(other.data, "secrets.json")), "does not belong to this log")
	})
	t.Run("with its secrets", func(t *testing.T) {
		restored := restore(t, s, log, secrets)
		require.Equal(t, before, shown(restored))
		restored.start()
		f.fireAfter(t, 100, func() {})
		c := restored.settle()
		compared, claims := c.audit(t, restored.players)
		t.Logf("%d matches rated, %d of them resumed by a claim, %d public events equal to those of runs without a restore", len(c.order), claims, compared)
		require.Positive(t, claims)
	})
}

// restore copies a backup into a new folder, for the same owners and bots.
func restore(t *testing.T, from *testArena, log, secrets string) *testArena {
	t.Helper()
	s := newTestArena(t, from.flags...)
	s.owners, s.players = from.owners, from.players
	require.NoError(t, os.CopyFS(filepath.Join(s.data, "node"), os.DirFS(log)))
	if secrets != "" {
		copyFile(t, secrets, filepath.Join(s.data, "secrets.json"))
	}
	return s
}

func copyFile(t *testing.T, from, to string) {
	t.Helper()
	data, err := os.ReadFile(from)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(to, data, 0o600))
}

// requireRefused requires that an arena does not start, and that it prints the
// reason on one line.
func requireRefused(t *testing.T, s *testArena, why string) {
	t.Helper()
	s.launch()
	s.arena.awaitExit()
	require.Equal(t, 1, s.arena.cmd.ProcessState.ExitCode())
	var said []string
	for line := range strings.Lines(s.arena.err.String()) {
		if strings.HasPrefix(line, "arena: ") {
			said = append(said, line)
		}
	}
	require.Len(t, said, 1)
	require.Contains(t, said[0], why)
	require.NotContains(t, s.arena.out.String(), "Hex Arena is at")
}
