package main

import (
	"context"
	"errors"
	"fmt"
	"os"

	"hexarena/cmd/arena/progress"
	"hexarena/domain/audit"
)

// verifyCmd is `arena verify`: it recomputes matches, or a whole ladder.
type verifyCmd struct {
	What       string `arg:"" optional:"" placeholder:"ID|URL|FILE" help:"A match: its id, its address at an arena, or a file with its record, or with many, one a line."`
	Arena      string `placeholder:"URL" help:"The arena to ask for the platform key, and for a bare id (default: with no --eventstore either, the one that was signed in at last, else http://127.0.0.1:8080)."`
	EventStore string `name:"eventstore" placeholder:"ESDB://…" help:"A log that holds the ladder: the rating change is recomputed too."`
	Nonces     string `placeholder:"FILE" help:"An owner's own notes of nonces and commitments, as docs/audit.md has them."`
	Head       string `placeholder:"FILE" help:"A head of the arena's signed log that you kept: today's must continue it; with --ladder, the matches of the log must give it."`
	Ladder     string `enum:"standard,parley," default:"" placeholder:"MODE" help:"Recompute a whole ladder instead, from its first match; needs --eventstore."`
	JSON       bool   `name:"json" help:"Print one JSON object."`
}

// Validate is called by the flag parser.
func (c *verifyCmd) Validate() error {
	switch {
	case c.Ladder != "" && (c.What != "" || c.EventStore == "" || c.Nonces != ""):
		return errors.New("--ladder takes --eventstore, and no match")
	case c.Ladder == "" && c.What == "":
		return errors.New("verify wants a match, an id, an address or a file, or --ladder")
	}
	return nil
}

// notVerified says that nothing could be said of a match: the call was wrong,
// or what it names cannot be read.
type notVerified struct{ error }

// exitStatus tells it apart from a difference.
func (notVerified) exitStatus() int { return 2 }

func (e notVerified) Unwrap() error { return e.error }

// Run runs `arena verify`. Its error is the first difference, or a notVerified.
func (c *verifyCmd) Run(ctx context.Context, s streams) error {
	run := c.verifyMatches
	if c.Ladder != "" {
		run = c.verifyLadder
	}
	err := run(ctx, s)
	var match *differs
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

// differs is a match that is not what follows.
type differs struct {
	match string
	*audit.Difference
}

func (d *differs) Error() string { return "match " + d.match + ": " + d.Difference.Error() }

// verifyMatches recomputes the matches of the source, up to the first that
// differs.
func (c *verifyCmd) verifyMatches(ctx context.Context, s streams) error {
	source, err := c.source(ctx)
	if err != nil {
		return err
	}
	defer source.done()
	e, err := c.evidence(ctx, s, source)
	if err != nil {
		return err
	}
	signed, err := newSignedLogs(ctx, source.arena, c.Head)
	if err != nil {
		return err
	}
	total := tally{}
	p := progress.New(s.err, "matches")
	for text, err := range source.records(ctx) {
		if err != nil {
			p.Finish()
			return err
		}
		report, err := recompute(text, e)
		if err == nil && report.Difference == nil {
			err = signed.check(ctx, text, &report)
		}
		if err != nil {
			p.Finish()
			return err
		}
		total.add(report)
		if report.Difference != nil {
			break
		}
		if source.total > 1 {
			p.Show("verify", uint64(total.Matches), uint64(source.total))
		}
	}
	p.Finish()
	if err := signed.unused(); err != nil && total.Difference == nil {
		return err
	}
	return total.tell(s.out, c.JSON)
}

// recompute verifies one record.
func recompute(text []byte, e audit.Evidence) (audit.Report, error) {
	r, err := audit.Parse(text)
	if err != nil {
		return audit.Report{}, err
	}
	if r.Running() {
		return audit.Report{}, fmt.Errorf("match %s is running: its seed and its replay are public once it has ended", r.ID)
	}
	return audit.Match(r, e), nil
}

// evidence gathers what is at hand beside the records.
func (c *verifyCmd) evidence(ctx context.Context, s streams, source *matchSource) (audit.Evidence, error) {
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
		var err error
		if e.PlatformKey, err = platformKey(ctx, source.arena); err != nil {
			return e, err
		}
	}
	if source.log == nil {
		return e, nil
	}
	return e, source.fromLog(ctx, s, &e)
}
