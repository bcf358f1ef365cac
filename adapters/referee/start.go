package referee

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"hexarena/domain/match"
	"hexarena/projections/directory"
)

const (
	// startTime is the maximum time to wait for the bots' upgrade responses. A shorter
	// decision time takes precedence.
	startTime = 5 * time.Second

	directoryTime  = time.Minute            // the maximum time to wait for a bot that is missing from the directory
	directoryPause = 100 * time.Millisecond // between checks of the directory
)

// start waits until a signed head includes the seating. Then it dials all bots at the
// same time and collects their nonces and versions. Finally, it waits for the round of
// the beacon that the table names, and stores the start of the match. It does not wait
// for bots that respond late. Nothing before the start counts as time played.
func (p *run) start(ctx context.Context) error {
	if err := p.requireBeacon(ctx); err != nil {
		return err
	}
	if err := p.publish(ctx); err != nil {
		return err
	}
	p.reportLateDial()
	bots := p.entrants()
	nonces := make([]string, len(bots))
	for i, accepted := range p.dialAll(ctx) {
		bots[i].Version, nonces[i] = accepted.Version, accepted.Nonce
	}
	if ctx.Err() != nil {
		return errStopped
	}
	round, err := p.awaitRound(ctx)
	if err != nil {
		return err
	}
	events, err := p.state.Start(match.Seating{
		MatchID:    p.seating.MatchID,
		Mode:       p.seating.Mode,
		Table:      p.table(),
		Bots:       bots,
		Commitment: p.seating.Commitment,
		Nonces:     nonces,
		Deadlines:  p.mode.deadlines(),
		Beacon:     round,
	})
	if err != nil {
		return fmt.Errorf("start: %w", err)
	}
	p.used = match.NewClocks(len(p.seats))
	if err := p.append(ctx, events); err != nil {
		return err
	}
	p.orderSeats()
	p.log().Info("match started", "seats", len(p.seats))
	return nil
}

// The method deadlines() returns the time limits for a new match.
func (m Mode) deadlines() match.Deadlines {
	d := match.Deadlines{DecisionMs: m.Decision.Milliseconds(), WallMs: m.Wall.Milliseconds()}
	if m.TimeBank {
		return d.WithBank()
	}
	return d
}

// publish waits until a signed head includes the seating. If an operator aborts the
// match before that, the match is voided before it starts, and its bots are not dialed.
func (p *run) publish(ctx context.Context) error {
	waiting, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(p.ordered, cancel)()
	err := p.options.Publish(waiting, p.seating)
	switch {
	case ctx.Err() != nil:
		return fmt.Errorf("%w: %w", errStopped, ctx.Err())
	case p.ordered.Err() != nil:
		return p.unstartedByOrder()
	case err != nil:
		return err
	}
	p.log().Debug("a signed head includes the seating", "revision", p.seating.Revision)
	return nil
}

// awaitDirectory waits until the directory includes every bot of the table. Soon after
// the start of this process, the directory may still be catching up, and a bot must not
// get a strike because of that. If an operator has ordered an abort, awaitDirectory does
// not wait, because the match needs no bots.
func (p *run) awaitDirectory(ctx context.Context) error {
	until := p.clock.now() + directoryTime
	for _, e := range p.seating.Bots {
		b, ok := p.options.Bots(e.BotID)
		for ; !ok && p.ordered.Err() == nil; b, ok = p.options.Bots(e.BotID) {
			if p.clock.now() >= until {
				return fmt.Errorf("bot %s is not in the directory", e.BotID)
			}
			p.clock.wait(ctx, p.clock.now()+directoryPause, p.ordered.Done())
			if ctx.Err() != nil {
				return errStopped
			}
		}
		if ok {
			p.found[e.BotID] = b
		}
	}
	return nil
}

// The method bot() returns the entry of a bot in the directory. While the directory is
// checked or rebuilt after a loss of events, Bots finds no bot. Then bot() returns the
// entry that awaitDirectory found.
func (p *run) bot(id string) (b directory.Bot, ok bool) {
	if b, ok = p.options.Bots(id); !ok {
		b, ok = p.found[id]
	}
	return b, ok
}

// The method entrants() returns the bots in table order.
func (p *run) entrants() []match.Seat {
	seats := make([]match.Seat, len(p.seating.Bots))
	for i, e := range p.seating.Bots {
		bot, _ := p.bot(e.BotID)
		seats[i] = match.Seat{BotID: e.BotID, BotName: bot.Name, OwnerID: bot.OwnerID, Mu: e.Mu, Sigma: e.Sigma}
	}
	return seats
}

func (p *run) table() match.Table {
	t := match.Table{Revision: p.seating.Revision, Index: p.seating.Index, SeedKey: p.seating.SeedKey}
	for _, e := range p.seating.Bots {
		t.Bots = append(t.Bots, e.BotID)
	}
	return t
}

// dialAll dials every bot once and returns the responses in table order. A failed dial
// does not cause a strike, because the referee dials again for the bot's first
// decision. When an operator orders an abort, dialAll stops dialing, because an aborted
// match sends no more requests.
func (p *run) dialAll(ctx context.Context) []Accepted {
	accepted := make([]Accepted, len(p.seats))
	if p.awaitClaim(ctx) != nil || p.ordered.Err() != nil {
		return accepted
	}
	ctx, cancel := context.WithTimeout(ctx, min(startTime, p.mode.Decision))
	defer cancel()
	defer context.AfterFunc(p.ordered, cancel)()
	var all sync.WaitGroup
	for i, s := range p.seats {
		all.Go(func() { accepted[i], _ = s.dial(ctx) })
	}
	all.Wait()
	return accepted
}

// orderSeats puts the seats into the order of play, which the seed determines.
func (p *run) orderSeats() {
	place := func(s *seat) int {
		return slices.IndexFunc(p.state.Started.Seats, func(at match.Seat) bool { return at.BotID == s.bot })
	}
	slices.SortFunc(p.seats, func(a, b *seat) int { return place(a) - place(b) })
}
