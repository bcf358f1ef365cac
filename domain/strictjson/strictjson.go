// Package strictjson reads JSON so strictly that no two readers can understand
// a text differently. It requires one value in valid UTF-8, without duplicate
// keys in any object. The standard library accepts duplicate keys and replaces
// invalid UTF-8.
//
// Parse returns a tree of values. A Reader builds no tree: it reads values in order
// into the caller's variables. New makes a Reader.
package strictjson

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// The errors for a text that is not JSON.
var (
	ErrEmpty   = errors.New("empty")
	ErrNotUTF8 = errors.New("not valid UTF-8")
	ErrSyntax  = errors.New("not valid JSON")
)

// ErrTooDeep means that a text is nested deeper than the limit.
var ErrTooDeep = errors.New("nested deeper than")

// ErrSurrogate rejects an escape such as \ud800 without its second half. Like
// invalid UTF-8, such an escape does not represent a character.
var ErrSurrogate = errors.New("half of a surrogate pair in a string")

// DuplicateKeyError names a key that occurs twice in an object.
type DuplicateKeyError string

func (e DuplicateKeyError) Error() string { return fmt.Sprintf("the key %q is given twice", string(e)) }

// check returns an error if text is not exactly one JSON value.
func check(text string) error {
	switch {
	case !utf8.ValidString(text):
		return ErrNotUTF8
	case valid(text):
		return nil
	case len(strings.TrimSpace(text)) == 0:
		return ErrEmpty
	default:
		return ErrSyntax
	}
}

// The functions below read text that is known to be valid JSON.

// quotedLen returns the length of the string at the beginning of text, including its
// quotes.
func quotedLen(text string) int {
	for i := 1; i < len(text); i++ {
		switch text[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
	return len(text)
}

// scalarLen returns the length of the number or word at the beginning of text.
func scalarLen(text string) int {
	for i := range len(text) {
		switch text[i] {
		case ' ', '\t', '\r', '\n', ',', ']', '}':
			return i
		}
	}
	return len(text)
}

// Unquote returns the text of a JSON string. An escape of half a surrogate pair
// becomes U+FFFD.
func Unquote(raw string) string {
	if strings.IndexByte(raw, '\\') < 0 {
		return raw[1 : len(raw)-1]
	}
	var s string
	_ = json.Unmarshal([]byte(raw), &s) // never fails, because raw is a valid JSON string
	return s
}

// halfPair reports whether a string has an escape of half a surrogate pair.
func halfPair(raw string) bool {
	if strings.IndexByte(raw, '\\') < 0 {
		return false
	}
	high := false
	for i := 0; i < len(raw); i++ {
		unit := uint64(0)
		if raw[i] == '\\' {
			if i++; raw[i] == 'u' {
				unit, _ = strconv.ParseUint(raw[i+1:i+5], 16, 16) // four hex digits, because the text is valid JSON
				i += 4
			}
		}
		if low := unit>>10 == 0xdc00>>10; low != high {
			return true
		}
		high = unit>>10 == 0xd800>>10
	}
	return high
}
