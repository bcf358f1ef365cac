package wire

import (
	"regexp"
	"slices"
	"strings"

	"hexarena/eventstore/node/record"
)

// Filter selects events of $all by the name of their stream or by their type. It
// looks at records as they are stored: at a link, not at its target. Persistent
// subscriptions store their filters as JSON.
type Filter struct {
	ByType   bool           `json:"byType,omitempty"`
	Regex    string         `json:"regex,omitempty"` // instead of Prefixes
	Prefixes []string       `json:"prefixes,omitempty"`
	compiled *regexp.Regexp // of Regex
}

// ReadFilter reads a filter from a request, which sets either byStream or
// byType.
func ReadFilter[E interface {
	comparable
	GetRegex() string
	GetPrefix() []string
}](byStream, byType E) (*Filter, error) {
	var unset E
	f, expression := &Filter{}, byStream
	switch {
	case byType != unset:
		f.ByType, expression = true, byType
	case byStream == unset:
		return nil, Invalid("a filter must select by stream or by type")
	}
	f.Regex, f.Prefixes = expression.GetRegex(), expression.GetPrefix()
	return f, f.Compile()
}

// Compile checks a filter and prepares it for Matches. A nil filter is valid.
func (f *Filter) Compile() (err error) {
	switch {
	case f == nil || f.compiled != nil:
		return nil
	case f.Regex != "":
		if f.compiled, err = regexp.Compile(f.Regex); err != nil {
			return Invalid("the filter's regular expression: %v", err)
		}
	case len(f.Prefixes) == 0:
		return Invalid("a filter needs prefixes or a regular expression")
	}
	return nil
}

// Matches reports whether the filter selects a record. A nil filter selects all
// records.
func (f *Filter) Matches(r *record.Record) bool {
	if f == nil {
		return true
	}
	text := r.Stream
	if f.ByType {
		text = r.Type
	}
	if f.compiled != nil {
		return f.compiled.MatchString(text)
	}
	return slices.ContainsFunc(f.Prefixes, func(prefix string) bool { return strings.HasPrefix(text, prefix) })
}
