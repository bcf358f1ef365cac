package bench

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"github.com/alecthomas/kong"

	"hexarena/cmd/arena/progress"
	"hexarena/domain/ladder"
	"hexarena/eventstore"
)

// readsCmd is `arena bench reads`: an arena in a process of its own, whose log
// holds so many matches, and callers of its public answers over real sockets,
// from many addresses of 127.0.0.0/8, at a rate that does not wait for answers.
type readsCmd struct {
	Matches []int   `default:"10000" help:"how many matches the log holds; more than one number, rising, makes a table"`
	Bots    int     `default:"10000" help:"how many bots are on the leaderboard"`
	Ending  float64 `default:"2" help:"matches that are seated, played and rated each second meanwhile"`
	Seconds float64 `default:"10" help:"how long each step is measured"`
	Dir     string  `help:"folder for the log and the rows; default: a temporary one"`
	JSON    bool    `name:"json" help:"print one JSON object"`
}

// readsReport is what a run measured with so many matches.
type readsReport struct {
	Matches   int          `json:"matches"`
	LogMB     float64      `json:"logMB"`
	RowsMB    float64      `json:"rowsMB"`
	RebuildS  float64      `json:"rebuildSeconds"` // of a start without rows, until it answers
	StartS    float64      `json:"startSeconds"`   // of one with them
	MemoryMB  float64      `json:"memoryMB"`       // resident, after the measurement
	LongMatch int          `json:"longMatchEvents"`
	Steps     []readReport `json:"steps"`
}

type readReport struct {
	What      string  `json:"what"`
	PerSecond float64 `json:"perSecond"`
	P50Ms     float64 `json:"p50Ms"` // from when a call was due until its answer was read
	P99Ms     float64 `json:"p99Ms"`
	MaxMs     float64 `json:"maxMs"`
	Bytes     int     `json:"bytes"` // of an answer on average
	Fresh     float64 `json:"fresh"` // the share that was not 304
}

// Run measures as the flags say and prints what it found.
func (c readsCmd) Run(ctx context.Context, k *kong.Kong) error {
	if err := c.judge(); err != nil {
		return fmt.Errorf("bench reads: %w", err)
	}
	reports, err := measureReads(ctx, k.Stderr, c)
	if err != nil {
		return fmt.Errorf("bench reads: %w", err)
	}
	if c.JSON {
		return json.NewEncoder(k.Stdout).Encode(map[string]any{"sizes": reports})
	}
	var errs []error
	for _, r := range reports {
		errs = append(errs, r.print(k.Stdout))
	}
	return errors.Join(errs...)
}

func (c readsCmd) judge() error {
	if len(c.Matches) == 0 || c.Bots < 4 || c.Seconds <= 0 || c.Ending < 0 {
		return errors.New("there must be a number of matches, four bots and some time")
	}
	least := 0
	for _, n := range c.Matches {
		if n <= least {
			return fmt.Errorf("--matches: the numbers must rise from 1: %d after %d", n, least)
		}
		least = n
	}
	return nil
}

func measureReads(ctx context.Context, told io.Writer, flags readsCmd) (reports []readsReport, err error) {
	dir := flags.Dir
	if dir == "" {
		if dir, err = os.MkdirTemp("", "arena-bench-"); err != nil {
			return nil, err
		}
		defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	}
	b := &readsBench{flags: flags, dir: dir, told: progress.New(told, "matches")}
	defer b.told.Finish()
	for _, n := range flags.Matches {
		r, err := b.size(ctx, n)
		if err != nil {
			return nil, err
		}
		reports = append(reports, r)
	}
	return reports, nil
}

// readsBench is a folder that an arena is started on again and again.
type readsBench struct {
	flags   readsCmd
	dir     string
	told    *progress.Display
	arena   *arena
	history *history
	long    *loggedGame
}

// size grows the log to n matches, and measures then.
func (b *readsBench) size(ctx context.Context, n int) (r readsReport, err error) {
	r.Matches = n
	if err := b.grow(ctx, n); err != nil {
		return r, err
	}
	r.LongMatch = b.long.state.Seq
	if r.RebuildS, err = b.rebuild(ctx); err != nil {
		return r, err
	}
	if err := b.catchUp(ctx); err != nil {
		return r, err
	}
	if r.StartS, err = b.start(ctx); err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, b.arena.stop()) }()
	if r.Steps, err = b.measure(ctx); err != nil {
		return r, err
	}
	if r.MemoryMB, err = b.arena.residentMB(); err != nil {
		return r, err
	}
	for part, mb := range map[string]*float64{"node": &r.LogMB, "projections": &r.RowsMB} {
		size, err := folderSize(filepath.Join(b.dir, part))
		if err != nil {
			return r, err
		}
		*mb = float64(size) / (1 << 20)
	}
	return r, nil
}

