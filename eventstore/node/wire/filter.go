package wire

import (
	"math"
	"slices"
	"strings"

	"hexarena/eventstore/node/record"
)

// Filter selects events of $all by the name of their stream or by their type. If a
// record is a link, the filter tests the link and not its target. Persistent
// subscriptions store their filters as JSON.
type Filter struct {
	ByType   bool        `json:"byType,omitempty"`
	Regex    string      `json:"regex,omitempty"` // instead of Prefixes
	Prefixes []string    `json:"prefixes,omitempty"`
	compiled *expression // of Regex
}

// ReadFilter reads a filter from a request. The request sets either byStream or byType.
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
	if n := f.size(); n > filterSize {
		return nil, Invalid("the filter has %d bytes, but the limit is %d", n, filterSize)
	}
	return f, f.compile(expressionSize)
}

// Compile checks a stored filter and prepares it for Matches. A nil filter is valid.
// Compile does not check the filter's size, because a filter that an earlier version
// stored must still load.
func (f *Filter) Compile() error { return f.compile(math.MaxInt) }

func (f *Filter) compile(largest int) (err error) {
	switch {
	case f == nil || f.compiled != nil:
		return nil
	case f.Regex != "":
		f.compiled, err = newExpression(f.Regex, largest)
	case len(f.Prefixes) == 0:
		err = Invalid("a filter needs prefixes or a regular expression")
	}
	return err
}

// filterSize limits the total length of a filter's texts, in bytes. A filter stays in
// memory while its subscription is open, and the node compares each event with it.
const filterSize = 16 << 10

func (f *Filter) size() int {
	n := len(f.Regex)
	for _, prefix := range f.Prefixes {
		n += len(prefix) + 1
	}
	return n
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
		return f.compiled.matches(text)
	}
	return slices.ContainsFunc(f.Prefixes, func(prefix string) bool { return strings.HasPrefix(text, prefix) })
}
