package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// jumpsAfter is an environment variable for a process that was built with the code in
// the constant jumping. Its value is the delay, in milliseconds, after which the time
// of day begins to jump.
const jumpsAfter = "HEXARENA_TEST_CLOCK_JUMPS_AFTER"

// jumping is code that the test adds to the time package. The process's time of day
// is correct until the delay in jumpsAfter has passed. For the next half minute, it
// is wrong by an hour or a day, and the error changes every 0.7 s. The monotonic
// clock stays correct.
const jumping = `package time

import (
	"sync"
	"syscall"
)

var jumpsAfter = sync.OnceValue(func() (ns int64) {
	text, _ := syscall.Getenv("` + jumpsAfter + `")
	for _, c := range text {
		ns = ns*10 + int64(c-'0')*1e6
	}
	return ns
})

func jump(mono int64) (seconds int64) {
	age := mono - startNano - jumpsAfter()
	if jumpsAfter() == 0 || age < 0 || age > 30e9 {
		return 0
	}
	return [...]int64{3600, -3600, 86400, -86400, 0}[age/700e6%5]
}
`

// The arena's time of day jumps by an hour and by a day while matches are played.
// TestSoakClockJumps builds and runs this test.
func TestClockJumpsCauseNoStrikes(t *testing.T) {
	if os.Getenv(jumpsAfter) == "" {
		t.Skip("takes minutes: run make soak (TestSoakClockJumps runs it)")
	}
	f := &eventTrigger{}
	s := newTestArena(t, "--tick", "250ms", "--rest-standard", "0s", "--decision-standard", "2s")
	s.start()
	began := time.Now()
	s.join(goodPlayers(t, 8, f)...)
	for time.Since(began) < 50*time.Second { // until the jumps are over, because owners cannot sign during them
		back := f.next()
		timer := time.NewTimer(time.Second)
		select {
		case <-back:
		case <-timer.C:
		}
		pause(100 * time.Millisecond)
	}
	c := s.settle()
	compared, _ := c.audit(t, s.players)
	t.Logf("half a minute of jumps of ±1 h and ±1 day, every 0.7 s, with 2 s a decision: %d matches rated, %d public events equal to those of runs without a jump, no strike",
		len(c.order), compared)
	require.NotEmpty(t, c.order)
}

// TestSoakClockJumps builds this package with a time package whose clock jumps. It
// then runs TestClockJumpsCauseNoStrikes.
func TestSoakClockJumps(t *testing.T) {
	if os.Getenv("ARENA_SOAK") == "" {
		t.Skip("takes minutes: run make soak")
	}
	dir := t.TempDir()
	binary := filepath.Join(dir, "jumps.test")
	build := exec.Command("go", "test", "-c", "-overlay", overlay(t, dir), "-o", binary, ".")
	out, err := build.CombinedOutput()
	require.NoError(t, err, "%s", out)
	run := exec.Command(binary, "-test.run", "^TestClockJumpsCauseNoStrikes$", "-test.v")
	run.Env = append(os.Environ(), jumpsAfter+"=15000")
	out, err = run.CombinedOutput()
	t.Logf("%s", out)
	require.NoError(t, err)
	require.Contains(t, string(out), "--- PASS: TestClockJumpsCauseNoStrikes")
}

// overlay makes time.Now use the code in the constant jumping. It returns the path of
// the overlay file for the go command.
func overlay(t *testing.T, dir string) string {
	t.Helper()
	root, err := exec.Command("go", "env", "GOROOT").Output()
	require.NoError(t, err)
	std := filepath.Join(strings.TrimSpace(string(root)), "src", "time")
	source, err := os.ReadFile(filepath.Join(std, "time.go"))
	require.NoError(t, err)
	const now = "func Now() Time {\n\tsec, nsec, mono := runtimeNow()\n"
	require.Equal(t, 1, strings.Count(string(source), now), "time.Now has changed")
	patched := strings.Replace(string(source), now, now+"\tsec += jump(mono)\n", 1)
	files := map[string]string{"time.go": patched, "jump.go": jumping}
	replace := map[string]string{}
	for name, text := range files {
		path := filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		replace[filepath.Join(std, name)] = path
	}
	told, err := json.Marshal(map[string]any{"Replace": replace})
	require.NoError(t, err)
	path := filepath.Join(dir, "overlay.json")
	require.NoError(t, os.WriteFile(path, told, 0o600))
	return path
}
