package bench

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"hexarena/cmd/arena/progress"
	"hexarena/eventstore"
)

// callsCmd implements `arena bench calls`. It starts an arena in its own process and
// calls every endpoint and page without credentials, and some endpoints as an owner. For
// each of them, it reports the CPU time and the response bytes per call, and how much of
// a core one caller can keep busy within its rate limits.
type callsCmd struct {
	Bots    int     `default:"10000" help:"how many bots are on the leaderboard"`
	Matches int     `default:"10000" help:"how many matches the log contains"`
	Veteran int     `default:"2000" help:"how many of these matches were played by the bot with the longest history"`
	Games   int     `default:"100" help:"how many matches to play in full"`
	Running int     `default:"50" help:"how many matches are running"`
	Calls   int     `default:"200" help:"how many calls to measure for each row"`
	Seconds float64 `default:"10" help:"how long to measure /health and streams"`
}

// callsReport holds the figures. Rows are in the order of the API's routes,
// followed by the pages.
type callsReport struct {
	Rows    []callReport `json:"rows"`
	Worst   float64      `json:"worstPercent"`  // percentage of a core, for the most expensive mix of calls within the limits of one address
	Streams float64      `json:"streamPercent"` // percentage of a core, for all the streams that one address may have open
	Calm    latency      `json:"calm"`          // response times of /health without other calls
	Hostile latency      `json:"hostile"`       // the same, while hostileAddresses addresses make the most expensive mix of calls
}

// callReport holds the figures of one kind of call.
type callReport struct {
	What    string             `json:"what"`
	Status  int                `json:"status"`
	CPUMs   float64            `json:"cpuMs"`   // CPU time of the arena per call
	Bytes   int                `json:"bytes"`   // average size of a response's body
	Limits  map[string]int     `json:"limits"`  // the limits that apply to the call
	Price   map[string]float64 `json:"price"`   // by limit: how many calls this one counts as
	PerMin  float64            `json:"perMin"`  // how many of these calls one address may make in a minute; 0: the arena rejects the call
	Percent float64            `json:"percent"` // percentage of a core, if one address makes all these calls
	Owner   bool               `json:"owner"`   // an owner makes the call, and the limits are those of the account
}

func (c callsCmd) setup() setup { return setup{"calls", "", "matches"} }

func (c callsCmd) measure(ctx context.Context, dir string, p *progress.Display) (report, error) {
	if c.Bots < 4 || c.Veteran > c.Matches || c.Games < 2 || c.Running < 1 || c.Calls < 1 || c.Seconds <= 0 {
		return nil, errors.New("--bots must be at least 4, --games must be at least 2, --veteran must not exceed --matches, and all other numbers must be above zero")
	}
	r := &callsReport{}
	return r, withArena(ctx, dir, func(a *arena) error {
		b := &callsBench{flags: c, arena: a, report: r}
		return inOrder(
			func() error { return b.fill(ctx, p) },
			func() error { return b.measureRows(ctx) },
			into(&r.Calm, func() (latency, error) { return b.measureHealth(ctx) }),
			into(&r.Hostile, func() (latency, error) { return b.underAttack(ctx, b.measureHealth) }),
			func() error { return b.measureStreams(ctx) },
		)
	}, "--no-play")
}

// measureRows measures each row.
func (b *callsBench) measureRows(ctx context.Context) (err error) {
	if b.calls, err = b.rows(ctx); err != nil {
		return err
	}
	for _, row := range b.calls {
		r, err := b.measureRow(ctx, row)
		if err != nil {
			return fmt.Errorf("%s: %w", row.what, err)
		}
		b.report.Rows = append(b.report.Rows, r)
	}
	b.report.Worst = b.report.percentOf(worstMix(b.report.Rows))
	return nil
}

// callsPerAddress is how many calls each address makes, unless its limits allow
// fewer. Each address has one connection.
const callsPerAddress = 10

