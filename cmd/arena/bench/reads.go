package bench

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"time"

	"hexarena/cmd/arena/progress"
	"hexarena/domain/ladder"
	"hexarena/eventstore"
)

// readsCmd implements `arena bench reads`. It starts an arena in its own process,
// with many matches in its log, and reads its public data over real sockets. The
// callers use many addresses in 127.0.0.0/8. They make calls at a fixed rate, without
// waiting for earlier responses.
type readsCmd struct {
	Matches []int   `default:"10000" help:"how many matches the log contains; to measure several sizes, give numbers in ascending order"`
	Bots    int     `default:"10000" help:"how many bots are on the leaderboard"`
	Ending  float64 `default:"2" help:"matches per second that are seated, played and rated during the measurement"`
	Seconds float64 `default:"10" help:"how long to measure each step"`
	Dir     string  `help:"folder for the log and the rows (default: a temporary folder)"`
}

type readsReport struct {
	Sizes []sizeReport `json:"sizes"`
}

// sizeReport holds the figures for one number of matches.
type sizeReport struct {
	Matches   int          `json:"matches"`
	LogMB     float64      `json:"logMB"`
	RowsMB    float64      `json:"rowsMB"`
	RebuildS  float64      `json:"rebuildSeconds"` // time that the arena needs to start if it has no rows yet
	StartS    float64      `json:"startSeconds"`   // time that the arena needs to start if it has all rows
	MemoryMB  float64      `json:"memoryMB"`       // resident memory after the measurement
	LongMatch int          `json:"longMatchEvents"`
	Steps     []readReport `json:"steps"`
}

// readReport holds the figures of one kind of call. The latency is the time from
// the call's scheduled time until the response has been read.
type readReport struct {
	What      string  `json:"what"`
	PerSecond float64 `json:"perSecond"`
	latency
	Bytes int     `json:"bytes"` // average size of a response
	Fresh float64 `json:"fresh"` // the fraction of responses with a status other than 304
}

func (c readsCmd) setup() setup { return setup{"reads", c.Dir, "matches"} }

func (c readsCmd) measure(ctx context.Context, dir string, p *progress.Display) (report, error) {
	if err := c.check(); err != nil {
		return nil, err
	}
	r := &readsReport{}
	b := &readsBench{flags: c, dir: dir, progress: p}
	for _, n := range c.Matches {
		size, err := b.size(ctx, n)
		if err != nil {
			return nil, err
		}
		r.Sizes = append(r.Sizes, size)
	}
	return r, nil
}

func (c readsCmd) check() error {
	if len(c.Matches) == 0 || c.Bots < 4 || c.Seconds <= 0 || c.Ending < 0 {
		return errors.New("--matches needs at least one number, --bots must be at least 4, --seconds must be above zero, and --ending must not be below zero")
	}
	least := 0
	for _, n := range c.Matches {
		if n <= least {
			return fmt.Errorf("--matches: the numbers must be above zero and in ascending order, but %d comes after %d", n, least)
		}
		least = n
	}
	return nil
}

// readsBench starts arenas one after another on the same data folder.
type readsBench struct {
	flags    readsCmd
	dir      string
	progress *progress.Display
	history  *history
	long     *simulatedMatch
}

// size grows the log to n matches, and then takes the measurements.
func (b *readsBench) size(ctx context.Context, n int) (r sizeReport, err error) {
	serve := func(f func(a *arena) error) func() error {
		return func() error { return withArena(ctx, b.dir, f, "--no-play") }
	}
	rows := filepath.Join(b.dir, "projections")
	r.Matches = n
	err = inOrder(
		serve(func(a *arena) error { return b.grow(ctx, a, n) }),
		without(rows, serve(func(a *arena) error {
			r.RebuildS = a.startSeconds
			return nil
		})),
		serve(func(a *arena) error { return a.await(ctx, "/log/"+ladder.Standard+"/head", nil) }),
		serve(func(a *arena) error { return b.measure(ctx, a, &r) }),
		into(&r.LogMB, func() (float64, error) { return folderMB(filepath.Join(b.dir, "node")) }),
		into(&r.RowsMB, func() (float64, error) { return folderMB(rows) }),
	)
	return r, err
}

// The function without() returns a step that moves a folder away, runs f, and then
// restores the folder.
func without(dir string, f func() error) func() error {
	return func() (err error) {
		kept := dir + ".kept"
		if err := os.Rename(dir, kept); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, os.RemoveAll(dir), os.Rename(kept, dir)) }()
		return f()
	}
}

// grow writes matches into the log of an arena.
func (b *readsBench) grow(ctx context.Context, a *arena, n int) (err error) {
	if b.history == nil {
		if b.history, err = newHistory(ctx, a.log, b.flags.Bots, 0); err != nil {
			return err
		}
		if b.long, err = playLong(ctx, a.log); err != nil {
			return err
		}
	}
	// Spread the matches over historyDays, so that a day selects a part of them.
	b.history.log = a.log
	most := slices.Max(b.flags.Matches)
	b.history.at = time.Now().AddDate(0, 0, -historyDays).Add(historyDays * 24 * time.Hour / time.Duration(most) * time.Duration(len(b.history.ids)))
	b.history.step = historyDays * 24 * time.Hour / time.Duration(1+most/historyTables)
	err = b.history.grow(ctx, n, b.progress)
	b.history.at, b.history.step = time.Now(), time.Second
	return err
}

// longGames is the number of games that are played in full. Callers request the
// longest one.
const longGames = 8

func playLong(ctx context.Context, log eventstore.Log) (longest *simulatedMatch, err error) {
	s := newSimulation(log, ladder.Standard, longGames)
	now := time.Now()
	matches, err := s.seat(ctx, now)
	for _, m := range matches {
		if err := m.playOut(ctx, log); err != nil {
			return nil, err
		}
		if err := s.finish(ctx, now, m); err != nil {
			return nil, err
		}
		if longest == nil || m.state.Seq > longest.state.Seq {
			longest = m
		}
	}
	return longest, err
}

func (r *readsReport) print(w io.Writer) {
	for _, size := range r.Sizes {
		fmt.Fprintf(w, "%d matches: log %.0f MB, rows %.0f MB; start %.1f s, without rows %.1f s; memory %.0f MB\n",
			size.Matches, size.LogMB, size.RowsMB, size.StartS, size.RebuildS, size.MemoryMB)
		for _, s := range size.Steps {
			fmt.Fprintf(w, "  %-42s %5.0f/s  p50 %6.2f ms  p99 %6.2f ms  max %6.2f ms  %7d bytes  %3.0f %% fresh\n",
				s.What, s.PerSecond, s.P50Ms, s.P99Ms, s.MaxMs, s.Bytes, 100*s.Fresh)
		}
	}
}
