package main

import (
	"bufio"
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"hexarena/cmd/arena/simulate"
)

// Each history runs in a child process, because it replaces global state such as
// rand.Reader and http.DefaultTransport. A child plays many histories, one at a time.
// With one thread, a history needs the least processor time.

// These environment variables choose the histories.
const (
	simulateFrom  = "ARENA_SIMULATE_FROM"  // the first seed (default 1)
	simulateSeeds = "ARENA_SIMULATE_SEEDS" // how many seeds
	simulateJobs  = "ARENA_SIMULATE_JOBS"  // how many processes (default: one per core)
	simulateTrace = "ARENA_SIMULATE_TRACE" // a prefix of files that get whole traces
	simulateChild = "ARENA_SIMULATE_CHILD" // makes TestSimulatedHistories read its seeds from the standard input
)

// resultMark begins a line of a child that contains a result.
const resultMark = "simulated: "

// simulators is a pool of child processes that play histories.
type simulators struct {
	t    *testing.T
	free chan *simulator
}

// simulator is one child process. It starts with its first history.
type simulator struct {
	env   []string
	cmd   *exec.Cmd
	in    io.WriteCloser
	out   *bufio.Reader
	other bytes.Buffer  // lines without a result
	used  time.Duration // processor time of its earlier processes
}

// newSimulators returns a pool of n processes. They end with the test.
func newSimulators(t *testing.T, n int, env ...string) *simulators {
	p := &simulators{t: t, free: make(chan *simulator, n)}
	for range n {
		p.free <- &simulator{env: env}
	}
	t.Cleanup(func() { p.end() })
	return p
}

// end ends the processes, and returns how much processor time they needed.
func (p *simulators) end() (used time.Duration) {
	for range cap(p.free) {
		s := <-p.free
		s.end()
		used += s.used
		s.used = 0
		defer func() { p.free <- s }()
	}
	return used
}

// simulationJobs returns how many processes play histories.
func simulationJobs(t *testing.T) int {
	return int(numberOf(t, simulateJobs, uint64(runtime.NumCPU())))
}

// play plays a history. A history that ends its process is a failure.
func (p *simulators) play(seed uint64, planted simulate.Planted) result {
	s := <-p.free
	defer func() { p.free <- s }()
	r, err := s.play(seed, planted)
	if err != nil {
		s.end()
		r = result{Failures: []string{fmt.Sprintf("%v\n%s", err, s.other.String())}}
	}
	r.Seed = seed
	return r
}

func (s *simulator) play(seed uint64, planted simulate.Planted) (r result, err error) {
	if s.cmd == nil {
		if err := s.start(); err != nil {
			return r, err
		}
	}
	s.other.Reset()
	if _, err := fmt.Fprintf(s.in, "%d %s\n", seed, planted); err != nil {
		return r, err
	}
	for {
		line, err := s.out.ReadString('\n')
		if text, ok := strings.CutPrefix(line, resultMark); ok {
			return r, json.Unmarshal([]byte(text), &r)
		}
		s.other.WriteString(line)
		if err != nil {
			return r, fmt.Errorf("the process ended: %w", err)
		}
	}
}

func (s *simulator) start() error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	s.cmd = exec.Command(self, "-test.run", "^TestSimulatedHistories$", "-test.timeout", "0")
	s.cmd.Env = append(append(os.Environ(), simulateChild+"=1", "GOMAXPROCS="+cmp.Or(os.Getenv("GOMAXPROCS"), "1")), s.env...)
	if s.in, err = s.cmd.StdinPipe(); err != nil {
		return err
	}
	out, w, err := os.Pipe()
	if err != nil {
		return err
	}
	defer w.Close()
	s.out = bufio.NewReader(out)
	s.cmd.Stdout, s.cmd.Stderr = w, w
	return s.cmd.Start()
}

// end ends the process. The next history starts another one.
func (s *simulator) end() {
	if s.cmd == nil {
		return
	}
	_ = s.in.Close()
	rest, _ := io.ReadAll(s.out)
	s.other.Write(rest)
	_ = s.cmd.Wait() // a child that failed has said why
	s.used += s.cmd.ProcessState.UserTime() + s.cmd.ProcessState.SystemTime()
	s.cmd = nil
}

// playReadSeeds plays the histories that the standard input names, one per line.
func playReadSeeds(t *testing.T) {
	hookCommits()
	for in := bufio.NewScanner(os.Stdin); in.Scan(); {
		number, planted, _ := strings.Cut(in.Text(), " ")
		seed, err := strconv.ParseUint(number, 10, 64)
		require.NoError(t, err)
		var r result
		if !t.Run(number, func(t *testing.T) { r = simulateSeed(t, seed, simulate.Planted(planted)) }) {
			t.FailNow()
		}
		text, err := json.Marshal(r)
		require.NoError(t, err)
		fmt.Printf("%s%s\n", resultMark, text)
	}
}

