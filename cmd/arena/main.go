// Command arena is the whole of Hex Arena in one binary: the service, the
// embedded node, house bots, and the tools around them. Here parts are plugged
// together; what they do is theirs.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"runtime/debug"
	"syscall"

	"github.com/alecthomas/kong"
	kongcompletion "github.com/jotaen/kong-completion"

	"hexarena/cmd/arena/bench"
)

type cli struct {
	Serve     serveCmd  `cmd:"" group:"Run an arena:" help:"Run the service."`
	Demo      demoCmd   `cmd:"" group:"Run an arena:" help:"Run the service in a fresh folder, with house bots that play at once."`
	Bot       botCmd    `cmd:"" group:"Run an arena:" help:"Serve a house bot."`
	Node      nodeCmds  `cmd:"" group:"Run an arena:" help:"Run the embedded EventStoreDB node alone, or work on logs."`
	Verify    verifyCmd `cmd:"" group:"Play on an arena:" help:"Recompute a match, or a whole ladder, and say where it differs."`
	Bench     benchCmds `cmd:"" group:"Measure:" help:"Measure the engine, the log, read models, answers and live boards."`
	Key       keyCmd    `cmd:"" group:"Play on an arena:" help:"Make API keys."`
	ownerCmds `group:"Play on an arena:"`
	Admin     adminCmds `cmd:"" group:"Run an arena:" help:"Order what operators order, on the arena's own machine."`
	toolCmds
	Export      exportCmd       `cmd:"" group:"Run an arena:" help:"Write ended matches as tables: JSON lines or Parquet files."`
	Projections projectionsCmds `cmd:"" group:"Run an arena:" help:"Look at the read models of a stopped service, or fold them anew."`
}

type nodeCmds struct {
	Serve    nodeCmd      `cmd:"" default:"withargs" help:"Run the embedded EventStoreDB node alone; \"serve\" may be left out."`
	Copy     nodeCopy     `cmd:"" help:"Copy a log into an empty one; goes on with what was begun."`
	Check    nodeCheck    `cmd:"" help:"Read the whole folder of a stopped node, and say what is damaged."`
	Backup   nodeBackup   `cmd:"" help:"Copy a running node's log into a folder."`
	Scavenge nodeScavenge `cmd:"" help:"Remove from a running node's disk what metadata and tombstones hide."`
}

type benchCmds struct {
	Verify benchVerify `cmd:"" help:"Matches and ladders recomputed on one core."`
	bench.Cmds
}

// streams are where a command prints: figures and addresses to out, what went
// on to err.
type streams struct {
	out, err io.Writer
}

// gcPercent trades memory, of which an arena needs little, for the garbage
// collector's share of each append. GOGC overrides it.
const gcPercent = 400

func main() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(gcPercent)
	}
	os.Exit(run(os.Args[1:], os.Stdout, os.Stderr))
}

// run returns the exit status: 0, 1 where the command failed, 2 where it was
// called wrongly; an error may know a better one. Either way one line says why.
func run(args []string, out, errOut io.Writer) int {
	var c cli
	exit := -1
	parser, err := kong.New(&c,
		kong.Name("arena"),
		kong.Description("Hex Arena: a ladder where software bots play a hex-island resource game."),
		kong.DefaultEnvars("ARENA"),
		kong.Writers(out, errOut),
		kong.Vars{"version": version()},
		kong.Exit(func(code int) { exit = code }),
		kong.ConfigureHelp(kong.HelpOptions{Compact: true}),
	)
	if err != nil {
		panic(err) // the commands above are declared wrongly
	}
	kongcompletion.Register(parser)
	if exit >= 0 {
		return exit // a shell asked for completions
	}
	call, err := parser.Parse(args)
	if exit >= 0 {
		return exit // help was printed
	}
	if err != nil && len(args) == 0 {
		err = fmt.Errorf("%w; arena --help lists them", err)
	}
	if err != nil {
		fmt.Fprintf(errOut, "arena: %v\n", err)
		return 2
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	call.BindTo(ctx, (*context.Context)(nil))
	if err := call.Run(streams{out, errOut}); err != nil {
		fmt.Fprintf(errOut, "arena: %v\n", err)
		var coded interface{ exitStatus() int }
		if errors.As(err, &coded) {
			return coded.exitStatus()
		}
		return 1
	}
	return 0
}

// newLogger logs to w what happened.
func newLogger(w io.Writer) *slog.Logger { return slog.New(slog.NewTextHandler(w, nil)) }

// Run runs `arena node`.
func (flags nodeCmd) Run(ctx context.Context, s streams) error {
	return RunNode(ctx, s.out, newLogger(s.err), flags)
}
