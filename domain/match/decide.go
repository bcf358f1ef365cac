package match

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"hexarena/domain/beacon"
	"hexarena/domain/game"
	"hexarena/domain/seed"
)

// Seating holds the inputs of a match: its table on the ladder, and the nonces that
// the bots sent.
type Seating struct {
	MatchID    string
	Mode       string
	Table      Table
	Bots       []Seat // in ladder order, like Table.Bots
	Commitment seed.Seed
	Nonces     []string // in ladder order
	Deadlines  Deadlines
	Beacon     *beacon.Round // the beacon round that the table names; nil without a beacon
}

// Start returns the events that open a match. The joint seed determines the
// seats.
func (m Match) Start(s Seating) ([]Event, error) {
	if m.Started.MatchID != "" {
		return nil, errors.New("the match has already started")
	}
	if len(s.Bots) < 3 || len(s.Bots) > game.MaxSeats || len(s.Bots) != len(s.Nonces) || len(s.Bots) != len(s.Table.Bots) {
		return nil, fmt.Errorf("a table of %d bots with %d nonces", len(s.Bots), len(s.Nonces))
	}
	if seed.Commitment(m.ServerSeed) != s.Commitment {
		return nil, errors.New("the commitment does not match the seed key")
	}
	if s.Beacon != nil {
		if _, _, err := s.Beacon.Decode(); err != nil {
			return nil, err
		}
	}
	joint := SeedOf(m.ServerSeed, s.Nonces, s.Beacon)
	seats := make([]Seat, len(s.Bots))
	for i, at := range joint.Seating(len(s.Bots)) {
		seats[i] = s.Bots[at]
	}
	started := Started{
		MatchID: s.MatchID, Mode: s.Mode, Rules: RulesVersion, Seats: seats, Table: s.Table,
		Commitment: s.Commitment, Nonces: s.Nonces, Deadlines: s.Deadlines, Beacon: s.Beacon,
	}
	d := decider{m: m}
	d.emit(started)
	d.emit(BoardLaid{d.m.board})
	return d.events, nil
}

// Outcome describes how an open decision was closed: by a frame, or by a
// failure with its cause.
type Outcome struct {
	Decision  int
	Frame     []byte // the raw answer; empty if there is a Cause other than CauseMalformed
	Cause     string // "" if Frame is an answer
	Heard     bool   // a complete but stale frame arrived while the decision was open
	ElapsedMs int64  // as the events store it
	UsedMs    int64  // ElapsedMs plus the time for redialing, if the connection was down at first
	RedialMs  int64  // the part of UsedMs before the request was written
	Unasked   bool   // the bot received no request, because it had no time left
	Fault     *Fault // how the connection failed; nil if unknown
	NoLine    bool   // the connection was down, and the latest dial failed
}

// CountFailedDials returns, for each seat, how many of its latest decisions in a row
// have the outcome NoLine. The parameter counts holds the numbers before these
// outcomes. The parameter outcomes has one outcome for each decision that Asks returns.
// If the arena did not ask a seat for its decision, the seat's number does not change.
// The result is nil if all numbers are 0.
func (m *Match) CountFailedDials(counts []int, outcomes []Outcome) []int {
	next := make([]int, len(m.Started.Seats))
	copy(next, counts)
	for i, d := range m.Asks() {
		switch o := outcomes[i]; {
		case o.NoLine:
			next[d.Seat]++
		case o.Decision != 0 && !o.Unasked:
			next[d.Seat] = 0
		}
	}
	if slices.Max(next) == 0 {
		return nil
	}
	return next
}

// Settle returns the events that the outcomes of all open decisions cause, in the
// order of one append (docs/protocol.md, "Batches"). The events of the seats come
// first, in seat order: timeout or illegal if the seat failed, then its action, then
// resign if this was its third strike. The consequences follow, including the turns
// of resigned seats, up to the next decision of a seat that still plays. Settle needs
// one outcome for each decision that Asks returns.
func (m Match) Settle(outcomes []Outcome) ([]Event, error) {
	_, events, err := m.Advance(outcomes)
	return events, err
}

