package main

import (
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"hexarena/adapters/drand/drandtest"
	"hexarena/projections/matches"
)

// The Python checker in docs/audit reads the data of a running arena with a beacon.
// It repeats the seatings, recomputes the ratings and all matches, and compares them
// with the ladder's tree.
func TestPythonChecksARunningArena(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("python3"); err != nil {
		require.Empty(t, os.Getenv("CI"), "CI installs python3: make deps")
		t.Skip("needs python3: run make deps")
	}
	chain := drandtest.New("checked by Python", time.Second)
	relay := httptest.NewServer(chain)
	t.Cleanup(relay.Close)
	s := newTestArena(t, append([]string{"--beacon", relay.URL, "--beacon-chain", chain.Flag()}, quick...)...)
	s.start()
	s.join(goodPlayers(t, 7, &eventTrigger{})...)
	eventually(t, "five matches are rated", func() bool { return len(s.list(matches.Completed)) >= 5 })
	checker := filepath.Join("..", "..", "docs", "audit", "verify.py")
	out, err := exec.CommandContext(t.Context(), "python3", checker, "--ladder", "standard", "--matches", s.base()).CombinedOutput()
	require.NoError(t, err, "%.2000s", out)
	require.Regexp(t, `^ok ladder-standard (\d+) events, \d+ in the tree; \d+ tables; \d+ rated; 0 voided; \d+ of \d+ seatings repeated; [1-9]\d* rounds; \d+ commitments; [1-9]\d* matches\n`, string(out))
	require.Contains(t, string(out), "not checked: signatures")
}
