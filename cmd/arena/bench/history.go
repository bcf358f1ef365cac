package bench

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"hexarena/cmd/arena/progress"
	"hexarena/domain/ladder"
	"hexarena/domain/match"
	"hexarena/domain/owner"
	"hexarena/domain/rating"
	"hexarena/eventstore"
)

// history writes the events from which the arena builds lists and rankings: accounts
// with their bots, and matches that were seated, started, ended and rated. These
// matches contain no real games. Only one goroutine may use a history.
type history struct {
	log     eventstore.Log
	between int // number of events between the start and the end of a match
	rng     *rand.Rand
	bots    []match.Seat
	ids     []string // match ids, in the order of seating
	at      time.Time
	step    time.Duration // time between two ticks
}

// historyTables is the maximum number of matches that one tick seats.
// historyWriters is the maximum number of streams that are written at the same
// time.
const (
	historyTables  = ladder.MaxTables
	historyWriters = 64
)

// newHistory registers bots.
func newHistory(ctx context.Context, log eventstore.Log, bots, between int) (*history, error) {
	h := &history{log: log, between: between, rng: rand.New(rand.NewPCG(1, 2)), bots: roster(bots), at: time.Now(), step: time.Second}
	return h, registerAll(ctx, log, h.at, h.bots, "https://bots.example")
}

// registerAll registers bots, five for each owner. The URL of a bot is the base URL and
// the bot's id.
func registerAll(ctx context.Context, log eventstore.Log, at time.Time, bots []match.Seat, baseURL string) error {
	return inParallel(ctx, historyWriters, (len(bots)+owner.BotLimit-1)/owner.BotLimit, func(ctx context.Context, i int) error {
		mine := bots[i*owner.BotLimit : min(len(bots), (i+1)*owner.BotLimit)]
		events := []owner.Event{
			owner.SignedUp{OwnerID: mine[0].OwnerID}, owner.HandleChosen{Handle: fmt.Sprintf("owner-%d", i)},
			owner.APIKeyRegistered{KeyID: keyOf(mine[0].OwnerID), PublicKey: publicKey, Scopes: owner.DefaultScopes()},
		}
		for _, b := range mine {
			events = append(events, owner.BotRegistered{BotID: b.BotID, Name: b.BotName, Mode: ladder.Standard, URL: baseURL + "/" + b.BotID})
		}
		return appendEvents(ctx, log, owner.AccountStream(mine[0].OwnerID), at, events...)
	})
}

// appendEvents appends events that all have the same timestamp.
func appendEvents[E eventstore.Typed](ctx context.Context, log eventstore.Log, stream string, at time.Time, events ...E) error {
	encoded, err := eventstore.EncodeAll(events, eventstore.Metadata{At: at, Correlation: stream})
	if err != nil {
		return err
	}
	_, err = log.Append(ctx, eventstore.StreamID(stream), eventstore.Any, encoded...)
	return err
}

// grow writes matches until the history contains n matches.
func (h *history) grow(ctx context.Context, n int, p *progress.Display) error {
	defer p.Finish()
	for len(h.ids) < n {
		if err := h.tick(ctx, min(n-len(h.ids), historyTables)); err != nil {
			return err
		}
		p.Show("filling the log", uint64(len(h.ids)), uint64(n))
	}
	return nil
}

// tick writes n whole matches: their seating, their streams and their rating
// changes.
func (h *history) tick(ctx context.Context, n int) error {
	h.at = h.at.Add(h.step)
	seated := ladder.TablesSeated{Tick: h.at, SeedKey: "bench"}
	started := make([]match.Started, n)
	rated := make([]ladder.Event, n)
	for i := range n {
		started[i], rated[i] = h.draw()
		seated.Tables = append(seated.Tables, ladder.Table{MatchID: started[i].MatchID, Bots: started[i].Table.Bots})
	}
	stream := ladder.Stream(ladder.Standard)
	return inOrder(
		func() error { return appendEvents(ctx, h.log, stream, h.at, seated) },
		func() error {
			return inParallel(ctx, historyWriters, n, func(ctx context.Context, i int) error { return h.play(ctx, started[i]) })
		},
		func() error { return appendEvents(ctx, h.log, stream, h.at.Add(500*time.Millisecond), rated...) },
	)
}

// draw picks a match's bots and their ratings at random.
func (h *history) draw() (match.Started, ladder.RatingsChanged) {
	s := match.Started{MatchID: ladder.MatchID("history", ladder.Standard, uint64(len(h.ids)), 0), Mode: ladder.Standard, Rules: match.RulesVersion, Nonces: make([]string, 4)}
	h.ids = append(h.ids, s.MatchID)
	changed := ladder.RatingsChanged{MatchID: s.MatchID}
	first := h.rng.IntN(len(h.bots))
	for seat := range 4 {
		b := h.bots[(first+seat)%len(h.bots)]
		before := rating.Rating{Mu: 20 + 10*h.rng.Float64(), Sigma: 1 + h.rng.Float64()}
		after := rating.Rating{Mu: before.Mu + h.rng.Float64() - 0.5, Sigma: before.Sigma}
		b.Mu, b.Sigma = before.Mu, before.Sigma
		s.Seats, s.Table.Bots = append(s.Seats, b), append(s.Table.Bots, b.BotID)
		changed.Seats = append(changed.Seats, ladder.RatedSeat{BotID: b.BotID, Placement: seat + 1, Before: before, After: after})
	}
	return s, changed
}

// play writes a match's stream. The events between the start and the end of the
// match are as long as events of real matches, but they do not form a game.
func (h *history) play(ctx context.Context, s match.Started) error {
	events := []match.Event{s}
	elapsed := int64(12)
	for i := range h.between {
		events = append(events, match.ActionPlayed{Seat: i % 4, ActionData: match.ActionData{Decision: i + 1, Kind: "turn", Action: []byte(`{"type":"end_turn"}`), ElapsedMs: &elapsed}})
	}
	events = append(events, match.GameEnded{EndData: match.EndData{Reason: "win", Scores: []int{10, 7, 6, 5}, Placements: []int{1, 2, 3, 4}}, Proof: match.Proof{Nonces: s.Nonces, Table: s.Table.Bots}})
	return appendEvents(ctx, h.log, match.Stream(s.MatchID), h.at, events...)
}