// Advance is like Settle. It also returns the match after the events, so that the caller
// does not have to fold them again.
func (m Match) Advance(outcomes []Outcome) (Match, []Event, error) {
	asks := m.Asks()
	if len(asks) == 0 || len(asks) != len(outcomes) {
		return m, nil, ErrStaleDecision
	}
	for _, ask := range asks {
		if findOutcome(outcomes, ask) == nil {
			return m, nil, ErrStaleDecision
		}
	}
	d := decider{m: m}
	d.batch(outcomes)
	for !d.m.Over() && len(d.m.Asks()) == 0 {
		d.batch(nil)
	}
	return d.m, d.events, nil
}

// Cancel returns the event that aborts a running match. The parameter why is WallClock
// or Operator.
func (m Match) Cancel(why string) ([]Event, error) { return m.cancel(why, "") }

// CancelByOrder returns the event that aborts a running match on an operator's order.
// The operator must give a reason.
func (m Match) CancelByOrder(reason string) ([]Event, error) {
	reason = strings.TrimSpace(reason)
	if reason == "" {
		return nil, ErrNoReason
	}
	return m.cancel(Operator, reason)
}

func (m Match) cancel(why, reason string) ([]Event, error) {
	if m.Over() || m.Started.MatchID == "" {
		return nil, errors.New("the match is not running")
	}
	return []Event{Aborted{Why: why, Reason: reason, Seed: m.Seed, Proof: m.Proof()}}, nil
}

// decider collects events and folds each event into m.
type decider struct {
	m      Match
	events []Event
}

func (d *decider) emit(e Event) {
	d.events = append(d.events, e)
	d.m.fold(e)
}

// play emits an action. Unlike emit, it does not read the action from its event.
func (d *decider) play(e ActionPlayed, a game.Action, talk string) {
	d.events = append(d.events, e)
	d.m.act(e, a, talk)
}

// findOutcome returns the outcome of a decision, or nil if it is missing.
func findOutcome(outcomes []Outcome, d Decision) *Outcome {
	i := slices.IndexFunc(outcomes, func(o Outcome) bool { return o.Decision == d.ID })
	if i < 0 {
		return nil
	}
	return &outcomes[i]
}

// batch closes all open decisions and emits the consequences. For a resigned seat, it
// plays the default.
func (d *decider) batch(outcomes []Outcome) {
	for _, dec := range d.m.open {
		if o := findOutcome(outcomes, dec); o != nil && !d.m.Resigned[dec.Seat] {
			d.close(dec, *o)
		} else {
			d.playDefault(dec)
		}
	}
	d.follow()
}

// follow emits the consequences.
func (d *decider) follow() {
	for c, more := d.m.Game.Next(); more; c, more = d.m.Game.Next() {
		d.emit(d.event(c))
	}
}

// close emits the events of one outcome.
func (d *decider) close(dec Decision, o Outcome) {
	a, err := d.read(dec, o)
	if err == nil {
		d.play(ActionPlayed{dec.Seat, ActionData{
			Decision: dec.ID, Kind: dec.Kind.String(), Action: a.Sent, ElapsedMs: &o.ElapsedMs, Collected: Collected(&d.m.Game, dec.Seat, a.Action),
		}}, a.Action, a.Talk)
		return
	}
	strikes := d.m.Strikes[dec.Seat] + 1
	var illegal *game.Illegal
	if errors.As(err, &illegal) {
		d.emit(AnswerRejected{dec.Seat, IllegalData{
			Decision: dec.ID, Kind: dec.Kind.String(), Reason: illegal.Reason, Message: illegal.Message,
			Answer: stored(o.Frame), ElapsedMs: o.ElapsedMs, Strikes: strikes,
		}})
	} else {
		d.emit(timedOut(dec, o, strikes))
	}
	d.playDefault(dec)
	if strikes >= MaxStrikes {
		d.emit(SeatResigned{dec.Seat, ResignData{strikes}})
	}
}

