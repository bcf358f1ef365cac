package docs_test

import (
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// The map in CONTRIBUTING.md lists each package of the module exactly once.
func TestMapListsEveryPackage(t *testing.T) {
	packages := map[string]bool{}
	err := filepath.WalkDir("..", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && (strings.HasPrefix(d.Name(), ".") && d.Name() != ".." || d.Name() == "testdata") {
			return filepath.SkipDir
		}
		if path.Ext(name) == ".go" {
			dir, err := filepath.Rel("..", filepath.Dir(name))
			packages[filepath.ToSlash(dir)] = true
			return err
		}
		return nil
	})
	require.NoError(t, err)
	maps.DeleteFunc(packages, func(name string, _ bool) bool { return strings.HasPrefix(name, "docs/") }) // examples
	onPage := firsts("(?m)^\\| `([a-z/]+)` \\|", section(t, read(t, "CONTRIBUTING.md"), "## The packages"))
	require.Equal(t, slices.Sorted(maps.Keys(packages)), slices.Sorted(slices.Values(onPage)), "update the map in docs/CONTRIBUTING.md")
}

// CONTRIBUTING.md and architecture.md name files that exist.
func TestNamedFilesExist(t *testing.T) {
	named := 0
	for _, page := range []string{"CONTRIBUTING.md", "architecture.md"} {
		for _, file := range firsts("`((?:adapters|cmd|docs|domain|eventstore|projections)/[A-Za-z0-9_./-]*\\.[a-z]+)`", read(t, page)) {
			_, err := os.Stat(filepath.Join("..", filepath.FromSlash(file)))
			require.NoError(t, err, "%s names %s", page, file)
			named++
		}
	}
	require.NotZero(t, named)
}
