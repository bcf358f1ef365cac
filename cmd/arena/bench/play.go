package bench

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"runtime"
	"time"

	"hexarena/cmd/arena/progress"
	"hexarena/domain/match"
	"hexarena/eventstore"
)

// playCmd implements `arena bench arena`. The arenas, the node and the bots run as they
// do in service: the matchmaker seats the bots, and the bots answer over WebSockets.
type playCmd struct {
	Matches int     `default:"1000" help:"How many matches run at once."`
	Arenas  int     `default:"1" help:"How many arenas share the node, 1 to 4. The node belongs to the first one."`
	Rate    float64 `default:"4000" help:"Decisions per second at which the bots aim. With 0, they answer immediately."`
	Seconds float64 `default:"30" help:"How long to measure."`
}

// playReport holds the figures of a run.
type playReport struct {
	Matches            int     `json:"matches"` // running at the end of the measurement
	Arenas             int     `json:"arenas"`
	Cores              int     `json:"cores"`
	DecisionsPerSecond float64 `json:"decisionsPerSecond"` // answers that are in the log
	Timeouts           int     `json:"timeouts"`           // decisions that timed out, since the start of the run
	Share              latency `json:"share"`              // the arena's share of a decision: from a bot's answer to the next request of the match
	AppendsPerSecond   float64 `json:"appendsPerSecond"`   // of all arenas
	CPUMsPerDecision   float64 `json:"cpuMsPerDecision"`   // of all arenas, with the node
	IdleMB             float64 `json:"idleMB"`             // resident memory of an arena without matches
	MatchKB            float64 `json:"matchKB"`            // resident memory of all arenas, per running match
}

func (c playCmd) setup() setup { return setup{"arena", "", "matches"} }

func (c playCmd) measure(ctx context.Context, dir string, p *progress.Display) (report, error) {
	if c.Matches < 1 || c.Arenas < 1 || c.Arenas > 4 || c.Rate < 0 || c.Seconds <= 0 {
		return nil, errors.New("--arenas must be 1 to 4, --rate must not be below zero, and all other numbers must be above zero")
	}
	think := time.Duration(0)
	if c.Rate > 0 {
		think = time.Duration(float64(c.Matches) / c.Rate * float64(time.Second))
	}
	b := &playBench{flags: c, report: &playReport{Arenas: c.Arenas, Cores: runtime.NumCPU()}}
	return b.report, withBots(ctx, think, func(url string) error {
		b.bots = url
		return b.withArenas(ctx, dir, func() error { return b.run(ctx, p) })
	})
}

type playBench struct {
	flags  playCmd
	bots   string // base URL of the bots
	arenas []*arena
	report *playReport
}

// withArenas starts the arenas one after another, and calls f when all are ready. All
// arenas use the node and the secrets of the first one.
func (b *playBench) withArenas(ctx context.Context, dir string, f func() error) error {
	if len(b.arenas) == b.flags.Arenas {
		return f()
	}
	node, more := "", []string{"--tick", "1s", "--rest-standard", "0s"}
	if len(b.arenas) > 0 {
		node = b.arenas[0].node
		more = append(more, "--secrets", filepath.Join(b.arenas[0].dir, "secrets.json"))
	}
	return withArenaOn(ctx, node, filepath.Join(dir, fmt.Sprint("arena-", len(b.arenas))), func(a *arena) error {
		b.arenas = append(b.arenas, a)
		return b.withArenas(ctx, dir, f)
	}, more...)
}

// reading holds the sums over all arenas at one time.
type reading struct{ cpu, appends, memoryMB float64 }

func (b *playBench) read(ctx context.Context) (sum reading, err error) {
	for _, a := range b.arenas {
		var r reading
		if err := inOrder(
			into(&r.cpu, func() (float64, error) { return a.cpuSeconds(ctx) }),
			into(&r.appends, func() (float64, error) { return a.metric(ctx, "arena_log_appends_total") }),
			into(&r.memoryMB, func() (float64, error) { return residentMB(a.pid) }),
		); err != nil {
			return sum, err
		}
		sum.cpu, sum.appends, sum.memoryMB = sum.cpu+r.cpu, sum.appends+r.appends, sum.memoryMB+r.memoryMB
	}
	return sum, nil
}

