package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os/exec"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"
)

// These constants limit how much of a failed test's output is shown. A test
// usually reports the failure in its first lines, and a script in its last ones.
const (
	firstLines = 40
	lastLines  = 30
	lineBytes  = 400
)

// excerptLines is the number of lines of a failure that are shown again at the end
// of a run. Some CI systems show only the end of the output.
const excerptLines = 12

// The function atOnce() returns how many packages run their tests at the same time. Tests
// spend much of their time waiting, so it exceeds the number of CPU cores.
func atOnce() int { return 2 * runtime.NumCPU() }

// testTimeout is how long go test lets the tests of a package run.
const testTimeout = "20m"

// event is a line of the output of go test -json (see go doc test2json).
type event struct {
	Action      string
	Package     string
	ImportPath  string // the package of a build
	FailedBuild string // the package whose failed build made this package fail
	Test        string
	Elapsed     float64 // seconds
	Output      string
}

// test identifies a test and the conditions of its run. An empty name stands for the
// package itself.
type test struct {
	conditions
	pkg, name string
}

// report counts the events of go test.
type report struct {
	mu       sync.Mutex
	progress io.Writer // receives a line for each package; may be nil
	packages int       // number of packages to run
	done     int       // number of packages that have ended

	passed, failed, skipped int
	skips                   map[string]int // number of skipped tests by reason
	failures                []failure
	output                  map[test][]string // output of the tests that are running
}

// failure is a test that failed, or a package that failed outside its tests.
type failure struct {
	test
	output []string
}

func newReport(progress io.Writer, packages int) *report {
	return &report{progress: progress, packages: packages, skips: map[string]int{}, output: map[test][]string{}}
}

// run runs the tests of packages with go test. It does not vet the packages, because make
// lint does. It adds failed tests to the report, and returns an error only if go test
// itself cannot run.
func (r *report) run(ctx context.Context, packages []string) error {
	arguments := []string{"test", "-json", "-vet=off", "-timeout", testTimeout, "-p", fmt.Sprint(atOnce())}
	return r.read(ctx, conditions{}, exec.CommandContext(ctx, "go", append(arguments, packages...)...))
}

// The method read() starts a command that prints events in the format of go test -json,
// and adds the events to the report.
func (r *report) read(ctx context.Context, c conditions, cmd *exec.Cmd) error {
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	failures := false
	lines := bufio.NewReader(out) // a line may be of any length
	for {
		line, err := lines.ReadBytes('\n')
		if err != nil {
			break
		}
		var e event
		if json.Unmarshal(line, &e) == nil {
			failures = failures || e.Action == "fail"
			r.add(c, e)
		}
	}
	err = cmd.Wait()
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) && ctx.Err() == nil && failures {
		return nil
	}
	if err != nil {
		return fmt.Errorf("%s: %w\n%s", cmd, errors.Join(ctx.Err(), err), stderr.String())
	}
	return nil
}

// add adds an event to the report. Several goroutines may call it.
func (r *report) add(c conditions, e event) {
	r.mu.Lock()
	defer r.mu.Unlock()
	key := test{c, e.Package, e.Test}
	switch e.Action {
	case "build-output":
		key = test{c, e.ImportPath, ""}
		r.output[key] = append(r.output[key], e.Output)
	case "output":
		r.output[key] = append(r.output[key], e.Output)
	case "pass", "skip", "fail":
		if e.Test == "" {
			r.addPackage(c, e)
		} else {
			r.addTest(key, e.Action)
		}
		delete(r.output, key)
	}
}

func (r *report) addTest(key test, action string) {
	switch action {
	case "pass":
		r.passed++
	case "skip":
		r.skipped++
		r.skips[reason(r.output[key])]++
	case "fail":
		r.failed++
		if !r.failedIn(key.conditions, key.pkg, key.name+"/") { // a failed subtest is reported instead of its parents
			r.failures = append(r.failures, failure{key, r.output[key]})
		}
	}
}

// failedIn reports whether, under these conditions, the package has a failed test
// whose name begins with prefix.
func (r *report) failedIn(c conditions, pkg, prefix string) bool {
	return slices.ContainsFunc(r.failures, func(f failure) bool {
		return f.pkg == pkg && f.conditions == c && strings.HasPrefix(f.name, prefix)
	})
}

