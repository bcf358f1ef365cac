package logtest

import (
	"flag"
	"os"
	"testing"

	"github.com/stretchr/testify/require"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// Updating reports whether the flag -update is set. It makes tests rewrite their
// golden files.
func Updating() bool { return *update }

// RequireGolden fails the test if a text differs from the contents of a golden
// file. With the flag -update, it first writes the text to the file. Review the
// diff of the file afterwards.
func RequireGolden(t testing.TB, path string, got []byte) {
	t.Helper()
	if *update {
		require.NoError(t, os.WriteFile(path, got, 0o644))
	}
	want, err := os.ReadFile(path)
	require.NoError(t, err)
	RequireSameText(t, string(want), string(got))
}
