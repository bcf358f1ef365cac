package audit

import (
	"hexarena/domain/board"
	"hexarena/domain/game"
	"hexarena/domain/match"
)

// nobody stands where an event has no seat, or an award no holder.
const nobody = -1

// event is one event of a replay. Its data is one of the types below, by kind.
type event struct {
	seq  int
	at   string
	kind string
	seat int    // nobody: absent
	raw  string // as it stands
	data any
}

type (
	// laid is the data of a board event.
	laid struct {
		layout board.Layout
		ports  []match.Port
		bandit int
	}
	// played is the data of an action event, and what its action says.
	played struct {
		decision  int
		kind      string
		isDefault bool
		elapsed   int // nobody: null
		collected []int
		answer    match.Answer
		err       error // why the action is none
		whole     bool  // the action has the fields of its schema alone
	}
	// failed is the data of a timeout.
	failed struct {
		decision int
		kind     string
		cause    string
		elapsed  int
		answered bool
		strikes  int
	}
	// refused is the data of an illegal event.
	refused struct {
		decision int
		kind     string
		reason   string
		answer   string
		elapsed  int
		strikes  int
	}
	stolen   struct{ victim int }
	resigned struct{ strikes int }
	moved    struct {
		award    string
		from, to int
	}
	ended struct {
		reason             string
		scores, placements []int
	}
)

// readEvent reads an event of a replay. Fields that there are none of are an
// error: nothing may stand in an event that does not follow. before is the time
// of the event before it, which is known to be one, or empty.
func readEvent(r *reader, before string) event {
	e := event{seat: nobody}
	var data string
	optional := 0
	found := r.object(false, func(key string) bool {
		switch key {
		case "seq":
			e.seq = r.integer()
		case "at":
			e.at = r.str()
		case "kind":
			e.kind = r.str()
		case "seat":
			optional++
			e.seat = r.integer()
		case "data":
			data = r.raw()
		default:
			return false
		}
		return true
	})
	r.need(found-optional == 4, "seq, at, kind or data")
	if r.err != nil {
		return e
	}
	if (before == "" || e.at != before) && !validTime(e.at) {
		r.fail("at is %q, no time as %s", e.at, match.TimeFormat)
	}
	d := &reader{text: data}
	e.data = readData(d, e.kind)
	if d.err != nil {
		r.fail("data: %w", d.err)
	}
	return e
}

func readData(r *reader, kind string) any {
	switch kind {
	case "board":
		return readBoard(r)
	case "roll":
		return readRoll(r)
	case "action":
		return readAction(r)
	case "steal":
		var d stolen
		fields(r, map[string]*int{"victim": &d.victim})
		return d
	case "trade":
		return readTrade(r)
	case "award":
		return readAward(r)
	case "timeout":
		return readTimeout(r)
	case "illegal":
		return readIllegal(r)
	case "resign":
		var d resigned
		fields(r, map[string]*int{"strikes": &d.strikes})
		return d
	case "end":
		return readEnd(r)
	default:
		r.fail("there is no kind %q", kind)
		return nil
	}
}

// fields reads an object of integers, all of them there.
func fields(r *reader, into map[string]*int) {
	found := r.object(false, func(key string) bool {
		p, ok := into[key]
		if ok {
			*p = r.integer()
		}
		return ok
	})
	r.need(found == len(into), "a field")
}

func readRoll(r *reader) match.RollData {
	var d match.RollData
	var dice []int
	found := r.object(false, func(key string) bool {
		switch key {
		case "turn":
			d.Turn = r.integer()
		case "dice":
			dice = r.integers()
		default:
			return false
		}
		return true
	})
	r.need(found == 2 && len(dice) == 2, "turn or one of two dice")
	copy(d.Dice[:], dice)
	return d
}

func readTrade(r *reader) match.TradeData {
	var d match.TradeData
	found := r.object(false, func(key string) bool {
		switch key {
		case "from":
			d.From = r.integer()
		case "to":
			d.To = r.integer()
		case "give":
			d.Give = readCounts(r)
		case "get":
			d.Get = readCounts(r)
		default:
			return false
		}
		return true
	})
	r.need(found == 4, "from, to, give or get")
	return d
}

func readCounts(r *reader) match.Counts {
	var c match.Counts
	r.object(false, func(key string) bool {
		res, ok := board.ParseResource(key)
		if !ok {
			return false
		}
		n := r.integer()
		if n == 0 || n > 0xffff {
			r.fail("%s is %d", key, n)
		}
		c[res] = uint16(n)
		return true
	})
	return c
}

// seatOrNobody reads a seat or null.
func seatOrNobody(r *reader) int {
	if r.null() {
		return nobody
	}
	return r.integer()
}

func readAward(r *reader) moved {
	var d moved
	found := r.object(false, func(key string) bool {
		switch key {
		case "award":
			d.award = r.str()
		case "from":
			d.from = seatOrNobody(r)
		case "to":
			d.to = seatOrNobody(r)
		default:
			return false
		}
		return true
	})
	r.need(found == 3, "award, from or to")
	return d
}

func readEnd(r *reader) ended {
	var d ended
	found := r.object(false, func(key string) bool {
		switch key {
		case "reason":
			d.reason = r.str()
		case "scores":
			d.scores = r.integers()
		case "placements":
			d.placements = r.integers()
		default:
			return false
		}
		return true
	})
	r.need(found == 3, "reason, scores or placements")
	return d
}

func readTimeout(r *reader) failed {
	var d failed
	optional := 0
	found := r.object(false, func(key string) bool {
		switch key {
		case "decision":
			d.decision = r.integer()
		case "kind":
			d.kind = r.str()
		case "cause":
			d.cause = r.str()
		case "elapsedMs":
			d.elapsed = r.integer()
		case "strikes":
			d.strikes = r.integer()
		case "answer":
			optional++
			d.answered = true
			_ = r.str()
		default:
			return false
		}
		return true
	})
	r.need(found-optional == 5, "decision, kind, cause, elapsedMs or strikes")
	return d
}

func readIllegal(r *reader) refused {
	var d refused
	found := r.object(false, func(key string) bool {
		switch key {
		case "decision":
			d.decision = r.integer()
		case "kind":
			d.kind = r.str()
		case "reason":
			d.reason = r.str()
		case "message":
			_ = r.str()
		case "answer":
			d.answer = r.str()
		case "elapsedMs":
			d.elapsed = r.integer()
		case "strikes":
			d.strikes = r.integer()
		default:
			return false
		}
		return true
	})
	r.need(found == 7, "decision, kind, reason, message, answer, elapsedMs or strikes")
	return d
}

// kindNamed is the kind of decision of a name.
func kindNamed(name string) (game.Kind, bool) {
	for k := game.KindSetup; k <= game.KindTrade; k++ {
		if k.String() == name {
			return k, true
		}
	}
	return 0, false
}
