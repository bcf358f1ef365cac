package main

import (
	"context"
	"errors"
	"fmt"
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

// hunt runs the suite several times and lists the tests that failed. It builds the
// test binaries only once, because go test would link them again in each round.
func (s *suite) hunt(ctx context.Context, rounds int, load string) (failed bool, err error) {
	folder, err := os.MkdirTemp("", "runtests")
	if err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(folder)) }()
	built, err := s.build(ctx, folder)
	if err != nil {
		return false, err
	}
	var failures []failure
	for round := range rounds {
		c := conditionsOf(round, load)
		begun := time.Now()
		r := newReport(nil, len(s.all))
		if err = r.round(ctx, c, s, built); err != nil {
			break
		}
		fmt.Printf("round %d of %d (%s): %s, %s\n", round+1, rounds, c, r.counts(), time.Since(begun).Round(time.Second))
		for _, f := range r.failures {
			fmt.Print(f)
		}
		failures = append(failures, r.failures...)
	}
	if len(failures) == 0 {
		fmt.Printf("%d rounds, 0 failures\n", rounds)
		return false, err
	}
	fmt.Printf("%d failures. To repeat them, run:\n", len(failures))
	for _, f := range failures {
		fmt.Println("  " + f.command())
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
