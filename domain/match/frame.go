package match

import (
	"time"

	"hexarena/domain/game"
)

// FrameBoard is the part of a board that can change. The hexes and ports never
// change, so a reader gets them only once, outside the frames.
type FrameBoard struct {
	Bandit int `json:"bandit"`
}

// Frame contains a public event and the public state after it.
type Frame struct {
	Seq   int         `json:"seq"`
	Event PublicEvent `json:"event"`
	Common
	Board FrameBoard `json:"board"`
	// Owed lists the seats that owe an answer after the event. While a batch of
	// decisions is open, it lists all seats of the batch.
	Owed []int `json:"owed"`

	// The cards of one seat or of every seat. These fields are set only for an ended
	// match, if the caller asked for the cards.
	Hand              any `json:"hand,omitempty"`
	DevCards          any `json:"devCards,omitempty"`
	DevBoughtThisTurn any `json:"devBoughtThisTurn,omitempty"`
}

// Spectator folds a match from public facts only, so it cannot reveal hidden
// facts.
type Spectator struct {
	Public game.Public
	Seq    int
	table
	seats int
}

// Fold returns s after e. ok reports whether e is public and therefore produces
// a frame.
func (s Spectator) Fold(e Event) (after Spectator, ok bool) {
	if started, is := e.(Started); is {
		s.seats = len(started.Seats)
		return s, false
	}
	if KindOf(e) == "" {
		return s, false
	}
	s.Seq++
	switch e := e.(type) {
	case BoardLaid:
		s.Public = game.NewPublic(s.seats, e.Layout())
	case DiceRolled, CardStolen, TradeExecuted, AwardMoved, GameEnded:
		s.Public.Apply(consequence(e))
		s.table.follow(e)
	case ActionPlayed:
		a, talk := playedAction(e.ActionData)
		var collected [game.MaxSeats]uint16
		for seat, n := range e.Collected {
			collected[seat] = uint16(n)
		}
		s.Public.Act(uint8(e.Seat), a, collected)
		s.table.act(e.Seat, a.Type, talk, s.Public.Turn)
	}
	s.table.wait(e, &s.Public)
	return s, true
}

// Frame returns the frame after e, the event that Fold folded last. If whole is
// true, the frame's event includes its data. Callers set whole only for an
// ended match.
func (s *Spectator) Frame(e Event, at time.Time, whole bool) Frame {
	return frame(&s.Public, &s.table, publicEvent(e, s.Seq, at, whole))
}

// HandsOf says which seat's cards appear in the frames of an ended match.
type HandsOf int

// AllHands shows every seat's cards and NoHands shows none. The values 0..3 are
// seats.
const (
	AllHands HandsOf = -1
	NoHands  HandsOf = -2
)

// Frame returns the frame after e, the event that Evolve folded last. The match has
// ended, and the parameter hands selects the cards to show.
func (m *Match) Frame(e Event, at time.Time, hands HandsOf) Frame {
	f := frame(&m.Game.Public, &m.table, publicEvent(e, m.Seq, at, true))
	switch hands {
	case NoHands:
	case AllHands:
		seats := int(m.Game.Seats)
		all, devs, bought := make([]Counts, seats), make([][]string, seats), make([][]string, seats)
		for s := range seats {
			all[s], devs[s], bought[s] = Counts(m.Game.Hands[s]), devNames(m.Game.Devs[s]), devNames(m.Game.Bought[s])
		}
		f.Hand, f.DevCards, f.DevBoughtThisTurn = all, devs, bought
	default:
		f.Hand, f.DevCards, f.DevBoughtThisTurn = Counts(m.Game.Hands[hands]), devNames(m.Game.Devs[hands]), devNames(m.Game.Bought[hands])
	}
	return f
}

func frame(p *game.Public, t *table, e PublicEvent) Frame {
	return Frame{Seq: e.Seq, Event: e, Common: common(p, t), Board: FrameBoard{int(p.Bandit)}, Owed: t.owed()}
}

// TimeFormat is the format of every time: RFC 3339 in UTC, with milliseconds.
const TimeFormat = "2006-01-02T15:04:05.000Z"

func publicEvent(e Event, seq int, at time.Time, whole bool) PublicEvent {
	kind, seat, data := Publish(e)
	p := PublicEvent{Seq: seq, At: at.UTC().Format(TimeFormat), Kind: kind, Seat: seat}
	if whole {
		p.Data = data
	}
	return p
}

// Replay folds a match's stream into the list of events that the record of the
// ended match shows.
type Replay struct{ Events []PublicEvent }

// Add appends e if it is public.
func (r *Replay) Add(e Event, at time.Time) {
	if KindOf(e) != "" {
		r.Events = append(r.Events, publicEvent(e, len(r.Events)+1, at, true))
	}
}
