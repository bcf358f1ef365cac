package referee

import (
	"context"
	"fmt"
	"sync"
	"time"

	"hexarena/domain/match"
)

const (
	// startTime is how long a match waits for its bots' upgrade answers at
	// most; a shorter decision time bounds it too.
	startTime = 5 * time.Second

	// How long a match waits for a directory that does not know its bots, and
	// how often it looks.
	directoryTime  = time.Minute
	directoryPause = 100 * time.Millisecond
)

// start dials all bots at once, for their lines and nonces, and opens the match
// with whoever has answered.
func (p *play) start(ctx context.Context) error {
	bots := p.entrants()
	seats := make([]*seat, len(bots))
	for i := range bots {
		seats[i] = p.newSeat(bots[i].BotID)
	}
	p.seats = seats
	nonces := p.dialAll(ctx)
	if ctx.Err() != nil {
		return errStopped
	}
	events, err := p.state.Start(match.Seating{
		MatchID:    p.seating.MatchID,
		Mode:       p.seating.Mode,
		Table:      p.table(),
		Bots:       bots,
		Commitment: p.seating.Commitment,
		Nonces:     nonces,
		Deadlines:  match.Deadlines{DecisionMs: p.mode.Decision.Milliseconds(), WallMs: p.mode.Wall.Milliseconds()},
	})
	if err != nil {
		return fmt.Errorf("start: %w", err)
	}
	if err := p.append(ctx, events); err != nil {
		return err
	}
	p.arrange(seats)
	p.log().Info("match starts", "seats", len(p.seats))
	return nil
}

// acquaint waits until the directory knows every bot of the table: after a
// start of ours it may be behind, and no bot is charged for that.
func (p *play) acquaint(ctx context.Context) error {
	until := p.clock.now() + directoryTime
	for _, e := range p.seating.Bots {
		for !p.knows(e.BotID) {
			if p.clock.now() >= until {
				return fmt.Errorf("bot %s is not in the directory", e.BotID)
			}
			p.clock.wait(ctx, p.clock.now()+directoryPause, nil)
			if ctx.Err() != nil {
				return errStopped
			}
		}
	}
	return nil
}

func (p *play) knows(botID string) bool {
	_, ok := p.config.Bots(botID)
	return ok
}

// entrants are the bots in table order.
func (p *play) entrants() []match.Seat {
	seats := make([]match.Seat, len(p.seating.Bots))
	for i, e := range p.seating.Bots {
		bot, _ := p.config.Bots(e.BotID)
		seats[i] = match.Seat{BotID: e.BotID, BotName: bot.Name, OwnerID: bot.OwnerID, Mu: e.Mu, Sigma: e.Sigma}
	}
	return seats
}

func (p *play) table() match.Table {
	t := match.Table{Revision: p.seating.Revision, Index: p.seating.Index, SeedKey: p.seating.SeedKey}
	for _, e := range p.seating.Bots {
		t.Bots = append(t.Bots, e.BotID)
	}
	return t
}

// dialAll dials every bot once and returns the nonces, in table order. Whoever
// does not answer is not struck: its first decision dials again.
func (p *play) dialAll(ctx context.Context) []string {
	ctx, cancel := context.WithTimeout(ctx, min(startTime, p.mode.Decision))
	defer cancel()
	nonces := make([]string, len(p.seats))
	var all sync.WaitGroup
	for i, s := range p.seats {
		all.Go(func() { nonces[i], _ = s.dial(ctx) })
	}
	all.Wait()
	return nonces
}

// arrange puts the seats of the table, or new ones, into the order of play.
func (p *play) arrange(table []*seat) {
	byBot := make(map[string]*seat, len(table))
	for _, s := range table {
		byBot[s.bot] = s
	}
	p.seats = make([]*seat, len(p.state.Started.Seats))
	for i, at := range p.state.Started.Seats {
		s := byBot[at.BotID]
		if s == nil {
			s = p.newSeat(at.BotID)
		}
		p.seats[i] = s
	}
}
