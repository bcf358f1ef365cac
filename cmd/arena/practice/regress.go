package practice

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/alecthomas/kong"

	"hexarena/adapters/referee"
	"hexarena/cmd/arena/progress"
	"hexarena/cmd/arena/records"
	"hexarena/domain/game"
	"hexarena/domain/match"
	"hexarena/domain/tournament"
	"hexarena/projections/frames"
)

type regressCmd struct {
	Bot          string        `arg:"" placeholder:"BOT" help:"The new version of your bot: a URL, house:NAME for a house bot, or cmd:COMMAND for a program that listens on {port}."`
	Records      []string      `arg:"" placeholder:"RECORD" help:"Ended matches: a file or a folder with records, a match's id, or its URL at an arena."`
	Name         string        `placeholder:"NAME" help:"Your bot in the records, by its name or id (default: the bot with the only decision log)."`
	Seat         *int          `placeholder:"N" help:"The seat of your bot in the records, instead of --name."`
	MaxDifferent string        `placeholder:"N|P%" help:"Exit with status 1 if more answers than this are not the same: a number, or a percentage of all requests."`
	Viewer       string        `placeholder:"URL" help:"Where arena view --listen serves the records, for the links to the differences, such as http://127.0.0.1:8090."`
	Parallel     int           `help:"How many matches to send at the same time (default: the number of cores)."`
	Wait         time.Duration `help:"How long to wait for an answer (default: the deadline in the request)."`
	JSON         bool          `name:"json" help:"Print one JSON object."`

	records.Source
}

// Validate checks the flags. The flag parser calls it.
func (c *regressCmd) Validate() error {
	switch {
	case c.Name != "" && c.Seat != nil:
		return errors.New("--name cannot be combined with --seat")
	case c.Parallel < 0 || c.Wait < 0:
		return errors.New("--parallel and --wait must be above 0")
	}
	if _, err := c.limit(0); err != nil {
		return err
	}
	if _, err := parseBot(c.Bot); err != nil {
		return err
	}
	return c.Check(c.Records...)
}

// limit returns how many answers may differ. Without the flag, all may.
func (c *regressCmd) limit(requests int) (int, error) {
	if c.MaxDifferent == "" {
		return requests, nil
	}
	if share, isShare := strings.CutSuffix(c.MaxDifferent, "%"); isShare {
		p, err := strconv.ParseFloat(strings.TrimSpace(share), 64)
		if err == nil && p >= 0 && p <= 100 {
			return int(p * float64(requests) / 100), nil
		}
	} else if n, err := strconv.Atoi(c.MaxDifferent); err == nil && n >= 0 {
		return n, nil
	}
	return 0, fmt.Errorf("--max-different %q: want a number such as 5, or a percentage such as 0.5%%", c.MaxDifferent)
}

// Run sends the recorded requests to the bot, and compares the answers. If ctx ends
// first, or if a record or the bot fails, it prints the result of the records that are
// complete.
func (c *regressCmd) Run(ctx context.Context, k *kong.Kong) error {
	sources, err := listRecords(c.Records)
	if err != nil {
		return err
	}
	b, err := parseBot(c.Bot)
	if err != nil {
		return err
	}
	r := &regressRun{
		cmd: c, sources: sources, total: regressReport{Bot: b.name, Spec: b.spec, Kinds: []kindReport{}, Differences: []comparison{}},
		series: series{bots: []bot{b}, logger: slog.New(slog.DiscardHandler), starter: &starter{restarts: make([]atomic.Int64, 1)}},
	}
	if err := reachable(ctx, r.bots); err != nil {
		return err
	}
	failed := r.run(ctx, k)
	report := r.report(failed != nil)
	if failed != nil && ctx.Err() == nil && report.Records == 0 {
		return failed
	}
	if err := report.print(k.Stdout, c.JSON); err != nil {
		return err
	}
	switch {
	case failed != nil && ctx.Err() == nil:
		return failed
	case ctx.Err() != nil:
		return fmt.Errorf("stopped after %d of %d records", report.Records, max(report.Records, len(sources)))
	}
	limit, err := c.limit(report.Requests)
	if changed := report.Requests - report.Same; err == nil && changed > limit {
		return fmt.Errorf("--max-different %s: %d of %d answers are not the same", c.MaxDifferent, changed, report.Requests)
	}
	return err
}

