package node

import (
	"regexp"
	"strings"

	api "github.com/EventStore/EventStore-Client-Go/v4/protos/streams"
)

// filter selects events of $all by their stream's name or their type, and says
// how often a subscriber is told how far the log was considered.
type filter struct {
	byType   bool
	prefixes []string
	regex    *regexp.Regexp // instead of prefixes
	interval uint64         // considered events between checkpoints; 0 for a read that has none
}

// defaultWindow is the search window where a client asks for none.
const defaultWindow = 32

func newFilter(o *api.ReadReq_Options_FilterOptions) (*filter, error) {
	f := &filter{}
	var expression *api.ReadReq_Options_FilterOptions_Expression
	switch by := o.GetFilter().(type) {
	case *api.ReadReq_Options_FilterOptions_StreamIdentifier:
		expression = by.StreamIdentifier
	case *api.ReadReq_Options_FilterOptions_EventType:
		expression, f.byType = by.EventType, true
	default:
		return nil, invalid("a filter is by stream or by type")
	}
	if err := f.readExpression(expression); err != nil {
		return nil, err
	}
	return f, f.readWindow(o)
}

func (f *filter) readExpression(e *api.ReadReq_Options_FilterOptions_Expression) (err error) {
	f.prefixes = e.GetPrefix()
	if e.GetRegex() == "" {
		if len(f.prefixes) == 0 {
			return invalid("a filter has prefixes or a regular expression")
		}
		return nil
	}
	if f.regex, err = regexp.Compile(e.GetRegex()); err != nil {
		return invalid("the filter's regular expression: %v", err)
	}
	return nil
}

func (f *filter) readWindow(o *api.ReadReq_Options_FilterOptions) error {
	window := uint64(defaultWindow)
	switch w := o.GetWindow().(type) {
	case *api.ReadReq_Options_FilterOptions_Max:
		window = uint64(w.Max)
	case *api.ReadReq_Options_FilterOptions_Count:
	default:
		return invalid("a filter has a window")
	}
	f.interval = window * uint64(o.GetCheckpointIntervalMultiplier())
	return nil
}

// matches looks at a record as it is stored: of a link, not at its target.
func (f *filter) matches(r *record) bool {
	text := r.stream
	if f.byType {
		text = r.kind
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

// hiddenFromAll says whether a stream is left out of $all: the ones in which
// persistent subscriptions to $all keep their own state, which would else feed
// on themselves.
func hiddenFromAll(stream string) bool {
	return strings.HasPrefix(stream, "$persistentsubscription-$all::") &&
		(strings.HasSuffix(stream, "-checkpoint") || strings.HasSuffix(stream, "-parked"))
}
