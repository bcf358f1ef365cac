package practice

import (
	"cmp"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"hexarena/cmd/arena/practice/conformance"
	"hexarena/cmd/arena/progress"
)

// leakEach is an environment variable for a bot: it never frees so many bytes for each
// upgrade.
const leakEach = "HEXARENA_TEST_LEAK"

// checkBot checks a program.
func checkBot(t *testing.T, spec string) *conformance.Report {
	t.Helper()
	c := checkBotCmd{Bot: spec}
	require.NoError(t, c.Validate())
	report, err := c.check(t.Context(), progress.New(t.Output(), "checks"), conformance.Options{Decision: time.Minute, Limit: time.Hour})
	require.NoError(t, err)
	return report
}

// requireClean fails at the first check that did not pass or gave advice.
func requireClean(t *testing.T, r *conformance.Report) {
	t.Helper()
	for _, c := range r.Checks {
		if c.Result != conformance.Failed && c.Result != conformance.Advice {
			continue
		}
		text, err := json.Marshal(c)
		require.NoError(t, err)
		require.Fail(t, c.ID, string(text))
	}
	require.Zero(t, r.Failed)
	require.Zero(t, r.Advice)
}

func result(t *testing.T, r *conformance.Report, id string) conformance.Check {
	t.Helper()
	for _, c := range r.Checks {
		if c.ID == id {
			return c
		}
	}
	t.Fatalf("no check %s", id)
	return conformance.Check{}
}

func TestCheckBotMeasuresMemory(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector multiplies the memory of the program")
	}
	t.Parallel()
	if _, err := os.Stat("/proc/self/stat"); err != nil {
		t.Skip("needs /proc")
	}
	good := checkBot(t, botCommand(t, ""))
	require.Zero(t, good.Failed)
	require.Equal(t, conformance.Passed, result(t, good, "memory").Result)

	leaky := checkBot(t, botCommand(t, leakEach+"=400000"))
	require.Equal(t, 1, leaky.Failed)
	memory := result(t, leaky, "memory")
	require.Regexp(t, `about \d{3} KiB for each match`, memory.Exchanges[0].Reason)
}

// A crash of the program is part of the reason.
func TestCheckBotNamesACrash(t *testing.T) {
	t.Parallel()
	r := checkBot(t, botCommand(t, dieAt+"=5"))
	require.Positive(t, r.Failed)
	text, err := json.Marshal(r)
	require.NoError(t, err)
	require.Contains(t, string(text), "the program ended (exit status 3)")
}

// The example bot passes, and rejects bad signatures.
func TestExampleBotFollowsTheProtocol(t *testing.T) {
	t.Parallel()
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("needs python3")
	}
	dir := t.TempDir() // for the secret of the nonces
	example, err := os.Getwd()
	require.NoError(t, err)
	r := checkBot(t, "cmd:cd '"+dir+"' && exec "+python+" '"+example+"/../../../docs/example_bot.py' {port}")
	requireClean(t, r)
}

// The sample bots of the kits pass, and reject bad signatures.
func TestKitsFollowTheProtocol(t *testing.T) {
	kits, err := filepath.Abs("../../../docs/kits")
	require.NoError(t, err)
	cache, err := os.UserCacheDir()
	require.NoError(t, err)
	modules := filepath.Join(cache, "hexarena", "npm", "node_modules")
	for kit, program := range map[string][]string{
		"python":     {"python3", "sample_bot.py"},
		"typescript": {"node", "--import", "tsx", "sample_bot.ts"},
	} {
		t.Run(kit, func(t *testing.T) {
			t.Parallel()
			_, err := exec.LookPath(program[0])
			if kit == "typescript" {
				for _, name := range []string{"tsx", "ws"} {
					_, missing := os.Stat(filepath.Join(modules, name))
					err = cmp.Or(err, missing)
				}
			}
			if err != nil {
				require.Empty(t, os.Getenv("CI"), "CI installs what the kits need: make deps")
				t.Skip("needs the programs and modules of make deps: ", err)
			}
			dir := t.TempDir() // a bot writes the secret of its nonces into its folder
			require.NoError(t, os.CopyFS(dir, os.DirFS(filepath.Join(kits, kit))))
			if kit == "typescript" {
				require.NoError(t, os.RemoveAll(filepath.Join(dir, "node_modules")))
				require.NoError(t, os.Symlink(modules, filepath.Join(dir, "node_modules")))
			}
			r := checkBot(t, "cmd:cd '"+dir+"' && exec "+strings.Join(program, " ")+" {port}")
			requireClean(t, r)
		})
	}
}

func TestCheckBotPrintsTheReport(t *testing.T) {
	t.Parallel()
	out, err := callCommand(t.Context(), "check-bot", botCommand(t, ""), "--json")
	require.NoError(t, err)
	var r conformance.Report
	require.NoError(t, json.Unmarshal([]byte(out), &r))
	require.Zero(t, r.Failed)
	require.Greater(t, r.Passed, 25)

	_, err = callCommand(t.Context(), "check-bot", "http://127.0.0.1:1")
	require.ErrorContains(t, err, "does not accept connections")
}
