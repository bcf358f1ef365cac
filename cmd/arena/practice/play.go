package practice

import (
	"bufio"
	"cmp"
	"context"
	crand "crypto/rand"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/alecthomas/kong"

	"hexarena/cmd/arena/progress"
	"hexarena/domain/ladder"
	"hexarena/domain/tournament"
)

const (
	rotateSeats   = "rotate"
	failOnStrikes = "strikes"
)

// matchFlags are the flags that both commands have.
type matchFlags struct {
	Parallel int           `help:"How many matches to play at the same time (default: the number of cores)."`
	Mode     string        `enum:"standard,parley" default:"standard" help:"standard or parley."`
	Decision time.Duration `help:"Time for one decision (default: that of the mode, 5s or 60s)."`
	Wall     time.Duration `help:"Playing time after which a match is aborted (default: that of the mode, 10m or 180m)."`
	Seed     string        `help:"Any text, from which all boards, dice and decks follow (default: a random text, which is printed)."`
	Out      string        `type:"path" placeholder:"DIR" help:"Keep the records, the results and the bots' output in this folder. The same command continues an interrupted run."`
	JSON     bool          `name:"json" help:"Print one JSON object."`
}

type playCmd struct {
	Bots    []string `arg:"" placeholder:"BOT" help:"3 or 4 bots: a URL, house:NAME for a house bot, or cmd:COMMAND for a program that listens on {port}."`
	Matches int      `short:"n" default:"100" help:"The number of matches, rounded up to whole blocks."`
	matchFlags
	Seeds  string `type:"existingfile" placeholder:"FILE" help:"A file with one seed per line, instead of --seed and --matches: one block for each line."`
	Seats  string `enum:"rotate,fixed" default:"rotate" help:"rotate: a block is one seed with every rotation of the seats. fixed: a block is one match, and the first bot has seat 0."`
	FailOn string `enum:"strikes," default:"" placeholder:"strikes" help:"Exit with status 1 if a bot gets a strike."`
}

// Validate checks the flags. The flag parser calls it.
func (c *playCmd) Validate() error {
	switch {
	case c.Matches < 1:
		return errors.New("--matches must be above 0")
	case c.Parallel < 0:
		return errors.New("--parallel must be above 0")
	case c.Decision < 0 || c.Wall < 0:
		return errors.New("--decision and --wall must be above 0")
	case c.Seed != "" && c.Seeds != "":
		return errors.New("--seed cannot be combined with --seeds")
	}
	_, err := parseBots(c.Bots)
	return err
}

// Run plays the matches, and prints the standings. If ctx ends first, it prints the
// standings of the matches that have ended.
func (c *playCmd) Run(ctx context.Context, k *kong.Kong) error {
	run, err := c.prepare()
	if err != nil {
		return err
	}
	defer run.close()
	if err := reachable(ctx, run.bots); err != nil {
		return err
	}
	err = run.play(ctx, k.Stderr)
	report := run.report(ctx.Err() != nil)
	if err != nil && ctx.Err() == nil && report.Matches == 0 {
		return err
	}
	if printErr := report.print(k.Stdout, c.JSON); printErr != nil {
		return printErr
	}
	switch strikes := run.standings.Strikes(); {
	case ctx.Err() != nil && c.Out != "":
		return fmt.Errorf("stopped after %d of %d matches; run the same command again to continue", report.Matches, report.Planned)
	case ctx.Err() != nil:
		return fmt.Errorf("stopped after %d of %d matches", report.Matches, report.Planned)
	case err != nil:
		return err
	case c.FailOn == failOnStrikes && strikes > 0:
		return fmt.Errorf("--fail-on %s: the bots got %d strikes", failOnStrikes, strikes)
	}
	return nil
}

// playRun is one run of the command.
type playRun struct {
	series

	settings settings
	folder   *folder // nil if nothing is kept

	mu        sync.Mutex // guards the fields below
	standings *tournament.Standings
	ended     map[int]bool // matches by number
	now       int          // matches that ended in this run
	took      time.Duration
}

func (c *playCmd) prepare() (*playRun, error) {
	r, outcomes, err := c.open()
	for _, o := range outcomes {
		r.standings.Add(o)
	}
	return r, err
}

