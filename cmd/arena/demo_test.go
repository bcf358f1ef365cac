package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"hexarena/adapters/housebot"
	"hexarena/adapters/rest"
	"hexarena/cmd/arena/demo"
)

// `make run` starts house bots in their own processes, and soon shows a completed,
// rated match. The test logs how long that took, but sets no limit, because a busy
// machine is slow.
func TestDemoSoonHasARatedMatch(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	mark := "HEXARENA_TEST_RUN=" + uuid.NewString() // child processes inherit it
	began := time.Now()
	p := launchIn(t, processOptions{env: []string{mark, "TMPDIR=" + folder}},
		"demo", "--listen", "127.0.0.1:0", "--admin-listen", "127.0.0.1:0", "--node-listen", "127.0.0.1:0")
	data := p.await(`keeps this demo in (\S+)`)[1]
	require.Equal(t, folder, filepath.Dir(data), "a fresh folder")
	base := p.await(`Hex Arena is at (http://127\.0\.0\.1:\d+)`)[1]
	p.await(`\(greedy\) joins the standard ladder`)
	p.await(`running +standard .*  ` + base + `/watch/\S+\n`)
	p.await(`turn \d+ +(?:standard|parley) .*  ` + base + `/watch/\S+\n`)
	completed := p.await(`completed +standard +(1\. \w+ \([+-]\d+\.\d\).*)  (http://\S+)\n`)
	line, address := completed[1], completed[2]
	took := time.Since(began)
	t.Logf("a completed, rated match %v after the start: %s", took.Round(100*time.Millisecond), line)
	_, errOut, status := call("verify", address)
	require.Zero(t, status, errOut)
	requireHouseNonces(t, base, filepath.Join(data, "house-nonces"))
	awaitHouseBots(p)
	if running := marked(t, mark); running != nil {
		require.Len(t, running, 1+houseBots)
	}
	p.end(syscall.SIGINT)
	require.Empty(t, marked(t, mark), "processes still run")
}

// requireHouseNonces requires that each nonce in the record of a completed match is
// the HMAC of the match id, with the bot's secret as the key.
func requireHouseNonces(t *testing.T, base, secrets string) {
	t.Helper()
	anyone := demo.Owner{Base: base}
	var list rest.Matches
	require.NoError(t, anyone.Call(t.Context(), "GET", "/matches?status=completed", nil, &list))
	require.NotEmpty(t, list.Matches)
	var m rest.Match
	require.NoError(t, anyone.Call(t.Context(), "GET", "/matches/"+list.Matches[0].ID, nil, &m))
	for _, player := range m.Players {
		secret, err := os.ReadFile(filepath.Join(secrets, player.BotName))
		require.NoError(t, err)
		want := housebot.Nonce(bytes.TrimSpace(secret), m.ID)
		require.Equal(t, want, m.Proof.Nonces[slices.Index(m.Proof.Table, player.BotID)])
	}
}

const houseBots = 7

// awaitHouseBots waits until all house bots are on their ladders.
func awaitHouseBots(p *process) {
	for _, bot := range []string{"Greta (greedy)", "Gustav (search)", "Rudi (random)", "Gregor (greedy)", "Grete (montecarlo)", "Rita (random)", "Ralf (random)"} {
		p.await(regexp.QuoteMeta(bot) + ` joins`)
	}
}

// The function marked() lists the processes whose environment contains a variable. On
// systems that do not show the environment of processes, the list is empty.
func marked(t *testing.T, variable string) (pids []string) {
	t.Helper()
	folders, err := filepath.Glob("/proc/[0-9]*/environ")
	require.NoError(t, err)
	for _, f := range folders {
		env, err := os.ReadFile(f)
		if err == nil && bytes.Contains(env, []byte(variable)) {
			pids = append(pids, filepath.Base(filepath.Dir(f)))
		}
	}
	return pids
}

// A demo that uses the folder of an earlier demo continues with the same account and
// the same bots. It registers nothing twice.
func TestDemoContinuesOnItsFolder(t *testing.T) {
	t.Parallel()
	args := []string{"demo", "--data", t.TempDir(), "--listen", "127.0.0.1:0", "--admin-listen", "127.0.0.1:0", "--node-listen", "127.0.0.1:0"}
	var secrets [2][]byte
	for i := range secrets {
		p := launch(t, args...)
		base := p.await(`Hex Arena is at (http://127\.0\.0\.1:\d+)`)[1]
		awaitHouseBots(p)
		owner := demo.Owner{Base: base}
		key, err := os.ReadFile(filepath.Join(args[2], "house-key.json"))
		require.NoError(t, err)
		require.NoError(t, json.Unmarshal(key, &owner))
		var list struct{ Bots []struct{ Name string } }
		require.NoError(t, owner.Call(t.Context(), "GET", "/bots", nil, &list))
		require.Len(t, list.Bots, houseBots)
		secrets[i], err = os.ReadFile(filepath.Join(args[2], "house-nonces", "Greta"))
		require.NoError(t, err)
		p.end(syscall.SIGTERM)
	}
	require.Equal(t, secrets[0], secrets[1])
}
