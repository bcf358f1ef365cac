package practice

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"sync"
	"time"

	"github.com/alecthomas/kong"

	"hexarena/cmd/arena/progress"
	"hexarena/domain/tournament"
)

// versions are the names of the two versions of a bot, and of their folders.
var versions = [2]string{tournament.Old: "old", tournament.New: "new"}

type compareCmd struct {
	Old       string   `arg:"" placeholder:"OLD" help:"The old version of a bot: a URL, house:NAME for a house bot, or cmd:COMMAND for a program that listens on {port}."`
	New       string   `arg:"" placeholder:"NEW" help:"The new version of the bot."`
	Against   []string `sep:"none" placeholder:"BOT" help:"Another bot at the table. Name 2 or 3 (default: three times house:greedy)."`
	Effect    float64  `default:"0.1" help:"The smallest difference that matters, in places."`
	Alpha     float64  `default:"0.05" help:"The probability of a wrong verdict if the versions are equally good."`
	Beta      float64  `default:"0.05" help:"The probability of missing a difference as large as --effect."`
	MaxBlocks int      `default:"5000" help:"Stop without a verdict after so many blocks."`
	matchFlags
}

// Validate checks the flags. The flag parser calls it.
func (c *compareCmd) Validate() error {
	for name, rate := range map[string]float64{"--alpha": c.Alpha, "--beta": c.Beta} {
		if !(rate >= 0.001 && rate <= 0.25) {
			return fmt.Errorf("%s must be from 0.001 to 0.25", name)
		}
	}
	switch {
	case !(c.Effect > 0 && c.Effect <= 3):
		return errors.New("--effect must be above 0 and at most 3 places")
	case c.MaxBlocks < tournament.MinBlocks:
		return fmt.Errorf("--max-blocks must be at least %d", tournament.MinBlocks)
	case len(c.Against) != 0 && len(c.Against) != 2 && len(c.Against) != 3:
		return fmt.Errorf("a match has 3 or 4 bots, so name 2 or 3 bots with --against, not %d", len(c.Against))
	case c.New == c.Old && isURL(c.New):
		return fmt.Errorf("bot %q is both versions; start the new version on another port", c.New)
	}
	for version := range versions {
		if err := c.series(version).Validate(); err != nil {
			return err
		}
	}
	return nil
}

func isURL(spec string) bool {
	b, err := parseBot(spec)
	return err == nil && b.url != ""
}

// series returns the command that plays all matches of one version.
func (c *compareCmd) series(version int) *playCmd {
	against := c.Against
	if len(against) == 0 {
		against = []string{"house:greedy", "house:greedy", "house:greedy"}
	}
	p := playCmd{
		Bots: append([]string{[2]string{c.Old, c.New}[version]}, against...), Matches: c.MaxBlocks * (1 + len(against)),
		matchFlags: c.matchFlags, Seats: rotateSeats,
	}
	if c.Out != "" {
		p.Out = filepath.Join(c.Out, versions[version])
	}
	return &p
}

// Run plays matches with both versions until there is a verdict, and prints it. If ctx
// ends first, it prints the estimate so far.
func (c *compareCmd) Run(ctx context.Context, k *kong.Kong) error {
	run, err := c.prepare()
	defer run.close()
	if err != nil {
		return err
	}
	for _, s := range run.sides {
		if err := reachable(ctx, s.bots); err != nil {
			return err
		}
	}
	err = run.play(ctx, k.Stderr)
	interrupted := ctx.Err() != nil && run.duel.Comparison.Verdict() == tournament.Open
	report := run.report(interrupted)
	if err != nil && !interrupted && report.Blocks == 0 {
		return err
	}
	if printErr := report.print(k.Stdout, c.JSON); printErr != nil {
		return printErr
	}
	switch {
	case interrupted && c.Out != "":
		return fmt.Errorf("stopped after %d blocks; run the same command again to continue", report.Blocks)
	case interrupted:
		return fmt.Errorf("stopped after %d blocks", report.Blocks)
	}
	return err
}

// compareRun is one run of the command.
type compareRun struct {
	test  tournament.Test
	sides [2]*playRun // by version

	mu   sync.Mutex // guards the fields below
	duel *tournament.Duel
	now  int // matches that ended in this run
	took time.Duration
}

func (c *compareCmd) prepare() (*compareRun, error) {
	r := &compareRun{test: tournament.Test{Effect: c.Effect, Alpha: c.Alpha, Beta: c.Beta, MaxBlocks: c.MaxBlocks}}
	var outcomes [2][]tournament.Outcome
	for version := range versions {
		series := c.series(version)
		if version == tournament.New {
			series.Seed = r.sides[tournament.Old].plan.Seed
		}
		var err error
		if r.sides[version], outcomes[version], err = series.open(); err != nil {
			return r, err
		}
	}
	r.duel = tournament.NewDuel(r.sides[tournament.Old].plan, r.test)
	for version, list := range outcomes {
		for _, o := range list {
			r.duel.Add(version, o)
		}
	}
	return r, nil
}

func (r *compareRun) close() {
	for _, s := range r.sides {
		if s != nil {
			s.close()
		}
	}
}

// play plays the matches of both versions in turn until there is a verdict. Then it
// abandons the matches in progress, which belong to later blocks.
func (r *compareRun) play(ctx context.Context, errOut io.Writer) error {
	if r.duel.Comparison.Verdict() != tournament.Open {
		return nil
	}
	p := progress.New(errOut, "blocks")
	defer p.Finish()
	begun := time.Now()
	defer func() { r.took = time.Since(begun) }()
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	err := inTurn(ctx, r.sides[tournament.Old].parallel, func(number int) (job, func()) {
		w := r.newWorkers(number)
		return func(ctx context.Context, n int) (bool, error) {
			number, version := n/2, n%2
			side := r.sides[version]
			if number >= side.plan.Matches() {
				return false, nil
			}
			if side.ended[number] {
				return true, nil
			}
			m, err := w[version].play(ctx, side.plan.Match(number))
			if err == nil {
				err = r.add(version, m, p, stop)
			}
			return true, err
		}, w.close
	})
	if r.duel.Comparison.Verdict() != tournament.Open {
		return nil
	}
	return err
}

// workers play the matches of the two versions, one match at a time.
type workers [2]*worker

// newWorkers returns workers that share the programs of the other bots.
func (r *compareRun) newWorkers(number int) (w workers) {
	for version, s := range r.sides {
		w[version] = s.newWorker(number)
	}
	copy(w[tournament.New].processes[1:], w[tournament.Old].processes[1:])
	return w
}

func (w workers) close() {
	w[tournament.Old].close()
	if p := w[tournament.New].processes[0]; p != nil {
		p.close()
	}
}

// add adds an ended match. At the verdict, it calls stop.
func (r *compareRun) add(version int, m played, p *progress.Display, stop func()) error {
	o := tournament.OutcomeOf(m.match, m.history.Events)
	if f := r.sides[version].folder; f != nil {
		if err := f.add(m, o); err != nil {
			return err
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.duel.Add(version, o)
	r.now++
	p.Show("compare", uint64(r.duel.Comparison.Blocks()), uint64(r.test.MaxBlocks))
	if r.duel.Comparison.Verdict() != tournament.Open {
		stop()
	}
	return nil
}
