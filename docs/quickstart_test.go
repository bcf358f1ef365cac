package docs_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"hexarena/eventstore/logtest"
)

// block returns the only fenced block of a language in quickstart.md.
func block(t *testing.T, language string) string {
	t.Helper()
	blocks := firsts("(?s)```"+language+"\n(.*?)\n```", read(t, "quickstart.md"))
	require.Len(t, blocks, 1)
	return blocks[0] + "\n"
}

// The Python bot is the file that bot_test.go tests.
func TestTheQuickStartsPythonIsTheExampleBot(t *testing.T) {
	logtest.RequireSameText(t, read(t, "example_bot.py"), block(t, "python"))
}

func TestTheQuickStartsGoPlays(t *testing.T) { playsWell(t, goBot(t)) }

func TestTheQuickStartsTypeScriptPlays(t *testing.T) { playsWell(t, typeScriptBot(t)) }

// goBot builds the bot in Go. It listens on a free port.
func goBot(t *testing.T) *exec.Cmd {
	t.Helper()
	dir := t.TempDir()
	source, program := filepath.Join(dir, "main.go"), filepath.Join(dir, "bot")
	require.NoError(t, os.WriteFile(source, []byte(block(t, "go")), 0o600))
	formatted, err := exec.CommandContext(t.Context(), "gofmt", "-l", source).CombinedOutput()
	require.NoError(t, err)
	require.Empty(t, string(formatted), "it is not formatted")
	said, err := exec.CommandContext(t.Context(), "go", "build", "-o", program, source).CombinedOutput()
	require.NoError(t, err, string(said))
	bot := exec.CommandContext(t.Context(), program, "0")
	bot.Dir = dir
	return bot
}

// npmModules returns node, and the folder of the npm modules that make deps installs.
func npmModules(t *testing.T) (node, modules string) {
	t.Helper()
	node, err := exec.LookPath("node")
	cache, cacheErr := os.UserCacheDir()
	require.NoError(t, cacheErr)
	modules = filepath.Join(cache, "hexarena", "npm", "node_modules")
	// make deps writes this list after it has installed all modules.
	want := firsts(`(?m)^NPM_MODULES := (.*)$`, read(t, "..", "Makefile"))
	installed, _ := os.ReadFile(filepath.Join(filepath.Dir(modules), "modules"))
	if require.Len(t, want, 1); err != nil || strings.TrimSpace(string(installed)) != want[0] {
		require.Empty(t, os.Getenv("CI"), "CI installs node and npm's tsx and ws: make deps")
		t.Skip("needs node, and tsx and ws of npm: run make deps")
	}
	return node, modules
}

// typeScriptBot writes the bot in TypeScript to a file. It listens on a free port.
func typeScriptBot(t *testing.T) *exec.Cmd {
	t.Helper()
	node, modules := npmModules(t)
	dir := t.TempDir()
	require.NoError(t, os.Symlink(modules, filepath.Join(dir, "node_modules")))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "package.json"), []byte(`{"type":"module"}`), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "bot.ts"), []byte(block(t, "ts")), 0o600))
	bot := exec.CommandContext(t.Context(), node, "--import", "tsx", "bot.ts", "0")
	bot.Dir = dir
	return bot
}

// playsWell starts a bot and lets it play.
func playsWell(t *testing.T, bot *exec.Cmd) {
	t.Helper()
	running := startBot(t, bot)
	for seats := 3; seats <= 4; seats++ {
		require.NotEmpty(t, plays(t, running, seats))
	}
}
