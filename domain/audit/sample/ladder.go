package sample

import (
	"fmt"
	"time"

	"hexarena/domain/game"
	"hexarena/domain/ladder"
)

// Ladder is a ladder without games: it draws the placements. Make one with
// NewLadder.
type Ladder struct {
	rng        game.Rand
	state      ladder.Ladder
	candidates []ladder.Candidate
	now        time.Time
}

// NewLadder returns a ladder with a number of bots before its first event.
func NewLadder(bots int) *Ladder {
	l := &Ladder{rng: game.NewRand(1), state: ladder.New(ladder.Standard), now: time.Date(2026, 9, 6, 12, 0, 0, 0, time.UTC)}
	for i := range bots {
		l.candidates = append(l.candidates, ladder.Candidate{BotID: fmt.Sprintf("00000000-0000-4000-8000-%012d", i), Registered: l.now})
	}
	return l
}

// Tick seats every bot, rates every table, and returns the events.
func (l *Ladder) Tick() []ladder.Event {
	l.now = l.now.Add(time.Minute)
	all, err := l.state.Seat(l.candidates, ladder.Tick{Now: l.now, PlatformKey: PlatformKey, SeedKeyID: SeedKeyID, SeedKey: SeedKey})
	must(err)
	l.fold(all)
	for _, s := range l.state.Unfinished() {
		events, err := l.state.Finish(s.MatchID, l.results(s))
		must(err)
		l.fold(events)
		all = append(all, events...)
	}
	return all
}

func (l *Ladder) fold(events []ladder.Event) {
	for _, e := range events {
		l.state = ladder.Evolve(l.state, e, l.now)
	}
}

// results draws the winner. The others share the second place, or follow in order.
func (l *Ladder) results(s ladder.Seating) []ladder.Result {
	results := make([]ladder.Result, len(s.Bots))
	first, shared := int(l.rng.Uint64()>>1%uint64(len(s.Bots))), l.rng.Uint64()%4 == 0
	place := 2
	for i, b := range s.Bots {
		results[i] = ladder.Result{BotID: b.BotID, Placement: 2}
		switch {
		case i == first:
			results[i].Placement = 1
		case !shared:
			results[i].Placement = place
			place++
		}
	}
	return results
}