func timedOut(dec Decision, o Outcome, strikes int) DecisionTimedOut {
	e := DecisionTimedOut{Seat: dec.Seat, Heard: o.Heard, TimeoutData: TimeoutData{
		Decision: dec.ID, Kind: dec.Kind.String(), Cause: cmp.Or(o.Cause, CauseMalformed), ElapsedMs: o.ElapsedMs, Strikes: strikes,
	}}
	if e.Cause == CauseMalformed {
		text := stored(o.Frame)
		e.Answer = &text
	}
	return e
}

// read returns the answer in an outcome. The error is an ErrMalformed, or a
// *game.Illegal with the rule that the answer breaks.
func (d *decider) read(dec Decision, o Outcome) (Answer, error) {
	if o.Cause != "" {
		return Answer{}, &Malformed{Message: o.Cause}
	}
	id, action, err := envelope(o.Frame)
	if err != nil {
		return Answer{}, err
	}
	if id != dec.ID {
		return Answer{}, &Malformed{CodeWrongID, "/id", fmt.Sprintf("no decision with id %d was sent", id)}
	}
	a, err := parseAction(dec.Kind, action)
	if err != nil {
		return Answer{}, err
	}
	return a, a.Check(&d.m.Game, dec.Seat, d.m.talked)
}

// playDefault emits the default action for an open decision.
func (d *decider) playDefault(dec Decision) {
	action := d.m.Game.Default(uint8(dec.Seat))
	d.play(ActionPlayed{dec.Seat, ActionData{Decision: dec.ID, Kind: dec.Kind.String(), Action: ActionJSON(action), Default: true}}, action, "")
}

// Collected returns, for each seat, the number of cards that an embargo takes from
// it. For other actions, it returns nil.
func Collected(g *game.State, seat int, a game.Action) []int {
	if a.Type != game.PlayEmbargo {
		return nil
	}
	list := make([]int, g.Seats)
	for s := range list {
		if s != seat {
			list[s] = int(g.Hands[s][a.Get])
		}
	}
	return list
}

// event turns a consequence into an event. The event that ends the game also
// publishes the seed.
func (d *decider) event(c game.Consequence) Event {
	e := Follows(&d.m.Game, c)
	if end, ok := e.(GameEnded); ok {
		end.Seed, end.Proof = d.m.Seed, d.m.Proof()
		return end
	}
	return e
}

// Follows returns the event for the next consequence in a game. For the end of
// a game, it leaves out the seed and the proof.
func Follows(g *game.State, c game.Consequence) Event {
	switch c.Kind {
	case game.Rolled:
		return DiceRolled{int(c.Seat), RollData{Turn: int(c.Turn), Dice: [2]int{int(c.Dice[0]), int(c.Dice[1])}}}
	case game.Stole:
		return CardStolen{int(c.Seat), StealData{Victim: int(c.To)}}
	case game.Traded:
		return TradeExecuted{TradeData{From: int(c.From), To: int(c.To), Give: Counts(c.Give), Get: Counts(c.Get)}}
	case game.AwardMoved:
		return AwardMoved{AwardData{Award: c.Award.String(), From: seatOrNil(c.From), To: seatOrNil(c.To)}}
	default:
		return ended(*g, c)
	}
}

func ended(over game.State, c game.Consequence) GameEnded {
	over.Apply(c)
	e := GameEnded{EndData: EndData{Reason: c.Reason.String()}}
	placements := over.Placements()
	for s := range over.Seats {
		e.Scores = append(e.Scores, over.TrueScore(s))
		e.Placements = append(e.Placements, int(placements[s]))
	}
	return e
}

// maxStoredAnswer is how many bytes of a raw answer the log stores.
const maxStoredAnswer = 4096

// The function stored() returns a raw frame as the log stores it: as valid UTF-8, and
// cut between two code points if it is too long.
func stored(frame []byte) string {
	text := strings.ToValidUTF8(string(frame[:min(len(frame), maxStoredAnswer+utf8.UTFMax)]), "\uFFFD")
	if len(text) <= maxStoredAnswer {
		return text
	}
	cut := maxStoredAnswer
	for !utf8.RuneStart(text[cut]) {
		cut--
	}
	return text[:cut]
}