// TestSimulatedHistories plays seeds in several processes. `make simulate` runs it.
func TestSimulatedHistories(t *testing.T) {
	if os.Getenv(simulateChild) != "" {
		playReadSeeds(t)
		return
	}
	t.Parallel()
	var seeds []uint64
	from := numberOf(t, simulateFrom, 1)
	for i := range numberOf(t, simulateSeeds, testedSeeds) {
		seeds = append(seeds, from+i)
	}
	if os.Getenv(simulateSeeds) == "" && os.Getenv(simulateFrom) == "" {
		seeds = append(seeds, regressionSeeds...)
	}
	jobs := simulationJobs(t)
	pool := newSimulators(t, jobs)
	results := make([]result, len(seeds))
	next := make(chan int)
	var workers sync.WaitGroup
	began := time.Now()
	for range jobs {
		workers.Go(func() {
			for i := range next {
				results[i] = pool.play(seeds[i], simulate.PlantNone)
				results[i].report(t, len(seeds) <= 200)
			}
		})
	}
	for i := range results {
		next <- i
		if i%1000 == 0 && i > 0 {
			t.Logf("%d seeds in %s", i, time.Since(began).Round(time.Second))
		}
	}
	close(next)
	workers.Wait()
	took := time.Since(began)
	summarize(t, results, took, pool.end())
}

// report prints the outcome of a history, and fails the test if a judge has found a
// failure.
func (r result) report(t *testing.T, each bool) {
	if each {
		t.Logf("seed %d: %s, %d matches, %d events, %d faults, hash %.16s", r.Seed, r.Age.Round(time.Second), r.Matches, r.Events, r.faults(), r.Hash)
	}
	if len(r.Failures) > 0 {
		t.Errorf("seed %d fails. This command repeats it: make simulate SEEDS=1 FROM=%d\n%s\nthe last steps:\n%s",
			r.Seed, r.Seed, strings.Join(r.Failures, "\n"), strings.Join(r.Trace, "\n"))
	}
}

// faults returns how many faults a history had.
func (r result) faults() (n int) {
	for _, times := range r.Faults {
		n += times
	}
	return n
}

// summarize prints a summary of all histories. Each must be long enough to mean something.
func summarize(t *testing.T, results []result, took, used time.Duration) {
	faults, hashes := map[string]int{}, sha256.New()
	var simulated time.Duration
	matches, events, failed := 0, 0, 0
	for _, r := range results {
		if len(r.Failures) > 0 {
			failed++
			continue
		}
		require.GreaterOrEqual(t, r.Age, disturbed, "seed %d", r.Seed)
		require.GreaterOrEqual(t, r.Matches, leastMatches, "seed %d", r.Seed)
		require.GreaterOrEqual(t, r.faults(), leastFaults, "seed %d", r.Seed)
		simulated, matches, events = simulated+r.Age, matches+r.Matches, events+r.Events
		fmt.Fprintln(hashes, r.Hash)
		for name, n := range r.Faults {
			faults[name] += n
		}
	}
	n := float64(len(results))
	t.Logf("%d seeds in %s: %.2f seeds/s, %.2f s of processor time for each, %.0f times real time, %d matches, %d events, %d seeds failed, hash of all hashes %s",
		len(results), took.Round(time.Millisecond), n/took.Seconds(), used.Seconds()/n, simulated.Seconds()/took.Seconds(),
		matches, events, failed, hex.EncodeToString(hashes.Sum(nil))[:16])
	for _, name := range slices.Sorted(maps.Keys(faults)) {
		t.Logf("%8d × %s", faults[name], name)
	}
}

func numberOf(t *testing.T, variable string, otherwise uint64) uint64 {
	text := os.Getenv(variable)
	if text == "" {
		return otherwise
	}
	n, err := strconv.ParseUint(text, 10, 64)
	require.NoError(t, err, variable)
	return n
}

// The same seed gives the same history, also with more threads.
func TestSimulatedHistoriesRepeat(t *testing.T) {
	t.Parallel()
	from, seeds := numberOf(t, simulateFrom, 1), numberOf(t, simulateSeeds, 1)
	one, two := newSimulators(t, 1, "GOMAXPROCS=1"), newSimulators(t, 1, "GOMAXPROCS=2")
	for seed := from; seed < from+seeds; seed++ {
		a := one.play(seed, simulate.PlantNone)
		b := two.play(seed, simulate.PlantNone)
		a.report(t, false)
		require.Equal(t, a.Hash, b.Hash, "seed %d", seed)
	}
}

// The judges find each planted fault. The log shows how many seeds that took.
func TestSoakPlantedFaultsAreFound(t *testing.T) {
	if os.Getenv("ARENA_SOAK") == "" {
		t.Skip("takes minutes: run make soak")
	}
	const seeds = 20
	pool := newSimulators(t, simulationJobs(t))
	for _, planted := range simulate.Plants {
		t.Run(string(planted), func(t *testing.T) {
			t.Parallel()
			var found, waits []uint64 // the seeds that found it, and how many seeds each took
			var why string
			for seed := uint64(1); seed <= seeds; seed++ {
				r := pool.play(seed, planted)
				if len(r.Failures) == 0 {
					continue
				}
				last := uint64(0)
				if len(found) > 0 {
					last = found[len(found)-1]
				}
				found, waits, why = append(found, seed), append(waits, seed-last), cmp.Or(why, r.Failures[0])
			}
			require.NotEmpty(t, found, "not found in %d seeds", seeds)
			slices.Sort(waits)
			t.Logf("found by %d of %d seeds, first by seed %d, median after %d seeds: %.300s", len(found), seeds, found[0], waits[len(waits)/2], why)
		})
	}
}
