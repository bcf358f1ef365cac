package main

import (
	"net/http"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// Two arenas on one log have secrets files of their own. A rotation by one of them
// reaches the other, which then plays.
func TestSeedKeyReachesAnotherArena(t *testing.T) {
	t.Parallel()
	node := newNodeProcess(t)
	first := newTestArena(t, "--eventstore", node.connection())
	first.start()
	secrets, err := os.ReadFile(filepath.Join(first.data, "secrets.json"))
	require.NoError(t, err)
	second := newTestArena(t, "--eventstore", node.connection())
	path := filepath.Join(second.data, "secrets.json")
	require.NoError(t, os.WriteFile(path, secrets, 0o600))

	first.arena.awaitLog(0, "this process seats tables") // other processes refuse the order
	first.admin("rotate-seed-key", "--reason", "a test")
	first.stop()
	second.start()
	rotated, err := os.ReadFile(filepath.Join(first.data, "secrets.json"))
	require.NoError(t, err)
	require.NotEqual(t, string(secrets), string(rotated))
	received, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, string(rotated), string(received))
	eventually(t, "the other arena is ready", func() bool {
		status, _ := fetch(t, "http://"+second.arena.admin()+"/ready")
		return status == http.StatusOK
	})
	second.stop()
}
