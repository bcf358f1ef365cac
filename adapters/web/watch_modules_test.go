package web_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"hexarena/domain/board"
	"hexarena/domain/match"
	"hexarena/eventstore/logtest"
	"hexarena/projections/frames"
)

// The function lists() converts one of the board's tables to lists of different
// lengths, without the padding.
func lists[T any, A interface{ ~[]T }](of A, ids func(T) []uint8) [][]int {
	all := make([][]int, len(of))
	for i, row := range of {
		all[i] = []int{}
		for _, id := range ids(row) {
			if id != board.None {
				all[i] = append(all[i], int(id))
			}
		}
	}
	return all
}

// A golden file contains the geometry of package board. TestModules compares the
// modules with the same file.
func TestModuleGeometry(t *testing.T) {
	three := func(row [3]uint8) []uint8 { return row[:] }
	two := func(row [2]uint8) []uint8 { return row[:] }
	geometry, err := json.MarshalIndent(map[string]any{
		"hexVertices":  lists(board.HexVertices[:], func(row [6]uint8) []uint8 { return row[:] }),
		"edgeVertices": lists(board.EdgeVertices[:], two),
		"vertexHexes":  lists(board.VertexHexes[:], three),
		"ports":        lists(board.Ports[:], func(p board.Port) []uint8 { return p.Vertices[:] }),
	}, "", " ")
	require.NoError(t, err)
	logtest.RequireGolden(t, filepath.Join("testdata", "watch", "geometry.json"), geometry)
}

// Node.js runs tests of the modules that need no page, on whole matches of four and
// three seats.
func TestModules(t *testing.T) {
	node, err := exec.LookPath("node")
	if err != nil {
		t.Skip("needs node: run make deps")
	}
	s := newStage(t)
	var matches []map[string]any
	for _, names := range [][]string{{"Ann", "Bea", "Cat", "Dot"}, {"Eve", "Fay", "Gus"}} {
		g := s.ended(names...)
		h, err := frames.Read(t.Context(), s.log, g.MatchID)
		require.NoError(t, err)
		b := h.Board()
		matches = append(matches, map[string]any{
			"board": map[string]any{"hexes": b.Hexes, "ports": b.Ports},
			"whole": h.OpenFrames(match.NoHands, frames.Window{}), "running": h.Frames(false, frames.Window{}),
		})
	}
	written, err := json.Marshal(matches)
	require.NoError(t, err)
	watched := filepath.Join(t.TempDir(), "watched.json")
	require.NoError(t, os.WriteFile(watched, written, 0o600))
	files, err := filepath.Glob(filepath.Join("testdata", "watch", "*.test.mjs"))
	require.NoError(t, err)
	require.NotEmpty(t, files)
	run := exec.CommandContext(t.Context(), node, append([]string{"--test", "--test-reporter=tap"}, files...)...)
	run.Env = append(os.Environ(), "WATCHED="+watched)
	output, err := run.CombinedOutput()
	require.NoError(t, err, string(output))
	require.NotContains(t, string(output), "# tests 0")
}
