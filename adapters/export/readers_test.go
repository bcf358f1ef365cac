package export_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"hexarena/adapters/export"
	"hexarena/domain/ladder"
)

// python returns the Python interpreter into which `make deps` installs packages.
func python(t *testing.T) string {
	t.Helper()
	cache, err := os.UserCacheDir()
	require.NoError(t, err)
	path := filepath.Join(cache, "hexarena", "python", "bin", "python")
	if out, err := exec.CommandContext(t.Context(), path, "-c", "import duckdb, pandas, pyarrow").CombinedOutput(); err != nil {
		t.Skipf("needs duckdb, pandas and pyarrow from PyPI: run make deps (%v %s)", err, out)
	}
	return path
}

// standing is one line of the leaderboard that the recipes in the docs print.
type standing struct {
	Rank        int     `json:"rank"`
	BotID       string  `json:"bot_id"`
	Name        string  `json:"name"`
	Rating      float64 `json:"rating"`
	GamesPlayed int     `json:"games_played"`
}

// The recipes in the docs work with both formats, in DuckDB and in pandas with
// pyarrow.
func TestRecipesComputeTheLeaderboardOfTheArena(t *testing.T) {
	interpreter := python(t)
	w := newFixture(t)
	for _, format := range export.Formats {
		dir := t.TempDir()
		run(t, t.Context(), w.log, options(dir, format))
		for _, mode := range []string{ladder.Standard} {
			var want []standing
			for _, r := range w.leaderboard(t, mode) {
				want = append(want, standing{r.Rank, r.BotID, r.Name, r.Rating, r.GamesPlayed})
			}
			for _, recipe := range []string{"leaderboard_duckdb.py", "leaderboard_pandas.py"} {
				cmd := exec.CommandContext(t.Context(), interpreter, filepath.Join("..", "..", "docs", "recipes", recipe), dir, mode)
				cmd.Stderr = os.Stderr
				out, err := cmd.Output()
				require.NoError(t, err, recipe)
				var got []standing
				require.NoError(t, json.Unmarshal(out, &got), "%s: %s", recipe, out)
				require.Equal(t, want, got, "%s of %s, %s", recipe, format, mode)
			}
		}
	}
}

// Each SQL statement in docs/analysts.md returns rows, and so does the pandas call
// there.
func TestStatementsOfTheDocsReturnRows(t *testing.T) {
	interpreter := python(t)
	text, err := os.ReadFile(filepath.Join("..", "..", "docs", "analysts.md"))
	require.NoError(t, err)
	_, shown, _ := strings.Cut(string(text), "```sql\n")
	shown, _, found := strings.Cut(shown, "```")
	require.True(t, found)
	dir := t.TempDir()
	run(t, t.Context(), newFixture(t).log, options(filepath.Join(dir, "tables"), export.Parquet))
	for statement := range strings.Lines(shown) {
		cmd := exec.CommandContext(t.Context(), interpreter, "-c", "import duckdb, sys; print(len(duckdb.execute(sys.argv[1]).fetchall()))", statement)
		cmd.Dir = dir
		out, err := cmd.CombinedOutput()
		require.NoError(t, err, "%s%s", statement, out)
		require.NotEqual(t, "0", strings.TrimSpace(string(out)), statement)
	}
	const call = `pandas.read_parquet("tables/matches")`
	require.Contains(t, string(text), call)
	cmd := exec.CommandContext(t.Context(), interpreter, "-c", "import pandas; print(len("+call+"))")
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
	require.NotEqual(t, "0", strings.TrimSpace(string(out)))
}