// grow writes matches into the log of an arena that is on.
func (b *readsBench) grow(ctx context.Context, n int) (err error) {
	if _, err := b.start(ctx); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, b.arena.stop()) }()
	if b.history == nil {
		if b.long, err = playLong(ctx, b.arena.log); err != nil {
			return err
		}
		if b.history, err = newHistory(ctx, b.arena.log, b.flags.Bots, 0); err != nil {
			return err
		}
	}
	b.history.log = b.arena.log
	return b.history.live(ctx, n-len(b.history.ids), func(done int) { b.told.Show("filling the log", uint64(done), uint64(n)) })
}

// rebuild starts an arena once without the rows, which are put back, and returns
// how many seconds it was until it answered.
func (b *readsBench) rebuild(ctx context.Context) (seconds float64, err error) {
	rows := filepath.Join(b.dir, "projections")
	kept := rows + ".kept"
	if err := os.Rename(rows, kept); err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(rows), os.Rename(kept, rows)) }()
	if seconds, err = b.start(ctx); err != nil {
		return 0, err
	}
	return seconds, b.arena.stop()
}

// catchUp starts an arena once until its rows, those of the signed log too, hold
// what the log does: folding that takes a good part of a core, and minutes.
func (b *readsBench) catchUp(ctx context.Context) (err error) {
	if _, err := b.start(ctx); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, mostCatchingUp)
	defer cancel()
	defer func() { err = errors.Join(err, b.arena.stop()) }()
	for caller := newReadCaller(0); ; {
		answer, err := caller.get(ctx, b.arena.url+"/log/"+ladder.Standard+"/head", nil)
		switch {
		case err != nil:
			return err
		case answer.status == http.StatusOK:
			return nil
		case answer.status != http.StatusServiceUnavailable:
			return fmt.Errorf("the signed log is answered with %d", answer.status)
		case !sleepUntil(ctx, time.Now().Add(time.Second)):
			return fmt.Errorf("the signed log is behind: %w", ctx.Err())
		}
	}
}

// mostCatchingUp is after what time a signed log that is not whole has stopped.
const mostCatchingUp = time.Hour

// start starts an arena that serves alone, and returns how many seconds it was
// until it answered.
func (b *readsBench) start(ctx context.Context) (seconds float64, err error) {
	begun := time.Now()
	if b.arena, err = startArena(ctx, b.dir, "--no-play"); err != nil {
		return 0, err
	}
	if b.history != nil {
		b.history.log = b.arena.log
	}
	answer, err := newReadCaller(0).get(ctx, b.arena.url+"/health", nil)
	if err == nil && answer.status != http.StatusOK {
		err = fmt.Errorf("the arena is not well: its health is %d", answer.status)
	}
	if err != nil {
		return 0, errors.Join(err, b.arena.stop())
	}
	return time.Since(begun).Seconds(), nil
}

// longGames is how many games are played, of which the longest is asked for.
const longGames = 8

func playLong(ctx context.Context, log eventstore.Log) (*loggedGame, error) {
	games, err := seatGames(ctx, log, longGames)
	if err != nil {
		return nil, err
	}
	longest := games[0]
	for _, g := range games {
		if err := g.playOut(ctx, log); err != nil {
			return nil, err
		}
		if g.state.Seq > longest.state.Seq {
			longest = g
		}
	}
	return longest, nil
}

func (r readsReport) print(w io.Writer) error {
	_, err := fmt.Fprintf(w, "%d matches: log %.0f MB, rows %.0f MB; start %.1f s, without rows %.1f s; memory %.0f MB\n",
		r.Matches, r.LogMB, r.RowsMB, r.StartS, r.RebuildS, r.MemoryMB)
	for _, s := range r.Steps {
		if err == nil {
			_, err = fmt.Fprintf(w, "  %-42s %5.0f/s  p50 %6.2f ms  p99 %6.2f ms  max %6.2f ms  %7d bytes  %3.0f %% fresh\n",
				s.What, s.PerSecond, s.P50Ms, s.P99Ms, s.MaxMs, s.Bytes, 100*s.Fresh)
		}
	}
	return err
}
