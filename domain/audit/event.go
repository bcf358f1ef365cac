package audit

import (
	"math"

	"hexarena/domain/board"
	"hexarena/domain/game"
	"hexarena/domain/match"
	"hexarena/domain/strictjson"
)

// nobody stands for an absent seat, or for an award without a holder.
const nobody = -1

// event is one event of a replay. Its data is one of the types below, by kind.
type event struct {
	seq  int
	at   string
	kind string
	seat int    // nobody: absent
	raw  string // its JSON text
	data any
}

type (
	// laid is the data of a board event.
	laid struct {
		layout board.Layout
		ports  []match.Port
		bandit int
	}
	// played is the data of an action event, with its action read.
	played struct {
		decision  int
		kind      string
		isDefault bool
		elapsed   int // nobody: null
		collected []int
		answer    match.Answer
		err       error // why the action could not be read
		whole     bool  // the action has only the fields of its schema
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

// readEvent reads an event of a replay. Unknown fields are errors: everything in
// an event must follow from what comes before it. before is the time of the
// event before it, which is known to be valid, or empty.
func readEvent(r *strictjson.Reader, before string) event {
	e := event{seat: nobody}
	var data string
	r.Object(need("seq", &e.seq), need("at", &e.at), need("kind", &e.kind), may("seat", &e.seat),
		need("data", func() { data = r.Raw() }))
	if r.Err() != nil {
		return e
	}
	if (before == "" || e.at != before) && !validTime(e.at) {
		r.Fail("at is %q, not a time as %s", e.at, match.TimeFormat)
	}
	d := strictjson.Part(data)
	e.data = readData(d, e.kind)
	if d.Err() != nil {
		r.Fail("data: %w", d.Err())
	}
	return e
}

func need(name string, into any) strictjson.Field { return strictjson.Need(name, into) }

func may(name string, into any) strictjson.Field { return strictjson.May(name, into) }

func readData(r *strictjson.Reader, kind string) any {
	switch kind {
	case "board":
		return readBoard(r)
	case "roll":
		return readRoll(r)
	case "action":
		return readAction(r)
	case "steal":
		var d stolen
		r.Object(need("victim", &d.victim))
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
		r.Object(need("strikes", &d.strikes))
		return d
	case "end":
		var d ended
		r.Object(need("reason", &d.reason), need("scores", &d.scores), need("placements", &d.placements))
		return d
	default:
		r.Fail("there is no kind %q", kind)
		return nil
	}
}

func readRoll(r *strictjson.Reader) (d match.RollData) {
	var dice []int
	r.Object(need("turn", &d.Turn), need("dice", &dice))
	r.Want(len(dice) == len(d.Dice), "one of two dice")
	copy(d.Dice[:], dice)
	return d
}

func readTrade(r *strictjson.Reader) (d match.TradeData) {
	r.Object(need("from", &d.From), need("to", &d.To),
		need("give", func() { d.Give = readCounts(r) }), need("get", func() { d.Get = readCounts(r) }))
	return d
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

// seatOrNobody reads a seat or null.
func seatOrNobody(r *strictjson.Reader) int {
	if r.Null() {
		return nobody
	}
	return r.Integer()
}

func readAward(r *strictjson.Reader) (d moved) {
	r.Object(need("award", &d.award),
		need("from", func() { d.from = seatOrNobody(r) }), need("to", func() { d.to = seatOrNobody(r) }))
	return d
}

func readTimeout(r *strictjson.Reader) (d failed) {
	r.Object(need("decision", &d.decision), need("kind", &d.kind), need("cause", &d.cause),
		need("elapsedMs", &d.elapsed), may("answer", func() { _, d.answered = r.Text(), true }), need("strikes", &d.strikes))
	return d
}

func readIllegal(r *strictjson.Reader) (d refused) {
	var message string
	r.Object(need("decision", &d.decision), need("kind", &d.kind), need("reason", &d.reason), need("message", &message),
		need("answer", &d.answer), need("elapsedMs", &d.elapsed), need("strikes", &d.strikes))
	return d
}

// kindNamed returns the kind of decision with a name.
func kindNamed(name string) (game.Kind, bool) {
	for k := game.KindSetup; k <= game.KindTrade; k++ {
		if k.String() == name {
			return k, true
		}
	}
	return 0, false
}