// listRecords replaces each folder with the files of its records.
func listRecords(args []string) (sources []string, err error) {
	for _, arg := range args {
		info, err := os.Stat(arg)
		if err != nil || !info.IsDir() {
			sources = append(sources, arg) // not a folder; a missing file is reported when it is read
			continue
		}
		set, err := records.Open(arg)
		if err != nil {
			return nil, err
		}
		for _, id := range set.IDs {
			sources = append(sources, set.File(id))
		}
	}
	return sources, nil
}

// regressRun is one run of the command.
type regressRun struct {
	series

	cmd     *regressCmd
	sources []string

	mu    sync.Mutex // guards the field below
	total regressReport
}

// run sends the requests of all records.
func (r *regressRun) run(ctx context.Context, k *kong.Kong) error {
	p := progress.New(k.Stderr, "records")
	defer p.Finish()
	begun := time.Now()
	defer func() { r.total.Seconds = time.Since(begun).Seconds() }()
	done := 0
	return inTurn(ctx, min(cmp.Or(r.cmd.Parallel, runtime.NumCPU()), len(r.sources)), func(number int) (job, func()) {
		w := r.newWorker(number)
		return func(ctx context.Context, n int) (bool, error) {
			if n >= len(r.sources) {
				return false, nil
			}
			for one, err := range pasts(ctx, k, r.cmd.Source, r.sources[n]) {
				if err != nil {
					return true, err
				}
				found, err := r.repeat(ctx, w, one)
				if err != nil {
					return true, err
				}
				r.add(found)
			}
			r.mu.Lock()
			defer r.mu.Unlock()
			done++
			p.Show("regress", uint64(done), uint64(len(r.sources)))
			return true, nil
		}, w.close
	})
}

// repeat sends the requests of one record to the bot, and compares its answers with the
// recorded ones.
func (r *regressRun) repeat(ctx context.Context, w *worker, p *past) (found []comparison, err error) {
	seat, err := r.cmd.seatIn(p)
	if err != nil {
		return nil, err
	}
	requests, err := p.requests(seat)
	if err != nil {
		return nil, err
	}
	if err := ready(ctx, w.processes); err != nil {
		return nil, err
	}
	id := p.started.MatchID
	failed := func(decision int, err error) error {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		at := ""
		if decision > 0 {
			at = fmt.Sprintf(", decision %d", decision)
		}
		said := ""
		if process := w.processes[0]; process != nil {
			said = "; " + process.said()
		}
		return fmt.Errorf("bot %q, match %s%s: %w%s", r.bots[0].spec, id, at, err, said)
	}
	c := newConversation()
	m := tournament.Match{ID: id, Server: p.proof.ServerSeed}
	u := referee.Upgrade{BotID: p.started.Seats[seat].BotID, Commitment: p.started.Commitment.String(), LogIndex: p.started.Table.Revision}
	if p.started.Beacon != nil {
		u.BeaconRound = p.started.Beacon.Round
	}
	if c.line, _, err = w.open(ctx, 0, m, seat, u, c.receive); err != nil {
		return nil, failed(0, fmt.Errorf("connect: %w", err))
	}
	defer c.line.Close()
	for _, q := range requests {
		q.deadline = cmp.Or(r.cmd.Wait, q.deadline)
		answer, err := c.ask(ctx, q.ID, q.frame, q.deadline)
		if err != nil {
			return nil, failed(q.ID, err)
		}
		found = append(found, q.compare(p, seat, answer))
	}
	return found, nil
}

// seatIn returns the seat of the bot in a match.
func (c *regressCmd) seatIn(p *past) (int, error) {
	switch {
	case c.Seat != nil:
		if err := p.checkSeat(*c.Seat); err != nil {
			return 0, fmt.Errorf("--seat %d: %w", *c.Seat, err)
		}
		return *c.Seat, nil
	case c.Name != "":
		seat := slices.IndexFunc(p.started.Seats, func(s match.Seat) bool { return s.BotName == c.Name || s.BotID == c.Name })
		if seat < 0 {
			return 0, fmt.Errorf("--name %q: no bot of match %s has this name or id; its bots are %s", c.Name, p.started.MatchID, p.names())
		}
		return seat, nil
	case len(p.logs) == 1:
		return p.logs[0].Seat, p.checkSeat(p.logs[0].Seat)
	}
	return 0, fmt.Errorf("the record of match %s has %d decision logs, so it does not say which bot is yours; name your bot with --name or --seat; the bots are %s", p.started.MatchID, len(p.logs), p.names())
}

