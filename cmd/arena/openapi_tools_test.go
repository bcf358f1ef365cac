package main

import (
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Third-party programs read the arena's OpenAPI document. Linters with their
// recommended rules find no errors in it. Generated clients compile and make signed
// calls.
func TestOtherProgramsUseTheOpenAPIDocument(t *testing.T) {
	t.Parallel()
	s := newTestArena(t, "--tick", "1h")
	s.start()
	dir := t.TempDir()
	document := filepath.Join(dir, "openapi.json")
	require.NoError(t, os.WriteFile(document, download(t, s.base()+"/openapi.json"), 0o600))

	t.Run("Redocly", func(t *testing.T) {
		lint := tool(t, npmTool(t, "redocly"), "lint", "--extends=recommended", document)
		lint.Env = append(os.Environ(), "REDOCLY_TELEMETRY=off", "REDOCLY_SUPPRESS_UPDATE_NOTICE=true")
		runTool(t, lint)
	})
	t.Run("Spectral", func(t *testing.T) {
		rules := filepath.Join(dir, "spectral.yaml")
		require.NoError(t, os.WriteFile(rules, []byte(`extends: [["spectral:oas", recommended]]`), 0o600))
		require.Contains(t, runTool(t, tool(t, npmTool(t, "spectral"), "lint", "--ruleset", rules, "--fail-severity", "error", document)), "(0 errors")
	})
	t.Run("openapi-typescript", func(t *testing.T) {
		folder := t.TempDir()
		generate, compile, run := npmTool(t, "openapi-typescript"), npmTool(t, "tsc"), npmTool(t, "tsx")
		require.NoError(t, os.Symlink(filepath.Dir(filepath.Dir(run)), filepath.Join(folder, "node_modules")))
		require.NoError(t, os.WriteFile(filepath.Join(folder, "package.json"), []byte(`{"type":"module"}`), 0o600))
		source := filepath.Join(folder, "client.ts")
		copyFile(t, "testdata/openapi/client.ts", source)
		runTool(t, tool(t, generate, document, "--output", filepath.Join(folder, "arena.ts")))
		require.NoError(t, os.WriteFile(filepath.Join(folder, "tsconfig.json"), []byte(
			`{"compilerOptions": {"strict": true, "skipLibCheck": true, "noEmit": true, "target": "es2022", "module": "esnext", "moduleResolution": "bundler", "types": []}, "files": ["client.ts"]}`), 0o600))
		runTool(t, tool(t, compile, "--project", folder))
		s.requireRegisters(t, "typescript", tool(t, run, source))
	})
	t.Run("openapi-python-client", func(t *testing.T) {
		folder := t.TempDir()
		python := clientPython(t)
		source := filepath.Join(folder, "client.py")
		copyFile(t, "testdata/openapi/client.py", source)
		generate := tool(t, filepath.Join(filepath.Dir(python), "openapi-python-client"),
			"generate", "--path", document, "--meta", "none", "--output-path", filepath.Join(folder, "hex_arena_client"))
		generate.Env = append(os.Environ(), "PATH="+filepath.Dir(python)+":"+os.Getenv("PATH")) // the generator formats its output with ruff
		runTool(t, generate)
		runTool(t, tool(t, python, "-m", "compileall", "-q", folder))
		s.requireRegisters(t, "python", tool(t, python, source))
	})
	s.stop()
}

// requireRegisters runs a client of a new owner. It requires that the client's signed
// calls registered a bot with the given name, and listed it.
func (s *testArena) requireRegisters(t *testing.T, name string, client *exec.Cmd) {
	t.Helper()
	owner := s.owner()
	key, err := x509.MarshalPKCS8PrivateKey(owner.Key)
	require.NoError(t, err)
	bot := launch(t, "bot", "greedy", "--listen", "127.0.0.1:0").await(`(http://\S+)\n`)[1]
	client.Env = append(os.Environ(), "NODE_NO_WARNINGS=1",
		"ARENA="+s.base(), "KEY_ID="+owner.KeyID, "KEY="+base64.StdEncoding.EncodeToString(key), "BOT="+bot)
	var said struct {
		Registered string
		Listed     []string
	}
	require.NoError(t, json.Unmarshal([]byte(runTool(t, client)), &said))
	var bots struct {
		Bots []struct{ ID, Name, Mode, URL string }
	}
	require.NoError(t, owner.Call(t.Context(), http.MethodGet, "/bots", nil, &bots))
	require.Len(t, bots.Bots, 1)
	registered := bots.Bots[0]
	require.Equal(t, []string{name, "parley", bot}, []string{registered.Name, registered.Mode, registered.URL})
	require.Equal(t, registered.ID, said.Registered)
	require.Equal(t, []string{registered.ID}, said.Listed)
}

// npmTool returns the path of a program that `make deps` installed with npm.
func npmTool(t *testing.T, name string) string {
	t.Helper()
	makefile, err := os.ReadFile(filepath.Join("..", "..", "Makefile"))
	require.NoError(t, err)
	want := regexp.MustCompile(`(?m)^NPM_MODULES := (.*)$`).FindSubmatch(makefile)
	require.NotNil(t, want)
	cache, err := os.UserCacheDir()
	require.NoError(t, err)
	// make deps writes this list after it has installed all modules.
	installed, _ := os.ReadFile(filepath.Join(cache, "hexarena", "npm", "modules"))
	if _, err := exec.LookPath("node"); err != nil || strings.TrimSpace(string(installed)) != string(want[1]) {
		require.Empty(t, os.Getenv("CI"), "CI installs node and npm's "+name+": make deps")
		t.Skipf("needs node, and %s of npm: run make deps", name)
	}
	return filepath.Join(cache, "hexarena", "npm", "node_modules", ".bin", name)
}

// clientPython returns the Python interpreter into which `make deps` installs packages.
func clientPython(t *testing.T) string {
	t.Helper()
	cache, err := os.UserCacheDir()
	require.NoError(t, err)
	python := filepath.Join(cache, "hexarena", "python", "bin", "python")
	if out, err := exec.CommandContext(t.Context(), python, "-c", "import cryptography, openapi_python_client").CombinedOutput(); err != nil { //nolint:gosec // a file in the user's cache
		require.Empty(t, os.Getenv("CI"), "CI installs openapi-python-client of PyPI: make deps")
		t.Skipf("needs cryptography and openapi-python-client of PyPI: run make deps (%v %s)", err, out)
	}
	return python
}

func tool(t *testing.T, name string, arguments ...string) *exec.Cmd {
	return exec.CommandContext(t.Context(), name, arguments...)
}

// runTool requires that a program succeeds, and returns its standard output.
func runTool(t *testing.T, cmd *exec.Cmd) string {
	t.Helper()
	var errOut strings.Builder
	cmd.Stderr = &errOut
	out, err := cmd.Output()
	require.NoError(t, err, "%s\n%s%s", cmd, out, &errOut)
	return string(out)
}

func download(t *testing.T, address string) []byte {
	t.Helper()
	answer, err := http.Get(address)
	require.NoError(t, err)
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	require.NoError(t, err)
	require.Equal(t, http.StatusOK, answer.StatusCode, string(body))
	return body
}
