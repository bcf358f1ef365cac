// Package verify implements `arena verify`. It recomputes matches, or a whole ladder,
// and reports the first difference. It reads match records from a file, an arena or a
// log. It also compares the records with other evidence, if available: the ladder,
// the arena's keys, an owner's notes, and the signed trees. Package domain/audit does
// the recomputation. docs/audit.md defines the checks.
package verify

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/alecthomas/kong"

	"hexarena/cmd/arena/progress"
	"hexarena/domain/audit"
)

// Cmd is the command and its flags.
type Cmd struct {
	What       string `arg:"" optional:"" placeholder:"ID|URL|FILE" help:"A match's id, its URL at an arena, or a file of records: one record for the whole file, or one per line."`
	Arena      string `placeholder:"URL" help:"The arena that provides the keys and signed trees. It also provides the match or ladder if no file or log does. If you give no URL, no file and no --eventstore, the default is the arena you last signed in to, else http://127.0.0.1:8080."`
	EventStore string `name:"eventstore" placeholder:"ESDB://…" help:"A log that contains the ladder: also recompute the rating change."`
	Nonces     string `placeholder:"FILE" help:"An owner's notes of nonces, commitments and rounds; docs/audit.md defines the format."`
	Head       string `placeholder:"FILE" help:"A saved head of one of the arena's signed trees: the arena's current head must continue it. With --ladder, the events must produce this head."`
	Policy     string `placeholder:"FILE" help:"A file in the format C2SP tlog-policy. Its witnesses must have cosigned the head of the ladder tree."`
	Ladder     string `enum:"standard,parley," default:"" placeholder:"MODE" help:"Recompute a whole ladder instead, from its first match. The events come from --eventstore, or else from the arena."`

	BeaconChain string `default:"quicknet" placeholder:"CHAIN" help:"The drand chain to trust: quicknet, or HASH:PUBLICKEY in hex."`
	Remember    bool   `default:"true" negatable:"" help:"Remember the newest head of each tree in your configuration folder, and require that the next head continues it."`
	JSON        bool   `name:"json" help:"Print one JSON object."`
}

// Validate checks the flags. The flag parser calls it.
func (c *Cmd) Validate() error {
	switch {
	case c.Ladder != "" && (c.What != "" || c.Nonces != ""):
		return errors.New("--ladder cannot be combined with a match or --nonces")
	case c.Ladder == "" && c.What == "":
		return errors.New("verify needs a match (an id, an address or a file) or --ladder")
	}
	return nil
}

// notVerified wraps errors that prevent a verdict: incorrect usage, or input that
// cannot be read.
type notVerified struct{ error }

// ExitCode returns 2. If a match or ladder differs, the exit code is 1 instead.
func (notVerified) ExitCode() int { return 2 }

func (e notVerified) Unwrap() error { return e.error }

// Run verifies the matches or the ladder. Its error is the first difference, or a
// notVerified.
func (c *Cmd) Run(ctx context.Context, k *kong.Kong) error {
	return c.verify(ctx, k.Stdout, k.Stderr)
}

func (c *Cmd) verify(ctx context.Context, out, errOut io.Writer) error {
	run := c.verifyMatches
	if c.Ladder != "" {
		run = c.verifyLadder
	}
	err := run(ctx, out, errOut)
	var match *matchDifference
	var ladder *audit.LadderDifference
	switch {
	case err == nil || errors.As(err, &match) || errors.As(err, &ladder):
		return err
	case ctx.Err() != nil:
		return notVerified{errors.New("stopped before the end")}
	default:
		return notVerified{err}
	}
}

// matchDifference is the error for a match that differs.
type matchDifference struct {
	match string
	*audit.Difference
}

func (d *matchDifference) Error() string { return "match " + d.match + ": " + d.Difference.Error() }

// verifyMatches recomputes the matches of the source. It stops at the first match
// that differs.
func (c *Cmd) verifyMatches(ctx context.Context, out, errOut io.Writer) error {
	source, err := c.openSource(ctx)
	if err != nil {
		return err
	}
	defer source.close()
	evidence, err := c.gather(ctx, errOut, source)
	if err != nil {
		return err
	}
	arena, err := c.arenaChecks(source)
	if err != nil {
		return err
	}
	total, err := verifyAll(ctx, errOut, source, evidence, arena)
	if err != nil {
		return err
	}
	if arena != nil && total.Difference == nil {
		if err := arena.unused(); err != nil {
			return err
		}
	}
	return total.report(out, c.JSON)
}

