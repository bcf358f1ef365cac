package sample

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"hexarena/domain/beacon"
	"hexarena/domain/game"
	"hexarena/domain/ladder"
)

// Ladder is a mode's ladder without games: it draws the placements at random. All its
// bots are always ready to play. NewLadder makes a Ladder.
type Ladder struct {
	Events []ladder.Event // the events of ladder-standard, from revision 0
	Times  []time.Time    // the times of the events

	rng         game.Rand
	platformKey string
	state       ladder.Ladder
	candidates  []ladder.Candidate
	now         time.Time
	rest        time.Duration
	beacon      *Beacon // nil for an arena without a beacon
}

// Beacon is the beacon of an arena. Sign returns the signature of a round.
type Beacon struct {
	beacon.Chain

	Sign func(round uint64) []byte
}

// The method named() returns the round that a seating names, or nil without a beacon.
func (b *Beacon) named(tick time.Time) *beacon.Named {
	if b == nil {
		return nil
	}
	return &beacon.Named{Chain: b.Hash, Round: b.After(tick)}
}

// NewLadder returns a ladder before its first event, with the given number of bots.
func NewLadder(bots int) *Ladder { return newLadder(bots, 1, PlatformKey) }

// NewBeaconLadder is like NewLadder, but for an arena with a beacon.
func NewBeaconLadder(bots int, b *Beacon) *Ladder {
	l := NewLadder(bots)
	l.beacon = b
	return l
}

func newLadder(bots int, chance uint64, platformKey string) *Ladder {
	l := &Ladder{
		rng: game.NewRand(chance), platformKey: cmp.Or(platformKey, PlatformKey), state: ladder.New(ladder.Standard),
		now: time.Date(2026, 9, 6, 12, 0, 0, 0, time.UTC),
	}
	for i := range bots {
		l.candidates = append(l.candidates, ladder.Candidate{BotID: fmt.Sprintf("00000000-0000-4000-8000-%012d", i), Registered: l.now})
	}
	return l
}

// Tick seats every bot, rates every table, and returns the new events.
func (l *Ladder) Tick() []ladder.Event {
	before := len(l.Events)
	l.seat()
	for _, s := range l.state.Unfinished() {
		l.store(l.state.Finish(s.MatchID, l.results(s)))
	}
	return l.Events[before:]
}

// SeatAndVoid seats every bot, and voids every table with the given reason.
func (l *Ladder) SeatAndVoid(why string) {
	l.seat()
	for _, s := range l.state.Unfinished() {
		l.store(l.state.Void(s.MatchID, why))
	}
}

// Unlist removes a bot from the candidates of later ticks.
func (l *Ladder) Unlist(bot int) { l.candidates = slices.Delete(l.candidates, bot, bot+1) }

func (l *Ladder) seat() {
	l.now = l.now.Add(time.Minute)
	l.store(l.state.Seat(l.candidates, ladder.Tick{Now: l.now, Rest: l.rest, PlatformKey: l.platformKey, SeedKeyID: SeedKeyID, SeedKey: SeedKey, Beacon: l.beacon.named(l.now)}))
}

// store folds the events of one append, and returns them.
func (l *Ladder) store(events []ladder.Event, err error) []ladder.Event {
	must(err)
	for _, e := range events {
		l.state = ladder.Evolve(l.state, e, l.now)
		l.Times = append(l.Times, l.now)
	}
	l.Events = append(l.Events, events...)
	return events
}

func (l *Ladder) below(n int) int { return int(l.rng.Uint64() >> 1 % uint64(n)) }

// The method results() draws the winner at random. The other bots share second place
// or are placed in table order.
func (l *Ladder) results(s ladder.Seating) []ladder.Result {
	results := make([]ladder.Result, len(s.Bots))
	first, shared := l.below(len(s.Bots)), l.rng.Uint64()%4 == 0
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
