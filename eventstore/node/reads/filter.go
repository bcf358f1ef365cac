package reads

import (
	api "github.com/EventStore/EventStore-Client-Go/v4/protos/streams"

	"hexarena/eventstore/node/streams"
	"hexarena/eventstore/node/wire"
)

// defaultWindow is the search window of a client that asks for none.
const defaultWindow = 32

// newFilter reads a filter of $all. interval is the number of events between two
// checkpoints of a subscription.
func newFilter(o *api.ReadReq_Options_FilterOptions) (f *streams.Filter, interval uint64, err error) {
	expression, byType := o.GetStreamIdentifier(), false
	switch o.GetFilter().(type) {
	case *api.ReadReq_Options_FilterOptions_StreamIdentifier:
	case *api.ReadReq_Options_FilterOptions_EventType:
		expression, byType = o.GetEventType(), true
	default:
		return nil, 0, wire.Invalid("a filter is by stream or by type")
	}
	if f, err = streams.NewFilter(byType, expression.GetRegex(), expression.GetPrefix()); err != nil {
		return nil, 0, wire.Invalid("%v", err)
	}
	window := uint64(defaultWindow)
	switch w := o.GetWindow().(type) {
	case *api.ReadReq_Options_FilterOptions_Max:
		window = uint64(w.Max)
	case *api.ReadReq_Options_FilterOptions_Count:
	default:
		return nil, 0, wire.Invalid("a filter needs a window")
	}
	return f, window * uint64(o.GetCheckpointIntervalMultiplier()), nil
}