// arenaChecks reads the files that the checks against an arena need. It returns nil
// if no arena was given.
func (c *Cmd) arenaChecks(source *matchSource) (*arenaChecks, error) {
	if source.arena == nil {
		for flag, value := range map[string]string{"--head": c.Head, "--policy": c.Policy} {
			if value != "" {
				return nil, fmt.Errorf("%s needs --arena, or the match's address", flag)
			}
		}
		return nil, nil //nolint:nilnil // an arena is optional
	}
	trust, err := c.trust(source.facts)
	if err != nil {
		return nil, err
	}
	batch := 1
	if source.total > 1 {
		batch = maxBatch
	}
	return newArenaChecks(calls{source.arena}, trust.heads, trust.saved, trust.policy, batch), nil
}

// trust holds the heads that an arena's trees must continue, and the policy that they
// must satisfy.
type trust struct {
	heads  heads
	saved  *saved
	policy *policy
}

func (c *Cmd) trust(f facts) (t trust, err error) {
	key, err := ed25519Key(f.platformKey)
	if err != nil {
		return t, err
	}
	if t.heads, err = openHeads(key, c.Remember); err != nil {
		return t, err
	}
	if t.saved, err = readSaved(c.Head, key); err != nil {
		return t, err
	}
	t.policy, err = readPolicy(c.Policy)
	return t, err
}

func verifyAll(ctx context.Context, errOut io.Writer, source *matchSource, evidence audit.Evidence, arena *arenaChecks) (total tally, err error) {
	p := progress.New(errOut, "matches")
	defer p.Finish()
	var parser audit.Parser
	for text, err := range source.records() {
		if err != nil {
			return total, err
		}
		report, err := recompute(ctx, &parser, text, evidence, arena)
		if err != nil {
			return total, err
		}
		total.add(report)
		if report.Difference != nil {
			break
		}
		if source.total > 1 {
			p.Show("verify", uint64(total.Matches), uint64(source.total))
		}
	}
	return total, nil
}

// recompute checks one record. Unless arena is nil, it also compares the record with
// the arena's trees.
func recompute(ctx context.Context, parser *audit.Parser, text []byte, e audit.Evidence, arena *arenaChecks) (audit.Report, error) {
	r, err := parser.Parse(text)
	if err != nil {
		return audit.Report{}, err
	}
	if r.Running() {
		return audit.Report{}, errRunning(r.ID)
	}
	var inTree *audit.Difference
	if arena != nil {
		if inTree, err = arena.gather(ctx, r, &e); err != nil {
			return audit.Report{}, err
		}
	}
	report := audit.Match(r, e)
	switch {
	case report.Difference != nil:
	case inTree != nil:
		report.Difference = inTree
	case arena == nil:
		withoutArena(&report)
	default:
		err = arena.check(ctx, text, &report)
	}
	return report, err
}

func errRunning(id string) error {
	return fmt.Errorf("match %s is running: its seed and its replay become public when it ends", id)
}

// gather collects the evidence that the flags name.
func (c *Cmd) gather(ctx context.Context, errOut io.Writer, source *matchSource) (audit.Evidence, error) {
	e := audit.Evidence{Required: source.arena != nil || source.log != nil}
	if c.Nonces != "" {
		text, err := os.ReadFile(c.Nonces)
		if err != nil {
			return e, fmt.Errorf("--nonces: %w", err)
		}
		if e.Notes, err = audit.ParseNotes(text); err != nil {
			return e, fmt.Errorf("--nonces %s: %w", c.Nonces, err)
		}
	}
	if source.arena != nil {
		if err := source.fetch(ctx); err != nil {
			return e, err
		}
		e.PlatformKey = source.facts.platformKey
		var err error
		if e.SeedKeys, err = fetchSeedKeys(ctx, calls{source.arena}); err != nil {
			return e, err
		}
	}
	var err error
	if e.Beacons, err = c.beacons(source.facts); err != nil || source.log == nil {
		return e, err
	}
	return e, source.gatherFromLog(ctx, errOut, &e)
}
