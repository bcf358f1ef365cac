package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"hexarena/adapters/housebot"
	"hexarena/domain/ladder"
)

// The bot is written in another language, based only on the public documents. It
// signs in by email, registers itself with a signed request, and plays with house
// bots. The replay shows no strikes for this bot.
func TestThirdPartyBotPlays(t *testing.T) {
	t.Parallel()
	node, err := exec.LookPath("node")
	if err != nil {
		require.Empty(t, os.Getenv("CI"), "CI installs node: make deps")
		t.Skip("needs node: run make deps")
	}
	s := newTestArena(t, "--tick", "500ms", "--rest-standard", "1s", "--decision-standard", "30s")
	s.start()
	house := s.owner()
	for _, name := range []string{"greedy", "greedy", "random"} {
		url := launch(t, "bot", name, "--listen", "127.0.0.1:0").await(`(http://\S+)\n`)[1]
		require.NoError(t, house.Register(t.Context(), "house "+url, ladder.Standard, url))
	}

	began := time.Now()
	var out, errOut transcript
	cmd := exec.CommandContext(t.Context(), node, "testdata/thirdparty/bot.mjs", //nolint:gosec // a file of this repository
		"--base", s.base(), "--mail", filepath.Join(s.data, "mail"), "--email", "stranger@example.org", "--timeout", fmt.Sprint(patience.Seconds()))
	cmd.Env = append(os.Environ(), "NODE_NO_WARNINGS=1") // keep Node.js warnings out of standard error
	cmd.Stdout, cmd.Stderr = &out, &errOut
	require.NoError(t, cmd.Run(), "%s%s", &out, &errOut)
	require.Empty(t, errOut.String())

	var steps []string
	var checked, registered struct {
		Step, MatchID, BotID string
		OK                   bool
	}
	for line := range strings.Lines(out.String()) {
		var step struct{ Step string }
		require.NoError(t, json.Unmarshal([]byte(line), &step))
		steps = append(steps, step.Step)
		switch step.Step {
		case "checked":
			require.NoError(t, json.Unmarshal([]byte(line), &checked))
		case "registered":
			require.NoError(t, json.Unmarshal([]byte(line), &registered))
		}
	}
	require.Subset(t, steps, []string{"mail-asked", "signed-in", "key", "registered", "match-over", "rated", "checked"})
	require.True(t, checked.OK)

	r := s.record(checked.MatchID)
	r.requireWhole(t)
	r.requirePlaced(t)
	seat := slices.IndexFunc(r.Players, playedBy(registered.BotID))
	require.GreaterOrEqual(t, seat, 0)
	for i := range r.Players {
		want := housebot.Version
		if i == seat {
			want = "0.9 (test)"
		}
		require.Equal(t, want, r.Version(i))
	}
	t.Logf("from the start to the checked replay: %v; %d public events", time.Since(began).Round(time.Millisecond), len(r.Replay))
	s.stop()
}
