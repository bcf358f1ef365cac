// Package conformance checks whether a bot follows the protocol (docs/protocol.md). It
// calls the bot over real sockets, with the dialer and the signatures of the arena. The
// requests come from real games, which house bots play with fixed seeds. The engine
// judges every answer. Call [Run].
//
// Each check asks one question. It first looks at a plain match. Each later check
// changes one thing: the number of seats, the talk, the clock. If the bot fails, the
// package repeats the request without the change. So a fault fails only the check that
// asks for it.
package conformance

import (
	"context"
	"crypto/ed25519"
	"log/slog"
	"sync"
	"time"

	"hexarena/adapters/botwire"
	"hexarena/domain/game"
	"hexarena/domain/ladder"
)

// Options describe a bot and how to reach it.
type Options struct {
	Bot     string // the name of the bot in the report
	BotID   string
	Key     ed25519.PrivateKey                        // signs the upgrades
	Address func(ctx context.Context) (string, error) // the bot's URL; starts a program that has ended

	// Ended describes how the bot's program ended. It returns "" if the program is
	// running, or if there is no program. A nil Ended means that there is no program.
	Ended func() string

	// Memory returns the bytes of memory that the bot's program uses. It returns false
	// if the system does not tell. If Memory is nil, there is no program to measure.
	Memory func() (bytes uint64, ok bool)

	Decision time.Duration // the time for one decision in a standard match; the mode's time if 0
	Matches  int           // for the check of the memory; 200 if 0
	Limit    time.Duration // no check begins later; 50 s if 0
	Show     func(done, total int)
}

const (
	defaultMatches = 200
	defaultLimit   = 50 * time.Second
	memoryPart     = 0.4 // of the limit, for the check of the memory
	maxDecisions   = 300 // the bot's decisions in the first match
)

// run is one run of all checks.
type run struct {
	Options

	dialer  *botwire.Dialer
	report  *Report
	begun   time.Time
	matches int            // matches that were opened so far
	sound   map[string]int // by kind: usable answers in plain matches; -1 after a failure
	down    string         // why the bot can no longer be reached; "" while it can
	closing sync.WaitGroup // lines that are being closed
	slow    int            // lines that took long to close
	took    []time.Duration
	nonces  map[string]string // by match id
	stopped func() bool       // whether ctx has ended. Answers that are missing then mean nothing
}

// Run checks a bot. If ctx ends first, the remaining checks are not in the result. The
// error says that the bot cannot be reached at all.
func Run(ctx context.Context, o Options) (*Report, error) {
	if o.Decision == 0 {
		o.Decision, _ = ladder.Clocks(ladder.Standard)
	}
	if o.Matches == 0 {
		o.Matches = defaultMatches
	}
	if o.Limit == 0 {
		o.Limit = defaultLimit
	}
	if o.Show == nil {
		o.Show = func(int, int) {}
	}
	r := &run{Options: o, report: newReport(o.Bot), begun: time.Now(), sound: map[string]int{}, nonces: map[string]string{}}
	r.stopped = func() bool { return ctx.Err() != nil }
	r.dialer = newDialer(o.Key, time.Now)
	defer r.closing.Wait()
	if _, err := o.Address(ctx); err != nil {
		return nil, err
	}
	steps := []func(context.Context){
		r.deploy, r.plainMatch, r.nextMatch, r.plainPositions, r.fourSeats, r.longTalk, r.oddViews, r.formats,
		r.clocks, r.reconnects, r.signatures, r.memory, r.advise,
	}
	for i, step := range steps {
		o.Show(i, len(steps))
		if ctx.Err() != nil {
			break
		}
		step(ctx)
	}
	r.report.finish(time.Since(r.begun), ctx.Err() != nil, r.down)
	return r.report, nil
}

func newDialer(key ed25519.PrivateKey, now func() time.Time) *botwire.Dialer {
	return botwire.New(botwire.Options{Key: key, Now: now, Logger: slog.New(slog.DiscardHandler)})
}

// ready reports whether a check can begin. If not, it stores why the check was not made.
func (r *run) ready(ids ...string) bool {
	why := ""
	switch {
	case r.down != "":
		why = r.down
	case time.Since(r.begun) > r.Limit:
		why = "the earlier checks took too long, because the bot is slow"
	case r.report.failed("matches"):
		why = "the bot mixes up matches, so the result would mean nothing"
	}
	for _, id := range ids {
		if why != "" {
			r.report.skip(id, why)
		}
	}
	return why == ""
}

// soundKind reports whether the bot has always answered this kind of request well in
// plain matches.
func (r *run) soundKind(kind string) bool { return r.sound[kind] > 0 }

// plain stores the judgment of an answer in a plain match.
func (r *run) plain(kind game.Kind, f *failure) {
	switch {
	case r.stopped():
	case f != nil:
		r.unsound(kind, checkFor(f), f)
	default:
		if r.sound[kind.String()] >= 0 {
			r.sound[kind.String()]++
		}
		r.pass(kind.String())
	}
}

// unsound stores a failure in a plain match.
func (r *run) unsound(kind game.Kind, id string, f *failure) {
	r.sound[kind.String()] = -1
	r.fail(id, f)
}

func (r *run) pass(id string) {
	if !r.stopped() {
		r.report.pass(id)
	}
}

func (r *run) fail(id string, f *failure) {
	if r.stopped() {
		return
	}
	r.report.fail(id, f.Exchange)
}
