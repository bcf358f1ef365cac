package match

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"unicode/utf8"

	"hexarena/domain/board"
	"hexarena/domain/game"
)

// Talk limits (specification, "Limits").
const (
	MaxTalk    = 240 // code points of one message
	TalkLogLen = 20  // entries that a view keeps
)

// ErrMalformed says that a frame does not have the shape of an answer: the
// seat times out with that cause.
var ErrMalformed = errors.New("malformed answer")

func malformed(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrMalformed, fmt.Sprintf(format, args...))
}

// answer is what a frame says.
type answer struct {
	action game.Action
	talk   string
	json   json.RawMessage // the schema's fields, as sent
}

// envelope reads a frame as a DecisionResponse: its id and its action, which
// is not looked into. Every error is an ErrMalformed.
func envelope(frame []byte) (id int, action value, err error) {
	v, err := parseJSON(frame)
	if err != nil {
		return 0, value{}, malformed("%v", err)
	}
	if v.kind() != '{' {
		return 0, value{}, malformed("want an object with id and action")
	}
	raw, ok := v.get("id")
	if !ok {
		return 0, value{}, malformed("id is missing")
	}
	if !isInteger(raw) {
		return 0, value{}, malformed("id is not an integer")
	}
	id, err = strconv.Atoi(string(raw.raw))
	if err != nil {
		id = -1 // beyond every id that was ever asked
	}
	action, ok = v.get("action")
	if !ok {
		action = value{raw: []byte("null")}
	}
	return id, action, nil
}

// parseAction reads an action of a kind. The error is an ErrMalformed or a
// *game.Illegal; malformed wins where both hold.
func parseAction(kind game.Kind, v value) (answer, error) {
	if v.kind() != '{' {
		return answer{}, malformed("action is not an object")
	}
	r := fieldReader{object: v}
	a := answer{action: game.Action{Vertex: board.None, Edges: [2]uint8{board.None, board.None}, Hex: board.None, Victim: board.None, To: board.None}}
	switch kind {
	case game.KindSetup:
		a.action.Type = game.Setup
		a.action.Vertex = r.id("settlement", board.Vertices)
		a.action.Edges[0] = r.id("road", board.Edges)
	case game.KindTurn:
		a.action.Type = r.turnType()
		r.turnFields(&a.action)
	case game.KindDiscard:
		a.action.Type = game.Discard
		a.action.Giving = r.cards("cards")
	case game.KindBandit:
		a.action.Type = game.MoveBandit
		a.action.Hex = r.id("hex", board.Hexes)
		a.action.Victim = r.optionalID("victim", game.MaxSeats)
	case game.KindTrade:
		a.action.Type = game.Respond
		a.action.Accept = r.boolean("accept")
	}
	a.talk = r.talk(a.action.Type)
	if err := r.err(); err != nil {
		return answer{}, err
	}
	a.json = r.asSent()
	return a, nil
}

// mayTalk says which actions carry table talk.
func mayTalk(t game.Type) bool {
	return t == game.OfferTrade || t == game.EndTurn || t == game.MoveBandit || t == game.Respond
}

// fieldReader reads the fields of one object. It goes on after an error, so
// that what is malformed is found wherever it stands.
type fieldReader struct {
	object    value
	known     []string // fields of the schema, in the order asked for
	malformed error
	illegal   *game.Illegal
}

func (r *fieldReader) err() error {
	if r.malformed != nil {
		return r.malformed
	}
	if r.illegal != nil {
		return r.illegal
	}
	return nil
}

func (r *fieldReader) fail(format string, args ...any) {
	if r.malformed == nil {
		r.malformed = malformed(format, args...)
	}
}

func (r *fieldReader) refuse(reason, format string, args ...any) {
	if r.illegal == nil {
		r.illegal = &game.Illegal{Reason: reason, Message: fmt.Sprintf(format, args...)}
	}
}

// field returns a field of the schema; null is absence.
func (r *fieldReader) field(name string, required bool) (value, bool) {
	r.known = append(r.known, name)
	v, ok := r.object.get(name)
	if ok && v.kind() == 'n' {
		ok = false
	}
	if !ok && required {
		r.fail("%s is missing", name)
	}
	return v, ok
}

func (r *fieldReader) id(name string, n int) uint8 {
	v, ok := r.field(name, true)
	if !ok {
		return board.None
	}
	return r.bounded(name, v, n)
}

func (r *fieldReader) optionalID(name string, n int) uint8 {
	v, ok := r.field(name, false)
	if !ok {
		return board.None
	}
	return r.bounded(name, v, n)
}

// bounded reads an integer of 0..n-1.
func (r *fieldReader) bounded(name string, v value, n int) uint8 {
	if !isInteger(v) {
		r.fail("%s is not an integer", name)
		return board.None
	}
	i, err := strconv.Atoi(string(v.raw))
	if err != nil || i < 0 || i >= n {
		r.refuse(game.ReasonOutOfRange, "%s is %s, not one of 0 to %d", name, clip(v.raw), n-1)
		return board.None
	}
	return uint8(i)
}

// isInteger says whether v is a number without fraction and exponent.
func isInteger(v value) bool {
	return (v.kind() == '-' || v.kind() >= '0' && v.kind() <= '9') && !bytes.ContainsAny(v.raw, ".eE")
}

// clip shortens what a bot sent for use in a sentence.
func clip(raw []byte) string {
	if len(raw) > 24 {
		return string(raw[:24]) + "…"
	}
	return string(raw)
}

