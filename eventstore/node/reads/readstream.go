package reads

import (
	"math"

	"github.com/EventStore/EventStore-Client-Go/v4/protos/shared"
	api "github.com/EventStore/EventStore-Client-Go/v4/protos/streams"

	"hexarena/eventstore/node/storage"
	"hexarena/eventstore/node/wire"
)

// readStream answers a read of one stream.
func (r *reader) readStream() error {
	if err := r.Streams.Await(r.call.Context(), r.stream, r.within); err != nil {
		return err
	}
	v, err := r.Streams.View(r.stream, r.within)
	switch {
	case err != nil:
		return err
	case v.Tombstoned():
		return wire.RefuseDeleted(r.stream)
	case v.Last < 0 || v.Meta.SoftDeleted():
		return r.send(&api.ReadResp{Content: &api.ReadResp_StreamNotFound_{StreamNotFound: &api.ReadResp_StreamNotFound{
			StreamIdentifier: &shared.StreamIdentifier{StreamName: []byte(r.stream)},
		}}})
	}
	if r.backwards {
		err = r.streamDown(v)
	} else {
		err = r.streamUp(v)
	}
	if err != nil || !r.compatible {
		return err
	}
	return r.send(&api.ReadResp{Content: &api.ReadResp_LastStreamPosition{LastStreamPosition: uint64(v.Last)}})
}

func (r *reader) streamUp(v storage.View) error {
	from := r.begin()
	p, err := r.Streams.Forwards(r.stream, v, from, r.within, r.left())
	if err != nil {
		return err
	}
	if err := r.sendFirstPosition(v, from, p); err != nil {
		return err
	}
	for {
		if err := r.sendPage(p); err != nil || p.End || r.count == 0 {
			return err
		}
		if p, err = r.Streams.Forwards(r.stream, v, p.Next, r.within, r.left()); err != nil {
			return err
		}
	}
}

func (r *reader) streamDown(v storage.View) error {
	from := r.begin()
	for {
		p, err := r.Streams.Backwards(r.stream, v, from, r.within, r.left())
		if err != nil {
			return err
		}
		if err := r.sendPage(p); err != nil || p.End || r.count == 0 {
			return err
		}
		from = p.Next
	}
}

// begin returns the revision or position to begin at, the highest one for the end.
func (r *reader) begin() uint64 {
	if r.from.Kind == wire.FromEnd {
		return math.MaxUint64
	}
	return r.from.At
}

// sendFirstPosition sends the revision of the first visible event if it is beyond
// the first page. If there is no event, it sends the next event's revision.
func (r *reader) sendFirstPosition(v storage.View, from uint64, p storage.Page) error {
	if !r.compatible {
		return nil
	}
	first := uint64(v.Last) + 1
	if len(p.Records) > 0 {
		first = p.Records[0].Revision
		if first-from < min(r.count, firstPage) {
			return nil
		}
	}
	return r.send(&api.ReadResp{Content: &api.ReadResp_FirstStreamPosition{FirstStreamPosition: first}})
}

// left returns how many more events the client wants.
func (r *reader) left() int { return int(min(r.count, math.MaxInt)) }

func (r *reader) sendPage(p storage.Page) error {
	r.count -= uint64(len(p.Records))
	return r.sendEvents(p.Records)
}
