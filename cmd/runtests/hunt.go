package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"time"
)

// conditions holds the settings that vary between rounds. The zero value is a plain
// run.
type conditions struct {
	race    bool
	procs   int    // GOMAXPROCS of the tests; 0 means unchanged
	shuffle uint32 // seed of the random test order; 0 means the order in the files
	busy    bool   // whether two busy loops run during the tests
}

func (c conditions) String() string {
	words := []string{"plain"}
	if c.race {
		words[0] = "race"
	}
	if c.procs > 0 {
		words = append(words, fmt.Sprintf("GOMAXPROCS %d", c.procs))
	}
	if c.busy {
		words = append(words, "busy")
	}
	return strings.Join(words, ", ")
}

// arguments returns the flags of go test for these conditions.
func (c conditions) arguments() (arguments []string) {
	if c.race {
		arguments = append(arguments, "-race")
	}
	if c.shuffle != 0 {
		arguments = append(arguments, fmt.Sprintf("-shuffle=%d", c.shuffle))
	}
	return arguments
}

// environment returns the variables that these conditions add to the
// environment.
func (c conditions) environment() (variables []string) {
	if c.procs > 0 {
		variables = append(variables, fmt.Sprintf("GOMAXPROCS=%d", c.procs))
	}
	return variables
}

// conditionsOf returns the conditions of a round. Only every fourth round uses the race
// detector, because such a round takes twice as long. Twelve rounds cover each
// combination of the race detector and GOMAXPROCS. If load is "both", rounds with and
// without busy loops alternate, so that 24 rounds cover each combination.
func conditionsOf(round int, load string) conditions {
	c := conditions{busy: load == "busy", shuffle: 1 + rand.Uint32N(1<<31)}
	if load == "both" {
		c.busy = round%2 == 1
		round /= 2
	}
	c.race = round%4 == 3
	c.procs = []int{1, 2, 8}[round%3]
	return c
}

// finished is the result of one round of a hunt, a line in the file of results.
type finished struct {
	Round    int      `json:"round"`
	Load     string   `json:"load"`
	Result   string   `json:"result"`   // a line to print
	Failures []string `json:"failures"` // the commands that repeat the failures
}

// resumed reads the file of results of an interrupted hunt. A file that does not exist
// has no rounds. The last line is incomplete if the machine stopped while it was written.
func resumed(file, load string) (rounds []finished, err error) {
	text, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	for line := range strings.Lines(string(text)) {
		if !strings.HasSuffix(line, "\n") {
			return rounds, os.Truncate(file, int64(len(text)-len(line)))
		}
		var f finished
		if err := json.Unmarshal([]byte(line), &f); err != nil {
			return nil, fmt.Errorf("-results %s: line %d: %w", file, len(rounds)+1, err)
		}
		if f.Load != load || f.Round != len(rounds) {
			return nil, fmt.Errorf("-results %s: line %d has round %d with -load %s; choose another file", file, len(rounds)+1, f.Round, f.Load)
		}
		rounds = append(rounds, f)
	}
	return rounds, err
}

// save appends a result to the file of results.
func (f finished) save(file string) error {
	text, err := json.Marshal(f)
	if err != nil {
		return err
	}
	to, err := os.OpenFile(file, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	_, err = to.Write(append(text, '\n'))
	return errors.Join(err, to.Close())
}

// hunt runs the suite several times and lists the tests that failed. It builds the
// test binaries only once, because go test would link them again in each round. If
// results is not empty, the file has the finished rounds, and hunt runs only the others.
func (s *suite) hunt(ctx context.Context, rounds int, load, results string) (failed bool, err error) {
	var done []finished
	if results != "" {
		if done, err = resumed(results, load); err != nil {
			return false, err
		}
		for _, f := range done {
			fmt.Println(f.Result)
		}
	}
	folder, err := os.MkdirTemp("", "runtests")
	if err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(folder)) }()
	built, err := s.build(ctx, folder)
	if err != nil {
		return false, err
	}
	for round := len(done); round < rounds; round++ {
		c := conditionsOf(round, load)
		begun := time.Now()
		r := newReport(nil, len(s.all))
		if err = r.round(ctx, c, s, built); err != nil {
			break
		}
		f := finished{Round: round, Load: load, Result: fmt.Sprintf("round %d of %d (%s): %s, %s", round+1, rounds, c, r.counts(), time.Since(begun).Round(time.Second))}
		fmt.Println(f.Result)
		for _, failure := range r.failures {
			fmt.Print(failure)
			f.Failures = append(f.Failures, failure.command())
		}
		done = append(done, f)
		if results != "" {
			if err = f.save(results); err != nil {
				break
			}
		}
	}
	var failures []string
	for _, f := range done {
		failures = append(failures, f.Failures...)
	}
	if len(failures) == 0 {
		fmt.Printf("%d rounds, 0 failures\n", len(done))
		return false, err
	}
	fmt.Printf("%d failures. To repeat them, run:\n", len(failures))
	for _, command := range failures {
		fmt.Println("  " + command)
	}
	return true, err
}

// round runs the whole suite once. In a round with the race detector, only the
// packages in s.race run under the race detector.
func (r *report) round(ctx context.Context, c conditions, s *suite, built binaries) error {
	if c.busy {
		busy, stop := context.WithCancel(ctx)
		defer stop()
		for range 2 {
			go spin(busy)
		}
	}
	targets := make([]target, 0, len(s.all))
	for _, pkg := range s.all {
		targets = append(targets, target{pkg, c.race && slices.Contains(s.race, pkg)})
	}
	return r.runBuilt(ctx, c, built, targets)
}

// spin keeps a core busy.
func spin(ctx context.Context) {
	for ctx.Err() == nil {
		continue
	}
}
