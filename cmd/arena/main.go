// Command arena is all of Hex Arena in one binary: the service, the embedded
// event store, house bots, and the tools around them.
//
// This package contains the flags and the wiring of `arena serve`. The function open
// (serve.go) creates the parts and connects them. The method run (run.go) runs and
// stops them. Adapters do not import one another. Small types in the files *wiring.go
// adapt one adapter to the interface that another declares. Most other commands have
// their own packages below this folder.
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
	"hexarena/cmd/arena/nodecmd"
	"hexarena/cmd/arena/offline"
	"hexarena/cmd/arena/practice"
	"hexarena/cmd/arena/remote"
	"hexarena/cmd/arena/verify"
)

type cli struct {
	Serve            serveCmd      `cmd:"" group:"Run an arena:" help:"Run the service."`
	Demo             demoCmd       `cmd:"" group:"Run an arena:" help:"Run the service in a new folder, with house bots that start to play immediately."`
	Bot              botCmd        `cmd:"" group:"Run an arena:" help:"Serve a house bot."`
	Node             nodecmd.Cmds  `cmd:"" group:"Run an arena:" help:"Run only the embedded EventStoreDB node, or work on logs."`
	Verify           verify.Cmd    `cmd:"" group:"Play on an arena:" help:"Recompute a match, or a whole ladder, and print the first difference."`
	Bench            bench.Cmds    `cmd:"" group:"Measure:" help:"Measure the engine, the log, read models, API responses and live boards."`
	Key              remote.KeyCmd `cmd:"" group:"Play on an arena:" help:"Create API keys."`
	remote.OwnerCmds `group:"Play on an arena:"`
	practice.Cmds    `group:"Practice at home:"`
	Admin            remote.AdminCmds `cmd:"" group:"Run an arena:" help:"Run operator commands, on the arena's own machine."`
	toolCmds
	Export      offline.ExportCmd       `cmd:"" group:"Run an arena:" help:"Write ended matches as tables: JSON lines or Parquet files."`
	Projections offline.ProjectionsCmds `cmd:"" group:"Run an arena:" help:"Inspect or rebuild the read models of a stopped service."`
}

// gcPercent lets the heap grow, because an arena needs little memory. The garbage
// collector then runs less often, so that appends are faster and fewer decisions wait
// for it. The environment variable GOGC overrides gcPercent.
const gcPercent = 600

func main() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(gcPercent)
	}
	os.Exit(run(os.Args[1:], os.Stdout, os.Stderr))
}

// run runs a command and returns its exit status: 0 on success, 1 if the command
// failed, and 2 if its arguments are invalid. An error may define another status. If
// the command fails, run prints one line that says why.
func run(args []string, out, errOut io.Writer) int {
	var c cli
	exit := -1
	parser, err := kong.New(&c,
		kong.Name("arena"),
		kong.Description("Hex Arena: a ladder where software bots play a resource game on an island of hexes."),
		kong.DefaultEnvars("ARENA"),
		kong.Writers(out, errOut),
		kong.Vars{"version": version()},
		kong.Exit(func(code int) { exit = code }),
		kong.ConfigureHelp(kong.HelpOptions{Compact: true}),
	)
	if err != nil {
		panic(err) // the declaration of the commands above is invalid
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
	if err := call.Run(); err != nil {
		fmt.Fprintf(errOut, "arena: %v\n", err)
		var coded kong.ExitCoder
		if errors.As(err, &coded) {
			return coded.ExitCode()
		}
		return 1
	}
	return 0
}

func newLogger(w io.Writer) *slog.Logger { return slog.New(slog.NewTextHandler(w, nil)) }
