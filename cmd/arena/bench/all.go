package bench

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"

	"hexarena/cmd/arena/progress"
)

// allCmd implements `arena bench all`. It runs the commands that measure the figures in
// the list goals, one after another, and prints each figure with its bar. Each command
// runs in a process of its own.
type allCmd struct{}

// goal is a figure and the bar that it should reach.
type goal struct {
	What    string  `json:"what"`
	Command string  `json:"command"` // the command of `arena bench` that measures the figure
	figure  string  // where the figure is in the command's JSON
	bare    string  // where the figure of a server that does no work is; 90 % of it reach the bar, too
	Bar     float64 `json:"bar"` // if Most is set, the figure should be at most the bar; otherwise, at least
	Most    bool    `json:"most"`
	Got     float64 `json:"got"`
}

// goals lists the figures. The goals of a command are next to one another, so that the
// command runs only once.
var goals = []goal{
	{What: "random games/s, one core", Command: "engine", figure: "gamesPerSecond", Bar: 22_000},
	{What: "copies of a state with one action/s, one core", Command: "engine", figure: "searchPerSecond", Bar: 5_000_000},
	{What: "GameView built and encoded, µs", Command: "engine", figure: "viewMicros", Bar: 1.5, Most: true},
	{What: "appends/s, 1 stream", Command: "log", figure: "streams.0.appendsPerSecond", bare: "streams.0.barePerSecond", Bar: 2_200},
	{What: "appends/s, 16 streams", Command: "log", figure: "streams.1.appendsPerSecond", bare: "streams.1.barePerSecond", Bar: 15_000},
	{What: "appends/s, 64 streams", Command: "log", figure: "streams.2.appendsPerSecond", bare: "streams.2.barePerSecond", Bar: 24_000},
	{What: "appends/s by BatchAppend, 64 streams", Command: "log", figure: "batchAppendsPerSecond", Bar: 40_000},
	{What: "$all forwards, events/s", Command: "log", figure: "readAllPerSecond", bare: "bareReadAllPerSecond", Bar: 260_000},
	{What: "arena verify from a file, matches/s, one core", Command: "verify", figure: "matchesPerSecond", Bar: 1_000},
	{What: "serve to /health, empty log, s", Command: "start", figure: "emptySeconds", Bar: 0.2, Most: true},
	{What: "serve to /health, 10,000 matches, s", Command: "start", figure: "fullSeconds", Bar: 0.4, Most: true},
	{What: "memory of an idle arena, MB", Command: "arena", figure: "idleMB", Bar: 60, Most: true},
	{What: "memory of a running match, KB", Command: "arena", figure: "matchKB", Bar: 100, Most: true},
	{What: "make build without a cache, s", Command: "build", figure: "seconds", Bar: 90, Most: true},
	{What: "size of the binary, MB", Command: "build", figure: "binaryMB", Bar: 45, Most: true},
}

type allReport struct {
	Goals []goal `json:"goals"`
}

func (allCmd) setup() setup { return setup{"all", "", "figures"} }

func (allCmd) measure(ctx context.Context, _ string, p *progress.Display) (report, error) {
	var figures any
	r := &allReport{Goals: goals}
	for i := range r.Goals {
		g := &r.Goals[i]
		p.Show("measuring", uint64(i), uint64(len(r.Goals)))
		if i == 0 || r.Goals[i-1].Command != g.Command {
			var err error
			if figures, err = measureApart(ctx, g.Command); err != nil {
				return nil, err
			}
		}
		var ok bool
		if g.Got, ok = find(figures, g.figure); !ok {
			return nil, fmt.Errorf("arena bench %s prints no figure %s", g.Command, g.figure)
		}
		if bare, ok := find(figures, g.bare); ok {
			g.Bar = min(g.Bar, 0.9*bare)
		}
	}
	p.Show("measuring", uint64(len(r.Goals)), uint64(len(r.Goals)))
	return r, nil
}

// measureApart runs a command of `arena bench`, and returns its report as decoded JSON.
func measureApart(ctx context.Context, command string) (figures any, err error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	out, err := exec.CommandContext(ctx, self, "bench", command, "--json").Output()
	if failed, ok := errors.AsType[*exec.ExitError](err); ok {
		return nil, fmt.Errorf("arena bench %s: %w: %s", command, err, failed.Stderr)
	}
	if err != nil {
		return nil, err
	}
	return figures, json.Unmarshal(out, &figures)
}

// The function find() returns the number at a path such as "streams.0.p99Ms".
func find(v any, path string) (n float64, ok bool) {
	for key := range strings.SplitSeq(path, ".") {
		switch at := v.(type) {
		case map[string]any:
			v = at[key]
		case []any:
			i, err := strconv.Atoi(key)
			if err != nil || i >= len(at) {
				return 0, false
			}
			v = at[i]
		}
	}
	n, ok = v.(float64)
	return n, ok
}

func (r *allReport) print(w io.Writer) {
	for _, g := range r.Goals {
		sign, verdict := ">=", "reached"
		if g.Most {
			sign = "<="
		}
		if g.Got < g.Bar != g.Most && g.Got != g.Bar {
			verdict = "missed"
		}
		fmt.Fprintf(w, "%-48s arena bench %-8s %12.5g  bar %s %8.6g  %s\n", g.What, g.Command, g.Got, sign, g.Bar, verdict)
	}
}
