package main

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"strings"

	"github.com/alecthomas/kong"

	"hexarena/domain/ladder"
)

// holdAt is an environment variable that names a point. When a goroutine of the
// arena's process reaches that point, the process holds it there, and prints "held
// at" and the point. A test can then kill the process. All other goroutines continue.
const holdAt = "HEXARENA_TEST_HOLD_AT"

// The points of holdAt.
const (
	atFolded = "folded" // the read model has folded a seating, and no head includes it
	atSigned = "signed" // a signed head includes a seating, and no bot has been dialed

	atClaimed = "claimed" // an account has claimed a public key, and the other account still has the key
	atYielded = "yielded" // the other account has lost the key, and the claimant does not have it yet
)

// heldLines maps each point to the beginning of the log line at which a goroutine is
// held.
var heldLines = map[string]string{
	atSigned: "a signed head includes the seating", atClaimed: "claimed a public key", atYielded: "a public key moved to another account",
}

func hold(point string) {
	fmt.Println("held at " + point)
	select {}
}

// beHeld runs `arena serve` with the arguments of this process, and holds a goroutine
// at a point.
func beHeld(point string) {
	c, parser, err := parsed(os.Args[1:])
	parser.FatalIfErrorf(err)
	logger := slog.New(holder{slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelDebug}), point})
	ctx := context.Background()
	a, err := open(ctx, c, logger)
	parser.FatalIfErrorf(err)
	sign := a.heads.sign
	a.heads.sign = func(mode string, size uint64, root []byte) (ladderHead, error) {
		if point == atFolded && mode == ladder.Standard && size > 0 {
			hold(point)
		}
		return sign(mode, size, root)
	}
	fmt.Printf("Hex Arena is at %s\n%s", a.baseURL, a.addresses())
	parser.FatalIfErrorf(a.run(ctx))
	os.Exit(0)
}

// The function parsed() parses the arguments of `arena serve`.
func parsed(args []string) (config, *kong.Kong, error) {
	c, parser, err := parsedCommand(args)
	return c.Serve.config, parser, err
}

// parsedCommand parses the arguments of any command.
func parsedCommand(args []string) (*cli, *kong.Kong, error) {
	var c cli
	parser := kong.Must(&c, kong.Name("arena"), kong.DefaultEnvars("ARENA"), kong.Vars{"version": version()})
	_, err := parser.Parse(args)
	return &c, parser, err
}

// holder is a log handler that holds a goroutine when it logs the line of a point.
type holder struct {
	slog.Handler
	point string
}

func (h holder) Handle(ctx context.Context, r slog.Record) error {
	if line, ok := heldLines[h.point]; ok && strings.HasPrefix(r.Message, line) {
		hold(h.point)
	}
	return h.Handler.Handle(ctx, r)
}

func (h holder) WithAttrs(list []slog.Attr) slog.Handler {
	return holder{h.Handler.WithAttrs(list), h.point}
}

func (h holder) WithGroup(name string) slog.Handler {
	return holder{h.Handler.WithGroup(name), h.point}
}
