package match

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"hexarena/domain/board"
	"hexarena/domain/game"
	"hexarena/domain/strictjson"
)

// fieldReader reads the fields of one object. It continues after an illegal
// field, because a later malformed field takes precedence.
type fieldReader struct {
	object    strictjson.Value
	known     []string // fields of the schema, in the order in which they were read
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

func (r *fieldReader) fail(m *Malformed) {
	if r.malformed == nil {
		r.malformed = m
	}
}

// The function within() returns the JSON pointer to a field of the action.
func within(name string) string { return "/action/" + name }

// wrongType reports a value whose JSON type is wrong.
func (r *fieldReader) wrongType(name, want string, v strictjson.Value) {
	r.fail(mustBe(CodeWrongType, within(name), want, v))
}

func (r *fieldReader) refuse(reason, format string, args ...any) {
	if r.illegal == nil {
		r.illegal = &game.Illegal{Reason: reason, Message: fmt.Sprintf(format, args...)}
	}
}

// field returns a field of the schema. It treats null as absent.
func (r *fieldReader) field(name string, required bool) (strictjson.Value, bool) {
	r.known = append(r.known, name)
	v, ok := r.object.Get(name)
	if ok && v.Kind() == 'n' {
		ok = false
	}
	if !ok && required {
		r.fail(missing(within(name)))
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

// The method bounded() reads an integer from 0 to n-1.
func (r *fieldReader) bounded(name string, v strictjson.Value, n int) uint8 {
	if !isInteger(v) {
		r.wrongType(name, fmt.Sprintf("an integer from 0 to %d", n-1), v)
		return board.None
	}
	i, err := strconv.Atoi(v.Raw)
	if err != nil || i < 0 || i >= n {
		r.refuse(game.ReasonOutOfRange, "%s is %s, not one of 0 to %d", name, clip(v.Raw), n-1)
		return board.None
	}
	return uint8(i)
}

// isInteger reports whether v is a number without a fraction or exponent.
func isInteger(v strictjson.Value) bool {
	return (v.Kind() == '-' || v.Kind() >= '0' && v.Kind() <= '9') && !strings.ContainsAny(v.Raw, ".eE")
}

// clip shortens a string from a bot for an error message.
func clip(raw string) string {
	if len(raw) > 24 {
		return raw[:24] + "…"
	}
	return raw
}

// The method typed() returns a field if the first byte of its value is one of kinds.
// It rejects other values. The parameter want names the type in the error message.
func (r *fieldReader) typed(name string, required bool, kinds, want string) (strictjson.Value, bool) {
	v, ok := r.field(name, required)
	if ok && strings.IndexByte(kinds, v.Kind()) < 0 {
		r.wrongType(name, want, v)
		return v, false
	}
	return v, ok
}

func (r *fieldReader) text(name string, required bool) (string, bool) {
	v, ok := r.typed(name, required, `"`, "a string")
	if !ok {
		return "", false
	}
	return strictjson.Unquote(v.Raw), true
}

func (r *fieldReader) boolean(name string) bool {
	v, ok := r.typed(name, true, "tf", "true or false")
	return ok && v.Kind() == 't'
}

func (r *fieldReader) resource(name string) board.Resource {
	return named(r, name, board.ParseResource, game.ReasonUnknownResource, "resource")
}

func (r *fieldReader) turnType() game.Type {
	return named(r, "type", game.ParseTurnType, game.ReasonUnknownType, "turn action")
}

// The function named() reads a string that names something, such as a resource. It
// rejects unknown names with the given reason.
func named[T any](r *fieldReader, field string, parse func(string) (T, bool), reason, what string) (v T) {
	s, ok := r.text(field, true)
	if !ok {
		return v
	}
	if v, ok = parse(s); !ok {
		r.refuse(reason, "%s is no %s", strconv.Quote(clip(s)), what)
	}
	return v
}

func (r *fieldReader) cards(name string) game.Cards {
	v, ok := r.field(name, true)
	if !ok {
		return game.Cards{}
	}
	return r.counts(name, v)
}

// maxCount is the largest count accepted. No hand ever holds that many cards.
const maxCount = 50_000

func (r *fieldReader) counts(name string, v strictjson.Value) game.Cards {
	var cards game.Cards
	if v.Kind() != '{' {
		r.wrongType(name, "an object of counts", v)
		return cards
	}
	for _, m := range v.Members {
		if !isInteger(m.Value) {
			r.wrongType(name+"/"+token(m.Key), "an integer", m.Value)
			continue
		}
		res, ok := board.ParseResource(m.Key)
		n, err := strconv.Atoi(m.Raw)
		switch {
		case !ok:
			r.refuse(game.ReasonUnknownResource, "%s is no resource", strconv.Quote(clip(m.Key)))
		case m.Kind() == '-' && n != 0:
			r.refuse(game.ReasonNegativeCount, "%s.%s is below zero", name, m.Key)
		case err != nil || n > maxCount:
			r.refuse(game.ReasonOutOfRange, "%s.%s is more than %d", name, m.Key, maxCount)
		default:
			cards[res] = uint16(n)
		}
	}
	return cards
}

// The method fields() reads the fields of the action a, except for talk. a.Type is
// already set.
func (r *fieldReader) fields(a *game.Action) {
	switch a.Type {
	case game.Setup:
		a.Vertex = r.id("settlement", board.Vertices)
		a.Edges[0] = r.id("road", board.Edges)
	case game.BuildRoad:
		a.Edges[0] = r.id("edge", board.Edges)
	case game.BuildSettlement, game.BuildCity:
		a.Vertex = r.id("vertex", board.Vertices)
	case game.PlayKnight, game.MoveBandit:
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
	case game.Discard:
		a.Giving = r.cards("cards")
	case game.Respond:
		a.Accept = r.boolean("accept")
	}
}

// The method edges() reads an array of one or two edges.
func (r *fieldReader) edges(name string) [2]uint8 {
	edges := [2]uint8{board.None, board.None}
	v, ok := r.typed(name, true, "[", "an array")
	if !ok {
		return edges
	}
	if len(v.Items) < 1 || len(v.Items) > 2 {
		r.refuse(game.ReasonEdgeCount, "%s has %d entries, not 1 or 2", name, len(v.Items))
	}
	for i, item := range v.Items {
		if !isInteger(item) {
			r.wrongType(name+"/"+strconv.Itoa(i), fmt.Sprintf("an integer from 0 to %d", board.Edges-1), item)
			continue
		}
		e := r.bounded(name, item, board.Edges)
		if i < len(edges) {
			edges[i] = e
		}
	}
	return edges
}

func (r *fieldReader) talk(t game.Type) string {
	if !MayTalk(t) {
		return ""
	}
	s, _ := r.text("talk", false)
	if n := utf8.RuneCountInString(s); n > MaxTalk {
		r.refuse(game.ReasonTalkTooLong, "talk has %d characters; %d are allowed", n, MaxTalk)
	}
	return s
}

// The method compact() reports whether asSent has to leave nothing out, as in most
// answers. It may return false for such an answer, too.
func (r *fieldReader) compact() bool {
	for _, m := range r.object.Members {
		if m.Kind() == 'n' || !slices.Contains(r.known, m.Key) {
			return false
		}
	}
	return !strings.ContainsAny(r.object.Raw, " \t\r\n\\")
}

// asSent returns the object as the bot sent it, but leaves out unknown fields and
// fields that are null.
func (r *fieldReader) asSent() json.RawMessage {
	if r.compact() {
		return json.RawMessage(r.object.Raw)
	}
	var b bytes.Buffer
	b.WriteByte('{')
	for _, m := range r.object.Members {
		if m.Kind() == 'n' || !slices.Contains(r.known, m.Key) {
			continue
		}
		if b.Len() > 1 {
			b.WriteByte(',')
		}
		b.WriteString(strconv.Quote(m.Key)) // the schema's names need no escaping
		b.WriteByte(':')
		_ = json.Compact(&b, []byte(m.Raw)) // it is valid: Parse read it
	}
	b.WriteByte('}')
	return b.Bytes()
}
