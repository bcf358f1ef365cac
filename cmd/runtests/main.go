// Command runtests runs the test suite and reports its progress.
//
// `make test` calls it without -rounds. In that case, it runs every package once.
//
// `make flakes` calls it with -rounds, to find flaky tests. Each round runs the
// whole suite in a different order and under different conditions. In every fourth
// round, the packages in -race run under the race detector. For each failure, runtests
// prints the command that repeats the failure.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"strings"
	"time"
)

// gcPercent is the value of GOGC for compilers and tests. With the default value, the tests of some packages use a
// fifth of their CPU time to collect garbage.
const gcPercent = "400"

func main() {
	first := flag.String("first", "", "packages to run first, because their tests take longest, separated by spaces")
	race := flag.String("race", "", "packages that run under the race detector in every fourth round, separated by spaces")
	rounds := flag.Int("rounds", 0, "run the suite this many times under changing conditions; 0 means once, as make test does")
	load := flag.String("load", "both", "load on the machine during the rounds: none, busy (two busy loops), or both (alternately)")
	results := flag.String("results", "", "file to which each round adds its result; the rounds in it are not run again")
	flag.Parse()
	if flag.NArg() > 0 || *rounds < 0 || !slices.Contains([]string{"none", "busy", "both"}, *load) {
		fmt.Fprintln(os.Stderr, "runtests: -rounds must not be below 0, -load must be none, busy or both, and no other arguments are allowed")
		os.Exit(2)
	}
	if os.Getenv("GOGC") == "" {
		if err := os.Setenv("GOGC", gcPercent); err != nil {
			fmt.Fprintln(os.Stderr, "runtests:", err)
			os.Exit(1)
		}
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	begun := time.Now()
	s, err := newSuite(ctx, strings.Fields(*first), strings.Fields(*race))
	var failed bool
	switch {
	case err != nil:
	case *rounds == 0:
		failed, err = s.once(ctx)
	default:
		failed, err = s.hunt(ctx, *rounds, *load, *results)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "runtests:", err)
	}
	fmt.Fprintf(os.Stderr, "took %s\n", time.Since(begun).Round(time.Second))
	if failed || err != nil {
		os.Exit(1)
	}
}

// suite lists the packages that have tests.
type suite struct {
	all, race []string          // import paths, in the order in which they start; race is a subset of all
	folders   map[string]string // by import path
}

func newSuite(ctx context.Context, first, race []string) (*suite, error) {
	s := &suite{folders: map[string]string{}}
	var err error
	if s.all, err = s.list(ctx, append(first, "./...")...); err == nil && len(race) > 0 {
		s.race, err = s.list(ctx, race...)
	}
	return s, err
}

// The method list() returns the packages that match the patterns and have tests, in the
// order of the patterns, and stores their folders.
func (s *suite) list(ctx context.Context, patterns ...string) (packages []string, err error) {
	out, err := goOutput(ctx, append([]string{"list", "-f", "{{if or .TestGoFiles .XTestGoFiles}}{{.ImportPath}}\t{{.Dir}}{{end}}"}, patterns...)...)
	for line := range strings.Lines(out) {
		if pkg, folder, ok := strings.Cut(strings.TrimSpace(line), "\t"); ok {
			packages = append(packages, pkg)
			s.folders[pkg] = folder
		}
	}
	return packages, err
}

// The method once() runs the suite as make test does. It shows the failures again at the
// end.
func (s *suite) once(ctx context.Context) (failed bool, err error) {
	r := newReport(os.Stdout, len(s.all))
	err = r.run(ctx, s.all)
	fmt.Print(r.excerpts())
	fmt.Println(r.summary())
	return len(r.failures) > 0, err
}
