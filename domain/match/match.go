// Package match implements the state and the rules of one match: its seats, the
// decisions owed, the effects of an answer or a failure, strikes, resignation, abort
// and placements. It also creates the views for seats and spectators. Package game
// implements the rules of play. Callers handle the sockets, the clocks and the log.
//
// A match settles decisions in whole batches. Asks returns the open decisions, Settle
// turns their outcomes into the events of one append, and Evolve folds these events.
// The state contains no answer of a batch until the whole batch is settled.
package match

import (
	"bytes"
	"errors"
	"math/bits"
	"slices"
	"strconv"

	"hexarena/domain/beacon"
	"hexarena/domain/board"
	"hexarena/domain/game"
	"hexarena/domain/seed"
)

// MaxStrikes is the number of strikes after which a seat resigns.
const MaxStrikes = 3

// ErrStaleDecision means that the outcomes do not match the decisions owed now.
var ErrStaleDecision = errors.New("the outcomes do not belong to the open decisions")

// ErrNoReason rejects an operator's order without a reason.
var ErrNoReason = errors.New("an order needs a reason")

// Decision is one answer that a seat owes.
type Decision struct {
	ID   int
	Seat int
	Kind game.Kind
}

// Match is the state of one match. Evolve returns a new state and the old one
// stays valid, so copying a Match forks it.
type Match struct {
	ServerSeed seed.Seed // derived from the seed key; not in the log while the match is running
	Seed       seed.Seed // from the server seed and either the nonces or the beacon; zero until Started
	Started    Started
	Game       game.State
	Strikes    [game.MaxSeats]int
	Resigned   [game.MaxSeats]bool
	Heard      [game.MaxSeats]bool  // by seat: whether it sent at least one answer, even a nonsensical one
	Opening    [game.MaxSeats]uint8 // pips of the settlements of the setup, by seat
	Seq        int                  // of the last public event
	End        *GameEnded
	Abort      *Aborted

	table
	board     BoardData            // shared by all views; Game has the bandit
	boardJSON []byte               // what appendFixed writes for it
	open      []Decision           // decisions owed, including those of resigned seats, in seat order
	nextID    int                  // the id of the next decision
	asked     [game.MaxSeats]idSet // closed decisions for which the seat received a request
}

// table holds the public facts that are not part of the rules of play: the table talk, and
// the seats that the match waits for.
type table struct {
	talk      []TableTalk
	offerTalk string
	talked    uint8 // one bit for each seat that has talked this turn

	asked    uint8 // one bit for each seat that the open batch asks, until the batch is settled
	left     uint8 // the seats of the batch whose actions have not been folded
	resigned uint8 // one bit for each seat that has resigned
}

// idSet is a set of decision ids. Copies share memory, so adding an id creates a new
// set.
type idSet []uint64

func (s idSet) has(id int) bool {
	return id >= 0 && id/64 < len(s) && s[id/64]>>(id%64)&1 != 0
}

func (s idSet) with(id int) idSet {
	t := make(idSet, max(len(s), id/64+1))
	copy(t, s)
	t[id/64] |= 1 << (id % 64)
	return t
}

// New returns a match before its first event. A caller that folds an ended
// match may pass a zero server seed, because GameEnded and Aborted contain the
// seed.
func New(serverSeed seed.Seed) Match { return Match{ServerSeed: serverSeed, nextID: 1} }

// Over reports whether the match has ended.
func (m *Match) Over() bool { return m.End != nil || m.Abort != nil }

// Proof returns the values from which anyone can recompute the seed.
func (m *Match) Proof() Proof {
	t := m.Started.Table
	return Proof{ServerSeed: m.ServerSeed, Nonces: m.Started.Nonces, Table: t.Bots, Revision: t.Revision, Index: t.Index, SeedKey: t.SeedKey, Beacon: m.Started.Beacon}
}

// SeedOf returns the seed of a match. If round is not nil, the seed does not depend on
// the nonces. Round.Decode must not fail for round. It never fails for the round of a
// stored Started event.
func SeedOf(serverSeed seed.Seed, nonces []string, round *beacon.Round) seed.Seed {
	if round == nil {
		return seed.Joint(serverSeed, nonces)
	}
	_, randomness, _ := round.Decode()
	return seed.WithBeacon(serverSeed, randomness)
}

// Missed reports whether a seat missed the match, which means that it sent no answer
// at all.
func (m *Match) Missed(seat int) bool { return !m.Heard[seat] }

