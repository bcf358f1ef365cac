package practice

import (
	"encoding/json"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"hexarena/adapters/export"
	"hexarena/cmd/arena/offline"
	recordset "hexarena/cmd/arena/records"
	"hexarena/domain/ladder"
	"hexarena/eventstore"
	"hexarena/projections/frames"
)

// exportRecords runs `arena export --records` in this process, and returns its output.
func exportRecords(t *testing.T, args ...string) (string, error) {
	t.Helper()
	var cli struct {
		Export offline.ExportCmd `cmd:""`
	}
	return runCommand(t.Context(), &cli, append([]string{"export", "--records"}, args...)...)
}

// Flags that name a log do not fit local records. The environment may name one.
func TestExportOfRecordsRejectsALog(t *testing.T) {
	t.Setenv("ARENA_EVENTSTORE", "esdb://127.0.0.1:1")
	for _, flag := range []string{"--data", "--eventstore"} {
		_, err := exportRecords(t, t.TempDir(), "--format", "jsonl", "--out", t.TempDir(), flag, "x")
		require.ErrorContains(t, err, flag+" cannot be combined with --records")
	}
	_, err := exportRecords(t, t.TempDir(), "--format", "jsonl", "--out", t.TempDir())
	require.ErrorContains(t, err, "contains no records of matches")
}

// ranked is a row of the leaderboard that the recipes print.
type ranked struct {
	Name        string
	Rating      float64
	GamesPlayed int `json:"games_played"`
}

// The recipes read an export of local records. After more matches, the export continues.
func TestTheRecipesReadAnExportOfLocalRecords(t *testing.T) {
	python := pythonWith(t, "duckdb", "pandas", "pyarrow")
	dir := filepath.Join(t.TempDir(), "results")
	args := []string{"house:greedy", "house:random", "house:random", "--seed", "x", "--out", dir}
	_, err := call(t.Context(), append(args, "-n", "6")...)
	require.NoError(t, err)
	for _, format := range export.Formats {
		tables := t.TempDir()
		out, err := exportRecords(t, dir, "--format", format, "--out", tables)
		require.NoError(t, err)
		require.Contains(t, out, "exported 6 matches")
		out, err = exportRecords(t, dir, "--format", format, "--out", tables)
		require.NoError(t, err)
		require.Contains(t, out, "exported 0 matches")
		boards := map[string][]ranked{}
		for _, recipe := range []string{"leaderboard_duckdb.py", "leaderboard_pandas.py"} {
			cmd := exec.CommandContext(t.Context(), python, filepath.Join("..", "..", "..", "docs", "recipes", recipe), tables, "standard")
			out, err := cmd.Output()
			require.NoError(t, err, recipe)
			var board []ranked
			require.NoError(t, json.Unmarshal(out, &board))
			boards[recipe] = board
		}
		board := boards["leaderboard_duckdb.py"]
		require.Len(t, board, 3)
		require.Equal(t, "greedy", board[0].Name)
		require.Equal(t, 6, board[0].GamesPlayed)
		for i, row := range boards["leaderboard_pandas.py"] {
			require.InDelta(t, board[i].Rating, row.Rating, 1e-9)
			require.Equal(t, board[i].Name, row.Name)
		}
	}
	tables := t.TempDir()
	_, err = exportRecords(t, dir, "--format", "jsonl", "--out", tables)
	require.NoError(t, err)
	_, err = call(t.Context(), append(args, "-n", "9")...)
	require.NoError(t, err)
	out, err := exportRecords(t, dir, "--format", "jsonl", "--out", tables)
	require.NoError(t, err)
	require.Contains(t, out, "exported 3 matches")
}

// The log of a set has the same events as the records.
func TestTheLogOfARecordSet(t *testing.T) {
	dir := t.TempDir()
	_, err := call(t.Context(), "house:greedy", "house:random", "house:random", "-n", "3", "--seed", "x", "--out", dir)
	require.NoError(t, err)
	set, err := recordset.Open(dir)
	require.NoError(t, err)
	require.Len(t, set.IDs, 3)
	reported := uint64(0)
	log, err := set.Log(t.Context(), func(done, total uint64) { reported, _ = done, total })
	require.NoError(t, err)
	require.Equal(t, uint64(3), reported)
	ladders := 0
	for r, err := range log.ReadAll(t.Context(), 0, eventstore.ReadOptions{}) {
		require.NoError(t, err)
		require.Equal(t, eventstore.StreamID(ladder.Stream(ladder.Standard)), r.Stream)
		ladders++
	}
	require.Equal(t, 3, ladders)
	for _, id := range set.IDs {
		r, err := set.Read(id)
		require.NoError(t, err)
		h, err := frames.Read(t.Context(), log, id)
		require.NoError(t, err)
		require.Equal(t, r.Match.Replay, h.Replay())
		sum, err := set.Summary(id)
		require.NoError(t, err)
		require.Equal(t, r.Match.MatchSummary, sum.MatchSummary)
		require.Positive(t, sum.Turns)
		ids, err := set.Decisions(id)
		require.NoError(t, err)
		n := 0
		logs, err := r.DecisionLogs()
		require.NoError(t, err)
		for _, log := range logs {
			n += len(log.Decisions.Decisions)
			for _, d := range log.Decisions.Decisions {
				require.True(t, ids[d.ID])
			}
		}
		require.Len(t, ids, n)
	}
}