func (b *callsBench) measureRow(ctx context.Context, row callRow) (r callReport, err error) {
	calls := b.flags.Calls
	if row.most > 0 {
		calls = min(calls, row.most)
	}
	caller, err := b.callerOf(ctx, row)
	if err != nil {
		return r, err
	}
	before, err := b.arena.cpuSeconds(ctx)
	if err != nil {
		return r, err
	}
	q, total := quotas{late: row.bot != nil}, 0
	r = callReport{What: row.what, Owner: row.bot != nil}
	for i := range calls {
		next := i%callsPerAddress == 0 || q.spent()
		if row.bot != nil {
			next = i == 0 || row.bot(i).ownerID != row.bot(i-1).ownerID
		}
		if !row.over && next {
			caller.CloseIdleConnections()
			caller, q.left = b.newCaller(), nil
		}
		status, header, size, err := b.call(ctx, caller, row, i)
		for err == nil && status == http.StatusServiceUnavailable { // the arena still computes an answer: on a busy machine, a win probability takes longer than a call may wait
			caller.CloseIdleConnections()
			caller, q.left = b.newCaller(), nil
			if err = eventstore.Sleep(ctx, 100*time.Millisecond); err == nil {
				status, header, size, err = b.call(ctx, caller, row, i)
			}
		}
		switch {
		case err != nil:
			return r, err
		case r.Status != 0 && status != r.Status:
			return r, fmt.Errorf("call %d returned status %d, earlier calls %d", i, status, r.Status)
		}
		r.Status, total = status, total+size
		q.add(header)
	}
	caller.CloseIdleConnections()
	after, err := b.arena.cpuSeconds(ctx)
	r.CPUMs, r.Bytes = 1000*(after-before)/float64(calls), total/calls
	if !row.over {
		r.Limits, r.Price = q.limits, q.price()
		r.PerMin = r.callsPerMinute()
	}
	r.Percent = r.CPUMs * r.PerMin / 600
	return r, err
}

// callerOf returns the caller for a row. If the row needs a caller that has used up
// its limit, callerOf first uses up the limit.
func (b *callsBench) callerOf(ctx context.Context, row callRow) (*http.Client, error) {
	caller := b.newCaller()
	for status := http.StatusOK; row.over && status != http.StatusTooManyRequests; {
		var err error
		if status, _, _, err = b.call(ctx, caller, row, 0); err != nil {
			return nil, err
		}
	}
	return caller, nil
}

// cpuSeconds returns the CPU time that the arena has used.
func (a *arena) cpuSeconds(ctx context.Context) (float64, error) {
	return a.metric(ctx, "process_cpu_seconds_total")
}

func (r *callsReport) print(w io.Writer) {
	fmt.Fprintf(w, "%-58s %6s %9s %9s %-24s %7s %9s\n", "", "status", "CPU", "bytes", "counts as", "per min", "of a core")
	for _, row := range r.Rows {
		var price []string
		for _, name := range []string{"all", "match-reads", "writes", "registrations", "files"} {
			if n := row.Price[name]; n > 0 {
				price = append(price, fmt.Sprintf("%.3g %s", n, name))
			}
		}
		fmt.Fprintf(w, "%-58s %6d %6.2f ms %9d %-24s %7.0f %7.1f %%\n", row.What, row.Status, row.CPUMs, row.Bytes, strings.Join(price, ", "), row.PerMin, row.Percent)
	}
	fmt.Fprintf(w, "the most expensive mix of calls that one address may make: %.1f %% of a core\n", r.Worst)
	fmt.Fprintf(w, "GET /health: p50 %.1f ms, p99 %.1f ms; while %d addresses make that mix: p50 %.1f ms, p99 %.1f ms\n",
		r.Calm.P50Ms, r.Calm.P99Ms, hostileAddresses, r.Hostile.P50Ms, r.Hostile.P99Ms)
	fmt.Fprintf(w, "the %d streams that one address may open, on all running matches: %.1f %% of a core\n", streamsPerAddress, r.Streams)
}