// recorded is a request of the past match, and what became of it.
type recorded struct {
	frames.Decision

	frame    []byte // the request, as it was sent
	deadline time.Duration
	state    match.Match // in which the answer was judged
	owed     match.Decision
}

// requests returns the requests that a seat received. If the record has no log of a
// request, the request follows from the state of the match. Only its deadline is then
// that of the mode, because a record does not contain the deadlines.
func (p *past) requests(seat int) ([]recorded, error) {
	logged := map[int]json.RawMessage{}
	for _, log := range p.logs {
		if log.Seat == seat {
			for _, d := range log.Decisions {
				logged[d.ID] = d.Request
			}
		}
	}
	var list []recorded
	m, folded := p.begin(), 0
	for _, d := range p.decisions(seat) {
		if d.Request == nil {
			continue // the bot was not asked, because it had no time left
		}
		q := recorded{Decision: d, frame: d.Request.AppendJSON(nil)}
		if raw := logged[d.ID]; len(raw) > 0 && string(raw) != "null" {
			var head struct {
				ID         int   `json:"id"`
				DeadlineMs int64 `json:"deadlineMs"`
			}
			if err := json.Unmarshal(raw, &head); err != nil || head.ID != d.ID || head.DeadlineMs <= 0 {
				return nil, fmt.Errorf("the record of match %s does not verify: the decision log of seat %d has another request at decision %d", p.started.MatchID, seat, d.ID)
			}
			q.frame, d.Request.DeadlineMs = raw, head.DeadlineMs
		}
		q.deadline = time.Duration(d.Request.DeadlineMs) * time.Millisecond
		m, folded = match.EvolveAll(m, p.events[folded:d.Seq-1]), d.Seq-1
		q.state = m
		for _, owed := range m.Asks() {
			if owed.ID == d.ID {
				q.owed = owed
			}
		}
		list = append(list, q)
	}
	return list, nil
}

// compare compares an answer with the recorded one.
func (q *recorded) compare(p *past, seat int, r reply) comparison {
	c := comparison{
		Match: p.started.MatchID, Seat: seat, Decision: q.ID, Seq: q.Seq, Turn: q.Request.View.Turn, Kind: q.Kind, Then: q.Played, Outcome: q.Outcome,
		base: p.base,
	}
	if r.cause == match.CauseDeadline && q.Cause != nil && *q.Cause == match.CauseDeadline {
		c.Verdict = same
		return c
	}
	if r.cause == match.CauseDeadline {
		c.Verdict, c.Reason = late, fmt.Sprintf("no answer within %s", q.deadline)
		return c
	}
	if r.cause != "" {
		c.Verdict, c.Reason = illegal, r.cause
		return c
	}
	answer, err := q.state.Judge(q.owed, r.frame)
	switch {
	case err == nil:
		c.Now = answer.Sent
		c.Verdict, c.talk = q.sameMove(seat, answer)
	case q.sameFailure(r.frame):
		c.Verdict = same
	default:
		c.Verdict, c.Reason = illegal, err.Error()
		c.Now, _ = json.Marshal(string(r.frame)) // a string can always be encoded
	}
	return c
}

// sameMove reports whether a legal answer leads to the same state as the recorded one.
// Different texts can do that, such as two roads in the other order. Talk does not
// change the state, so sameMove reports apart whether only the talk differs.
func (q *recorded) sameMove(seat int, now match.Answer) (v verdict, talk bool) {
	then, err := match.ReadAction(q.owed.Kind, q.Played)
	if q.Outcome != frames.Played || err != nil {
		return different, false
	}
	after := func(a game.Action) game.State {
		g := q.state.Game
		g.Act(uint8(seat), a)
		return g
	}
	if after(then.Action) != after(now.Action) {
		return different, false
	}
	return same, then.Talk != now.Talk
}

// sameFailure reports whether the recorded answer failed too, with the same text.
func (q *recorded) sameFailure(frame []byte) bool {
	return q.Outcome != frames.Played && q.Answer != nil && *q.Answer == string(frame)
}
