package signedlog

import (
	"bytes"
	"slices"

	"github.com/gowebpki/jcs"
)

// canonical returns the canonical form (RFC 8785) of a text that json.Marshal has returned.
// The package jcs defines the form, but a replay takes it milliseconds. So canonical
// itself copies plain values and sorts the members of objects, and leaves other values to
// jcs. It is several times as fast.
func canonical(text []byte) ([]byte, error) {
	c := canonizer{text: text, out: make([]byte, 0, len(text))}
	if c.value(); c.unusual {
		return jcs.Transform(text)
	}
	return c.out, nil
}

// canonizer reads valid JSON without spaces.
type canonizer struct {
	text    []byte
	at      int
	out     []byte // the canonical form of the text up to at
	sorted  []byte // reused for the members of an object
	unusual bool   // whether the text needs jcs as a whole
}

// canonizedMember is a member of an object: its name, and its place in the output.
type canonizedMember struct {
	name     []byte
	from, to int
}

// value copies the next value.
func (c *canonizer) value() {
	switch c.text[c.at] {
	case '{':
		c.object()
	case '[':
		c.array()
	default:
		c.scalar()
	}
}

func (c *canonizer) array() {
	c.copy(1)
	for !c.unusual && c.text[c.at] != ']' {
		if c.text[c.at] == ',' {
			c.copy(1)
		}
		c.value()
	}
	c.copy(1)
}

func (c *canonizer) object() {
	c.copy(1)
	var few [16]canonizedMember
	members, begin, inOrder := few[:0], len(c.out), true
	for c.text[c.at] != '}' {
		if c.text[c.at] == ',' {
			c.copy(1)
		}
		name, plain := c.token()
		m := canonizedMember{name: name[1 : len(name)-1], from: len(c.out)}
		c.copy(len(name) + 1) // with the colon
		if c.value(); c.unusual || !plain {
			c.unusual = true // jcs sorts by UTF-16
			return
		}
		m.to = len(c.out)
		inOrder = inOrder && (len(members) == 0 || bytes.Compare(members[len(members)-1].name, m.name) < 0)
		members = append(members, m)
	}
	if !inOrder {
		c.sort(members, begin)
	}
	c.copy(1)
}

// sort sorts the members of an object, which begin at a place in the output.
func (c *canonizer) sort(members []canonizedMember, begin int) {
	slices.SortFunc(members, func(a, b canonizedMember) int { return bytes.Compare(a.name, b.name) })
	c.sorted = c.sorted[:0]
	for i, m := range members {
		if i > 0 {
			c.unusual = c.unusual || bytes.Equal(members[i-1].name, m.name) // jcs rejects duplicates
			c.sorted = append(c.sorted, ',')
		}
		c.sorted = append(c.sorted, c.out[m.from:m.to]...)
	}
	copy(c.out[begin:], c.sorted)
}

// scalar copies a string, a number or a literal.
func (c *canonizer) scalar() {
	token, plain := c.token()
	if plain {
		c.copy(len(token))
		return
	}
	form, err := jcs.Transform(token)
	c.unusual = c.unusual || err != nil
	c.at += len(token)
	c.out = append(c.out, form...)
}

// token returns the next scalar. It reports whether the scalar is its own canonical form.
func (c *canonizer) token() (token []byte, plain bool) {
	rest := c.text[c.at:]
	if rest[0] != '"' {
		n := 0
		for n < len(rest) && rest[n] != ',' && rest[n] != ']' && rest[n] != '}' {
			n++
		}
		return rest[:n], isPlain(rest[:n])
	}
	plain = true
	n := 1
	for ; rest[n] != '"'; n++ {
		switch {
		case rest[n] == '\\':
			plain = false
			n++ // the next byte is part of the escape
		case rest[n] >= 0x80:
			plain = false
		}
	}
	return rest[:n+1], plain
}

// exactDigits is a number of digits with which each integer is a float64.
const exactDigits = 15

// isPlain reports whether a token is a literal or an integer, but not -0.
func isPlain(token []byte) bool {
	if token[0] >= 'a' {
		return true
	}
	for _, digit := range token[1:] {
		if digit < '0' || digit > '9' {
			return false
		}
	}
	return len(token) <= exactDigits && string(token) != "-0"
}

// copy copies bytes.
func (c *canonizer) copy(n int) {
	c.out = append(c.out, c.text[c.at:c.at+n]...)
	c.at += n
}
