package audit

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// reader reads JSON strictly: one value, in valid UTF-8, no key twice in an
// object, no half of a surrogate pair, integers without fraction or exponent,
// nothing missing and no null where a value belongs. The first error sticks,
// and every read after it is empty. How deep the text nests does not matter:
// what is not known is passed over without looking in.
type reader struct {
	text string // valid JSON; what is read are parts of it
	at   int
	err  error
}

func newReader(text []byte) *reader {
	r := &reader{text: string(text)}
	switch {
	case !utf8.Valid(text):
		r.err = errors.New("not UTF-8")
	case !json.Valid(text):
		r.err = errors.New("not one JSON value")
	}
	return r
}

func (r *reader) fail(format string, args ...any) {
	if r.err == nil {
		r.err = fmt.Errorf(format, args...)
	}
}

// next returns the byte that begins the next value or ends a list, 0 after an
// error. What stands between values was checked before.
func (r *reader) next() byte {
	if r.err != nil {
		return 0
	}
	for r.at < len(r.text) {
		switch c := r.text[r.at]; c {
		case ' ', '\t', '\r', '\n', ',', ':':
			r.at++
		default:
			return c
		}
	}
	r.fail("it ends too early")
	return 0
}

// object reads an object: field reads the value of each key it knows, and says
// whether it does; others are passed over where open says so, else an error. It
// returns how many of the keys were known.
func (r *reader) object(open bool, field func(key string) bool) (found int) {
	if c := r.next(); c != '{' {
		r.fail("want an object")
		return 0
	}
	r.at++
	var few [24]string
	seen := few[:0]
	for c := r.next(); c != '}' && c != 0; c = r.next() {
		key := r.str()
		for _, s := range seen {
			if s == key {
				r.fail("the key %q stands twice", key)
			}
		}
		if len(seen) == cap(seen) {
			r.fail("an object of too many keys")
		}
		if r.next() == 0 {
			return found
		}
		seen = append(seen, key)
		from := r.at
		switch known := field(key); {
		case r.err != nil:
			return found
		case known && r.at == from:
			r.fail("%q cannot be read", key)
		case known:
			found++
		case !open:
			r.fail("there is no field %q", key)
		default:
			r.skip()
		}
	}
	r.at++
	return found
}

// array reads an array: item reads each of its values.
func (r *reader) array(item func()) {
	if c := r.next(); c != '[' {
		r.fail("want an array")
		return
	}
	r.at++
	for c := r.next(); c != ']' && c != 0; c = r.next() {
		item()
	}
	r.at++
}

// raw returns the next value as it stands.
func (r *reader) raw() string {
	if r.next() == 0 {
		return ""
	}
	from := r.at
	r.skip()
	return r.text[from:min(r.at, len(r.text))]
}

// skip passes over a value. It is looked through for keys that stand twice by
// nobody: what is skipped says nothing here.
func (r *reader) skip() {
	switch r.next() {
	case 0:
	case '{', '[':
		r.skipNested()
	case '"':
		r.at += quotedLen(r.text[r.at:])
	default:
		r.at += scalarLen(r.text[r.at:])
	}
}

func (r *reader) skipNested() {
	depth := 0
	for r.at < len(r.text) {
		switch r.text[r.at] {
		case '{', '[':
			depth++
		case '}', ']':
			if depth--; depth == 0 {
				r.at++
				return
			}
		case '"':
			r.at += quotedLen(r.text[r.at:]) - 1
		}
		r.at++
	}
}

// quotedLen is how long the string is that text begins with, quotes included.
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

// scalarLen is how long the number or word is that text begins with.
func scalarLen(text string) int {
	if i := strings.IndexAny(text, " \t\r\n,]}"); i >= 0 {
		return i
	}
	return len(text)
}

// null reads a null, if that is next.
func (r *reader) null() bool {
	if r.next() != 'n' {
		return false
	}
	r.at += len("null")
	return true
}

func (r *reader) str() string {
	if r.next() != '"' {
		r.fail("want a string")
		return ""
	}
	raw := r.text[r.at : r.at+quotedLen(r.text[r.at:])]
	r.at += len(raw)
	if strings.IndexByte(raw, '\\') < 0 {
		return raw[1 : len(raw)-1]
	}
	if halfPair(raw) {
		r.fail("half of a surrogate pair in a string")
		return ""
	}
	var s string
	if err := json.Unmarshal([]byte(raw), &s); err != nil {
		r.fail("%w", err)
	}
	return s
}

// halfPair says whether a string holds an escape of half a surrogate pair.
func halfPair(raw string) bool {
	high := false
	for i := 0; i < len(raw); i++ {
		unit := uint64(0)
		if raw[i] == '\\' {
			if i++; raw[i] == 'u' {
				unit, _ = strconv.ParseUint(raw[i+1:i+5], 16, 16) // four hex digits: it is valid JSON
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

// maxInt bounds integers: beyond it programs of other languages round.
const maxInt = 1 << 53

// integer reads a number of 0 to maxInt.
func (r *reader) integer() int {
	if c := r.next(); c < '0' || c > '9' {
		r.fail("want an integer of at least 0")
		return 0
	}
	n := r.at
	for r.at < len(r.text) && r.text[r.at] >= '0' && r.text[r.at] <= '9' {
		r.at++
	}
	v, err := strconv.ParseInt(r.text[n:r.at], 10, 64)
	if err != nil || v > maxInt || r.at < len(r.text) && strings.IndexByte(".eE", r.text[r.at]) >= 0 {
		r.fail("want an integer of 0 to 2⁵³")
		return 0
	}
	return int(v)
}

// number reads any number.
func (r *reader) number() float64 {
	c := r.next()
	if c != '-' && (c < '0' || c > '9') {
		r.fail("want a number")
		return 0
	}
	from := r.at
	r.skip()
	v, err := strconv.ParseFloat(r.text[from:r.at], 64)
	if err != nil {
		r.fail("%q is too large a number", r.text[from:r.at])
	}
	return v
}

func (r *reader) boolean() bool {
	c := r.next()
	if c != 't' && c != 'f' {
		r.fail("want true or false")
		return false
	}
	r.skip()
	return c == 't'
}

func (r *reader) integers() []int {
	list := []int{}
	r.array(func() { list = append(list, r.integer()) })
	return list
}

func (r *reader) strings() []string {
	list := []string{}
	r.array(func() { list = append(list, r.str()) })
	return list
}

// need demands that a field was there.
func (r *reader) need(found bool, name string) {
	if !found {
		r.fail("%s is missing", name)
	}
}
