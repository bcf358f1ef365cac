// Package bench is `arena bench`: each command measures one part of the arena.
// Together they measure the rules, `arena verify`, the log, read models, answers
// to spectators and callers, and a day of play. A command makes what it needs: a
// node on loopback in this process, or an arena in a process of its own that runs
// this executable. The package knows the arena's flags and the addresses that it
// prints, but not its wiring.
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
	Verify      command[verifyCmd]      `cmd:"" help:"Matches and ladders recomputed on one core."`
	Engine      command[engineCmd]      `cmd:"" help:"Random games on one core."`
	Log         command[logCmd]         `cmd:"" help:"Appends, reads and subscriptions through the client, compared with the storage engine."`
	Growth      command[growthCmd]      `cmd:"" help:"Ten million events in one node: opening it, memory, reads at both ends."`
	Live        command[liveCmd]        `cmd:"" help:"Readers of running matches over real sockets: the time from an event's append to each reader."`
	Projections command[projectionsCmd] `cmd:"" help:"Read models rebuilt, from a node and from memory."`
	Export      command[exportCmd]      `cmd:"" help:"A simulated day of tables: the log's size, and the time to subscribe to, export and publish it."`
	Reads       command[readsCmd]       `cmd:"" help:"Lists, rankings and records over real sockets, with many matches."`
}

// command runs a measurement and prints its report.
type command[M measurement] struct {
	Flags M    `embed:""`
	JSON  bool `name:"json" help:"print one JSON object"`
}

// measurement is the part of a command that differs from the others: its flags and
// what it measures.
type measurement interface {
	setup() setup
	// measure may write to the folder dir, and shows its progress.
	measure(ctx context.Context, dir string, p *progress.Display) (report, error)
}

type setup struct {
	name string // of the command
	dir  string // the folder for its data; empty: a temporary one
	unit string // of its progress
}

// report holds the figures of a run. With --json its fields are printed; print
// writes them for people.
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
