package wire

import (
	"regexp"
	"regexp/syntax"
	"strings"
)

// expressionSize limits the estimated size of a client's compiled expression, in
// bytes. The time to match a name grows with this size.
const expressionSize = 256 << 10

// expression is a regular expression for names, in the syntax of Go's package regexp.
// After a leading ^ or \A, it may also have negative lookaheads, as in ^(?!\$).*,
// because some clients exclude events in this way. Go's engine does not support
// lookaheads, because it guarantees linear time. A negative lookahead at the start of
// the text does not need such support: it only means that another expression must not
// match there.
type expression struct {
	excluded []*regexp.Regexp // these must not match at the start
	included *regexp.Regexp
}

// newExpression compiles an expression. It rejects an expression that is larger than
// the given size.
func newExpression(text string, largest int) (*expression, error) {
	e := &expression{}
	anchor, rest := cutAnchor(text)
	for anchor != "" && strings.HasPrefix(rest, lookahead) {
		inside := rest[len(lookahead):]
		end := topLevel(inside, ')')
		if end < 0 {
			return nil, Invalid("the filter's regular expression: a lookahead has no closing ): %.100q", text)
		}
		excluded, err := compile(`\A(?:`+inside[:end]+")", largest)
		if err != nil {
			return nil, err
		}
		e.excluded, rest = append(e.excluded, excluded), inside[end+1:]
	}
	if len(e.excluded) > 0 && topLevel(rest, '|') >= 0 {
		return nil, Invalid("the filter's regular expression: put the alternatives after a lookahead in a group: %.100q", text)
	}
	if len(e.excluded) > 0 { // group the rest, because a repetition must not apply to the anchor
		rest = "(?:" + rest + ")"
	}
	included, err := compile(anchor+rest, largest)
	e.included = included
	return e, err
}

func (e *expression) matches(text string) bool {
	for _, x := range e.excluded {
		if x.MatchString(text) {
			return false
		}
	}
	return e.included.MatchString(text)
}

const lookahead = "(?!"

// cutAnchor splits the anchor before a lookahead from the rest of the text.
func cutAnchor(text string) (anchor, rest string) {
	for _, anchor := range []string{"^", `\A`} {
		if rest, ok := strings.CutPrefix(text, anchor); ok && strings.HasPrefix(rest, lookahead) {
			return anchor, rest
		}
	}
	return "", text
}

// topLevel returns the index of the first c outside of groups, character classes,
// quotes and escapes, or -1 if the text has no such c. If c is a closing parenthesis,
// topLevel returns the index of the first one that has no opening parenthesis in
// the text.
func topLevel(text string, c byte) int {
	depth := 0
	for i := 0; i < len(text); i++ {
		if depth == 0 && text[i] == c {
			return i
		}
		switch text[i] {
		case '(':
			depth++
		case ')':
			depth--
		case '\\':
			i = escapeEnd(text, i)
		case '[':
			i = classEnd(text, i)
		}
	}
	return -1
}

// escapeEnd returns the index of the last byte of an escape or of a quote (\Q…\E).
func escapeEnd(text string, i int) int {
	if !strings.HasPrefix(text[i:], `\Q`) {
		return i + 1
	}
	if n := strings.Index(text[i:], `\E`); n >= 0 {
		return i + n + 1
	}
	return len(text)
}

// classEnd returns the index of the bracket that closes a character class. A bracket
// at the beginning of a class is part of the class.
func classEnd(text string, i int) int {
	if i++; strings.HasPrefix(text[i:], "^") {
		i++
	}
	for first := i; i < len(text) && (text[i] != ']' || i == first); i++ {
		if text[i] == '\\' {
			i++
		} else if n := strings.Index(text[i:], ":]"); n > 0 && text[i] == '[' && text[i+1] == ':' {
			i += n + 1
		}
	}
	return i
}

func compile(text string, largest int) (*regexp.Regexp, error) {
	parsed, err := syntax.Parse(text, syntax.Perl)
	if err != nil {
		return nil, Invalid("the filter's regular expression: %v", err)
	}
	if size(parsed) > largest {
		return nil, Invalid("the filter's regular expression is too large: %.100q", text)
	}
	compiled, err := regexp.Compile(text)
	if err != nil {
		err = Invalid("the filter's regular expression: %v", err)
	}
	return compiled, err
}

// The function size() estimates the memory that a compiled expression needs. The engine
// copies a repeated part several times, and the function counts each copy.
func size(parsed *syntax.Regexp) int {
	const instruction, character = 64, 8
	n := instruction + character*len(parsed.Rune)
	if parsed.Op == syntax.OpLiteral {
		n = (instruction + character) * len(parsed.Rune)
	}
	for _, part := range parsed.Sub {
		n += size(part)
	}
	if parsed.Op == syntax.OpRepeat {
		n *= max(parsed.Min, parsed.Max, 1)
	}
	return min(n, expressionSize+1)
}
