package wire

import (
	"regexp"
	"strings"

	api "github.com/EventStore/EventStore-Client-Go/v4/protos/streams"

	"hexarena/eventstore/node/record"
)

// Filter selects events of $all by their stream's name or their type, and says
// how often a subscriber is told how far the log was considered.
type Filter struct {
	ByType   bool
	prefixes []string
	regex    *regexp.Regexp // instead of prefixes
	Interval uint64         // considered events between checkpoints; 0 for a read that has none
}

// defaultWindow is the search window where a client asks for none.
const defaultWindow = 32

func NewFilter(o *api.ReadReq_Options_FilterOptions) (*Filter, error) {
	f := &Filter{}
	var expression *api.ReadReq_Options_FilterOptions_Expression
	switch by := o.GetFilter().(type) {
	case *api.ReadReq_Options_FilterOptions_StreamIdentifier:
		expression = by.StreamIdentifier
	case *api.ReadReq_Options_FilterOptions_EventType:
		expression, f.ByType = by.EventType, true
	default:
		return nil, Invalid("a filter is by stream or by type")
	}
	if err := f.ReadExpression(expression); err != nil {
		return nil, err
	}
	return f, f.readWindow(o)
}

func (f *Filter) ReadExpression(e *api.ReadReq_Options_FilterOptions_Expression) (err error) {
	f.prefixes = e.GetPrefix()
	if e.GetRegex() == "" {
		if len(f.prefixes) == 0 {
			return Invalid("a filter has prefixes or a regular expression")
		}
		return nil
	}
	if f.regex, err = regexp.Compile(e.GetRegex()); err != nil {
		return Invalid("the filter's regular expression: %v", err)
	}
	return nil
}

func (f *Filter) readWindow(o *api.ReadReq_Options_FilterOptions) error {
	window := uint64(defaultWindow)
	switch w := o.GetWindow().(type) {
	case *api.ReadReq_Options_FilterOptions_Max:
		window = uint64(w.Max)
	case *api.ReadReq_Options_FilterOptions_Count:
	default:
		return Invalid("a filter has a window")
	}
	f.Interval = window * uint64(o.GetCheckpointIntervalMultiplier())
	return nil
}

// Matches looks at a record as it is stored: of a link, not at its target.
func (f *Filter) Matches(r *record.Record) bool {
	text := r.Stream
	if f.ByType {
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

// HiddenFromAll says whether a stream is left out of $all: the ones in which
// persistent subscriptions to $all keep their own state, which would else feed
// on themselves.
func HiddenFromAll(stream string) bool {
	return strings.HasPrefix(stream, "$persistentsubscription-$all::") &&
		(strings.HasSuffix(stream, "-checkpoint") || strings.HasSuffix(stream, "-parked"))
}
