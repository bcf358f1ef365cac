package bench

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/google/uuid"

	"hexarena/domain/board"
	"hexarena/domain/game"
	"hexarena/domain/ladder"
	"hexarena/domain/match"
	"hexarena/domain/match/matchtest"
	"hexarena/domain/owner"
	"hexarena/domain/seed"
	"hexarena/eventstore"
)

var (
	seedKey = []byte("the seed key of the measurement.")
	ladders = eventstore.Kind[ladder.Ladder, ladder.Event]{Decode: ladder.Decode, Evolve: ladder.Evolve}
)

// roster returns the same bots in every run, five for each owner.
func roster(n int) []match.Seat {
	id := func(kind string, i int) string {
		return uuid.NewSHA1(uuid.NameSpaceURL, fmt.Append(nil, kind, " ", i)).String()
	}
	bots := make([]match.Seat, n)
	for i := range bots {
		bots[i] = match.Seat{BotID: id("bot", i), BotName: fmt.Sprintf("Bot %d", i), OwnerID: id("owner", i/owner.BotLimit)}
	}
	return bots
}

// simulation seats the bots of one ladder, and rates their matches. Only one
// goroutine may use it.
type simulation struct {
	log      eventstore.Log
	ladder   ladder.Ladder
	expected eventstore.Expected // expected revision of the ladder's stream
	bots     []match.Seat
}

func newSimulation(log eventstore.Log, mode string, tables int) *simulation {
	return &simulation{log: log, ladder: ladder.New(mode), expected: eventstore.NoStream, bots: roster(4 * tables)}
}

// store appends events to the ladder.
func (s *simulation) store(ctx context.Context, at time.Time, events ...ladder.Event) error {
	after, stored, err := ladders.Append(ctx, s.log, eventstore.StreamID(ladder.Stream(s.ladder.Mode())), s.expected, eventstore.Metadata{At: at, Correlation: "bench"}, s.ladder, events)
	if err == nil {
		s.ladder, s.expected = after, eventstore.At(stored.Revision)
	}
	return err
}

// seat puts every bot at a table. It returns the matches, which have no events yet.
func (s *simulation) seat(ctx context.Context, now time.Time) ([]*simulatedMatch, error) {
	candidates := make([]ladder.Candidate, len(s.bots))
	bots := map[string]match.Seat{}
	for i, b := range s.bots {
		candidates[i].BotID, bots[b.BotID] = b.BotID, b
	}
	seated, err := s.ladder.Seat(candidates, ladder.Tick{Now: now, PlatformKey: "bench", SeedKeyID: "bench", SeedKey: seedKey})
	if err != nil {
		return nil, err
	}
	if err := s.store(ctx, now, seated...); err != nil {
		return nil, err
	}
	var matches []*simulatedMatch
	for _, table := range s.ladder.Unfinished() {
		matches = append(matches, newSimulatedMatch(table, bots, now))
	}
	return matches, nil
}

// finish rates a match that is over.
func (s *simulation) finish(ctx context.Context, at time.Time, m *simulatedMatch) error {
	var results []ladder.Result
	for i, b := range m.state.Started.Seats {
		results = append(results, ladder.Result{BotID: b.BotID, Placement: m.state.End.Placements[i]})
	}
	rated, err := s.ladder.Finish(m.id(), results)
	if err != nil {
		return err
	}
	return s.store(ctx, at, rated...)
}

// simulatedMatch is a match between bots that build if they can, offer trades,
// and accept some offers. The same table always plays the same match. Only one
// goroutine may use a simulatedMatch.
type simulatedMatch struct {
	seating  match.Seating
	state    match.Match
	rng      *rand.Rand
	began    time.Time
	last     time.Time // time of the last event
	used     match.Clocks
	clock    func() time.Time
	unstored []eventstore.Event
	expected eventstore.Expected
}

func newSimulatedMatch(s ladder.Seating, bots map[string]match.Seat, began time.Time) *simulatedMatch {
	server := seed.Server(seedKey, s.MatchID)
	decision, wall := ladder.Clocks(s.Mode)
	m := &simulatedMatch{
		seating: match.Seating{
			MatchID: s.MatchID, Mode: s.Mode, Table: match.Table{Revision: s.Revision, Index: s.Index, SeedKey: s.SeedKey},
			Commitment: s.Commitment, Nonces: make([]string, len(s.Bots)),
			Deadlines: match.Deadlines{DecisionMs: decision.Milliseconds(), WallMs: wall.Milliseconds()},
		},
		state: match.New(server),
		rng:   rand.New(rand.NewPCG(uint64(server[0])<<8|uint64(server[1]), s.Revision)),
		began: began, last: began, used: match.NewClocks(len(s.Bots)), expected: eventstore.NoStream,
	}
	m.clock = m.tick
	for _, e := range s.Bots {
		bot := bots[e.BotID]
		bot.Mu, bot.Sigma = e.Mu, e.Sigma
		m.seating.Bots = append(m.seating.Bots, bot)
		m.seating.Table.Bots = append(m.seating.Table.Bots, e.BotID)
	}
	return m
}

