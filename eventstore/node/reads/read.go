// Package reads answers Read: reads and subscriptions, of streams and of the whole
// log, called $all.
package reads

import (
	"log/slog"

	api "github.com/EventStore/EventStore-Client-Go/v4/protos/streams"
	"github.com/google/uuid"

	"hexarena/eventstore/node/lifecycle"
	"hexarena/eventstore/node/record"
	"hexarena/eventstore/node/storage"
	"hexarena/eventstore/node/streams"
	"hexarena/eventstore/node/tail"
	"hexarena/eventstore/node/wire"
)

// firstPage is the number of revisions that EventStoreDB reads first. A client gets
// the first stream position if no visible event is among them.
const firstPage = 32

// reading is a checked request to read or to subscribe.
type reading struct {
	stream     string // empty: $all
	backwards  bool
	subscribes bool
	count      uint64
	links      bool // resolve links
	textIDs    bool
	compatible bool            // the client knows first and last stream positions
	filter     *streams.Filter // nil for none
	interval   uint64          // events between checkpoints of a filtered subscription; 0 for a read
	from       wire.Start
}

// Reads answers Read: reads and subscriptions, of streams and of $all.
type Reads struct {
	Logger  *slog.Logger
	Life    *lifecycle.Lifecycle
	Store   *storage.Store
	Tail    *tail.Tail
	Streams *streams.Reader
}

// reader sends the answers to one reading.
type reader struct {
	Reads
	reading
	call   api.Streams_ReadServer
	within uint64 // nothing beyond this position is shown
}

// Read answers a read or a subscription.
func (s Reads) Read(m *api.ReadReq, call api.Streams_ReadServer) error {
	err := s.Life.Ready()
	if err == nil {
		err = s.read(m, call)
	}
	return wire.Status(s.Logger, err, call.SetTrailer)
}

func (s Reads) read(m *api.ReadReq, call api.Streams_ReadServer) error {
	asked, err := newReading(m.GetOptions())
	if err != nil {
		return err
	}
	r := &reader{Reads: s, reading: asked, call: call, within: s.Tail.End()}
	switch {
	case r.subscribes && r.stream == "":
		return r.subscribeAll()
	case r.subscribes:
		return r.subscribeStream()
	case r.stream == "":
		return r.readAll()
	default:
		return r.readStream()
	}
}

func newReading(o *api.ReadReq_Options) (reading, error) {
	r := reading{
		backwards:  o.GetReadDirection() == api.ReadReq_Options_Backwards,
		links:      o.GetResolveLinks(),
		compatible: o.GetControlOption().GetCompatibility() >= 1,
	}
	for _, check := range []func(*api.ReadReq_Options) error{r.readSource, r.readCount, r.readFilter, r.readIDs} {
		if err := check(o); err != nil {
			return reading{}, err
		}
	}
	return r, nil
}

func (r *reading) readSource(o *api.ReadReq_Options) (err error) {
	if o.GetReadDirection() != api.ReadReq_Options_Forwards && !r.backwards {
		return wire.Invalid("reads go forwards or backwards")
	}
	switch source := o.GetStreamOption().(type) {
	case *api.ReadReq_Options_Stream:
		r.stream, err = wire.StreamName(source.Stream.GetStreamIdentifier())
		if err == nil {
			err = r.readRevision(source.Stream)
		}
	case *api.ReadReq_Options_All:
		err = r.readPosition(source.All)
	default:
		err = wire.Invalid("a read needs a stream, or all")
	}
	return err
}

func (r *reading) readRevision(o *api.ReadReq_Options_StreamOptions) error {
	switch from := o.GetRevisionOption().(type) {
	case *api.ReadReq_Options_StreamOptions_Start:
		r.from = wire.Start{Kind: wire.FromStart}
	case *api.ReadReq_Options_StreamOptions_End:
		r.from = wire.Start{Kind: wire.FromEnd}
	case *api.ReadReq_Options_StreamOptions_Revision:
		r.from = wire.ExactStart(from.Revision, from.Revision)
	default:
		return wire.Invalid("a read of a stream needs a start")
	}
	return nil
}

