package export_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"hexarena/adapters/export"
	"hexarena/domain/stats"
	"hexarena/projections/frames"
)

// luck is one line of what the recipe luck_duckdb.py prints.
type luck struct {
	MatchID    string `json:"match_id"`
	Seat       int    `json:"seat"`
	Received   int    `json:"received"`
	Expected36 int    `json:"expected36"`
	Luck36     int    `json:"luck36"`
}

// An SQL query over the exported events gives the same luck index as the arena.
func TestLuckIndexIsTheSameInSQL(t *testing.T) {
	interpreter := python(t)
	w := newFixture(t)
	var want []luck
	for _, g := range w.games {
		h, err := frames.Read(t.Context(), w.log, g.MatchID)
		require.NoError(t, err)
		for _, s := range stats.Of(h.Started, h.Events).Seats {
			want = append(want, luck{g.MatchID, s.Seat, s.Received.Sum(), s.Expected36.Sum(), s.Luck36})
		}
	}
	slices.SortStableFunc(want, func(a, b luck) int { return strings.Compare(a.MatchID, b.MatchID) })
	for _, format := range export.Formats {
		dir := t.TempDir()
		run(t, t.Context(), w.log, options(dir, format))
		cmd := exec.CommandContext(t.Context(), interpreter, filepath.Join("..", "..", "docs", "recipes", "luck_duckdb.py"), dir)
		cmd.Stderr = os.Stderr
		out, err := cmd.Output()
		require.NoError(t, err)
		var got []luck
		require.NoError(t, json.Unmarshal(out, &got), "%s", out)
		require.Equal(t, want, got, "from the events, %s", format)
		if format == export.JSONL {
			require.Equal(t, want, exportedLuck(t, dir), "in the columns of seats")
		}
	}
}

// exportedLuck reads the luck index from the columns of the table seats.
func exportedLuck(t *testing.T, dir string) (list []luck) {
	files, err := filepath.Glob(filepath.Join(dir, "seats", "*.jsonl"))
	require.NoError(t, err)
	for _, file := range files {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		for line := range strings.Lines(string(text)) {
			var s export.Seat
			require.NoError(t, json.Unmarshal([]byte(line), &s))
			list = append(list, luck{s.MatchID, int(s.Seat), int(*s.Received), int(*s.Expected36), int(36**s.Received - *s.Expected36)})
		}
	}
	slices.SortStableFunc(list, func(a, b luck) int { return strings.Compare(a.MatchID, b.MatchID) })
	return list
}
