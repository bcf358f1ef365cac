// Package bench implements `arena bench`. Each command measures one part of the
// arena. Together the commands measure the rules, `arena verify`, the log, read
// models, API responses, live boards, many matches at once, and a day of play.
//
// Each command starts the server that it needs. Some start a node on loopback in
// this process. Others run this executable again, as an arena in its own process.
// The package depends on the arena's flags and on the addresses that the arena
// prints, but not on the arena's wiring.
//
// A command prints its figures to kong's Stdout and its progress to Stderr.
package bench

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/alecthomas/kong"

	"hexarena/cmd/arena/progress"
)

// Cmds are the commands of `arena bench`.
type Cmds struct {
	Verify      command[verifyCmd]      `cmd:"" help:"Recompute matches and ladders on one core."`
	Engine      command[engineCmd]      `cmd:"" help:"Play random games on one core."`
	Log         command[logCmd]         `cmd:"" help:"Append, read and subscribe through the client, and compare the speed with that of the storage engine."`
	All         command[allCmd]         `cmd:"" help:"Measure every figure that has a bar (a target), and compare the two."`
	Start       command[startCmd]       `cmd:"" help:"Measure how long an arena takes to start, with an empty log and with many matches."`
	Build       command[buildCmd]       `cmd:"" help:"Run make build with an empty build cache. Measure the time, and the size of the binary."`
	Arena       command[playCmd]        `cmd:"" help:"Play many matches at once over real sockets, with one or more arenas on one node. Measure the decisions per second and the arena's share of a decision."`
	Bots        botsCmd                 `cmd:"" hidden:"" help:"Serve the bots of arena bench arena."`
	Growth      command[growthCmd]      `cmd:"" help:"Put ten million events into one node, and measure its startup, its memory, and reads at both ends of the log."`
	Live        command[liveCmd]        `cmd:"" help:"Measure the time from the append of an event until each reader of the running match has received it, over real sockets."`
	Projections command[projectionsCmd] `cmd:"" help:"Rebuild read models, from a node and from memory."`
	Export      command[exportCmd]      `cmd:"" help:"Simulate a day of tables. Measure the log's size, and how long it takes to subscribe to the log, to export it and to publish it."`
	Calls       command[callsCmd]       `cmd:"" help:"Measure the CPU time and the bytes of every call, and what one address can use within its rate limits."`
	Reads       command[readsCmd]       `cmd:"" help:"Read lists, rankings and records over real sockets, with many matches in the log."`
}

// command runs a measurement and prints the report.
type command[M measurement] struct {
	Flags M    `embed:""`
	JSON  bool `name:"json" help:"print one JSON object"`
}

// measurement is the part that differs between commands: the flags, and the
// method that measures.
type measurement interface {
	setup() setup
	// measure runs the measurement. It shows its progress on p, and may write to the
	// folder dir.
	measure(ctx context.Context, dir string, p *progress.Display) (report, error)
}

type setup struct {
	name string // the command's name
	dir  string // folder for the measurement's data; if empty, a temporary folder
	unit string // unit of the measurement's progress, for example "events"
}

// report holds the figures of a run. With --json, its fields are printed as
// JSON. Without --json, print formats them for people.
type report interface{ print(w io.Writer) }

// Run measures and prints the figures.
func (c command[M]) Run(ctx context.Context, k *kong.Kong) (err error) {
	s := c.Flags.setup()
	defer func() {
		if err != nil {
			err = fmt.Errorf("bench %s: %w", s.name, err)
		}
	}()
	if s.dir == "" {
		if s.dir, err = os.MkdirTemp("", "arena-bench-"); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, os.RemoveAll(s.dir)) }()
	}
	p := progress.New(k.Stderr, s.unit)
	r, err := c.Flags.measure(ctx, s.dir, p)
	p.Finish()
	if err != nil {
		return err
	}
	if c.JSON {
		return json.NewEncoder(k.Stdout).Encode(r)
	}
	var text bytes.Buffer
	r.print(&text)
	_, err = text.WriteTo(k.Stdout)
	return err
}