func (r *reading) readPosition(o *api.ReadReq_Options_AllOptions) error {
	switch from := o.GetAllOption().(type) {
	case *api.ReadReq_Options_AllOptions_Start:
		r.from = wire.Start{Kind: wire.FromStart}
	case *api.ReadReq_Options_AllOptions_End:
		r.from = wire.Start{Kind: wire.FromEnd}
	case *api.ReadReq_Options_AllOptions_Position:
		r.from = wire.ExactStart(from.Position.GetCommitPosition(), from.Position.GetPreparePosition())
	default:
		return wire.Invalid("a read of all needs a start")
	}
	return nil
}

func (r *reading) readCount(o *api.ReadReq_Options) error {
	switch count := o.GetCountOption().(type) {
	case *api.ReadReq_Options_Count:
		r.count = count.Count
		if r.count == 0 {
			return wire.Invalid("a read of 0 events")
		}
	case *api.ReadReq_Options_Subscription:
		r.subscribes = true
		if r.backwards {
			return wire.Invalid("subscriptions go forwards")
		}
		if r.stream == "" && r.from.Kind == wire.FromExactly && r.from.Prepare > r.from.At {
			return wire.Invalid("the prepare position %d is behind the commit position %d", r.from.Prepare, r.from.At)
		}
	default:
		return wire.Invalid("a read needs a count or a subscription")
	}
	return nil
}

func (r *reading) readFilter(o *api.ReadReq_Options) (err error) {
	switch f := o.GetFilterOption().(type) {
	case *api.ReadReq_Options_NoFilter:
	case *api.ReadReq_Options_Filter:
		if r.stream != "" {
			return wire.Invalid("only reads of $all can have a filter")
		}
		if r.filter, r.interval, err = newFilter(f.Filter); err == nil && r.subscribes && r.interval == 0 {
			err = wire.Invalid("a filter's window and its checkpoint interval must be more than 0")
		}
	default:
		return wire.Invalid("the filter option is missing")
	}
	return err
}

func (r *reading) readIDs(o *api.ReadReq_Options) error {
	switch o.GetUuidOption().GetContent().(type) {
	case *api.ReadReq_Options_UUIDOption_Structured:
	case *api.ReadReq_Options_UUIDOption_String_:
		r.textIDs = true
	default:
		return wire.Invalid("the uuid option is missing")
	}
	return nil
}

// sendEvents sends records as events.
func (r *reader) sendEvents(records []record.Record) error {
	buf, seen := make([]byte, 0, encodedSize(records)), (*streams.LinkTargets)(nil)
	if r.links {
		seen = r.Streams.NewLinkTargets()
	}
	for i := range records {
		event := record.Resolved{Event: &records[i]}
		if r.links {
			var err error
			if event, err = seen.Resolve(&records[i]); err != nil {
				return err
			}
		}
		start := len(buf)
		buf = wire.AppendReadEvent(buf, event, r.textIDs)
		f := wire.Frame(buf[start:len(buf):len(buf)])
		if err := r.call.SendMsg(&f); err != nil {
			return err
		}
	}
	return nil
}

// encodedSize estimates the size of encoded events.
func encodedSize(records []record.Record) (n int) {
	for i := range records {
		n += records[i].Size() + eventOverhead
	}
	return n
}

// eventOverhead is about the size of an encoded event without its record.
const eventOverhead = 140

func (r *reader) send(m *api.ReadResp) error { return r.call.SendMsg(m) }

func (r *reader) confirm() error {
	return r.send(&api.ReadResp{Content: &api.ReadResp_Confirmation{
		Confirmation: &api.ReadResp_SubscriptionConfirmation{SubscriptionId: uuid.NewString()},
	}})
}

func (r *reader) caughtUp() error {
	return r.send(&api.ReadResp{Content: &api.ReadResp_CaughtUp_{CaughtUp: &api.ReadResp_CaughtUp{}}})
}

func (r *reader) fellBehind() error {
	return r.send(&api.ReadResp{Content: &api.ReadResp_FellBehind_{FellBehind: &api.ReadResp_FellBehind{}}})
}