// run registers the bots, waits until all matches run, and measures.
func (b *playBench) run(ctx context.Context, p *progress.Display) error {
	idle, err := b.read(ctx)
	if err != nil {
		return err
	}
	if err := registerAll(ctx, b.arenas[0].log, time.Now(), roster(4*b.flags.Matches), b.bots); err != nil {
		return err
	}
	if err := b.awaitMatches(ctx, p); err != nil {
		return err
	}
	if err := eventstore.Sleep(ctx, warmUp); err != nil {
		return err
	}
	if _, err := b.figures(ctx); err != nil { // starts a new measurement
		return err
	}
	begun := time.Now()
	before, err := b.read(ctx)
	if err != nil {
		return err
	}
	if err := b.show(ctx, p, begun); err != nil {
		return err
	}
	got, err := b.figures(ctx)
	if err != nil {
		return err
	}
	after, err := b.read(ctx)
	if err != nil {
		return err
	}
	took := time.Since(begun)
	r := b.report
	r.Matches, r.Share = got.Running, got.Share
	r.DecisionsPerSecond = perSecond(got.Decisions, took)
	r.AppendsPerSecond = (after.appends - before.appends) / took.Seconds()
	r.CPUMsPerDecision = 1000 * (after.cpu - before.cpu) / float64(max(1, got.Decisions))
	r.IdleMB = idle.memoryMB / float64(len(b.arenas))
	r.MatchKB = 1024 * (after.memoryMB - idle.memoryMB) / float64(max(1, got.Running))
	r.Timeouts, err = b.timeouts(ctx)
	return err
}

const (
	warmUp    = 5 * time.Second // after all matches have started
	startTime = 5 * time.Minute // limits how long the matches may take to start
)

// awaitMatches waits until as many matches run as the flags want. A few matches may
// already have ended by then, so the last 5 % do not count.
func (b *playBench) awaitMatches(ctx context.Context, p *progress.Display) error {
	defer p.Finish()
	ctx, cancel := context.WithTimeout(ctx, startTime)
	defer cancel()
	for {
		got, err := b.figures(ctx)
		if err != nil {
			return err
		}
		p.Show("starting matches", uint64(got.Running), uint64(b.flags.Matches))
		if got.Running*20 >= b.flags.Matches*19 {
			return nil
		}
		if err := eventstore.Sleep(ctx, time.Second); err != nil {
			return fmt.Errorf("only %d of %d matches run: %w", got.Running, b.flags.Matches, err)
		}
	}
}

// show shows the progress until the measurement ends.
func (b *playBench) show(ctx context.Context, p *progress.Display, begun time.Time) error {
	defer p.Finish()
	total := time.Duration(b.flags.Seconds * float64(time.Second))
	for left := total; left > 0; left = total - time.Since(begun) {
		p.Show("measuring seconds", uint64(time.Since(begun)/time.Second), uint64(b.flags.Seconds))
		if err := eventstore.Sleep(ctx, min(left, time.Second)); err != nil {
			return err
		}
	}
	return nil
}

func (b *playBench) figures(ctx context.Context) (f botsFigures, err error) {
	caller := newCaller(1, 0, 7)
	defer caller.CloseIdleConnections()
	got, err := get(ctx, caller, b.bots+"/figures", nil)
	if err != nil {
		return f, err
	}
	return f, json.Unmarshal(got.body, &f)
}

// timeouts counts the decisions in the log that timed out.
func (b *playBench) timeouts(ctx context.Context) (n int, err error) {
	filter := eventstore.Filter{StreamPrefixes: []string{match.Stream("")}, Types: []string{match.DecisionTimedOut{}.EventType()}}
	for m, err := range b.arenas[0].log.Subscribe(ctx, 0, filter) {
		switch {
		case err != nil:
			return n, err
		case m.Event != nil:
			n++
		case m.CaughtUp:
			return n, nil
		}
	}
	return n, ctx.Err()
}

func (r *playReport) print(w io.Writer) {
	arenas := "1 arena"
	if r.Arenas > 1 {
		arenas = fmt.Sprintf("%d arenas", r.Arenas)
	}
	fmt.Fprintf(w, `%d matches at once, %s on one node, %d cores: %.0f decisions/s in the log, %d timeouts
the arena's share of a decision  p50 %.1f ms  p99 %.1f ms  max %.1f ms
%.0f appends/s, %.2f ms of CPU time per decision, %.0f KB of memory per match
`, r.Matches, arenas, r.Cores, r.DecisionsPerSecond, r.Timeouts, r.Share.P50Ms, r.Share.P99Ms, r.Share.MaxMs,
		r.AppendsPerSecond, r.CPUMsPerDecision, r.MatchKB)
}
