package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// patience limits every wait of a test. The limit is long because a busy machine is
// slow.
const patience = 120 * time.Second

// process is a running arena.
type process struct {
	t        testing.TB
	cmd      *exec.Cmd
	out, err transcript
	exited   chan struct{} // closed once cmd.Wait has returned
}

// processOptions holds the working folder, the environment and the limits of a
// process.
type processOptions struct {
	dir   string
	env   []string // added to the result of environment
	files int      // maximum number of open files and sockets; 0: the same as for this process
}

// launch starts `arena` with the given arguments. When the test ends, it ends the
// process, and the test fails if the process has reported a race or a panic.
func launch(t testing.TB, args ...string) *process {
	t.Helper()
	return launchIn(t, processOptions{}, args...)
}

func launchIn(t testing.TB, at processOptions, args ...string) *process {
	t.Helper()
	self, err := os.Executable()
	require.NoError(t, err)
	if at.files > 0 {
		args = append([]string{"-c", fmt.Sprintf(`ulimit -n %d && exec "$0" "$@"`, at.files), self}, args...)
		self = "sh"
	}
	p := &process{t: t, cmd: exec.Command(self, args...), exited: make(chan struct{})}
	p.cmd.Dir, p.cmd.Env = at.dir, append(append(environment(), at.env...), asArena+"=watched")
	p.cmd.Stdout, p.cmd.Stderr = &p.out, &p.err
	p.cmd.WaitDelay = 5 * time.Second
	_, err = p.cmd.StdinPipe() // open until Wait returns
	require.NoError(t, err)
	require.NoError(t, p.cmd.Start())
	go func() {
		_ = p.cmd.Wait() // cmd.ProcessState contains the result
		close(p.exited)
	}()
	t.Cleanup(p.judge)
	return p
}

// environment returns this process's environment without arena settings. It makes the
// operators' endpoints of each node use a free port.
func environment() []string {
	env := []string{"ARENA_ADMIN_LISTEN=127.0.0.1:0"}
	for _, e := range os.Environ() {
		if !strings.HasPrefix(e, "ARENA_") {
			env = append(env, e)
		}
	}
	return env
}

// judge ends the process and checks that its error output reports no race or panic.
func (p *process) judge() {
	p.kill()
	said := p.err.String()
	for _, sign := range []string{"DATA RACE", "panic:", "fatal error:"} {
		if strings.Contains(said, sign) {
			p.t.Errorf("arena: %s", said)
			return
		}
	}
	if p.t.Failed() {
		p.t.Logf("arena %s: %s%s", strings.Join(p.cmd.Args[1:], " "), p.out.String(), last(said, 4000))
	}
}

func last(s string, n int) string { return s[max(0, len(s)-n):] }

func (p *process) signal(s syscall.Signal) { _ = p.cmd.Process.Signal(s) }

// kill sends SIGKILL and waits until the process has ended.
func (p *process) kill() {
	p.signal(syscall.SIGKILL)
	<-p.exited
}

// end sends a signal that requests a graceful shutdown. It waits until the process
// has ended, and requires exit status 0.
func (p *process) end(s syscall.Signal) {
	p.t.Helper()
	p.signal(s)
	p.awaitExit()
	require.Equal(p.t, 0, p.cmd.ProcessState.ExitCode(), "exit status; it printed: %s", last(p.err.String(), 2000))
}

// killAfter kills the process in the background, after a delay. If the delay is 0, it
// kills the process immediately.
func (p *process) killAfter(d time.Duration) {
	if d == 0 {
		p.signal(syscall.SIGKILL)
		return
	}
	time.AfterFunc(d, func() { p.signal(syscall.SIGKILL) })
}

func (p *process) awaitExit() {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.t.Context(), patience)
	defer cancel()
	select {
	case <-p.exited:
	case <-ctx.Done():
		require.FailNow(p.t, "the process does not stop")
	}
}

// await waits until the output of the process matches a pattern. It returns the
// match and its groups.
func (p *process) await(pattern string) []string {
	p.t.Helper()
	return p.awaitIn(&p.out, 0, pattern)
}

// awaitLog waits until the log of the process matches a pattern. It ignores the first
// bytes of the log, up to the offset in the parameter from.
func (p *process) awaitLog(from int, pattern string) {
	p.t.Helper()
	p.awaitIn(&p.err, from, pattern)
}

func (p *process) awaitIn(t *transcript, from int, pattern string) []string {
	p.t.Helper()
	find := regexp.MustCompile(pattern)
	ctx, cancel := context.WithTimeout(p.t.Context(), patience)
	defer cancel()
	for {
		text, grown := t.read()
		if found := find.FindStringSubmatch(text[from:]); found != nil {
			return found
		}
		select {
		case <-grown:
		case <-p.exited:
			if found := find.FindStringSubmatch(t.String()[from:]); found != nil {
				return found // the process printed it after the check above and before it exited
			}
			require.FailNow(p.t, "the process ended", "it printed: %s", last(p.err.String(), 2000))
		case <-ctx.Done():
			require.FailNow(p.t, "the process does not print "+pattern, "it printed: %s", text)
		}
	}
}

// transcript stores all output of a process, and signals new output.
type transcript struct {
	mu    sync.Mutex
	text  bytes.Buffer
	grown chan struct{}
}

func (t *transcript) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.grown != nil {
		close(t.grown)
		t.grown = nil
	}
	return t.text.Write(p)
}

func (t *transcript) read() (text string, grown <-chan struct{}) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.grown == nil {
		t.grown = make(chan struct{})
	}
	return t.text.String(), t.grown
}

func (t *transcript) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.text.String()
}

// The function eventually() polls until a condition is true. It pauses between polls,
// because the arena limits reads of matches to 120 a minute.
func eventually(t testing.TB, what string, holds func() bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	ticker := time.NewTicker(600 * time.Millisecond)
	defer ticker.Stop()
	for !holds() {
		select {
		case <-ticker.C:
		case <-ctx.Done():
			require.FailNow(t, "never: "+what)
		}
	}
}