// Asks returns the decisions owed by seats that still play, in seat order. Once the
// match is over, no seat owes a decision.
func (m *Match) Asks() []Decision {
	if m.Over() {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(m.open), func(d Decision) bool { return m.Resigned[d.Seat] })
}

// Request returns the request of an open decision, without its deadline.
func (m *Match) Request(d Decision) Request {
	return Request{
		ID:      d.ID,
		MatchID: m.Started.MatchID,
		Mode:    m.Started.Mode,
		Seat:    d.Seat,
		Kind:    d.Kind.String(),
		View:    m.View(d.Seat),
	}
}

// AnswersOpenDecision reports whether a frame counts as the answer to the seat's open
// decision. Every frame counts, even nonsense. The only exception is a late answer to
// an earlier decision of the same seat.
func (m *Match) AnswersOpenDecision(seat int, frame []byte) bool {
	for _, d := range m.open {
		if d.Seat == seat && beginsWithID(frame, d.ID) {
			return true // either the frame is nonsense, or this is its id
		}
	}
	return !IsLate(frame, m.asked[seat].has)
}

// beginsWithID reports whether a frame is an object whose first field is the given id. It
// does not check the rest of the frame.
func beginsWithID(frame []byte, id int) bool {
	rest, isID := bytes.CutPrefix(frame, []byte(`{"id":`))
	text, _, more := bytes.Cut(rest, []byte(","))
	n, err := strconv.Atoi(string(bytes.TrimSpace(text)))
	return isID && more && err == nil && n == id
}

// IsLate reports whether a frame is a late answer to an earlier decision of the same seat.
// The function closed reports whether the seat had a decision with this id, and it is no
// longer open.
func IsLate(frame []byte, closed func(id int) bool) bool {
	id, _, err := envelope(frame)
	return err == nil && closed(id)
}

// IDOf returns the id in a frame, or 0 if the frame does not have the shape of an
// answer.
func IDOf(frame []byte) int {
	id, _, err := envelope(frame)
	if err != nil {
		return 0
	}
	return id
}

// Evolve returns m after e. It never rejects an event, because e already
// happened.
func Evolve(m Match, e Event) Match {
	m.fold(e)
	return m
}

// fold changes m to the match after e.
func (m *Match) fold(e Event) {
	if e, ok := e.(ActionPlayed); ok {
		a, talk := playedAction(e.ActionData)
		m.act(e, a, talk)
		return
	}
	if KindOf(e) != "" {
		m.Seq++
	}
	switch e := e.(type) {
	case Started:
		m.Started = e
		m.Seed = SeedOf(m.ServerSeed, e.Nonces, e.Beacon)
		m.Game = game.New(m.Seed, len(e.Seats))
		m.board = Board(&m.Game.Public)
		m.boardJSON = m.board.appendFixed(nil)
	case DiceRolled, CardStolen, TradeExecuted, AwardMoved:
		m.Game.Apply(consequence(e))
		m.table.follow(e)
	case DecisionTimedOut:
		m.Strikes[e.Seat] = e.Strikes
		m.Heard[e.Seat] = m.Heard[e.Seat] || e.Heard || e.Cause == CauseMalformed || e.Cause == CauseOversized
		m.asked[e.Seat] = m.asked[e.Seat].with(e.Decision)
	case AnswerRejected:
		m.Strikes[e.Seat] = e.Strikes
		m.Heard[e.Seat] = true
		m.asked[e.Seat] = m.asked[e.Seat].with(e.Decision)
	case SeatResigned:
		m.Resigned[e.Seat] = true
	case GameEnded:
		m.Game.Apply(consequence(e))
		m.End = &e
	case Aborted:
		m.Abort = &e
	}
	m.table.wait(e, &m.Game.Public)
	m.openNext()
}

// EvolveAll folds events in order.
func EvolveAll(m Match, events []Event) Match {
	for _, e := range events {
		m.fold(e)
	}
	return m
}

// Closing returns the number of turns of a match that is over, and the pips of each seat's
// settlements of the setup (docs/statistics.md). Both are stored in the metadata of the
// events that end the match, so that read models need no other events of it. For a running
// match, Closing returns zero values.
func (m *Match) Closing() (turns int, openings []int) {
	if !m.Over() {
		return 0, nil
	}
	for _, pips := range m.Opening[:len(m.Started.Seats)] {
		openings = append(openings, int(pips))
	}
	return int(m.Game.Turn), openings
}

