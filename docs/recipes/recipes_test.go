// Package recipes_test runs the recipes of this folder against a read-only node, as
// an analyst would.
package recipes_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"hexarena/eventstore"
	"hexarena/eventstore/esdb"
	"hexarena/eventstore/node"
)

// serve returns the arguments of a recipe: the connection string of a read-only node,
// and the name of a stream with ten events. The node contains other streams too.
func serve(t *testing.T) (arguments []string) {
	t.Helper()
	n, err := node.Open(node.Options{Dir: t.TempDir(), Logger: slog.New(slog.DiscardHandler)})
	require.NoError(t, err)
	served := make(chan error, 2)
	address := func(serve func(net.Listener) error) string {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		require.NoError(t, err)
		go func() { served <- serve(l) }()
		return "esdb://" + l.Addr().String() + "?tls=false"
	}
	feed, public := address(n.Serve), address(n.ServeReadOnly)
	t.Cleanup(func() {
		require.NoError(t, n.Close())
		require.NoError(t, errors.Join(<-served, <-served))
	})
	stream := "match-" + uuid.NewString()
	appendTen(t, feed, "match-"+uuid.NewString(), stream, "ladder-standard")
	return []string{public, stream}
}

// appendTen appends ten events to each stream.
func appendTen(t *testing.T, address string, streams ...string) {
	t.Helper()
	log, err := esdb.Open(address, slog.New(slog.DiscardHandler))
	require.NoError(t, err)
	defer func() { require.NoError(t, log.Close()) }()
	for _, stream := range streams {
		var events []eventstore.Event
		for n := range 10 {
			events = append(events, eventstore.Event{ID: uuid.New(), Type: "DiceRolled", Data: fmt.Appendf(nil, `{"n":%d}`, n)})
		}
		_, err = log.Append(t.Context(), eventstore.StreamID(stream), eventstore.NoStream, events...)
		require.NoError(t, err)
	}
}

// The function cached() returns a path in the folder that `make deps` and `make
// clients` fill.
func cached(t *testing.T, path ...string) string {
	t.Helper()
	cache, err := os.UserCacheDir()
	require.NoError(t, err)
	return filepath.Join(append([]string{cache, "hexarena"}, path...)...)
}

// require10 runs a recipe. It requires that the recipe counts the ten events of its
// stream in each of the given ways.
func require10(t *testing.T, patience time.Duration, env []string, dir, name string, args []string, ways ...string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir, cmd.Env, cmd.WaitDelay = dir, append(os.Environ(), env...), time.Minute
	out, err := cmd.Output()
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
		require.NoError(t, err, string(exit.Stderr))
	}
	require.NoError(t, err)
	want, got := map[string]int{}, map[string]int{}
	for _, way := range ways {
		want[way] = 10
	}
	said := regexp.MustCompile(`\{.*\}`).Find(out) // Maven adds codes that reset the terminal's colors
	require.NoError(t, json.Unmarshal(said, &got), string(out))
	require.Equal(t, want, got)
}

// "defaults" means that a client reads $all with its own filter for system events.
var everyWay = []string{"read", "category", "subscribed", "defaults", "shared"}

func TestGo(t *testing.T) {
	require10(t, 5*time.Minute, nil, "", "go", append([]string{"run", "-tags", "recipe", "./go"}, serve(t)...), everyWay...)
}

func TestNodeJS(t *testing.T) {
	modules := cached(t, "npm", "node_modules")
	if _, err := exec.LookPath("node"); err != nil {
		t.Skip("needs node: run make deps")
	}
	makefile, err := os.ReadFile(filepath.Join("..", "..", "Makefile"))
	require.NoError(t, err)
	want := regexp.MustCompile(`(?m)^NPM_MODULES := (.*)$`).FindSubmatch(makefile)
	require.NotNil(t, want)
	// make deps writes this list after it has installed all modules.
	if installed, _ := os.ReadFile(cached(t, "npm", "modules")); !bytes.Equal(bytes.TrimSpace(installed), want[1]) {
		t.Skip("needs @eventstore/db-client of npm: run make deps")
	}
	require10(t, 5*time.Minute, []string{"NODE_MODULES=" + modules}, "", "node", append([]string{"client.mjs"}, serve(t)...), everyWay...)
}

func TestPython(t *testing.T) {
	python := cached(t, "python", "bin", "python")
	if out, err := exec.CommandContext(t.Context(), python, "-c", "import esdbclient").CombinedOutput(); err != nil {
		t.Skipf("needs esdbclient of PyPI: run make deps (%v %s)", err, out)
	}
	require10(t, 5*time.Minute, nil, "", python, append([]string{"client.py"}, serve(t)...), everyWay...)
}

// requireClients skips a test that takes minutes to build a client, unless
// ARENA_CLIENTS is set.
func requireClients(t *testing.T, tool, install string) {
	t.Helper()
	if os.Getenv("ARENA_CLIENTS") == "" {
		t.Skip("takes minutes to build a client: run make clients")
	}
	if _, err := exec.LookPath(tool); err != nil {
		t.Skipf("needs %s: %s", tool, install)
	}
}

func TestJava(t *testing.T) {
	requireClients(t, "mvn", "on Debian, apt-get install maven")
	require10(t, 10*time.Minute, nil, "java", "mvn", []string{
		"-q", "-B", "-Dmaven.repo.local=" + cached(t, "maven"), "-Dfolder=" + cached(t, "java"), "compile", "exec:java", "-Dexec.args=" + strings.Join(serve(t), " "),
	}, "read", "subscribed", "shared")
}

func TestRust(t *testing.T) {
	requireClients(t, "cargo", "rustup installs it")
	require10(t, 15*time.Minute, []string{"CARGO_HOME=" + cached(t, "cargo"), "CARGO_TARGET_DIR=" + cached(t, "cargo-target")}, "rust", "cargo",
		append([]string{"run", "-q", "--locked", "--"}, serve(t)...), "read", "subscribed", "shared")
}