// open returns a run and the outcomes in its folder. They are not in the standings yet.
func (c *playCmd) open() (*playRun, []tournament.Outcome, error) {
	bots, err := parseBots(c.Bots)
	if err != nil {
		return nil, nil, err
	}
	decision, wall := ladder.Clocks(c.Mode)
	r := &playRun{standings: tournament.NewStandings(len(bots)), ended: map[int]bool{}}
	r.series = series{
		plan: tournament.Plan{Bots: len(bots), Rotate: c.Seats == rotateSeats}, bots: bots, mode: c.Mode,
		decision: cmp.Or(c.Decision, decision), wall: cmp.Or(c.Wall, wall), parallel: cmp.Or(c.Parallel, runtime.NumCPU()),
		logger: slog.New(slog.DiscardHandler), starter: &starter{restarts: make([]atomic.Int64, len(bots))},
	}
	if err := c.chooseSeeds(&r.plan); err != nil {
		return nil, nil, err
	}
	r.parallel = min(r.parallel, r.plan.Matches())
	r.starter.cores = max(1, runtime.NumCPU()/max(1, r.parallel))
	r.settings = settings{c.Bots, c.Mode, r.decision.String(), r.wall.String(), c.Seats, r.plan.Seed, r.plan.Seeds}
	if c.Out == "" {
		return r, nil, nil
	}
	f, outcomes, err := openFolder(c.Out, r.settings)
	if err != nil {
		return nil, nil, err
	}
	r.folder, r.starter.folder = f, filepath.Join(c.Out, outputFolder)
	outcomes = slices.DeleteFunc(outcomes, func(o tournament.Outcome) bool { return o.Match >= r.plan.Matches() })
	for _, o := range outcomes {
		r.ended[o.Match] = true
	}
	return r, outcomes, nil
}

// chooseSeeds sets the seeds and the number of blocks. Without --seed, a run continues
// with the seed in its folder, or chooses a random one.
func (c *playCmd) chooseSeeds(p *tournament.Plan) (err error) {
	if c.Seeds != "" {
		p.Seeds, err = readSeeds(c.Seeds)
		return err
	}
	p.Blocks = (c.Matches + p.BlockSize() - 1) / p.BlockSize()
	if p.Seed = c.Seed; p.Seed != "" {
		return nil
	}
	p.Seed = strings.ToLower(crand.Text()[:10])
	if c.Out == "" {
		return nil
	}
	before, err := readSettings(c.Out)
	if before != nil && before.Seed != "" {
		p.Seed = before.Seed
	}
	return err
}

// readSeeds reads a file with one seed per line. It skips empty lines.
func readSeeds(file string) (seeds []string, err error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, fmt.Errorf("--seeds: %w", err)
	}
	defer func() { _ = f.Close() }() // it was only read
	lines := bufio.NewScanner(f)
	for n := 1; lines.Scan(); n++ {
		line := strings.TrimSpace(lines.Text())
		switch {
		case line == "":
		case slices.Contains(seeds, line):
			return nil, fmt.Errorf("--seeds %s, line %d: the seed %q is listed twice", file, n, line)
		default:
			seeds = append(seeds, line)
		}
	}
	if lines.Err() == nil && len(seeds) == 0 {
		return nil, fmt.Errorf("--seeds %s: the file contains no seeds", file)
	}
	return seeds, lines.Err()
}

// reachable returns an error if a bot with a URL does not accept connections, because
// the bot would only get strikes.
func reachable(ctx context.Context, bots []bot) error {
	for _, b := range bots {
		u, err := url.Parse(b.url)
		if b.url == "" || err != nil {
			continue
		}
		d := net.Dialer{Timeout: 5 * time.Second}
		conn, err := d.DialContext(ctx, "tcp", net.JoinHostPort(u.Hostname(), cmp.Or(u.Port(), map[string]string{"http": "80", "https": "443"}[u.Scheme])))
		if err != nil {
			return fmt.Errorf("bot %q does not accept connections: %w; start it first", b.spec, err)
		}
		_ = conn.Close()
	}
	return nil
}

func (r *playRun) close() {
	if r.folder != nil {
		r.folder.close()
	}
}

// play plays the matches that have not ended yet.
func (r *playRun) play(ctx context.Context, errOut io.Writer) error {
	p := progress.New(errOut, "matches")
	defer p.Finish()
	begun := time.Now()
	defer func() { r.took = time.Since(begun) }()
	before := r.ended
	r.ended = map[int]bool{}
	skip := func(number int) bool { return before[number] }
	return r.series.play(ctx, skip, func(m played) error {
		o := tournament.OutcomeOf(m.match, m.history.Events)
		if r.folder != nil {
			if err := r.folder.add(m, o); err != nil {
				return err
			}
		}
		r.mu.Lock()
		defer r.mu.Unlock()
		r.standings.Add(o)
		r.now++
		p.Show("play", uint64(len(before)+r.now), uint64(r.plan.Matches()))
		return nil
	})
}
