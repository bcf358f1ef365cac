package match

import (
	"encoding/json"
	"strconv"

	"hexarena/domain/board"
	"hexarena/domain/game"
	"hexarena/domain/strictjson"
)

// Talk limits (docs/rules.md).
const (
	MaxTalk    = 240 // code points in one message
	TalkLogLen = 20  // entries that a view keeps
)

// maxDepth bounds the nesting of JSON from a bot.
const maxDepth = 64

// Answer is a bot's answer to a decision, as read from a frame.
type Answer struct {
	Action game.Action
	Talk   string
	Sent   json.RawMessage // as the bot sent it, but with only the fields of the schema
}

// Check returns nil if the answer is legal for a seat now. Otherwise it returns
// a *game.Illegal with the first rule that the answer breaks. talked has one
// bit for each seat that has talked this turn.
func (a Answer) Check(g *game.State, seat int, talked uint8) error {
	if err := g.Check(uint8(seat), a.Action); err != nil {
		return err
	}
	if a.Talk != "" && talked>>seat&1 != 0 {
		return &game.Illegal{Reason: game.ReasonTalkTwice, Message: "the seat has already talked this turn; only one message per turn is allowed"}
	}
	return nil
}

// ReadFrame reads a raw frame as the answer to a decision of the given kind. It
// returns the decision's id and the result of ReadAction.
func ReadFrame(kind game.Kind, frame []byte) (id int, a Answer, err error) {
	id, action, err := envelope(frame)
	if err != nil {
		return 0, Answer{}, err
	}
	a, err = parseAction(kind, action)
	return id, a, err
}

// ReadAction reads an action that answers a decision of the given kind. The
// error is an ErrMalformed, or a *game.Illegal if a field of the action breaks
// a rule. ReadAction does not check the action against a game.
func ReadAction(kind game.Kind, action []byte) (Answer, error) {
	v, err := parseJSON(action)
	if err != nil {
		return Answer{}, notJSON(action, err)
	}
	return parseAction(kind, v)
}

func parseJSON(text []byte) (strictjson.Value, error) {
	return strictjson.Parse(text, strictjson.Options{MaxDepth: maxDepth})
}

// envelope reads a frame as a DecisionResponse. It returns the id and the
// action, which it does not interpret. Every error is an ErrMalformed.
func envelope(frame []byte) (id int, action strictjson.Value, err error) {
	v, err := parseJSON(frame)
	if err != nil {
		return 0, action, notJSON(frame, err)
	}
	if v.Kind() != '{' {
		return 0, action, mustBe(CodeWrongType, "", "an object with id and action", v)
	}
	raw, ok := v.Get("id")
	if !ok {
		return 0, action, missing("/id")
	}
	if !isInteger(raw) {
		return 0, action, mustBe(CodeWrongType, "/id", "an integer", raw)
	}
	id, err = strconv.Atoi(raw.Raw)
	if err != nil {
		id = -1 // too large: no decision can have this id
	}
	action, ok = v.Get("action")
	if !ok {
		action = strictjson.Value{Raw: "null"}
	}
	return id, action, nil
}

// parseAction reads an action that answers a decision of the given kind. The
// error is an ErrMalformed or a *game.Illegal. If both apply, the error is an
// ErrMalformed.
func parseAction(kind game.Kind, v strictjson.Value) (Answer, error) {
	if v.Kind() != '{' {
		return Answer{}, mustBe(CodeWrongType, "/action", "an object", v)
	}
	r := fieldReader{object: v, known: make([]string, 0, 3)} // enough for most actions
	a := game.Action{Type: onlyType[kind], Vertex: board.None, Edges: [2]uint8{board.None, board.None}, Hex: board.None, Victim: board.None, To: board.None}
	if kind == game.KindTurn {
		a.Type = r.turnType()
	}
	if r.err() == nil {
		r.fields(&a)
	}
	talk := r.talk(a.Type)
	if err := r.err(); err != nil {
		return Answer{}, err
	}
	return Answer{a, talk, r.asSent()}, nil
}

// onlyType holds the action type for each kind of decision that has only one. A turn
// has several.
var onlyType = [...]game.Type{
	game.KindSetup: game.Setup, game.KindDiscard: game.Discard, game.KindBandit: game.MoveBandit, game.KindTrade: game.Respond,
}

// MayTalk reports whether an action of type t may include table talk.
func MayTalk(t game.Type) bool {
	return t == game.OfferTrade || t == game.EndTurn || t == game.MoveBandit || t == game.Respond
}
