package match

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"hexarena/domain/game"
	"hexarena/domain/strictjson"
)

// ErrMalformed means that a frame does not have the shape of an answer. The
// seat times out, with CauseMalformed. The error is a *Malformed.
var ErrMalformed = errors.New("malformed answer")

// The codes of malformed answers (docs/protocol.md, "Malformed answers").
const (
	CodeNotUTF8      = "not_utf8"
	CodeBinary       = "binary"
	CodeSyntax       = "syntax"
	CodeSurrogate    = "half_surrogate"
	CodeTooDeep      = "too_deep"
	CodeDuplicateKey = "duplicate_key"
	CodeMissing      = "missing"
	CodeWrongType    = "wrong_type"
	CodeWrongID      = "wrong_id"
	CodeCut          = "cut"
)

// Malformed says what is wrong with a malformed answer, and where. Message shortens
// and quotes text from the bot.
type Malformed struct {
	Code    string `json:"code"`
	At      string `json:"at"` // a JSON pointer to the invalid value; "" for the whole message
	Message string `json:"message"`
}

func (m *Malformed) Error() string { return ErrMalformed.Error() + ": " + m.Message }

// Is lets errors.Is find ErrMalformed.
func (m *Malformed) Is(target error) bool { return target == ErrMalformed }

func missing(at string) *Malformed {
	return &Malformed{CodeMissing, at, at + " is missing"}
}

func mustBe(code, at, want string, v strictjson.Value) *Malformed {
	where := at
	if at == "" {
		where = "the message"
	}
	return &Malformed{code, at, fmt.Sprintf("%s must be %s, got %s", where, want, describe(v))}
}

// describe describes a value from a bot for an error message.
func describe(v strictjson.Value) string {
	switch v.Kind() {
	case '{':
		return "an object"
	case '[':
		return "an array"
	case '"':
		return "the string " + quoted(strictjson.Unquote(v.Raw))
	case 't', 'f', 'n':
		return v.Raw
	}
	return "the number " + clip(v.Raw)
}

// The function quoted() shortens and quotes a string from a bot. The result is
// printable.
func quoted(s string) string { return strconv.Quote(strings.ToValidUTF8(clip(s), "")) }

// token returns a key from a bot as a printable part of a JSON pointer.
func token(key string) string {
	q := quoted(key)
	return strings.NewReplacer("~", "~0", "/", "~1").Replace(q[1 : len(q)-1])
}

// notJSON explains why strictjson rejected a message.
func notJSON(text []byte, err error) *Malformed {
	var twice strictjson.DuplicateKeyError
	switch {
	case errors.Is(err, strictjson.ErrEmpty):
		return &Malformed{CodeSyntax, "", "the message is empty"}
	case errors.Is(err, strictjson.ErrNotUTF8):
		return &Malformed{CodeNotUTF8, "", "the message is not valid UTF-8"}
	case errors.Is(err, strictjson.ErrSurrogate):
		return &Malformed{CodeSurrogate, "", "a string contains half of a surrogate pair"}
	case errors.Is(err, strictjson.ErrTooDeep):
		return &Malformed{CodeTooDeep, "", fmt.Sprintf("the message is nested deeper than %d levels", maxDepth)}
	case errors.As(err, &twice):
		return &Malformed{CodeDuplicateKey, "", fmt.Sprintf("the key %s is given twice", quoted(string(twice)))}
	}
	return &Malformed{CodeSyntax, "", syntax(text)}
}

// syntax finds the first byte at which the text stops being valid JSON. It numbers
// the bytes from 1.
func syntax(text []byte) string {
	var at *json.SyntaxError
	if err := json.Unmarshal(text, new(json.RawMessage)); errors.As(err, &at) {
		return fmt.Sprintf("%s at byte %d", at.Error(), at.Offset)
	}
	return "the message is not valid JSON"
}

// KeptWhole is the length up to which the log always stores a whole answer.
// Longer answers may be cut off.
const KeptWhole = maxStoredAnswer - 4

// ExplainMalformed says why the answer to a decision was malformed. The parameter
// stored is the answer as DecisionTimedOut stores it: invalid UTF-8 is replaced, and a
// long answer is cut off.
func ExplainMalformed(kind game.Kind, decision int, stored string) *Malformed {
	if len(stored) > KeptWhole {
		return &Malformed{CodeCut, "", fmt.Sprintf("the log keeps only the first %d bytes of this answer, too few to find the fault", len(stored))}
	}
	return explain(kind, decision, []byte(stored))
}

// explain says why an answer to a decision was malformed.
func explain(kind game.Kind, decision int, frame []byte) *Malformed {
	id, _, err := ReadFrame(kind, frame)
	var m *Malformed
	switch errors.As(err, &m); {
	case m != nil && m.At == "", m != nil && m.Code == CodeMissing && m.At == "/id", m != nil && id == decision:
		return m
	case id != decision:
		return wrongID(decision, frame)
	}
	return notText(string(frame))
}

// wrongID explains a readable message that has the wrong decision id.
func wrongID(decision int, frame []byte) *Malformed {
	v, _ := parseJSON(frame)
	id, _ := v.Get("id")
	return mustBe(CodeWrongID, "/id", strconv.Itoa(decision), id)
}
