package wire

import (
	"regexp"
	"strings"
	"testing"

	"github.com/EventStore/EventStore-Client-Go/v4/protos/persistent"
	"github.com/stretchr/testify/require"
)

// clientFilters holds the expressions that official clients send by default.
var clientFilters = map[string]string{
	"Python, read_all and subscribe_to_all": `^(?!(\$.+$|PersistentConfig\d+$))`,
	"Go, system events":                     `^[^\$].*`,
	"Node.js, system events":                `^[^$].*`,
}

func TestClientFilters(t *testing.T) {
	for name, text := range clientFilters {
		t.Run(name, func(t *testing.T) {
			e, err := newExpression(text, expressionSize)
			require.NoError(t, err)
			require.True(t, e.matches("GameEnded"))
			require.False(t, e.matches("$metadata"))
			require.False(t, e.matches("$>"))
			require.Equal(t, !strings.HasPrefix(name, "Python"), e.matches("PersistentConfig1"))
		})
	}
}

func TestLookaheads(t *testing.T) {
	tests := []struct {
		text   string
		yes    []string
		no     []string
		refuse string
	}{
		{text: `^(?!a)`, yes: []string{"", "b", "ba"}, no: []string{"a", "ab"}},
		{text: `\A(?!a)b`, yes: []string{"b"}, no: []string{"ab", "cb"}},
		{text: `^(?!a)(?!b)[a-c]`, yes: []string{"c"}, no: []string{"a", "b", "d"}},
		{text: `^(?!a|b$)`, yes: []string{"bc", "c"}, no: []string{"a", "ac", "b"}},
		{text: `^(?!(a(b|c))|d)(x|a)`, yes: []string{"x", "ad"}, no: []string{"ab", "ac", "d"}},
		{text: `^(?![)]|\)|\Q)\E|[^]a)])`, yes: []string{"", "]", "a"}, no: []string{")", "b"}},
		{text: `^(?![[:alpha:])])`, yes: []string{"1"}, no: []string{"a", ")"}},
		{text: `^(?!a)\|`, yes: []string{"|"}, no: []string{"a", "b"}},
		{text: `^(?!a)[|]`, yes: []string{"|"}, no: []string{"a", "b"}},
		{text: `^(?!(?i)game)`, yes: []string{"match"}, no: []string{"game", "GAME"}},
		{text: `(?!a)`, refuse: "invalid or unsupported Perl syntax"},
		{text: `a(?!b)`, refuse: "invalid or unsupported Perl syntax"},
		{text: `^(?!(?!a))`, refuse: "invalid or unsupported Perl syntax"},
		{text: `^(?!a`, refuse: "a lookahead has no closing )"},
		{text: `^(?!a))`, refuse: "unexpected )"},
		{text: `^(?!a)?b`, refuse: "missing argument to repetition operator"},
		{text: `^(?!a){2}`, refuse: "missing argument to repetition operator"},
		{text: `^(?!a)b|c`, refuse: "in a group"},
		{text: `^(?!a\1)`, refuse: "invalid escape sequence"},
		{text: `^(?!(\pL{1000}))`, refuse: "too large"},
	}
	for _, test := range tests {
		t.Run(test.text, func(t *testing.T) {
			e, err := newExpression(test.text, expressionSize)
			if test.refuse != "" {
				require.ErrorContains(t, err, test.refuse)
				return
			}
			require.NoError(t, err)
			for _, text := range test.yes {
				require.True(t, e.matches(text), text)
			}
			for _, text := range test.no {
				require.False(t, e.matches(text), text)
			}
		})
	}
}

// The node rejects a large filter without compiling it. The repetition in this test
// would need 129 MB if it were compiled.
func TestLargeFilters(t *testing.T) {
	for name, f := range map[string]*persistent.CreateReq_AllOptions_FilterOptions_Expression{
		"a long expression":     {Regex: strings.Repeat("a", filterSize+1)},
		"many prefixes":         {Prefix: make([]string, filterSize+1)},
		"a repetition":          {Regex: "(?i)(" + strings.Repeat("k", 3000) + "){900}"},
		"many classes":          {Regex: strings.Repeat(`\pL.`, 100)},
		"a large excluded part": {Regex: `^(?!\pL{1000})`},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := ReadFilter(nil, f)
			require.ErrorContains(t, err, "filter")
		})
	}
	ids := make([]string, 100)
	for i := range ids {
		ids[i] = "match-01991c4a-6c1f-7cc3-8b7e-0123456789ab"[:42-i%2]
	}
	_, err := ReadFilter(nil, &persistent.CreateReq_AllOptions_FilterOptions_Expression{Regex: "^(" + strings.Join(ids, "|") + ")$"})
	require.NoError(t, err, "a hundred ids")
	stored := &Filter{Regex: `\pL{1000}`}
	require.NoError(t, stored.Compile(), "a filter that an earlier version stored")
}

// If an expression has a lookahead at its start, it matches a text under two
// conditions: the beginning of the text matches the rest of the expression, and it does
// not match the excluded expression. The reference implementation evaluates the two
// parts separately, so it does not depend on where the parser splits the expression.
func FuzzLookahead(f *testing.F) {
	for _, seed := range [][3]string{
		{`\$.+$|PersistentConfig\d+$`, ``, "$metadata"},
		{`\$.+$|PersistentConfig\d+$`, ``, "PersistentConfig12"},
		{`a|b$`, `(a|b|c)`, "bc"},
		{`[)]`, `.`, ")"},
		{`[]()]`, `[^]]`, "]"},
		{`\)`, `x*`, ")x"},
		{`\Q)\E`, `a`, "a"},
		{`[[:alpha:])]`, ``, "x"},
		{`(?i)a(b|c)`, `A`, "AB"},
		{`(a)(b)`, `(?s).$`, "ab\n"},
		{``, `a`, "a"},
		{`a`, `b|c`, "c"},
		{`a`, `\|`, "|"},
		{`[\]|]`, `[|]`, "|"},
		{`(?P<n>a)`, `(?P<n>b)`, "b"},
	} {
		f.Add(seed[0], seed[1], seed[2])
	}
	f.Fuzz(func(t *testing.T, excluded, included, text string) {
		x, y := part(excluded), part(included)
		e, err := newExpression(`^(?!`+excluded+`)`+included, expressionSize)
		switch {
		case x == nil || y == nil: // the parser may split the text elsewhere, for example in `a)b(?:c`
		case err != nil && strings.Contains(err.Error(), "too large"):
		case err != nil && strings.Contains(included, "|"):
			require.ErrorContains(t, err, "in a group")
		default:
			require.NoError(t, err)
			require.Equal(t, !x.MatchString(text) && y.MatchString(text), e.matches(text))
		}
	})
}

// part compiles a part of an expression, anchored at the start of the text. It returns
// nil if the meaning of the part depends on the text that follows it.
func part(text string) *regexp.Regexp {
	if _, err := regexp.Compile(text); err != nil {
		return nil
	}
	anchored, err := regexp.Compile(`\A(?:` + text + `)`)
	if err != nil {
		return nil
	}
	return anchored
}
