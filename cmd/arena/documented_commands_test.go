package main

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/alecthomas/kong"
	"github.com/stretchr/testify/require"

	"hexarena/docs"
)

// These expressions find commands in code spans, and in lines of shell code.
var (
	commandInText = regexp.MustCompile("`(?:\\./bin/)?arena ([^`\n]+)`")
	shellCode     = regexp.MustCompile("(?s)\n```sh\n(.*?)```")
	commandInCode = regexp.MustCompile(`(?m)^(?:\./bin/)?arena ([^#\n]+)`)
)

// The documentation names only commands and flags that exist.
func TestDocumentedCommandsExist(t *testing.T) {
	var c cli
	parser, err := kong.New(&c, kong.Name("arena"), kong.DefaultEnvars("ARENA"), kong.Vars{"version": version()})
	require.NoError(t, err)
	pages := map[string]string{}
	files, err := docs.Pages.ReadDir(".")
	require.NoError(t, err)
	for _, f := range files {
		text, err := docs.Pages.ReadFile(f.Name())
		require.NoError(t, err)
		pages[f.Name()] = string(text)
	}
	readme, err := os.ReadFile("../../README.md")
	require.NoError(t, err)
	pages["README.md"] = string(readme)
	checked := 0
	for name, text := range pages {
		commands := commandInText.FindAllStringSubmatch(text, -1)
		for _, code := range shellCode.FindAllStringSubmatch(text, -1) {
			commands = append(commands, commandInCode.FindAllStringSubmatch(code[1], -1)...)
		}
		for _, command := range commands {
			requireCommand(t, parser.Model.Node, name, strings.Fields(command[1]))
			checked++
		}
	}
	require.Greater(t, checked, 100)
}

// requireCommand requires that words are the name of a command in the tree below
// node, followed by flags of that command.
func requireCommand(t *testing.T, node *kong.Node, page string, words []string) {
	t.Helper()
	all := strings.Join(words, " ")
	for len(words) > 0 {
		i := slices.IndexFunc(node.Children, func(n *kong.Node) bool { return n.Name == words[0] || slices.Contains(n.Aliases, words[0]) })
		if i < 0 {
			break
		}
		node, words = node.Children[i], words[1:]
	}
	if len(words) > 0 && len(node.Children) > 0 && len(node.Positional) == 0 && node.DefaultCmd == nil {
		require.NotRegexp(t, "^[a-z]", words[0], "%s: arena %s: no such command", page, all)
	}
	for _, word := range words {
		flag, _, _ := strings.Cut(strings.Trim(word, "[](),;"), "=")
		if name, ok := strings.CutPrefix(flag, "--"); ok && name != "" && name != "help" {
			require.True(t, hasFlag(node, name), "%s: arena %s: no flag --%s", page, all, name)
		}
	}
}

func hasFlag(node *kong.Node, name string) bool {
	for _, group := range node.AllFlags(false) {
		if slices.ContainsFunc(group, func(f *kong.Flag) bool {
			return f.Name == name || slices.Contains(f.Aliases, name) || f.Tag.Negatable != "" && "no-"+f.Name == name
		}) {
			return true
		}
	}
	return node.DefaultCmd != nil && hasFlag(node.DefaultCmd, name)
}
