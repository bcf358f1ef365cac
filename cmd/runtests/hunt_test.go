package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestAHuntContinuesAfterItsFinishedRounds(t *testing.T) {
	file := filepath.Join(t.TempDir(), "results")
	rounds, err := resumed(file, "busy")
	require.NoError(t, err)
	require.Empty(t, rounds)

	want := []finished{
		{Round: 0, Load: "busy", Result: "round 1 of 3 (plain)", Failures: []string{"go test ./a"}},
		{Round: 1, Load: "busy", Result: "round 2 of 3 (race)"},
	}
	for _, f := range want {
		require.NoError(t, f.save(file))
	}
	whole, err := os.ReadFile(file)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(file, append(whole, `{"round":2,"lo`...), 0o600)) // interrupted while it was written
	for range 2 {
		rounds, err = resumed(file, "busy")
		require.NoError(t, err)
		require.Equal(t, want, rounds)
		left, err := os.ReadFile(file)
		require.NoError(t, err)
		require.Equal(t, string(whole), string(left))
	}

	_, err = resumed(file, "none")
	require.ErrorContains(t, err, "line 1 has round 0 with -load busy; choose another file")
	require.NoError(t, os.WriteFile(file, []byte("x\n"), 0o600))
	_, err = resumed(file, "busy")
	require.ErrorContains(t, err, "line 1: ")
}
