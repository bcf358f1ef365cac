package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// The tutorial's script and README.md contain the same commands in the same order.
// README.md uses a fixed port, and the script uses a free port.
func TestTutorialHasTheCommandsOfREADME(t *testing.T) {
	t.Parallel()
	root := filepath.Join("..", "..")
	readme, err := os.ReadFile(filepath.Join(root, "README.md"))
	require.NoError(t, err)
	script, err := os.ReadFile(filepath.Join("testdata", "script", "tutorial.txtar"))
	require.NoError(t, err)
	told := toldBy(t, string(readme))
	require.Greater(t, len(told), 8)
	require.Equal(t, told, calledBy(string(script)))

	makefile, err := os.ReadFile(filepath.Join(root, "Makefile"))
	require.NoError(t, err)
	require.Regexp(t, `(?m)^run: build .*\n\t@\./bin/arena demo$`, string(makefile), "make run is arena demo")
}

// toldBy returns the commands in the fenced blocks of the section "Enter a bot" in
// README.md, except those that set variables.
func toldBy(t *testing.T, readme string) (commands []string) {
	t.Helper()
	_, section, found := strings.Cut(readme, "\n## Enter a bot\n")
	require.True(t, found)
	section, _, _ = strings.Cut(section, "\n## ")
	for _, block := range regexp.MustCompile("(?s)```sh\n(.*?)```").FindAllStringSubmatch(section, -1) {
		for line := range strings.Lines(block[1]) {
			line, _, _ = strings.Cut(line, "#")
			line = strings.ReplaceAll(strings.TrimSpace(line), `"`, "")
			if line != "" && !strings.HasPrefix(line, "export ") && !strings.HasPrefix(line, "DATA=") {
				commands = append(commands, line)
			}
		}
	}
	return commands
}

// calledBy returns the commands of the tutorial's script, as README.md writes them.
func calledBy(script string) (commands []string) {
	tutorial, _, _ := strings.Cut(script, "# These checks are not in the tutorial")
	asTold := strings.NewReplacer("$BOT", "http://127.0.0.1:9001", "127.0.0.1:0", "127.0.0.1:9001")
	for _, call := range regexp.MustCompile(`(?m)^(?:exec arena|up \S+ '[^']*') (.*)$`).FindAllStringSubmatch(tutorial, -1) {
		command := "arena " + asTold.Replace(call[1])
		if command == "arena demo" {
			command = "make run"
		}
		commands = append(commands, command)
	}
	return commands
}
