package main

import (
	"encoding/json"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"hexarena/adapters/drand/drandtest"
	"hexarena/projections/matches"
)

// An auditor recomputes the ladder of an arena with a beacon, using only REST. In the
// next run, the heads continue those that the first run remembered. The log in the
// arena's data folder contains the same events as the arena's signed tree.
func TestAuditorNeedsOnlyREST(t *testing.T) {
	t.Parallel()
	relay := drandtest.New("auditor", time.Second)
	drand := httptest.NewServer(relay)
	t.Cleanup(drand.Close)
	s := newTestArena(t, append([]string{"--beacon", drand.URL, "--beacon-chain", relay.Flag()}, quick...)...)
	s.start()
	s.join(goodPlayers(t, 4, &eventTrigger{})...)
	eventually(t, "two matches are rated", func() bool { return len(s.list(matches.Completed)) >= 2 })
	chain := []string{"--beacon-chain", relay.Flag()}
	run := func(args ...string) string {
		t.Helper()
		out, errOut, status := call(append(append([]string{"verify"}, chain...), args...)...)
		require.Zero(t, status, errOut)
		return out
	}
	out := run("--ladder", "standard", "--arena", s.base())
	require.Contains(t, out, "entries of the ladder's signed tree")
	require.NotContains(t, out, "remembered")
	s.retire() // otherwise, a slow auditor gets more and more matches to check
	s.finish(0)
	out = run("--ladder", "standard", "--arena", s.base())
	require.Contains(t, out, "the tree continues the remembered head of ")
	require.Regexp(t, `(?m)^([1-9]\d*) of (\d+) tables use a beacon; the round's time was checked in`, out)

	before := s.base()
	target := before + "/matches/" + s.list(matches.Completed)[0].ID
	out = run(target)
	for _, row := range []string{`id +1`, `seating +4`, `beacon +3`, `signed log +1`, `ladder tree +1`} {
		require.Regexp(t, `(?m)^`+row+` correct`, out)
	}
	require.Regexp(t, `(?m)^seed from +the beacon$`, out)
	_, errOut, status := call("verify", target)
	require.Equal(t, 1, status, errOut)
	require.Contains(t, errOut, "a chain that you trust: quicknet")

	s.settle()
	folder := filepath.Join(t.TempDir(), "node")
	require.NoError(t, os.CopyFS(folder, os.DirFS(filepath.Join(s.data, "node"))))
	s.start()
	s.awaitHeads()
	target = s.base() + strings.TrimPrefix(target, before)
	node, log := serveNode(t, folder)
	var both struct {
		Rated, Seatings, Repeated, Rounds int
		Tree                              struct{ Size int }
	}
	require.NoError(t, json.Unmarshal([]byte(run("--json", "--ladder", "standard", "--arena", s.base(), "--eventstore", log)), &both))
	require.Positive(t, both.Tree.Size)
	require.Equal(t, both.Seatings, both.Repeated)
	require.Equal(t, both.Seatings, both.Rounds)
	node.end(syscall.SIGTERM)

	saved := filepath.Join(t.TempDir(), "checkpoint")
	require.NoError(t, os.WriteFile(saved, bodyOf(t, s.base()+"/ladder/standard/checkpoint"), 0o600))
	run("--head", saved, "--ladder", "standard", "--arena", s.base())
	run("--head", saved, target)
	key := strings.TrimSpace(string(bodyOf(t, s.base()+"/log/standard/vkey")))
	policy := filepath.Join(t.TempDir(), "policy")
	require.NoError(t, os.WriteFile(policy, []byte("log "+key+"\nquorum none\n"), 0o600))
	run("--policy", policy, target)
	s.stop()
}
