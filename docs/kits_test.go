package docs_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// kits lists the kits: the language in quickstart.md, and the command that runs the tests.
var kits = []struct {
	language string
	test     []string
}{
	{"Python", []string{"python3", "-m", "unittest"}},
	{"TypeScript", []string{"node", "--import", "tsx", "--test", "kit.test.ts"}},
}

// The tests of each kit pass in the repository and in a copy. They compare the kit's legal
// moves with the file that the engine wrote.
func TestTheTestsOfTheKitsPass(t *testing.T) {
	for _, kit := range kits {
		t.Run(kit.language, func(t *testing.T) {
			dir, _ := copiedKit(t, kit.language)
			test := exec.CommandContext(t.Context(), kit.test[0], kit.test[1:]...)
			test.Dir = filepath.Join(dir, "my-bot")
			said, err := test.CombinedOutput()
			require.NoError(t, err, string(said))
			require.NotContains(t, strings.ToLower(string(said)), "legal_moves.jsonl.gz is neither", "it skipped tests")
		})
	}
}

// The commands of the quick start run the sample bot of each kit. The arena rejects none
// of its answers.
func TestTheKitsPlay(t *testing.T) {
	for _, kit := range kits {
		t.Run(kit.language, func(t *testing.T) {
			running := startBot(t, kitBot(t, kit.language))
			running.dir = filepath.Join(running.dir, "my-bot")
			require.Equal(t, "win", plays(t, running, 3+len(kit.language)%2))
		})
	}
}

// kitBot returns the sample bot of a kit, as the quick start runs it. It listens on a free
// port.
func kitBot(t *testing.T, language string) *exec.Cmd {
	t.Helper()
	dir, command := copiedKit(t, language)
	program := strings.NewReplacer("&& ", "&& exec ", "{port}", "0").Replace(command)
	bot := exec.CommandContext(t.Context(), "sh", "-c", program)
	bot.Dir = dir
	return bot
}

// copiedKit copies a kit with the commands of quickstart.md. It returns the folder in which
// the commands ran, and the command after "cmd:".
func copiedKit(t *testing.T, language string) (dir, command string) {
	t.Helper()
	dir = t.TempDir()
	docs, err := filepath.Abs(".")
	require.NoError(t, err)
	require.NoError(t, os.Symlink(docs, filepath.Join(dir, "docs")))
	if _, err := exec.LookPath("python3"); language == "Python" && err != nil {
		require.Empty(t, os.Getenv("CI"), "CI installs python3: make deps")
		t.Skip("needs python3: run make deps")
	}
	var modules string
	if language == "TypeScript" {
		_, modules = npmModules(t)
	}
	commands := firsts("(?s)\\*\\*"+language+"\\.\\*\\*[^`]*```sh\n(.*?)```", section(t, read(t, "quickstart.md"), "## Start with a kit"))
	require.Len(t, commands, 1)
	for line := range strings.Lines(commands[0]) {
		switch {
		case strings.HasPrefix(line, "npm install"):
			installed := filepath.Join(dir, "my-bot", "node_modules")
			require.NoError(t, os.RemoveAll(installed)) // someone may have installed modules in docs/kits
			require.NoError(t, os.Symlink(modules, installed))
		case strings.HasPrefix(line, "bin/arena play"):
			bots := firsts("'cmd:(.*?)'", line)
			require.Len(t, bots, 1)
			command = bots[0]
		default:
			run := exec.CommandContext(t.Context(), "sh", "-c", line)
			run.Dir = dir
			said, err := run.CombinedOutput()
			require.NoError(t, err, string(said))
		}
	}
	require.NotEmpty(t, command)
	return dir, command
}
