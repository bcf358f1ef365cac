package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"hexarena/cmd/arena/logs"
	"hexarena/domain/ladder"
	"hexarena/domain/owner"
	"hexarena/eventstore"
	"hexarena/projections"
	"hexarena/projections/arenatest"
)

// `arena projections rebuild` rebuilds read models of a stopped service by name. The
// rows are the same as those that the service would write when it starts.
func TestProjectionsCommands(t *testing.T) {
	dir := t.TempDir()
	call := func(args ...string) (status int, out, errOut string) {
		var o, e bytes.Buffer
		status = run(append([]string{"projections"}, append(args, "--data", dir)...), &o, &e)
		return status, o.String(), e.String()
	}
	status, _, errOut := call("status")
	require.Equal(t, 1, status)
	require.Contains(t, errOut, "arena: --data contains no log")

	require.NoError(t, os.Mkdir(filepath.Join(dir, "node"), 0o700))
	log, closeLog, err := logs.Stopped{Data: dir}.Open(t.Context())
	require.NoError(t, err)
	liveThrough(t, log)
	require.NoError(t, closeLog())

	status, out, errOut := call("status")
	require.Equal(t, 0, status, errOut)
	require.Equal(t, 5, strings.Count(out, "will be rebuilt when the service starts: it has no rows"), out)

	status, out, errOut = call("rebuild")
	require.Equal(t, 0, status, errOut)
	require.Contains(t, out, "matches: 34 events folded in ")
	_, out, _ = call("status")
	require.Equal(t, 4, strings.Count(out, "is up to date"), "the log ends with ratings, which accounts do not hold: %s", out)
	before, err := os.ReadFile(filepath.Join(dir, "projections", "directory.db"))
	require.NoError(t, err)

	require.NoError(t, os.WriteFile(filepath.Join(dir, "projections", "matches.db"), []byte("no database, and longer than its header"+strings.Repeat(".", 600)), 0o600))
	_, out, _ = call("status")
	require.Contains(t, out, "matches      will be rebuilt when the service starts: file is not a database")
	status, out, _ = call("rebuild", "matches")
	require.Equal(t, 0, status)
	require.Contains(t, out, "matches: 34 events")
	require.NotContains(t, out, "directory")
	after, err := os.ReadFile(filepath.Join(dir, "projections", "directory.db"))
	require.NoError(t, err)
	require.Equal(t, before, after, "other read models are unchanged")

	status, _, errOut = call("rebuild", "matchs")
	require.Equal(t, 1, status)
	require.Equal(t, "arena: there is no read model \"matchs\": the read models are directory, matches, leaderboard, signedlog, health\n", errOut)

	release, err := projections.Lock(filepath.Join(dir, "projections"))
	require.NoError(t, err)
	for _, command := range []string{"status", "rebuild"} {
		status, _, errOut = call(command)
		require.Equal(t, 1, status)
		require.Contains(t, errOut, "the read models are in use by another process: stop that process first")
		require.Equal(t, 1, strings.Count(errOut, "\n"))
	}
	require.NoError(t, release())
}

// liveThrough writes a short history to the log: four owners with bots, and five
// matches that these bots played and that were rated.
func liveThrough(t *testing.T, log eventstore.Log) {
	t.Helper()
	a := arenatest.New(t, log, 1)
	var bots []string
	for i := range 4 {
		ownerID, names := fmt.Sprint("owner-", i), make([]string, owner.BotLimit)
		for j := range names {
			names[j] = fmt.Sprintf("Bot %d of %s", j, ownerID)
		}
		a.Own(ownerID, owner.SignedUp{OwnerID: ownerID}, owner.HandleChosen{Handle: ownerID}, owner.APIKeyRegistered{KeyID: fmt.Sprint("key-", i), PublicKey: make([]byte, 32)})
		bots = append(bots, a.Register(ownerID, ladder.Standard, names...)...)
	}
	games := a.Seat(ladder.Standard, bots...)
	require.Len(t, games, 5)
	for _, g := range games {
		g.Start()
		g.PlayOut()
		g.Conclude()
	}
}
