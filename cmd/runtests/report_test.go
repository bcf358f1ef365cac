package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// The function reported() adds lines of go test -json to a new report.
func reported(t *testing.T, c conditions, lines string) (r *report, progress *strings.Builder) {
	t.Helper()
	progress = &strings.Builder{}
	r = newReport(progress, 2)
	for line := range strings.Lines(lines) {
		var e event
		require.NoError(t, json.Unmarshal([]byte(line), &e))
		r.add(c, e)
	}
	return r, progress
}

func TestReportCountsAndNamesReasons(t *testing.T) {
	r, progress := reported(t, conditions{}, `{"Action":"run","Package":"hexarena/a","Test":"TestOne"}
{"Action":"pass","Package":"hexarena/a","Test":"TestOne","Elapsed":0.1}
{"Action":"output","Package":"hexarena/a","Test":"TestLong","Output":"    a_test.go:12: make soak runs it\n"}
{"Action":"output","Package":"hexarena/a","Test":"TestLong","Output":"--- SKIP: TestLong (0.00s)\n"}
{"Action":"skip","Package":"hexarena/a","Test":"TestLong","Elapsed":0}
{"Action":"pass","Package":"hexarena/a","Elapsed":1.26}
`)
	require.Equal(t, "1 tests run, 0 failed, 1 skipped (1 × make soak runs it)", r.summary())
	require.Equal(t, "[1/2] ok   a 1.3s\n", progress.String())
	require.Empty(t, r.failures)
}

func TestReportShowsAFailureAndItsCommand(t *testing.T) {
	_, progress := reported(t, conditions{race: true, procs: 8, shuffle: 77}, `{"Action":"output","Package":"hexarena/a/b","Test":"TestX/a_case","Output":"    b_test.go:9: ARENA_TEST_SEED=42\n"}
{"Action":"output","Package":"hexarena/a/b","Test":"TestX/a_case","Output":"    b_test.go:10: `+strings.Repeat("x", 500)+`\n"}
{"Action":"fail","Package":"hexarena/a/b","Test":"TestX/a_case","Elapsed":0}
{"Action":"fail","Package":"hexarena/a/b","Test":"TestX","Elapsed":0}
{"Action":"fail","Package":"hexarena/a/b","Elapsed":0.01}
`)
	require.Equal(t, `[1/2] FAIL a/b 0s (race)
--- TestX/a_case of a/b failed (race, GOMAXPROCS 8)
        b_test.go:9: ARENA_TEST_SEED=42
        b_test.go:10: `+strings.Repeat("x", 382)+`… (518 bytes)
    repeat: GOMAXPROCS=8 ARENA_TEST_SEED=42 go test -count=1 -race -shuffle=77 -run '^TestX$/^a_case$' ./a/b
`, progress.String())
}

// A property can depend on two seeds: its own draws, and the data that the test made.
func TestReportNamesBothSeedsOfAProperty(t *testing.T) {
	_, progress := reported(t, conditions{}, `{"Action":"output","Package":"hexarena/a","Test":"TestP","Output":"    a_test.go:9: ARENA_TEST_SEED=42\n"}
{"Action":"output","Package":"hexarena/a","Test":"TestP","Output":"    a_test.go:9: [rapid] failed after 3 tests: specify -run=\"TestP\" (or -rapid.seed=7)\n"}
{"Action":"fail","Package":"hexarena/a","Test":"TestP","Elapsed":0}
{"Action":"fail","Package":"hexarena/a","Elapsed":0.01}
`)
	require.Contains(t, progress.String(), "    repeat: ARENA_TEST_SEED=42 go test -count=1 -run '^TestP$' ./a -rapid.seed=7\n")
}

func TestReportShowsBothEndsOfALongFailure(t *testing.T) {
	var lines strings.Builder
	for i := range 100 {
		fmt.Fprintf(&lines, `{"Action":"output","Package":"hexarena/a","Test":"TestLong","Output":"line %d\n"}`+"\n", i)
	}
	r, progress := reported(t, conditions{}, lines.String()+`{"Action":"fail","Package":"hexarena/a","Test":"TestLong","Elapsed":0}
{"Action":"fail","Package":"hexarena/a","Elapsed":0.01}
`)
	require.Contains(t, progress.String(), "    line 39\n    … 30 lines …\n    line 70\n")
	require.Contains(t, progress.String(), "    line 99\n    repeat: ")
	require.Contains(t, r.excerpts(), "    line 0\n", "the start of the failure is shown again at the end")
	require.Contains(t, r.excerpts(), "    line 11\n    … 88 lines …\n    repeat: ")
}

