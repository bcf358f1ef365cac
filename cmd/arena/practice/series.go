package practice

import (
	"context"
	"crypto/ed25519"
	"crypto/sha256"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"hexarena/adapters/botwire"
	"hexarena/adapters/housebot"
	"hexarena/adapters/referee"
	"hexarena/cmd/arena/houseline"
	"hexarena/domain/ladder"
	"hexarena/domain/match"
	"hexarena/domain/rating"
	"hexarena/domain/seed"
	"hexarena/domain/tournament"
	"hexarena/eventstore"
	"hexarena/eventstore/memory"
	"hexarena/projections/directory"
	"hexarena/projections/frames"
)

// localKey is the id of the seed key in the records of local matches. No arena has a
// key with this id, because the seeds of local matches were chosen.
const localKey = "local"

// platformKey signs the upgrades of local matches. It is not secret, and always the
// same, so that a bot can check the signatures of local matches too.
var platformKey = func() ed25519.PrivateKey {
	sum := sha256.Sum256([]byte("hexarena/practice/platform key/1"))
	return ed25519.NewKeyFromSeed(sum[:])
}()

// series is a series of matches between the same bots.
type series struct {
	plan     tournament.Plan
	bots     []bot
	mode     string
	decision time.Duration
	wall     time.Duration
	parallel int
	logger   *slog.Logger
	starter  *starter // starts the bots that are commands
}

// played is an ended match.
type played struct {
	match   tournament.Match
	history frames.History
	details match.Details
}

// play plays all matches that skip does not skip. It calls done for each match, for
// several matches at the same time. After the first error, or if ctx ends, it stops. The
// matches that were in progress then have no result.
func (s *series) play(ctx context.Context, skip func(number int) bool, done func(played) error) error {
	return inTurn(ctx, s.parallel, func(number int) (job, func()) {
		w := s.newWorker(number)
		return func(ctx context.Context, n int) (bool, error) {
			if n >= s.plan.Matches() {
				return false, nil
			}
			if skip(n) {
				return true, nil
			}
			p, err := w.play(ctx, s.plan.Match(n))
			if err == nil {
				err = done(p)
			}
			return true, err
		}, w.close
	})
}

// job does the nth piece of work. It returns false if there are only n pieces.
type job func(ctx context.Context, n int) (more bool, err error)

// inTurn does the pieces of work 0, 1, 2, … with several workers at the same time, until
// no piece is left. It calls begin once for each worker, and the returned function end
// when the worker has finished. After the first error, or if ctx ends, it stops.
func inTurn(ctx context.Context, workers int, begin func(worker int) (do job, end func())) error {
	var next atomic.Int64
	g, ctx := errgroup.WithContext(ctx)
	for i := range workers {
		g.Go(func() error {
			do, end := begin(i)
			defer end()
			for ctx.Err() == nil {
				if more, err := do(ctx, int(next.Add(1))-1); !more || err != nil {
					return err
				}
			}
			return ctx.Err()
		})
	}
	return g.Wait()
}

// worker plays one match at a time. It has its own processes of the bots that are
// commands, because on an arena too, a bot plays only one match at a time.
type worker struct {
	*series

	dialer    *botwire.Dialer
	processes []*process // by bot; nil if the bot is not a command
}

func (s *series) newWorker(number int) *worker {
	w := &worker{series: s, processes: make([]*process, len(s.bots))}
	w.dialer = botwire.New(botwire.Options{Key: platformKey, Now: time.Now, Logger: s.logger})
	for i := range s.bots {
		if s.bots[i].command != "" {
			w.processes[i] = s.starter.newProcess(&s.bots[i], i, number)
		}
	}
	return w
}

func (w *worker) close() {
	for _, p := range w.processes {
		if p != nil {
			p.close()
		}
	}
}

// play plays one match. If all bots are house bots, it needs no referee.
func (w *worker) play(ctx context.Context, m tournament.Match) (p played, err error) {
	for _, b := range w.bots {
		if b.house == "" {
			return w.referee(ctx, m)
		}
	}
	players := make([]*housebot.Player, len(m.Seats))
	for seat := range players {
		if players[seat], err = w.player(m, seat); err != nil {
			return p, err
		}
	}
	h, err := playHouse(ctx, m.Server, w.seating(m), players)
	return played{m, h, match.NewDetails()}, err
}

// player returns the player of the house bot at a seat.
func (w *worker) player(m tournament.Match, seat int) (*housebot.Player, error) {
	return housebot.NewPlayer(w.bots[m.Seats[seat]].house, m.BotSeed(seat), m.ID)
}

// seating returns the inputs of a match of house bots.
func (w *worker) seating(m tournament.Match) match.Seating {
	s := match.Seating{
		MatchID: m.ID, Mode: w.mode, Commitment: seed.Commitment(m.Server), Nonces: make([]string, len(m.Table)),
		Table:     match.Table{Revision: uint64(m.Block), Index: m.Rotation, SeedKey: localKey},
		Deadlines: match.Deadlines{DecisionMs: w.decision.Milliseconds(), WallMs: w.wall.Milliseconds()},
	}
	for _, i := range m.Table {
		seat := w.bots[i].seat()
		seat.Version = housebot.Version
		s.Bots, s.Table.Bots = append(s.Bots, seat), append(s.Table.Bots, seat.BotID)
	}
	return s
}

