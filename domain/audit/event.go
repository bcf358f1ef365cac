package audit

import (
	"math"
	"reflect"

	"hexarena/domain/board"
	"hexarena/domain/match"
	"hexarena/domain/strictjson"
)

// nobody is the seat of an event that names no seat.
const nobody = -1

// event is one event of a replay. data is the decoded match.Event, or a *played
// for an action.
type event struct {
	seq  int
	at   string
	kind string
	seat int    // nobody if the event names no seat
	raw  string // its JSON text
	data match.Event
}

// The method is() reports whether e is the expected event.
func (e *event) is(want match.Event) bool {
	switch want := want.(type) {
	case match.DiceRolled, match.CardStolen, match.SeatResigned: // they contain the seat
		return e.data == want
	case match.TradeExecuted:
		return e.seat == want.From && e.data == match.Event(want)
	case match.AwardMoved:
		got, ok := e.data.(match.AwardMoved)
		return ok && e.seat == seatOrNobody(want.To) && got.Award == want.Award && sameSeat(got.From, want.From) && sameSeat(got.To, want.To)
	case match.ActionPlayed:
		p, ok := e.data.(*played)
		return ok && p.isDefault(want)
	}
	_, seat, _ := match.Publish(want)
	return e.seat == seatOrNobody(seat) && reflect.DeepEqual(e.data, want)
}

func sameSeat(a, b *int) bool { return a == b || a != nil && b != nil && *a == *b }

func seatOrNobody(seat *int) int {
	if seat == nil {
		return nobody
	}
	return *seat
}

// read reads an event of a replay. Unknown fields are errors, because the audit cannot
// check their values. The parameter before is the time of the previous event, which is
// already known to be valid. It is empty for the first event.
func (e *event) read(r *strictjson.Reader, before string, known *knownActions) {
	read := func() { e.data = readData(r, e.kind, e.seat, known) }
	var data, kind string
	var seat int
	var err error
	r.Object(need("seq", &e.seq), need("at", &e.at), need("kind", &e.kind), may("seat", &e.seat),
		need("data", func() {
			kind, seat = e.kind, e.seat
			data, err = r.Try(read)
		}))
	if r.Err() != nil {
		return
	}
	if !validAfter(before, e.at) {
		r.Fail("at is %q, which is not a time in the format %s", e.at, match.TimeFormat)
	}
	if kind != e.kind || seat != e.seat { // the kind or the seat came after the data
		err = r.Within(data, read)
	}
	if err != nil {
		r.Fail("data: %w", err)
	}
}

func need(name string, into any) strictjson.Field { return strictjson.Need(name, into) }

func may(name string, into any) strictjson.Field { return strictjson.May(name, into) }

func readData(r *strictjson.Reader, kind string, seat int, known *knownActions) match.Event {
	switch kind {
	case "board":
		return readBoard(r)
	case "roll":
		e := match.DiceRolled{Seat: seat}
		r.Object(need("turn", &e.Turn), need("dice", func() { e.Dice = readPair(r) }))
		return e
	case "action":
		return readAction(r, seat, known)
	case "steal":
		e := match.CardStolen{Seat: seat}
		r.Object(need("victim", &e.Victim))
		return e
	case "trade":
		var e match.TradeExecuted
		r.Object(need("from", &e.From), need("to", &e.To),
			need("give", func() { e.Give = readCounts(r) }), need("get", func() { e.Get = readCounts(r) }))
		return e
	case "award":
		var e match.AwardMoved
		r.Object(need("award", &e.Award), need("from", func() { e.From = readPointer(r) }).OrNull(),
			need("to", func() { e.To = readPointer(r) }).OrNull())
		return e
	case "timeout":
		return readTimeout(r, seat)
	case "illegal":
		e := match.AnswerRejected{Seat: seat}
		r.Object(need("decision", &e.Decision), need("kind", &e.Kind), need("reason", &e.Reason), need("message", &e.Message),
			need("answer", &e.Answer), need("elapsedMs", &e.ElapsedMs), need("strikes", &e.Strikes))
		return e
	case "resign":
		e := match.SeatResigned{Seat: seat}
		r.Object(need("strikes", &e.Strikes))
		return e
	case "end":
		var e match.GameEnded
		r.Object(need("reason", &e.Reason), need("scores", &e.Scores), need("placements", &e.Placements))
		return e
	default:
		r.Fail("there is no kind %q", kind)
		return nil
	}
}

func readBoard(r *strictjson.Reader) (e match.BoardLaid) {
	r.Object(need("hexes", func() { e.Hexes = strictjson.List(r, func() match.Hex { return readHex(r) }) }),
		need("ports", func() { e.Ports = strictjson.List(r, func() match.Port { return readPort(r) }) }), need("bandit", &e.Bandit))
	return e
}

func readHex(r *strictjson.Reader) (h match.Hex) {
	r.Object(need("id", &h.ID), need("resource", &h.Resource), need("token", func() { h.Token = readPointer(r) }).OrNull())
	return h
}

func readPort(r *strictjson.Reader) (p match.Port) {
	r.Object(need("vertices", func() { p.Vertices = readPair(r) }), need("rate", &p.Rate), may("resource", func() {
		p.Resource = r.Text()
		r.Want(p.Resource != "", "a port's resource")
	}))
	return p
}

func readPair(r *strictjson.Reader) (pair [2]int) {
	n := 0
	r.Array(func() {
		pair[n%len(pair)] = r.Integer()
		n++
	})
	if n != len(pair) {
		r.Fail("there are %d numbers, not %d", n, len(pair))
	}
	return pair
}

func readPointer(r *strictjson.Reader) *int {
	n := r.Integer()
	return &n
}

func readCounts(r *strictjson.Reader) (c match.Counts) {
	const absent = -1
	n := [...]int{absent, absent, absent, absent, absent}
	r.Object(may("brick", &n[board.Brick]), may("lumber", &n[board.Lumber]), may("wool", &n[board.Wool]),
		may("grain", &n[board.Grain]), may("ore", &n[board.Ore]))
	for res, count := range n {
		switch {
		case count == absent:
		case count == 0 || count > math.MaxUint16:
			r.Fail("%s is %d", board.Resource(res), count)
		default:
			c[res] = uint16(count)
		}
	}
	return c
}

func readTimeout(r *strictjson.Reader, seat int) match.DecisionTimedOut {
	e := match.DecisionTimedOut{Seat: seat}
	r.Object(need("decision", &e.Decision), need("kind", &e.Kind), need("cause", &e.Cause), need("elapsedMs", &e.ElapsedMs),
		may("answer", func() {
			answer := r.Text()
			e.Answer = &answer
		}), need("strikes", &e.Strikes))
	return e
}