func (m *simulatedMatch) id() string { return m.seating.MatchID }

// tick returns the time of the next event, in a match that is not played in
// real time.
func (m *simulatedMatch) tick() time.Time {
	return m.last.Add(time.Duration(20+m.rng.IntN(40)) * time.Millisecond)
}

// start starts the match and plays it until the given turn has begun or the match is
// over.
func (m *simulatedMatch) start(turn uint16) error {
	err := m.add(m.state.Start(m.seating))
	for err == nil && !m.state.Over() && m.state.Game.Turn < turn {
		err = m.decide()
	}
	return err
}

// decide answers all pending decisions.
func (m *simulatedMatch) decide() error {
	var outcomes []match.Outcome
	for _, d := range m.state.Asks() {
		took := 1 + m.rng.Int64N(400)
		outcomes = append(outcomes, match.Outcome{Decision: d.ID, Frame: matchtest.Frame(d.ID, m.answer(d)), ElapsedMs: took, UsedMs: took})
	}
	m.used = m.state.Charge(m.used, outcomes)
	return m.add(m.state.Settle(outcomes))
}

// add folds events, and encodes them for store. Its parameters are the results of one
// of a match's decision functions.
func (m *simulatedMatch) add(events []match.Event, err error) error {
	if err != nil {
		return err
	}
	m.state = match.EvolveAll(m.state, events)
	m.last = m.clock()
	played := m.last.Sub(m.began).Milliseconds()
	meta := eventstore.Metadata{At: m.last, PlayedMs: &played, UsedMs: m.used, Correlation: m.id()}
	meta.Turns, meta.OpeningPips = m.state.Closing()
	encoded, err := eventstore.EncodeAll(events, meta)
	m.unstored = append(m.unstored, encoded...)
	return err
}

// store appends the events that are not stored yet, in one call.
func (m *simulatedMatch) store(ctx context.Context, log eventstore.Log) error {
	stored, err := log.Append(ctx, eventstore.StreamID(match.Stream(m.id())), m.expected, m.unstored...)
	m.unstored, m.expected = m.unstored[:0], eventstore.At(stored.Revision)
	return err
}

// eventsPerAppend is how many events playOut collects before it appends them. A few
// turns produce that many events.
const eventsPerAppend = 16

// playOut starts the match, plays it to its end, and stores it.
func (m *simulatedMatch) playOut(ctx context.Context, log eventstore.Log) error {
	err := m.start(0)
	for err == nil && !m.state.Over() {
		if err = m.decide(); err == nil && len(m.unstored) >= eventsPerAppend {
			err = m.store(ctx, log)
		}
	}
	if err == nil && len(m.unstored) > 0 {
		err = m.store(ctx, log)
	}
	return err
}

// answer returns the action of the function trade, if there is one. Otherwise it
// returns a random legal build, or the default if no build is legal.
func (m *simulatedMatch) answer(d match.Decision) []byte {
	seat := uint8(d.Seat)
	if action, ok := m.trade(seat, d.Kind); ok {
		return action
	}
	builds := slices.DeleteFunc(m.state.Game.Legal(nil, seat), func(a game.Action) bool {
		return a.Type != game.BuildRoad && a.Type != game.BuildSettlement && a.Type != game.BuildCity && a.Type != game.BuyDev
	})
	if len(builds) == 0 {
		return match.ActionJSON(m.state.Game.Default(seat))
	}
	return match.ActionJSON(builds[m.rng.IntN(len(builds))])
}

// trade occasionally offers one card for another, and accepts every second
// offer that the seat can pay for.
func (m *simulatedMatch) trade(seat uint8, kind game.Kind) (action []byte, ok bool) {
	a := game.Action{Type: game.OfferTrade, To: board.None}
	switch {
	case kind == game.KindTrade && m.rng.IntN(2) == 0:
		a = game.Action{Type: game.Respond, Accept: true}
	case kind == game.KindTurn && m.rng.IntN(3) == 0:
		a.Giving[m.rng.IntN(board.Resources)]++
		a.Taking[m.rng.IntN(board.Resources)]++
	default:
		return nil, false
	}
	if m.state.Game.Check(seat, a) != nil {
		return nil, false
	}
	action = match.ActionJSON(a)
	if kind == game.KindTurn {
		action = match.WithTalk(action, fmt.Sprintf("turn %d: who trades?", m.state.Game.Turn))
	}
	return action, true
}
