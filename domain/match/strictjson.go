package match

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
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
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	p := parser{raw: raw, dec: dec}
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

// parser builds values from text that is known to be valid.
type parser struct {
	raw []byte
	dec *json.Decoder
}

func (p *parser) value() (value, error) {
	from := p.dec.InputOffset()
	token, err := p.dec.Token()
	if err != nil {
		return value{}, err
	}
	var v value
	switch token {
	case json.Delim('{'):
		v.members, err = p.members()
	case json.Delim('['):
		v.items, err = p.items()
	}
	if err != nil {
		return value{}, err
	}
	v.raw = bytes.TrimLeft(p.raw[from:p.dec.InputOffset()], " \t\r\n:,")
	return v, nil
}

func (p *parser) members() ([]member, error) {
	var list []member
	seen := map[string]bool{}
	for p.dec.More() {
		token, err := p.dec.Token()
		if err != nil {
			return nil, err
		}
		key, _ := token.(string)
		if seen[key] {
			return nil, fmt.Errorf("duplicate key %q", key)
		}
		seen[key] = true
		v, err := p.value()
		if err != nil {
			return nil, err
		}
		list = append(list, member{key, v})
	}
	_, err := p.dec.Token()
	return list, err
}

func (p *parser) items() ([]value, error) {
	var list []value
	for p.dec.More() {
		v, err := p.value()
		if err != nil {
			return nil, err
		}
		list = append(list, v)
	}
	_, err := p.dec.Token()
	return list, err
}
