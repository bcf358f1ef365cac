package bench

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"time"

	"hexarena/cmd/arena/progress"
	"hexarena/domain/ladder"
	"hexarena/eventstore"
)

// historyDays is the number of days over which the matches are spread.
const historyDays = 20

// fill writes the arena's log.
func (b *callsBench) fill(ctx context.Context, p *progress.Display) (err error) {
	log := b.arena.log
	if b.history, err = newHistory(ctx, log, b.flags.Bots, 0); err != nil {
		return err
	}
	everyone := b.history.bots
	for day := range historyDays {
		b.history.at = time.Now().AddDate(0, 0, day-historyDays)
		b.history.bots = everyone[:4]
		old := len(b.history.ids)
		if err := b.history.grow(ctx, old+b.flags.Veteran/historyDays, p); err != nil {
			return err
		}
		b.history.bots = everyone
		if err := b.history.grow(ctx, old+b.flags.Matches/historyDays, p); err != nil {
			return err
		}
	}
	if err := b.playGames(ctx); err != nil {
		return err
	}
	return inOrder(
		func() error { return b.addPaused(ctx) },
		func() error { return b.awaitHead(ctx, ladder.Standard, len(b.history.ids)) },
		func() error { return b.awaitHead(ctx, ladder.Parley, b.flags.Games) },
		func() error { return b.arena.await(ctx, "/queue", nil) }, // its first count reads the whole ladder
	)
}

// awaitHead waits until a mode's signed log contains n matches.
func (b *callsBench) awaitHead(ctx context.Context, mode string, n int) error {
	size := fmt.Appendf(nil, "\n%d\n", n)
	return b.arena.await(ctx, "/log/"+mode+"/head", func(head []byte) bool { return bytes.Contains(head, size) })
}

// playGames plays parley matches, and leaves some of them running.
func (b *callsBench) playGames(ctx context.Context) error {
	log := b.arena.log
	s := newSimulation(log, ladder.Parley, b.flags.Games+b.flags.Running)
	now := time.Now()
	matches, err := s.seat(ctx, now)
	if err != nil {
		return err
	}
	b.running = matches[:b.flags.Running]
	registered := map[string]bool{}
	for _, bot := range b.history.bots {
		registered[bot.BotID] = true
	}
	if err := startAll(ctx, log, b.running); err != nil {
		return err
	}
	for _, m := range matches[b.flags.Running:] {
		if err := m.playOut(ctx, log); err != nil {
			return err
		}
		if err := s.finish(ctx, now, m); err != nil {
			return err
		}
		b.ended, b.played = append(b.ended, m.id()), append(b.played, m.seating.Bots[0].BotID)
		for _, bot := range m.seating.Bots {
			if registered[bot.BotID] {
				b.owned = append(b.owned, ownedBot{bot.BotID, bot.OwnerID, m.id()})
				break
			}
		}
	}
	return nil
}

// wrongSignature is invalid, but checking it costs as much as checking a valid signature.
var wrongSignature = append(slices.Clone(publicKey), make([]byte, 32)...)

// startAll starts matches and plays their first turns.
func startAll(ctx context.Context, log eventstore.Log, matches []*simulatedMatch) error {
	for _, m := range matches {
		m.clock = time.Now
		if err := m.start(turnsBefore); err != nil {
			return err
		}
		if err := m.store(ctx, log); err != nil {
			return err
		}
	}
	return nil
}
