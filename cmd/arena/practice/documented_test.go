package practice

import (
	"crypto/ed25519"
	"encoding/base64"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"hexarena/docs"
)

func guide(t *testing.T) string {
	t.Helper()
	page, err := docs.Pages.ReadFile("practice.md")
	require.NoError(t, err)
	return string(page)
}

// The guide tells the key that signs local matches.
func TestTheGuideTellsTheKey(t *testing.T) {
	require.Contains(t, guide(t), base64.StdEncoding.EncodeToString(platformKey.Public().(ed25519.PublicKey)))
}

// The guide's Python reads the files of a series.
func TestTheGuidesPythonReadsTheFiles(t *testing.T) {
	python := pythonWith(t, "duckdb", "pandas")
	dir := t.TempDir()
	_, err := call(t.Context(), "house:greedy", "house:random", "house:random", "-n", "6", "--seed", "x", "--out", filepath.Join(dir, "results"))
	require.NoError(t, err)
	code := regexp.MustCompile("(?s)```python\n(.*?)```").FindStringSubmatch(guide(t))
	require.NotNil(t, code)
	cmd := exec.CommandContext(t.Context(), python, "-c", code[1])
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, string(out))
	require.Regexp(t, `(?m)^0 +\d\.\d+$`, string(out))
	require.Regexp(t, `greedy +│ +6 │`, string(out))
}

// pythonWith returns the Python that make deps installs. If it lacks one of the packages,
// the test is skipped.
func pythonWith(t *testing.T, packages ...string) string {
	t.Helper()
	cache, err := os.UserCacheDir()
	require.NoError(t, err)
	python := filepath.Join(cache, "hexarena", "python", "bin", "python")
	list := strings.Join(packages, ", ")
	if err := exec.CommandContext(t.Context(), python, "-c", "import "+list).Run(); err != nil {
		t.Skip("needs the packages " + list + " of PyPI: run make deps")
	}
	return python
}
