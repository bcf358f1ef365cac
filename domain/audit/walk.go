package audit

import (
	"fmt"
	"math/bits"

	"hexarena/domain/board"
	"hexarena/domain/game"
	"hexarena/domain/match"
)

// walk goes through a replay and plays the game that follows from its seed and
// answers. Each consequence of the rules must be the next event.
type walk struct {
	*audit
	game     game.State
	next     int // index of the next event
	strikes  [game.MaxSeats]int
	resigned [game.MaxSeats]bool
	talked   uint8 // seats that have talked this turn, a bit each
	id       int   // of the next decision
	at       string
	inAppend bool // at is the time of the current append
	cut      int  // refused answers that the log cut
	thinking [game.MaxSeats]int
	count    [checks]int
}

// The indices of a walk's counts, one for each check of the replay.
const (
	nBoard = iota
	nDice
	nAnswers
	nRefusals
	nDefaults
	nStrikes
	nSteals
	nTrades
	nAwards
	nEnd
	checks
)

var counted = [checks]string{
	CheckBoard, CheckDice, CheckAnswers, CheckRefusals, CheckDefaults, CheckStrikes, CheckSteals, CheckTrades, CheckAwards, CheckEnd,
}

// replay walks through the whole replay.
func (a *audit) replay() {
	w := walk{audit: a, game: game.New(a.record.seed, len(a.record.players)), id: 1}
	w.run()
	for i, n := range w.count {
		a.made(counted[i], n)
	}
	a.made(CheckRecord, w.next)
	if w.cut > 0 {
		a.skipped(CheckRefusals, fmt.Sprintf("%d of them are longer than the log keeps, and were not read again", w.cut))
	}
	w.thinkingTimes()
}

// run reads append by append. All events of an append share their time, and the
// append ends at the next decision of a seat that still plays.
func (w *walk) run() {
	w.inAppend = false
	w.board()
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

// finish requires that the replay ends with the match.
func (w *walk) finish() {
	over := w.game.Over
	switch {
	case w.record.flaw != nil:
		w.audit.difference = w.record.flaw
	case w.next < len(w.record.events):
		w.unexpected(counted[nEnd], "nothing: the match is over")
	case over && w.record.Status != completed:
		w.differs(CheckEnd, len(w.record.events), "a match that is "+w.record.Status, "a match that is completed: it has ended")
	case !over && w.record.Status == completed:
		w.missing(CheckEnd, "the answers that are owed: the match is not over")
	}
}

func (w *walk) someoneIsAsked() bool {
	_, seats := w.game.Owed()
	for seat, gone := range w.resigned {
		if gone {
			seats &^= 1 << seat
		}
	}
	return seats != 0
}

// peek returns the next event. If there is none it returns nil and records a
// difference with the expected event.
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

// missing records that the replay ends, or cannot be read, before the expected
// event.
func (w *walk) missing(check, follows string) {
	if w.record.flaw != nil && w.next == len(w.record.events) {
		w.audit.difference = w.record.flaw
		return
	}
	w.differs(check, w.next+1, "nothing: the replay ends", follows)
}

// take accepts the event that peek returned. All events of one append must share
// their time.
func (w *walk) take(e *event) {
	if w.inAppend && e.at != w.at {
		w.differs(CheckRecord, e.seq, "the time "+e.at, "the time "+w.at+", as of all events that are stored at once")
		return
	}
	w.at, w.inAppend = e.at, true
	w.next++
}

// unexpected records that the next event is not the expected one.
func (w *walk) unexpected(check, follows string) {
	e := &w.record.events[w.next]
	w.differs(check, w.next+1, tell(e.raw), follows)
}

// expect takes the next event if it has the kind and the seat and fits accepts its
// data. follows is the expected data, for the difference.
func (w *walk) expect(n int, kind string, seat int, fits func(data any) bool, follows any) bool {
	say := func() string { return sayEvent(kind, seat, follows) }
	e := w.peek(counted[n], say)
	if e == nil {
		return false
	}
	if e.kind != kind || e.seat != seat || !fits(e.data) {
		w.unexpected(counted[n], say())
		return false
	}
	w.take(e)
	w.count[n]++
	return w.difference == nil
}

func sayEvent(kind string, seat int, data any) string {
	if data == nil {
		return fmt.Sprintf("%s of seat %d", kind, seat)
	}
	if seat == nobody {
		return fmt.Sprintf("%s %s", kind, inJSON(data))
	}
	return fmt.Sprintf("%s, seat %d, %s", kind, seat, inJSON(data))
}

// board expects the board that the seed gives.
func (w *walk) board() {
	p := &w.game.Public
	w.expect(nBoard, "board", nobody, func(data any) bool {
		d, ok := data.(*laid)
		return ok && d.layout == p.Layout && d.bandit == int(p.Bandit) && samePorts(d.ports)
	}, match.Board(p))
}

func samePorts(ports []match.Port) bool {
	if len(ports) != len(board.Ports) {
		return false
	}
	for i, p := range board.Ports {
		want := match.Port{Vertices: [2]int{int(p.Vertices[0]), int(p.Vertices[1])}, Rate: int(p.Rate)}
		if p.Resource != board.Desert {
			want.Resource = p.Resource.String()
		}
		if ports[i] != want {
			return false
		}
	}
	return true
}

// batch reads how the owed decisions closed, and the consequences.
func (w *walk) batch() {
	kind, seats := w.game.Owed()
	for ; seats != 0 && w.difference == nil; seats &= seats - 1 {
		d := decision{w.id, bits.TrailingZeros8(seats), kind}
		w.id++
		if w.resigned[d.seat] {
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

// consequence expects the event of a consequence.
func (w *walk) consequence(c game.Consequence) {
	ok := false
	switch c.Kind {
	case game.Rolled:
		want := match.RollData{Turn: int(c.Turn), Dice: [2]int{int(c.Dice[0]), int(c.Dice[1])}}
		ok = w.expect(nDice, "roll", int(c.Seat), equal(want), want)
		w.talked = 0
	case game.Stole:
		want := stolen{int(c.To)}
		ok = w.expect(nSteals, "steal", int(c.Seat), equal(want), match.StealData{Victim: want.victim})
	case game.Traded:
		want := match.TradeData{From: int(c.From), To: int(c.To), Give: match.Counts(c.Give), Get: match.Counts(c.Get)}
		ok = w.expect(nTrades, "trade", int(c.From), equal(want), want)
	case game.AwardMoved:
		want := moved{c.Award.String(), holder(c.From), holder(c.To)}
		ok = w.expect(nAwards, "award", want.to, equal(want), match.AwardData{Award: want.award, From: pointer(want.from), To: pointer(want.to)})
	case game.Ended:
		ok = w.end(c)
	}
	if ok {
		w.game.Apply(c)
	}
}

func equal[T comparable](want T) func(any) bool {
	return func(data any) bool { got, ok := data.(T); return ok && got == want }
}

func holder(seat uint8) int {
	if seat == board.None {
		return nobody
	}
	return int(seat)
}

func pointer(seat int) *int {
	if seat == nobody {
		return nil
	}
	return &seat
}
