package docs_test

import (
	"encoding/json"
	"maps"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// The table in audit.md lists every flag of `arena verify`.
func TestEveryFlagOfVerifyIsListed(t *testing.T) {
	inCode := flagsOf(t, filepath.Join("..", "cmd", "arena", "verify", "verify.go"), "Cmd")
	delete(inCode, "what") // the argument that names the match
	onPage := firsts("(?m)^\\| `--([a-z-]+)[ `]", section(t, read(t, "audit.md"), "## Checking with the program"))
	require.Len(t, onPage, len(inCode))
	for name := range inCode {
		require.Contains(t, onPage, name)
	}
}

// audit.md names the lists that vectors.json holds.
func TestEveryListOfVectorsIsNamed(t *testing.T) {
	lists := firsts("(?m)^\\| `([a-zA-Z]+)` \\|", section(t, read(t, "audit.md"), "## Vectors"))
	var inFile map[string][]any
	require.NoError(t, json.Unmarshal([]byte(read(t, "audit", "vectors.json")), &inFile))
	require.ElementsMatch(t, slices.Collect(maps.Keys(inFile)), lists)
}
