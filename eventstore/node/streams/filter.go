package streams

import (
	"errors"
	"fmt"
	"regexp"
	"strings"

	"hexarena/eventstore/node/record"
)

// Filter selects events of $all by the name of their stream or by their type. It
// looks at records as they are stored: at a link, not at its target.
type Filter struct {
	byType   bool
	prefixes []string
	regex    *regexp.Regexp // instead of prefixes
}

// NewFilter returns a filter of streams, or of types. The regular expression, if
// it is not empty, replaces the prefixes.
func NewFilter(byType bool, regex string, prefixes []string) (*Filter, error) {
	f := &Filter{byType: byType, prefixes: prefixes}
	if regex == "" {
		if len(prefixes) == 0 {
			return nil, errors.New("a filter needs prefixes or a regular expression")
		}
		return f, nil
	}
	var err error
	if f.regex, err = regexp.Compile(regex); err != nil {
		return nil, fmt.Errorf("the filter's regular expression: %w", err)
	}
	return f, nil
}

// Matches reports whether the filter selects a record. A nil filter selects all.
func (f *Filter) Matches(r *record.Record) bool {
	if f == nil {
		return true
	}
	text := r.Stream
	if f.byType {
		text = r.Type
	}
	if f.regex != nil {
		return f.regex.MatchString(text)
	}
	for _, prefix := range f.prefixes {
		if strings.HasPrefix(text, prefix) {
			return true
		}
	}
	return false
}

// HiddenFromAll reports whether $all leaves a stream out. It leaves out the state
// of persistent subscriptions to $all: each checkpoint would otherwise be a new
// event for the subscription that wrote it.
func HiddenFromAll(stream string) bool {
	return strings.HasPrefix(stream, "$persistentsubscription-$all::") &&
		(strings.HasSuffix(stream, "-checkpoint") || strings.HasSuffix(stream, "-parked"))
}
