package audit_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"hexarena/domain/audit"
	"hexarena/domain/audit/sample"
	"hexarena/eventstore/logtest"
)

// python runs docs/audit/verify.py. The author of verify.py used only docs/audit.md, not
// this package.
func python(t testing.TB, args ...string) (out string, status int) {
	t.Helper()
	out, stderr, status := runPython(t, args...)
	require.Empty(t, stderr)
	return out, status
}

// runPython is like python, but also for input that the checker may be unable to
// read.
func runPython(t testing.TB, args ...string) (out, problems string, status int) {
	t.Helper()
	if _, err := exec.LookPath("python3"); err != nil {
		require.Empty(t, os.Getenv("CI"), "CI installs python3: make deps")
		t.Skip("needs python3: run make deps")
	}
	c := exec.CommandContext(t.Context(), "python3", append([]string{filepath.Join("..", "..", "docs", "audit", "verify.py")}, args...)...)
	var stderr bytes.Buffer
	c.Stderr = &stderr
	b, err := c.Output()
	if _, exited := errors.AsType[*exec.ExitError](err); !exited {
		require.NoError(t, err)
	}
	return string(b), stderr.String(), c.ProcessState.ExitCode()
}

func file(t testing.TB, records ...[]byte) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "matches.jsonl")
	require.NoError(t, os.WriteFile(name, append(bytes.Join(records, []byte("\n")), '\n'), 0o644))
	return name
}

func TestPythonAgreesOnTheVectors(t *testing.T) {
	out, status := python(t, "--vectors", vectorsFile)
	require.Zero(t, status, "%.2000s", out) // a line may be longer than testify prints
	require.Contains(t, out, "11 forgeries")
	require.Contains(t, out, "16 ladderForgeries")
}

// On fresh matches with random seeds, both checkers report the same results.
func TestPythonAgreesOnFreshMatches(t *testing.T) { agree(t, 12) }

func TestSoakPythonAgreesOnFreshMatches(t *testing.T) {
	if os.Getenv("ARENA_SOAK") == "" {
		t.Skip("takes minutes: run make soak")
	}
	agree(t, 1000)
}

func agree(t *testing.T, matches int) {
	t.Helper()
	chance := logtest.Seed(t)
	var records [][]byte
	for ; len(records) < matches; chance++ {
		a := sample.New(sample.Options{Chance: chance, Bots: 7, Mischief: int(chance % 5), Build: chance%3 > 0, Abort: 6})
		records = append(records, a.Tick()...)
	}
	out, status := python(t, "--platform-key", sample.PlatformKey, file(t, records...))
	require.Zero(t, status, "%.2000s", out) // a line may be longer than testify prints
	lines := strings.Split(strings.TrimSpace(out), "\n")
	require.Len(t, lines, len(records))
	for i, record := range records {
		r := verify(t, record, audit.Evidence{PlatformKey: sample.PlatformKey, Required: true})
		require.Nil(t, r.Difference)
		require.Equal(t, fmt.Sprintf("ok %s %d", r.Match, r.Events), lines[i])
	}
}

// Both checkers find the same forgeries at the same places.
func TestPythonFindsForgeries(t *testing.T) {
	records, _ := pool(t)
	var texts [][]byte
	var want []forgery
	var seqs []int
	for _, f := range forgeries {
		if f.inside || f.check == audit.CheckID {
			text, seq := apply(t, f, records)
			texts, want, seqs = append(texts, text), append(want, f), append(seqs, seq)
		}
	}
	out, status := python(t, "--all", "--platform-key", sample.PlatformKey, file(t, texts...))
	require.Equal(t, 1, status, out)
	lines := strings.Split(strings.TrimSpace(out), "\n")
	require.Len(t, lines, len(want))
	for i, f := range want {
		require.Regexp(t, fmt.Sprintf(`^DIFFERS \S+ seq %d: `, seqs[i]), lines[i], f.name)
	}
	t.Logf("%d forgeries", len(want))
}

// After a change to one value of a replay, both checkers find the same difference, or
// neither finds any.
func TestPythonAgreesOnBrokenRecords(t *testing.T) { agreeOnBroken(t, 40) }

func TestSoakPythonAgreesOnBrokenRecords(t *testing.T) {
	if os.Getenv("ARENA_SOAK") == "" {
		t.Skip("takes minutes: run make soak")
	}
	agreeOnBroken(t, 1000)
}

func agreeOnBroken(t *testing.T, n int) {
	t.Helper()
	rng := logtest.Random(t)
	records, _ := pool(t)
	var texts [][]byte
	for range n {
		f := open(t, records[rng.IntN(len(records))])
		shatter(rng, f.event(rng.IntN(len(f.replay()))))
		text, err := json.Marshal(f.object)
		require.NoError(t, err)
		texts = append(texts, text)
	}
	out, _ := python(t, "--all", file(t, texts...))
	lines := strings.Split(strings.TrimSpace(out), "\n")
	require.Len(t, lines, n)
	found := 0
	for i, text := range texts {
		d := verify(t, text, audit.Evidence{}).Difference
		if d == nil {
			require.Regexp(t, `^ok `, lines[i])
			continue
		}
		found++
		require.Regexp(t, fmt.Sprintf(`^DIFFERS \S+ seq %d: `, d.Seq), lines[i], d.Error())
	}
	t.Logf("%d of %d differ", found, n)
}

// shatter changes one value somewhere in v.
func shatter(rng *rand.Rand, v any) {
	switch v := v.(type) {
	case object:
		keys := slices.Sorted(maps.Keys(v))
		key := keys[rng.IntN(len(keys))]
		if inner, ok := v[key].(object); ok && len(inner) > 0 && rng.IntN(4) > 0 {
			shatter(rng, inner)
			return
		}
		if list, ok := v[key].([]any); ok && len(list) > 0 && rng.IntN(4) > 0 {
			shatter(rng, list)
			return
		}
		switch rng.IntN(6) {
		case 0:
			delete(v, key)
		case 1:
			v[key+"s"] = v[key]
		default:
			v[key] = another(rng, v[key])
		}
	case []any:
		i := rng.IntN(len(v))
		if inner, ok := v[i].(object); ok && rng.IntN(4) > 0 {
			shatter(rng, inner)
			return
		}
		v[i] = another(rng, v[i])
	}
}

func another(rng *rand.Rand, v any) any {
	values := []any{
		nil, true, false, "", "x", "ore", "turn", "end_turn", 0, 1, 2, 3, 4, 19, 54, 72, -1, 1.5, json.Number("1.0"), json.Number("1e0"), json.Number("-0"),
		json.Number("9007199254740993"), json.Number("123456789012345678901234567890"), []any{}, []any{1}, object{}, object{"ore": 1}, object{"gold": 0}, object{"ore": 0},
	}
	if n, ok := v.(json.Number); ok && rng.IntN(2) == 0 {
		return number(n) + 1
	}
	return values[rng.IntN(len(values))]
}
