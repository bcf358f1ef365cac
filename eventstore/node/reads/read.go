// Package reads implements Read calls. A Read call reads from or subscribes to a stream
// or the whole log, which is called $all.
package reads

import (
	api "github.com/EventStore/EventStore-Client-Go/v4/protos/streams"
	"github.com/google/uuid"

	"hexarena/eventstore/node/record"
	"hexarena/eventstore/node/streams"
	"hexarena/eventstore/node/wire"
)

// Reads handles each Read call, which is either a read or a subscription.
type Reads struct{ *streams.Reader }

// The type reading holds a valid request for a read or a subscription.
type reading struct {
	stream     string // empty for $all
	backwards  bool
	subscribes bool
	count      uint64
	links      bool // resolve links
	textIDs    bool
	compatible bool         // whether the client understands first and last stream positions
	filter     *wire.Filter // nil if the request has no filter
	interval   uint64       // events between checkpoints of a filtered subscription; 0 for a read
	from       wire.Start
}

// reader sends the responses to one request.
type reader struct {
	Reads
	reading
	call   api.Streams_ReadServer
	within uint64 // events beyond this position are not sent
}

// Read handles a read or a subscription.
func (s Reads) Read(m *api.ReadReq, call api.Streams_ReadServer) error {
	r := &reader{Reads: s, call: call, within: s.Tail.End()}
	if err := r.readOptions(m.GetOptions()); err != nil {
		return err
	}
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

// readOptions reads and checks the options of a request.
func (r *reading) readOptions(o *api.ReadReq_Options) error {
	r.backwards = o.GetReadDirection() == api.ReadReq_Options_Backwards
	r.links = o.GetResolveLinks()
	r.compatible = o.GetControlOption().GetCompatibility() >= 1
	for _, read := range []func(*api.ReadReq_Options) error{r.readSource, r.readCount, r.readFilter, r.readIDs} {
		if err := read(o); err != nil {
			return err
		}
	}
	return nil
}

func (r *reading) readSource(o *api.ReadReq_Options) (err error) {
	if o.GetReadDirection() != api.ReadReq_Options_Forwards && !r.backwards {
		return wire.Invalid("a read must go forwards or backwards")
	}
	switch stream, all := o.GetStream(), o.GetAll(); {
	case stream != nil:
		r.from = wire.ReadStart(stream, stream.GetRevision(), stream.GetRevision())
		if r.stream, err = wire.StreamName(stream.GetStreamIdentifier()); err == nil && stream.GetRevisionOption() == nil {
			err = wire.Invalid("a read of a stream needs a start")
		}
	case all != nil:
		r.from = wire.ReadStart(all, all.GetPosition().GetCommitPosition(), all.GetPosition().GetPreparePosition())
		if all.GetAllOption() == nil {
			err = wire.Invalid("a read of $all needs a start")
		}
	default:
		err = wire.Invalid("a read needs a stream or $all")
	}
	return err
}

func (r *reading) readCount(o *api.ReadReq_Options) error {
	switch count := o.GetCountOption().(type) {
	case *api.ReadReq_Options_Count:
		r.count = count.Count
		if r.count == 0 {
			return wire.Invalid("the count of a read must be greater than 0")
		}
	case *api.ReadReq_Options_Subscription:
		r.subscribes = true
		if r.backwards {
			return wire.Invalid("a subscription must go forwards")
		}
		if r.stream == "" && r.from.Kind == wire.FromExactly && r.from.Prepare > r.from.At {
			return wire.Invalid("the prepare position %d is greater than the commit position %d", r.from.Prepare, r.from.At)
		}
	default:
		return wire.Invalid("a read needs a count or a subscription")
	}
	return nil
}

// defaultWindow is the search window for a client that does not set one.
const defaultWindow = 32

func (r *reading) readFilter(o *api.ReadReq_Options) (err error) {
	f := o.GetFilter()
	switch {
	case o.GetNoFilter() != nil:
		return nil
	case f == nil:
		return wire.Invalid("the filter option is missing")
	case r.stream != "":
		return wire.Invalid("only reads of $all can have a filter")
	}
	if r.filter, err = wire.ReadFilter(f.GetStreamIdentifier(), f.GetEventType()); err != nil {
		return err
	}
	window := uint64(f.GetMax())
	switch f.GetWindow().(type) {
	case nil:
		return wire.Invalid("a filter needs a window")
	case *api.ReadReq_Options_FilterOptions_Count:
		window = defaultWindow
	}
	r.interval = window * uint64(f.GetCheckpointIntervalMultiplier())
	if r.subscribes && r.interval == 0 {
		return wire.Invalid("a filter's window and checkpoint interval must be greater than 0")
	}
	return nil
}

func (r *reading) readIDs(o *api.ReadReq_Options) error {
	r.textIDs = o.GetUuidOption().GetString_() != nil
	if o.GetUuidOption().GetContent() == nil {
		return wire.Invalid("the uuid option is missing")
	}
	return nil
}

// sendEvents sends records as events.
func (r *reader) sendEvents(records []record.Record) error {
	var targets *streams.LinkTargets
	if r.links {
		targets = r.NewLinkTargets()
	}
	var f wire.Frame // SendMsg does not retain it
	buf := make([]byte, 0, encodedSize(records))
	for i := range records {
		event := record.Resolved{Event: &records[i]}
		if r.links {
			var err error
			if event, err = targets.Resolve(&records[i]); err != nil {
				return err
			}
		}
		start := len(buf)
		buf = wire.AppendReadEvent(buf, event, r.textIDs)
		f = buf[start:len(buf):len(buf)]
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

// eventOverhead is the approximate number of bytes that an encoded event has in
// addition to its record.
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