func (r *report) addPackage(c conditions, e event) {
	r.done++
	mark := "ok  "
	if e.Action == "fail" {
		mark = "FAIL"
		if !r.failedIn(c, e.Package, "") {
			output := append(r.output[test{c, e.FailedBuild, ""}], r.unfinished(c, e.Package)...)
			r.failures = append(r.failures, failure{test{c, e.Package, ""}, output})
		}
	}
	if r.progress == nil {
		return
	}
	elapsed := time.Duration(e.Elapsed * float64(time.Second)).Round(100 * time.Millisecond)
	fmt.Fprintf(r.progress, "[%*d/%d] %s %s %s", len(fmt.Sprint(r.packages)), r.done, r.packages, mark, short(e.Package), elapsed)
	if c.race {
		fmt.Fprint(r.progress, " (race)")
	}
	fmt.Fprintln(r.progress)
	for _, f := range r.failures {
		if f.pkg == e.Package && f.conditions == c {
			fmt.Fprint(r.progress, f)
		}
	}
}

// The method unfinished() returns the output of a package's unfinished tests, followed by
// the package's output outside tests. After a panic in another goroutine, go test does
// not report the end of the running tests, so they are unfinished.
func (r *report) unfinished(c conditions, pkg string) (output []string) {
	for key, lines := range r.output {
		if key.conditions == c && key.pkg == pkg && key.name != "" {
			output = append(output, lines...)
		}
	}
	return append(output, r.output[test{c, pkg, ""}]...)
}

// The method counts() returns, as text, how many tests ran, failed and were skipped.
func (r *report) counts() string {
	text := fmt.Sprintf("%d tests run, %d failed, %d skipped", r.passed+r.failed, r.failed, r.skipped)
	outside := 0
	for _, f := range r.failures {
		if f.name == "" {
			outside++
		}
	}
	if outside > 0 {
		text += fmt.Sprintf(", %d packages failed outside their tests", outside)
	}
	return text
}

// The method excerpts() returns an excerpt of each failure.
func (r *report) excerpts() string {
	var text strings.Builder
	for _, f := range r.failures {
		text.WriteString(f.text(excerptLines, 0))
	}
	return text.String()
}

// summary returns one line with the result of counts() and the reasons for skipped
// tests.
func (r *report) summary() string {
	var reasons []string
	for _, why := range slices.Sorted(maps.Keys(r.skips)) {
		reasons = append(reasons, fmt.Sprintf("%d × %s", r.skips[why], why))
	}
	if len(reasons) == 0 {
		return r.counts()
	}
	return r.counts() + " (" + strings.Join(reasons, "; ") + ")"
}

var skipLine = regexp.MustCompile(`^\s*\w+\.go:\d+: (.*)`)

// reason returns the reason that a test printed when it was skipped.
func reason(output []string) string {
	for _, line := range slices.Backward(output) {
		if found := skipLine.FindStringSubmatch(line); found != nil {
			return strings.TrimSpace(found[1])
		}
	}
	return "no reason given"
}

func short(pkg string) string { return strings.TrimPrefix(pkg, "hexarena/") }

var (
	testSeed  = regexp.MustCompile(`ARENA_TEST_SEED=\d+`)
	rapidSeed = regexp.MustCompile(`-rapid\.seed=\d+`)
)

// command returns the command that repeats the failure. The command runs only the
// failed test, or the whole package if the failure was outside the tests.
func (f failure) command() string {
	output := strings.Join(f.output, "")
	words := f.environment()
	if seed := testSeed.FindString(output); seed != "" {
		words = append(words, seed)
	}
	words = append(append(words, "go", "test", "-count=1"), f.arguments()...)
	if f.name != "" {
		words = append(words, "-run", "'^"+strings.ReplaceAll(f.name, "/", "$/^")+"$'")
	}
	words = append(words, "./"+short(f.pkg))
	if seed := rapidSeed.FindString(output); seed != "" {
		words = append(words, seed)
	}
	return strings.Join(words, " ")
}

// String returns the first and the last lines of the failed test's output, and the
// command that repeats the failure.
func (f failure) String() string { return f.text(firstLines, lastLines) }

// text returns the failed test's output, shortened to the given numbers of first and
// last lines, and the command that repeats the failure.
func (f failure) text(first, last int) string {
	var text strings.Builder
	name := f.name
	if name == "" {
		name = "the package"
	}
	fmt.Fprintf(&text, "--- %s of %s failed (%s)\n", name, short(f.pkg), f.conditions)
	lines := strings.Split(strings.TrimSuffix(strings.Join(f.output, ""), "\n"), "\n")
	if hidden := len(lines) - first - last; hidden > 0 {
		lines = slices.Replace(lines, first, first+hidden, fmt.Sprintf("… %d lines …", hidden))
	}
	for _, line := range lines {
		if len(line) > lineBytes {
			line = fmt.Sprintf("%s… (%d bytes)", strings.ToValidUTF8(line[:lineBytes], ""), len(line))
		}
		fmt.Fprintf(&text, "    %s\n", line)
	}
	fmt.Fprintf(&text, "    repeat: %s\n", f.command())
	return text.String()
}
