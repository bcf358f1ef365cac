package match

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"unicode/utf8"
)

// maxDepth is how deep JSON from a bot may nest.
const maxDepth = 64

// value is one JSON value as it stood in a frame: its raw text, and, for an
// object, its members in the order sent.
type value struct {
	raw     []byte
	members []member // of an object
	items   []value  // of an array
}

type member struct {
	key string
	value
}

// kind returns the first byte of the value: { [ " t f n - or a digit.
func (v value) kind() byte { return v.raw[0] }

// get returns the member of that name.
func (v value) get(key string) (value, bool) {
	for _, m := range v.members {
		if m.key == key {
			return m.value, true
		}
	}
	return value{}, false
}

// parseJSON reads exactly one JSON value, strictly: valid UTF-8, no duplicate
// keys, nothing behind it, at most maxDepth deep.
func parseJSON(raw []byte) (value, error) {
	if !utf8.Valid(raw) {
		return value{}, errors.New("not UTF-8")
	}
	if err := checkDepth(raw); err != nil {
		return value{}, err
	}
	if !json.Valid(raw) {
		return value{}, errors.New("not one JSON value")
	}
	p := parser{rest: raw}
	return p.value()
}

// checkDepth bounds the nesting before anything recursive sees the text.
func checkDepth(raw []byte) error {
	depth, inString, escaped := 0, false, false
	for _, c := range raw {
		switch {
		case escaped:
			escaped = false
		case inString:
			escaped = c == '\\'
			inString = c != '"'
		case c == '"':
			inString = true
		case c == '{' || c == '[':
			if depth++; depth > maxDepth {
				return fmt.Errorf("nested deeper than %d", maxDepth)
			}
		case c == '}' || c == ']':
			depth--
		}
	}
	return nil
}

// parser cuts text that is known to be valid JSON into values.
type parser struct{ rest []byte }

// next skips white space and the signs between values, and returns the byte
// that follows.
func (p *parser) next() byte {
	for {
		switch p.rest[0] {
		case ' ', '\t', '\r', '\n', ',', ':':
			p.rest = p.rest[1:]
		default:
			return p.rest[0]
		}
	}
}

func (p *parser) value() (v value, err error) {
	first := p.next()
	from := p.rest
	switch first {
	case '{':
		v.members, err = p.members()
	case '[':
		v.items, err = p.items()
	case '"':
		err = p.skipString()
	default:
		p.rest = p.rest[len(scalar(p.rest)):]
	}
	v.raw = from[:len(from)-len(p.rest)]
	return v, err
}

// scalar is the number or word that text begins with.
func scalar(text []byte) []byte {
	if i := bytes.IndexAny(text, " \t\r\n,]}"); i >= 0 {
		return text[:i]
	}
	return text
}

// errSurrogate says that a string holds half of a surrogate pair, which is no
// text, as little as invalid UTF-8 is.
var errSurrogate = errors.New("half of a surrogate pair in a string")

// skipString passes over a string.
func (p *parser) skipString() error {
	i, half := 1, false
	for p.rest[i] != '"' {
		unit, length := unitAt(p.rest[i:])
		if low := unit >= 0xdc00 && unit <= 0xdfff; low != half {
			return errSurrogate
		}
		half = unit >= 0xd800 && unit <= 0xdbff
		i += length
	}
	if half {
		return errSurrogate
	}
	p.rest = p.rest[i+1:]
	return nil
}

// unitAt returns the code unit of the \u escape that text begins with, 0 where
// it begins otherwise, and how many bytes that is.
func unitAt(text []byte) (unit uint64, length int) {
	switch {
	case text[0] != '\\':
		return 0, 1
	case text[1] != 'u':
		return 0, 2
	}
	unit, _ = strconv.ParseUint(string(text[2:6]), 16, 16) // four hex digits, as in all valid JSON
	return unit, 6
}

func (p *parser) members() (list []member, err error) {
	var seen keys
	p.rest = p.rest[1:]
	for p.next() != '}' {
		key, err := p.key()
		if err != nil {
			return nil, err
		}
		if seen.add(key, list) {
			return nil, fmt.Errorf("duplicate key %q", key)
		}
		v, err := p.value()
		if err != nil {
			return nil, err
		}
		list = append(list, member{key, v})
	}
	p.rest = p.rest[1:]
	return list, nil
}

// keys finds duplicates: in a short list by looking, in a long one, such as a
// hostile frame may hold, by a map.
type keys map[string]bool

const fewKeys = 16

// add says whether list, or a key added before, has the key.
func (k *keys) add(key string, list []member) bool {
	if len(list) < fewKeys {
		return slices.ContainsFunc(list, func(m member) bool { return m.key == key })
	}
	if *k == nil {
		*k = keys{}
		for _, m := range list {
			(*k)[m.key] = true
		}
	}
	found := (*k)[key]
	(*k)[key] = true
	return found
}

// key reads the name of a member.
func (p *parser) key() (string, error) {
	from := p.rest
	if err := p.skipString(); err != nil {
		return "", err
	}
	raw := from[:len(from)-len(p.rest)]
	if bytes.IndexByte(raw, '\\') < 0 {
		return string(raw[1 : len(raw)-1]), nil
	}
	var key string
	err := json.Unmarshal(raw, &key)
	return key, err
}

func (p *parser) items() (list []value, err error) {
	p.rest = p.rest[1:]
	for p.next() != ']' {
		v, err := p.value()
		if err != nil {
			return nil, err
		}
		list = append(list, v)
	}
	p.rest = p.rest[1:]
	return list, nil
}
