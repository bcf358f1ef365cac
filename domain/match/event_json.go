package match

import (
	"encoding/json"
	"strconv"
	"strings"
)

// This file encodes and decodes the most frequent events by hand, like encode.go and
// decode.go. A test compares the results with encoding/json.

// AppendJSON appends the event as JSON. It writes the same bytes as encoding/json.
func (e ActionPlayed) AppendJSON(b []byte) []byte {
	b = appendInt(b, `{"seat":`, e.Seat)
	b = appendInt(b, `,"decision":`, e.Decision)
	b = appendText(b, `,"kind":`, e.Kind)
	b = appendRaw(b, `,"action":`, e.Action)
	b = append(b, `,"default":`...)
	b = strconv.AppendBool(b, e.Default)
	b = append(b, `,"elapsedMs":`...)
	if e.ElapsedMs == nil {
		b = append(b, "null"...)
	} else {
		b = strconv.AppendInt(b, *e.ElapsedMs, 10)
	}
	if len(e.Collected) > 0 {
		b = appendList(b, `,"collected":`, e.Collected, appendNumber)
	}
	return append(b, '}')
}

// AppendJSON appends the event as JSON. It writes the same bytes as encoding/json.
func (e DiceRolled) AppendJSON(b []byte) []byte {
	b = appendInt(b, `{"seat":`, e.Seat)
	b = appendInt(b, `,"turn":`, e.Turn)
	b = appendList(b, `,"dice":`, e.Dice[:], appendNumber)
	return append(b, '}')
}

// appendRaw appends a JSON value. encoding/json removes its white space and escapes
// some of its characters.
func appendRaw(b []byte, key string, raw json.RawMessage) []byte {
	b = append(b, key...)
	if isPlain(raw) {
		return append(b, raw...)
	}
	text, err := json.Marshal(raw)
	if err != nil {
		panic(err) // the action was read from JSON, or ActionJSON wrote it
	}
	return append(b, text...)
}

// isPlain reports whether encoding/json copies a JSON value unchanged.
func isPlain(raw json.RawMessage) bool {
	for _, c := range raw {
		if c <= ' ' || c > '~' || c == '<' || c == '>' || c == '&' {
			return false
		}
	}
	return len(raw) > 0
}

// scanAction reads an event in exactly the form that AppendJSON writes. For any other
// text, ok is false. The caller then needs a JSON decoder.
func scanAction(text []byte) (e ActionPlayed, ok bool) {
	s := scanner{rest: string(text)}
	s.int(`{"seat":`, &e.Seat)
	s.int(`,"decision":`, &e.Decision)
	s.text(`,"kind":`, &e.Kind)
	s.object(`,"action":`, &e.Action)
	s.bool(`,"default":`, &e.Default)
	if !s.has(`,"elapsedMs":null`) {
		elapsed := int64(s.number(`,"elapsedMs":`))
		e.ElapsedMs = &elapsed
	}
	if s.has(`,"collected":`) {
		s.ints("", &e.Collected)
	}
	s.want(`}`)
	return e, s.done()
}

// scanRoll is like scanAction, for a roll.
func scanRoll(text []byte) (e DiceRolled, ok bool) {
	s := scanner{rest: string(text)}
	s.int(`{"seat":`, &e.Seat)
	s.int(`,"turn":`, &e.Turn)
	s.pair(`,"dice":`, &e.Dice)
	s.want(`}`)
	return e, s.done()
}

// object copies a JSON object.
func (s *scanner) object(key string, into *json.RawMessage) {
	s.want(key)
	s.failed = s.failed || !strings.HasPrefix(s.rest, "{")
	end := objectLen(s.rest)
	*into = json.RawMessage(s.rest[:end])
	s.rest = s.rest[end:]
	s.failed = s.failed || !json.Valid(*into)
}

// objectLen returns the length of the JSON object at the beginning of text. If the text
// does not begin with an object, the result has no meaning.
func objectLen(text string) int {
	depth, quoted := 0, false
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '{':
			depth++
		case c == '}':
			if depth--; depth == 0 {
				return i + 1
			}
		}
	}
	return len(text)
}