func TestReportShowsABrokenBuild(t *testing.T) {
	r, progress := reported(t, conditions{}, `{"ImportPath":"hexarena/a [hexarena/a.test]","Action":"build-output","Output":"a/a.go:3:1: syntax error\n"}
{"ImportPath":"hexarena/a [hexarena/a.test]","Action":"build-fail"}
{"Action":"output","Package":"hexarena/a","Output":"FAIL\thexarena/a [build failed]\n"}
{"Action":"fail","Package":"hexarena/a","Elapsed":0,"FailedBuild":"hexarena/a [hexarena/a.test]"}
`)
	require.Equal(t, "0 tests run, 0 failed, 0 skipped, 1 packages failed outside their tests", r.summary())
	require.Contains(t, progress.String(), "a/a.go:3:1: syntax error\n")
	require.Contains(t, progress.String(), "repeat: go test -count=1 ./a\n")
}

func TestReportShowsAPanicOutsideItsTest(t *testing.T) {
	_, progress := reported(t, conditions{}, `{"Action":"output","Package":"hexarena/a","Test":"TestOne","Output":"panic: closed\n"}
{"Action":"output","Package":"hexarena/a","Output":"FAIL\thexarena/a\t0.01s\n"}
{"Action":"fail","Package":"hexarena/a","Elapsed":0.01}
`)
	require.Contains(t, progress.String(), "panic: closed\n")
}

func TestRoundsSeeEveryCombination(t *testing.T) {
	for load, rounds := range map[string]int{"none": 12, "busy": 12, "both": 24} {
		seen, race := map[conditions]bool{}, 0
		for round := range rounds {
			c := conditionsOf(round, load)
			require.NotZero(t, c.shuffle)
			c.shuffle = 0
			seen[c] = true
			if c.race {
				race++
			}
		}
		require.Len(t, seen, map[string]int{"none": 6, "busy": 6, "both": 12}[load], load)
		require.Equal(t, rounds/4, race, load)
	}
}

// A round runs the built test binaries. Like go test, it reports failed tests,
// reasons for skips, and panics.
func TestARoundReportsFailures(t *testing.T) {
	folder := t.TempDir()
	for name, text := range map[string]string{
		"go.mod":             "module hexarena\n\ngo 1.25\n",
		"good/good_test.go":  "package good\n\nimport \"testing\"\n\nfunc TestGood(*testing.T) {}\n\nfunc TestDry(t *testing.T) { t.Skip(\"needs rain\") }\n",
		"bad/bad_test.go":    "package bad\n\nimport \"testing\"\n\nfunc TestBad(t *testing.T) { t.Error(\"one is not two\") }\n",
		"panics/any_test.go": "package panics\n\nimport \"testing\"\n\nfunc TestPanic(*testing.T) { panic(\"closed\") }\n",
	} {
		name = filepath.Join(folder, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(name), 0o700))
		require.NoError(t, os.WriteFile(name, []byte(text), 0o600))
	}
	t.Chdir(folder)
	s, err := newSuite(t.Context(), []string{"./panics"}, nil)
	require.NoError(t, err)
	require.Equal(t, []string{"hexarena/panics", "hexarena/bad", "hexarena/good"}, s.all, "the slow package comes first")
	built, err := s.build(t.Context(), t.TempDir())
	require.NoError(t, err)

	r := newReport(nil, len(s.all))
	require.NoError(t, r.round(t.Context(), conditions{shuffle: 7}, s, built))

	require.Equal(t, "3 tests run, 2 failed, 1 skipped (1 × needs rain)", r.summary())
	var text strings.Builder
	for _, f := range r.failures {
		text.WriteString(f.String())
	}
	require.Contains(t, text.String(), "one is not two\n")
	require.Contains(t, text.String(), "repeat: go test -count=1 -shuffle=7 -run '^TestBad$' ./bad\n")
	require.Contains(t, text.String(), "panic: closed")
}
