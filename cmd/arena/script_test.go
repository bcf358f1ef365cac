package main

import (
	"errors"
	"net"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"hexarena/eventstore/logtest"
)

// The scripts of testdata/script call the program as a person does. In addition to
// the commands of testscript, they can use these commands:
//
//	refused STATUS PATTERN ARG...   arena ARG... prints one line to stderr and exits with STATUS
//	up NAME,... PATTERN ARG...      starts arena ARG...; each $NAME is a group of PATTERN in its output
//	down NAME                       sends SIGTERM to the process that printed $NAME, and waits until it ends
//	mode OCTAL PATH                 requires the permissions of a file
//	occupy NAME                     listens on a free port; $NAME is its address
//	closed NAME                     $NAME is an address that refuses connections until the script ends
//
// Commands that do not end are killed shortly before the deadline of the test. The
// scripts have no deadlines of their own, because these would include the time that
// a script waits for its turn.
func TestScripts(t *testing.T) {
	t.Parallel()
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/script",
		RequireExplicitExec: true,
		Setup: func(env *testscript.Env) error {
			env.Values[testKey{}] = env.T().(testing.TB)
			env.Values[processesKey{}] = map[string]*process{}
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"refused": refused, "up": up, "down": down, "occupy": occupy, "closed": closed, "mode": mode,
		},
	})
}

type (
	testKey      struct{}
	processesKey struct{}
)

func refused(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) < 2 {
		ts.Fatalf("usage: refused STATUS PATTERN ARG...")
	}
	status, err := strconv.Atoi(args[0])
	ts.Check(err)
	var exit *exec.ExitError
	if err := ts.Exec("arena", args[2:]...); !errors.As(err, &exit) || exit.ExitCode() != status {
		ts.Fatalf("want exit status %d, got %v", status, err)
	}
	said := ts.ReadFile("stderr")
	if !strings.HasPrefix(said, "arena: ") || strings.Count(said, "\n") != 1 || !strings.HasSuffix(said, "\n") {
		ts.Fatalf("want one line that begins with arena:")
	}
	if !regexp.MustCompile(args[1]).MatchString(said) {
		ts.Fatalf("want a line that matches %q", args[1])
	}
	if out := ts.ReadFile("stdout"); out != "" {
		ts.Fatalf("want nothing on stdout")
	}
}

func up(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) < 3 {
		ts.Fatalf("usage: up NAME PATTERN ARG...")
	}
	at := processOptions{dir: ts.MkAbs(".")}
	for _, name := range []string{"ARENA_LISTEN", "ARENA_ADMIN_LISTEN", "ARENA_NODE_LISTEN", "ARENA_DATA", "ARENA_EVENTSTORE", "ARENA_PLAY", "TMPDIR"} {
		if value := ts.Getenv(name); value != "" {
			at.env = append(at.env, name+"="+value)
		}
	}
	p := launchIn(ts.Value(testKey{}).(testing.TB), at, args[2:]...)
	found := p.await(args[1])
	for i, name := range strings.Split(args[0], ",") {
		ts.Value(processesKey{}).(map[string]*process)[name] = p
		ts.Setenv(name, found[1+i])
	}
}

func down(ts *testscript.TestScript, _ bool, args []string) {
	ts.Value(processesKey{}).(map[string]*process)[args[0]].end(syscall.SIGTERM)
}

func mode(ts *testscript.TestScript, _ bool, args []string) {
	want, err := strconv.ParseUint(args[0], 8, 32)
	ts.Check(err)
	info, err := os.Stat(ts.MkAbs(args[1]))
	ts.Check(err)
	if got := info.Mode().Perm(); got != os.FileMode(want) {
		ts.Fatalf("%s has the mode %o", args[1], got)
	}
}

func closed(ts *testscript.TestScript, _ bool, args []string) {
	ts.Setenv(args[0], logtest.ClosedAddress(ts.Value(testKey{}).(testing.TB)))
}

func occupy(ts *testscript.TestScript, _ bool, args []string) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	ts.Check(err)
	ts.Defer(func() { _ = l.Close() })
	ts.Setenv(args[0], l.Addr().String())
}
