package bench

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"time"

	"github.com/alecthomas/kong"
	"golang.org/x/sync/errgroup"
)

// liveCmd is `arena bench live`: an arena in a process of its own, matches
// that are played into its log, and readers of their streams over real sockets,
// from as many addresses as the limit of streams asks for.
type liveCmd struct {
	Readers int     `default:"5000" help:"how many read at once"`
	Matches int     `default:"50" help:"how many matches are on; each has as many readers"`
	Rate    float64 `default:"4" help:"events a second of each match"`
	Seconds float64 `default:"15" help:"how long it is measured"`
	JSON    bool    `name:"json" help:"print one JSON object"`
}

// liveReport is what a run measured. Latencies are from just before an event's
// append to its reader's having read it off the socket.
type liveReport struct {
	Readers           int     `json:"readers"`
	Matches           int     `json:"matches"`
	ConnectMs         float64 `json:"connectMs"` // until all had their first frame
	Events            int     `json:"events"`
	EventsPerSecond   float64 `json:"eventsPerSecond"`
	Frames            int     `json:"frames"` // that were read
	FramesPerSecond   float64 `json:"framesPerSecond"`
	AppendP99Ms       float64 `json:"appendP99Ms"` // the append alone, until it was acknowledged
	P50Ms             float64 `json:"p50Ms"`
	P99Ms             float64 `json:"p99Ms"`
	MaxMs             float64 `json:"maxMs"`
	Missed            int     `json:"missed"` // frames that slow readers did not get
	Ends              int     `json:"ends"`   // readers that were told of their match's end
	MemoryMB          float64 `json:"memoryMB"`
	MemoryPerReaderKB float64 `json:"memoryPerReaderKB"` // resident, of the arena's process
}

// Run measures as the flags say and prints what it found.
func (c liveCmd) Run(ctx context.Context, k *kong.Kong) error {
	if c.Readers < 1 || c.Matches < 1 || c.Rate <= 0 || c.Seconds <= 0 {
		return errors.New("bench live: every number must be above zero")
	}
	report, err := measureLive(ctx, c)
	if err != nil {
		return fmt.Errorf("bench live: %w", err)
	}
	if c.JSON {
		return json.NewEncoder(k.Stdout).Encode(report)
	}
	return report.print(k.Stdout)
}

func measureLive(ctx context.Context, flags liveCmd) (r liveReport, err error) {
	dir, err := os.MkdirTemp("", "arena-bench-")
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	a, err := startArena(ctx, dir)
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, a.stop()) }()
	games, err := seatGames(ctx, a.log, flags.Matches)
	if err != nil {
		return r, err
	}
	if err := a.shows(ctx, flags.Matches); err != nil {
		return r, err
	}
	r.Readers, r.Matches = flags.Readers, flags.Matches
	alone, err := a.residentMB()
	if err != nil {
		return r, err
	}
	crowd := newCrowd(a.url, games, flags.Readers)
	begun := time.Now()
	if err := crowd.connect(ctx); err != nil {
		return r, err
	}
	defer crowd.close()
	r.ConnectMs = float64(time.Since(begun)) / float64(time.Millisecond)
	began := time.Now()
	if err := playGames(ctx, a.log, games, flags); err != nil {
		return r, err
	}
	r.count(games)
	r.EventsPerSecond = float64(r.Events) / time.Since(began).Seconds()
	if r.MemoryMB, err = a.residentMB(); err != nil {
		return r, err
	}
	r.MemoryPerReaderKB = (r.MemoryMB - alone) * 1024 / float64(flags.Readers)
	if err := endGames(ctx, a.log, games); err != nil {
		return r, err
	}
	return r, r.judge(crowd, time.Since(began))
}

// count adds up what was appended.
func (r *liveReport) count(games []*loggedGame) {
	var appends []time.Duration
	for _, g := range games {
		r.Events += g.events
		appends = append(appends, g.appends...)
	}
	slices.Sort(appends)
	r.AppendP99Ms = quantileMs(appends, 0.99)
}

// judge adds up what the readers have read.
func (r *liveReport) judge(c *crowd, took time.Duration) error {
	if err := c.wait(); err != nil {
		return err
	}
	var all []time.Duration
	for _, reader := range c.readers {
		all = append(all, reader.latencies...)
		r.Missed += reader.missed
		if reader.ended {
			r.Ends++
		}
	}
	if len(all) == 0 {
		return errors.New("no frame was read")
	}
	slices.Sort(all)
	r.Frames, r.FramesPerSecond = len(all), float64(len(all))/took.Seconds()
	r.P50Ms, r.P99Ms, r.MaxMs = quantileMs(all, 0.5), quantileMs(all, 0.99), quantileMs(all, 1)
	return nil
}

func (r liveReport) print(w io.Writer) error {
	_, err := fmt.Fprintf(w, `%d readers of %d matches: all connected, each with its first frame, in %.0f ms
%d events at %.0f/s, %d frames read at %.0f/s, %d missed; %d readers were told of the end
append → reader's socket  p50 %.1f ms  p99 %.1f ms  max %.1f ms  (append alone p99 %.1f ms)
memory of the arena %.0f MB, %.1f KB a reader
`, r.Readers, r.Matches, r.ConnectMs, r.Events, r.EventsPerSecond, r.Frames, r.FramesPerSecond, r.Missed, r.Ends, r.P50Ms, r.P99Ms, r.MaxMs, r.AppendP99Ms, r.MemoryMB, r.MemoryPerReaderKB)
	return err
}

// atOnce runs f for each of a list, at most n at a time.
func atOnce[T any](ctx context.Context, n int, list []T, f func(ctx context.Context, i int, of T) error) error {
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(n)
	for i, of := range list {
		g.Go(func() error { return f(ctx, i, of) })
	}
	return g.Wait()
}