// act folds the event of an action and closes its decision. The parameters a and talk
// are the contents of the event.
func (m *Match) act(e ActionPlayed, a game.Action, talk string) {
	m.Seq++
	m.Game.Act(uint8(e.Seat), a)
	if a.Type == game.Setup {
		m.Opening[e.Seat] += uint8(m.Game.Layout.Pips(a.Vertex))
	}
	m.table.act(e.Seat, a.Type, talk, m.Game.Turn)
	if !e.Default {
		m.Heard[e.Seat] = true
		m.asked[e.Seat] = m.asked[e.Seat].with(e.Decision)
	}
	var open []Decision
	for _, d := range m.open {
		if d.Seat != e.Seat {
			open = append(open, d)
		}
	}
	m.open = open
	m.nextID = max(m.nextID, e.Decision+1)
	m.table.wait(e, &m.Game.Public)
	m.openNext()
}

// openNext opens the next decisions that the game needs, once the previous
// decisions are closed and no consequence is left.
func (m *Match) openNext() {
	if len(m.open) > 0 || m.Started.MatchID == "" || m.Over() {
		return
	}
	kind, seats := m.Game.Owed()
	if seats == 0 {
		return
	}
	open := make([]Decision, 0, bits.OnesCount8(seats))
	for ; seats != 0; seats &= seats - 1 {
		open = append(open, Decision{ID: m.nextID + len(open), Seat: bits.TrailingZeros8(seats), Kind: kind})
	}
	m.open = open
	m.nextID += len(open)
}

// follow folds a consequence. After a roll, every seat may talk again.
func (t *table) follow(e Event) {
	if _, ok := e.(DiceRolled); ok {
		t.talked = 0
	}
}

// wait folds an event into the seats that the match waits for. The parameter p is the
// game after the event. The seats do not change before the last action of a batch, so they
// do not show which seats have answered.
func (t *table) wait(e Event, p *game.Public) {
	switch e := e.(type) {
	case SeatResigned:
		t.resigned |= 1 << e.Seat
		return
	case ActionPlayed:
		if t.left &^= 1 << e.Seat; t.left != 0 {
			return
		}
	case BoardLaid, DiceRolled, CardStolen, TradeExecuted, AwardMoved, GameEnded:
	default:
		return
	}
	t.asked = p.Asked()
	t.left = t.asked
}

// owed lists the seats that owe an answer. A resigned seat owes none.
func (t *table) owed() []int {
	seats := []int{}
	for set := t.asked &^ t.resigned; set != 0; set &= set - 1 {
		seats = append(seats, bits.TrailingZeros8(set))
	}
	return seats
}

// act folds the talk of an action.
func (t *table) act(seat int, typ game.Type, talk string, turn uint16) {
	if typ == game.OfferTrade {
		t.offerTalk = talk
	}
	if talk == "" {
		return
	}
	t.talked |= 1 << seat
	log := append(make([]TableTalk, 0, len(t.talk)+1), t.talk...)
	log = append(log, TableTalk{Seat: seat, Message: talk, Turn: int(turn)})
	t.talk = log[max(0, len(log)-TalkLogLen):]
}

// consequence converts an event to a consequence of package game.
func consequence(e Event) game.Consequence {
	switch e := e.(type) {
	case DiceRolled:
		return game.Consequence{Kind: game.Rolled, Seat: uint8(e.Seat), Turn: uint16(e.Turn), Dice: [2]uint8{uint8(e.Dice[0]), uint8(e.Dice[1])}}
	case CardStolen:
		return game.Consequence{Kind: game.Stole, Seat: uint8(e.Seat), To: uint8(e.Victim)}
	case TradeExecuted:
		return game.Consequence{Kind: game.Traded, From: uint8(e.From), To: uint8(e.To), Give: game.Cards(e.Give), Get: game.Cards(e.Get)}
	case AwardMoved:
		award, _ := game.ParseAward(e.Award)
		return game.Consequence{Kind: game.AwardMoved, Award: award, From: seatOf(e.From), To: seatOf(e.To)}
	case GameEnded:
		reason, _ := game.ParseEndReason(e.Reason)
		return game.Consequence{Kind: game.Ended, Reason: reason}
	default:
		panic("no consequence: " + e.EventType())
	}
}

func seatOf(seat *int) uint8 {
	if seat == nil {
		return board.None
	}
	return uint8(*seat)
}

// playedAction reads the action of a stored event. The action was checked
// before it was stored.
func playedAction(d ActionData) (game.Action, string) {
	kind, _ := game.ParseKind(d.Kind)
	a, _ := ReadAction(kind, d.Action)
	return a.Action, a.Talk
}

// StreamPrefix begins the name of every match's stream.
const StreamPrefix = "match-"

// Stream names the stream of a match.
func Stream(matchID string) string { return StreamPrefix + matchID }