// referee plays a match with a referee, on a log that only this match uses.
func (w *worker) referee(ctx context.Context, m tournament.Match) (p played, err error) {
	log := memory.New()
	r := referee.New(w.options(log, m, func(context.Context, ladder.Seating) (seed.Seed, error) { return m.Server, nil }, w.dial))
	s := ladder.Seating{
		MatchID: m.ID, Mode: w.mode, Revision: uint64(m.Block), Index: m.Rotation, SeedKey: localKey,
		Commitment: seed.Commitment(m.Server), SeatedAt: time.Now(),
	}
	for _, i := range m.Table {
		s.Bots = append(s.Bots, ladder.Entrant{BotID: w.bots[i].id, Rating: rating.New()})
	}
	if err := ready(ctx, w.processes); err != nil {
		return p, err
	}
	if err := r.PlayOut(ctx, s); err != nil {
		return p, fmt.Errorf("match %s: %w", m.ID, err)
	}
	p.match = m
	if p.history, err = frames.Read(ctx, log, m.ID); err != nil {
		return p, err
	}
	p.details, err = frames.ReadDetails(ctx, log, m.ID)
	return p, err
}

// dialMatch connects to a bot of a match.
type dialMatch func(ctx context.Context, m tournament.Match, u referee.Upgrade, receive func([]byte, string)) (referee.Line, referee.Accepted, error)

// The method options() returns the options of a referee that plays one match.
func (w *worker) options(log eventstore.Log, m tournament.Match, server func(context.Context, ladder.Seating) (seed.Seed, error), dial dialMatch) referee.Options {
	return referee.Options{
		Log: log, Player: localOwner, Logger: w.logger,
		Modes:      map[string]referee.Mode{w.mode: {Decision: w.decision, Wall: w.wall, Ladder: noLadder{}}},
		ServerSeed: server,
		Publish:    func(context.Context, ladder.Seating) error { return nil }, // no ladder contains the seating of a local match
		Bots:       w.find,
		Dial: func(ctx context.Context, _, _ string, u referee.Upgrade, receive func([]byte, string)) (referee.Line, referee.Accepted, error) {
			return dial(ctx, m, u, receive)
		},
	}
}

func (w *worker) find(id string) (directory.Bot, bool) {
	for _, b := range w.bots {
		if b.id == id {
			return directory.Bot{ID: id, Name: b.name, OwnerID: localOwner}, true
		}
	}
	return directory.Bot{}, false
}

// ready waits until the programs of all bots listen. A bot must not get a strike because
// its program takes long to start.
func ready(ctx context.Context, processes []*process) error {
	waiting, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	var g errgroup.Group
	for _, p := range processes {
		if p != nil {
			g.Go(func() error { _, err := p.address(waiting); return err })
		}
	}
	if err := g.Wait(); ctx.Err() == nil {
		return err
	}
	return ctx.Err()
}

// dial connects to a bot of a match.
func (w *worker) dial(ctx context.Context, m tournament.Match, u referee.Upgrade, receive func([]byte, string)) (referee.Line, referee.Accepted, error) {
	for seat, i := range m.Seats {
		if w.bots[i].id == u.BotID {
			return w.open(ctx, i, m, seat, u, receive)
		}
	}
	return nil, referee.Accepted{}, errUnknownBot
}

// open connects to bot i, which plays a seat of a match. It drops the bot's nonce,
// because a nonce would change the seed.
func (w *worker) open(ctx context.Context, i int, m tournament.Match, seat int, u referee.Upgrade, receive func([]byte, string)) (referee.Line, referee.Accepted, error) {
	b := &w.bots[i]
	if b.house != "" {
		player, err := housebot.NewPlayer(b.house, m.BotSeed(seat), m.ID)
		if err != nil {
			return nil, referee.Accepted{}, err
		}
		line, accepted := houseline.Open(player, receive)
		return line, accepted, nil
	}
	url := b.url
	if p := w.processes[i]; p != nil {
		var err error
		if url, err = p.address(ctx); err != nil {
			return nil, referee.Accepted{}, err
		}
	}
	line, accepted, err := w.dialer.Dial(ctx, url, m.ID, botwire.Upgrade(u), receive)
	if err != nil {
		return nil, referee.Accepted{}, err
	}
	return line, referee.Accepted{Version: accepted.Version}, nil
}

// noLadder is the ladder of local matches. It stores nothing.
type noLadder struct{}

// Finish implements referee.Ladder.
func (noLadder) Finish(context.Context, string, []ladder.Result) error { return nil }

// Void implements referee.Ladder.
func (noLadder) Void(context.Context, string, string) error { return nil }

func (noLadder) Finished(context.Context, string) (bool, error) { return false, nil }
