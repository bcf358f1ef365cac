package audit

import (
	"fmt"
	"math/bits"

	"hexarena/domain/game"
	"hexarena/domain/match"
)

// walk reads a replay and plays the game with the replay's seed and answers.
// Each event that follows from the rules must be the next event of the replay.
type walk struct {
	*audit
	game     game.State
	next     int // index of the next event
	strikes  [game.MaxSeats]int
	resigned uint8 // one bit for each resigned seat
	talked   uint8 // one bit for each seat that has talked this turn
	id       int   // of the next decision
	at       string
	inAppend bool // whether the field "at" holds the time of the current append
	cut      int  // number of refused answers that the log stores only in part
	thinking [game.MaxSeats]int64

	answers, defaults *Check
	consequences      [len(checkOf)]*Check // by kind
}

// replay recomputes the whole replay.
func (a *audit) replay() {
	for _, check := range []string{
		CheckBoard, CheckDice, CheckAnswers, CheckRefusals, CheckDefaults, CheckStrikes, CheckSteals, CheckTrades, CheckAwards, CheckEnd,
	} {
		a.made(check, 0)
	}
	w := walk{
		audit: a, game: game.New(a.record.seed, len(a.record.players)), id: 1,
		answers: a.check(CheckAnswers), defaults: a.check(CheckDefaults),
	}
	for kind, name := range checkOf {
		w.consequences[kind] = a.check(name)
	}
	w.run()
	a.made(CheckRecord, w.next)
	if w.cut > 0 {
		a.skipped(CheckRefusals, fmt.Sprintf("%d answers are longer than the part that the log keeps, and were not checked", w.cut))
	}
	w.thinkingTimes()
}

// run reads the replay one append at a time. All events of an append have the same
// time. An append ends when a seat that still plays owes a decision.
func (w *walk) run() {
	w.expect(w.check(CheckBoard), match.BoardLaid{BoardData: match.Board(&w.game.Public)})
	for w.difference == nil && !w.game.Over && (w.next < len(w.record.events) || w.record.flaw != nil) {
		w.inAppend = false
		for more := true; more && w.difference == nil; {
			w.batch()
			more = !w.game.Over && !w.someoneIsAsked()
		}
	}
	if w.difference == nil {
		w.finish()
	}
}

// finish checks that the replay ends exactly when the match ends.
func (w *walk) finish() {
	over := w.game.Over
	switch {
	case w.record.flaw != nil:
		w.audit.difference = w.record.flaw
	case w.next < len(w.record.events):
		w.unexpected(CheckEnd, "nothing: the match is over")
	case over && w.record.Status != completed:
		w.differs(CheckEnd, len(w.record.events), "a match that is "+w.record.Status, "a match that is completed: it has ended")
	case !over && w.record.Status == completed:
		w.missing(CheckEnd, "answers to the open decisions: the match is not over")
	}
}

func (w *walk) someoneIsAsked() bool {
	_, seats := w.game.Owed()
	return seats&^w.resigned != 0
}

// peek returns the next event. After the last event, it returns nil and records a
// difference that names the expected event.
func (w *walk) peek(check string, follows func() string) *event {
	if w.difference != nil {
		return nil
	}
	if w.next >= len(w.record.events) {
		w.missing(check, follows())
		return nil
	}
	e := &w.record.events[w.next]
	if e.seq != w.next+1 {
		w.differs(CheckRecord, w.next+1, fmt.Sprintf("the seq %d", e.seq), fmt.Sprintf("the seq %d", w.next+1))
		return nil
	}
	return e
}

// The method missing() records a difference: the replay ends, or becomes unreadable,
// where an event was expected.
func (w *walk) missing(check, follows string) {
	if w.record.flaw != nil && w.next == len(w.record.events) {
		w.audit.difference = w.record.flaw
		return
	}
	w.differs(check, w.next+1, "nothing: the replay ends", follows)
}

// take accepts the event that peek returned. All events of one append must have
// the same time.
func (w *walk) take(e *event) {
	if w.inAppend && e.at != w.at {
		w.differs(CheckRecord, e.seq, "the time "+e.at, "the time "+w.at+", as in all events of the same append")
		return
	}
	w.at, w.inAppend = e.at, true
	w.next++
}

// The method unexpected() records that the next event is not the expected one.
func (w *walk) unexpected(check, follows string) {
	e := &w.record.events[w.next]
	w.differs(check, w.next+1, shorten(e.raw), follows)
}

// expect accepts the next event if it is the expected one.
func (w *walk) expect(c *Check, want match.Event) bool {
	follows := func() string { return describeEvent(want) }
	e := w.peek(c.Name, follows)
	if e == nil {
		return false
	}
	if !e.is(want) {
		w.unexpected(c.Name, follows())
		return false
	}
	w.take(e)
	c.Count++
	return w.difference == nil
}

func describeEvent(e match.Event) string {
	kind, seat, data := match.Publish(e)
	if seat == nil {
		return fmt.Sprintf("%s %s", kind, inJSON(data))
	}
	return fmt.Sprintf("%s, seat %d, %s", kind, *seat, inJSON(data))
}

// batch reads the events that close the open decisions, and the consequences of those
// events.
func (w *walk) batch() {
	kind, seats := w.game.Owed()
	for ; seats != 0 && w.difference == nil; seats &= seats - 1 {
		d := match.Decision{ID: w.id, Seat: bits.TrailingZeros8(seats), Kind: kind}
		w.id++
		if w.resigned>>d.Seat&1 != 0 {
			w.playDefault(d)
		} else {
			w.close(d)
		}
	}
	for w.difference == nil {
		c, more := w.game.Next()
		if !more {
			return
		}
		w.consequence(c)
	}
}

// The method consequence() checks that the next event is the one for c, and applies c.
func (w *walk) consequence(c game.Consequence) {
	if w.expect(w.consequences[c.Kind], match.Follows(&w.game, c)) {
		w.game.Apply(c)
	}
	if c.Kind == game.Rolled {
		w.talked = 0
	}
}

var checkOf = [...]string{
	game.Stole: CheckSteals, game.Traded: CheckTrades, game.AwardMoved: CheckAwards, game.Ended: CheckEnd, game.Rolled: CheckDice,
}
