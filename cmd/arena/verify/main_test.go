package verify

import (
	"fmt"
	"os"
	"testing"
)

// TestMain gives the tests their own configuration folder. The tests run in parallel
// and share this folder. This is safe, because their arenas have different platform
// keys or they use --no-remember.
func TestMain(m *testing.M) {
	folder, err := os.MkdirTemp("", "arena-verify-*")
	if err == nil {
		err = os.Setenv("XDG_CONFIG_HOME", folder)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	status := m.Run()
	_ = os.RemoveAll(folder) // a leftover folder does no harm
	os.Exit(status)
}
