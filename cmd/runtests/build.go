package main

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"
)

// target is a package to test, with or without the race detector.
type target struct {
	pkg  string
	race bool
}

// binaries holds the built test binaries.
type binaries struct {
	test2json string // path of the tool that converts a test's output to events
	tests     map[target]*binary
}

type binary struct {
	path   string
	folder string        // folder of the package; its tests run there
	took   time.Duration // duration of the last run of its tests
}

// goZstd makes Pebble use the Go version of zstd. The race detector needs cgo, and with
// cgo, Pebble uses the C version. Compiling that takes 40 s of CPU time.
const goZstd = "-tags=pebblegozstd"

// build builds the test binaries of the suite into a folder. Like go test, it leaves out
// debug information.
func (s *suite) build(ctx context.Context, folder string) (built binaries, err error) {
	built.tests = map[target]*binary{}
	if built.test2json, err = goOutput(ctx, "tool", "-n", "test2json"); err != nil {
		return built, err
	}
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(runtime.NumCPU())
	for race, packages := range map[bool][]string{false: s.all, true: s.race} {
		for _, pkg := range packages {
			path := filepath.Join(folder, fmt.Sprint(len(built.tests)))
			built.tests[target{pkg, race}] = &binary{path: path, folder: s.folders[pkg]}
			arguments := []string{"test", "-c", "-vet=off", "-ldflags=-s -w", "-o", path}
			environment := os.Environ()
			if race {
				arguments = append(arguments, "-race", goZstd)
				environment = append(environment, "CGO_ENABLED=1")
			}
			group.Go(func() error {
				cmd := exec.CommandContext(ctx, "go", append(arguments, pkg)...)
				cmd.Env = environment
				_, err := output(cmd)
				return err
			})
		}
	}
	return built, group.Wait()
}

// goOutput returns the output of a go command.
func goOutput(ctx context.Context, arguments ...string) (string, error) {
	return output(exec.CommandContext(ctx, "go", arguments...))
}

// output runs a command and returns what it prints.
func output(cmd *exec.Cmd) (string, error) {
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("%s: %w\n%s", cmd, err, stderr.String())
	}
	return strings.TrimSpace(string(out)), nil
}

// runBuilt runs the tests of all targets, as run does, but uses the built binaries.
// It starts with the targets that took longest in the previous round.
func (r *report) runBuilt(ctx context.Context, c conditions, built binaries, targets []target) error {
	longestFirst := func(a, b target) int { return cmp.Compare(built.tests[b].took, built.tests[a].took) }
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(atOnce())
	for _, t := range slices.SortedStableFunc(slices.Values(targets), longestFirst) {
		b, c := built.tests[t], c
		c.race = t.race
		cmd := exec.CommandContext(ctx, built.test2json, "-t", "-p", t.pkg,
			b.path, "-test.v=test2json", "-test.paniconexit0", "-test.timeout="+testTimeout, fmt.Sprintf("-test.shuffle=%d", c.shuffle))
		cmd.Dir = b.folder
		cmd.Env = append(cmd.Environ(), c.environment()...)
		group.Go(func() error {
			begun := time.Now()
			defer func() { b.took = time.Since(begun) }()
			return r.read(ctx, c, cmd)
		})
	}
	return group.Wait()
}