func (r *fieldReader) text(name string, required bool) (string, bool) {
	v, ok := r.field(name, required)
	if !ok {
		return "", false
	}
	if v.kind() != '"' {
		r.fail("%s is not a string", name)
		return "", false
	}
	if bytes.IndexByte(v.raw, '\\') < 0 {
		return string(v.raw[1 : len(v.raw)-1]), true // it is known to be valid
	}
	var s string
	if err := json.Unmarshal(v.raw, &s); err != nil {
		r.fail("%s: %v", name, err)
	}
	return s, true
}

func (r *fieldReader) boolean(name string) bool {
	v, ok := r.field(name, true)
	if ok && v.kind() != 't' && v.kind() != 'f' {
		r.fail("%s is neither true nor false", name)
	}
	return ok && v.kind() == 't'
}

func (r *fieldReader) resource(name string) board.Resource {
	s, ok := r.text(name, true)
	if !ok {
		return 0
	}
	res, ok := board.ParseResource(s)
	if !ok {
		r.refuse(game.ReasonUnknownResource, "%s is no resource", strconv.Quote(clip([]byte(s))))
	}
	return res
}

func (r *fieldReader) cards(name string) game.Cards {
	v, ok := r.field(name, true)
	if !ok {
		return game.Cards{}
	}
	return r.counts(name, v)
}

// maxCount is the largest count that is read; nobody ever holds so many.
const maxCount = 50_000

func (r *fieldReader) counts(name string, v value) game.Cards {
	var cards game.Cards
	if v.kind() != '{' {
		r.fail("%s is not an object of counts", name)
		return cards
	}
	for _, m := range v.members {
		if !isInteger(m.value) {
			r.fail("%s.%s is not an integer", name, clip([]byte(m.key)))
			continue
		}
		res, ok := board.ParseResource(m.key)
		n, err := strconv.Atoi(string(m.raw))
		switch {
		case !ok:
			r.refuse(game.ReasonUnknownResource, "%s is no resource", strconv.Quote(clip([]byte(m.key))))
		case m.kind() == '-' && n != 0:
			r.refuse(game.ReasonNegativeCount, "%s.%s is below zero", name, m.key)
		case err != nil || n > maxCount:
			r.refuse(game.ReasonOutOfRange, "%s.%s is more than %d", name, m.key, maxCount)
		default:
			cards[res] = uint16(n)
		}
	}
	return cards
}

func (r *fieldReader) turnType() game.Type {
	name, ok := r.text("type", true)
	if !ok {
		return game.EndTurn
	}
	t, ok := game.ParseTurnType(name)
	if !ok {
		r.refuse(game.ReasonUnknownType, "%s is no turn action", strconv.Quote(clip([]byte(name))))
		return game.Setup // has no fields here
	}
	return t
}

func (r *fieldReader) turnFields(a *game.Action) {
	switch a.Type {
	case game.BuildRoad:
		a.Edges[0] = r.id("edge", board.Edges)
	case game.BuildSettlement, game.BuildCity:
		a.Vertex = r.id("vertex", board.Vertices)
	case game.PlayKnight:
		a.Hex = r.id("hex", board.Hexes)
		a.Victim = r.optionalID("victim", game.MaxSeats)
	case game.PlayRoadworks:
		a.Edges = r.edges("edges")
	case game.PlayWindfall:
		a.Taking = r.cards("take")
	case game.PlayEmbargo:
		a.Get = r.resource("resource")
	case game.BankTrade:
		a.Give = r.resource("give")
		a.Get = r.resource("get")
	case game.OfferTrade:
		a.Giving = r.cards("give")
		a.Taking = r.cards("get")
		a.To = r.optionalID("to", game.MaxSeats)
	}
}

// edges reads an array of one or two edges.
func (r *fieldReader) edges(name string) [2]uint8 {
	edges := [2]uint8{board.None, board.None}
	v, ok := r.field(name, true)
	if !ok {
		return edges
	}
	if v.kind() != '[' {
		r.fail("%s is not an array", name)
		return edges
	}
	if len(v.items) < 1 || len(v.items) > 2 {
		r.refuse(game.ReasonEdgeCount, "%s has %d entries, not 1 or 2", name, len(v.items))
	}
	for i, item := range v.items {
		e := r.bounded(name, item, board.Edges)
		if i < len(edges) {
			edges[i] = e
		}
	}
	return edges
}

func (r *fieldReader) talk(t game.Type) string {
	if !mayTalk(t) {
		return ""
	}
	s, _ := r.text("talk", false)
	if n := utf8.RuneCountInString(s); n > MaxTalk {
		r.refuse(game.ReasonTalkTooLong, "talk has %d characters; %d are allowed", n, MaxTalk)
	}
	return s
}

// asSent returns the object with the fields of the schema alone, as they stood
// in the frame; what is absent or null is left out.
func (r *fieldReader) asSent() json.RawMessage {
	var b bytes.Buffer
	b.WriteByte('{')
	for _, m := range r.object.members {
		if m.kind() == 'n' || !slices.Contains(r.known, m.key) {
			continue
		}
		if b.Len() > 1 {
			b.WriteByte(',')
		}
		b.WriteString(strconv.Quote(m.key)) // a name of the schema: nothing to escape
		b.WriteByte(':')
		_ = json.Compact(&b, m.raw) // it was parsed
	}
	b.WriteByte('}')
	return b.Bytes()
}
