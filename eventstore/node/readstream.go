package node

import (
	"math"

	"github.com/EventStore/EventStore-Client-Go/v4/protos/shared"
	api "github.com/EventStore/EventStore-Client-Go/v4/protos/streams"
)

// readStream answers a read of one stream.
func (r *reader) readStream() error {
	if err := r.streams.await(r.call.Context(), r.stream, r.within); err != nil {
		return err
	}
	v, err := r.streams.view(r.stream, r.within)
	switch {
	case err != nil:
		return err
	case v.tombstoned():
		return refuseDeleted(r.stream)
	case v.last < 0 || v.meta.softDeleted():
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
	return r.send(&api.ReadResp{Content: &api.ReadResp_LastStreamPosition{LastStreamPosition: uint64(v.last)}})
}

func (r *reader) streamUp(v view) error {
	from := r.begin()
	p, err := r.streams.forwards(r.stream, v, from, r.within, r.left())
	if err != nil {
		return err
	}
	if err := r.sendFirstPosition(v, from, p); err != nil {
		return err
	}
	for {
		if err := r.sendPage(p); err != nil || p.end || r.count == 0 {
			return err
		}
		if p, err = r.streams.forwards(r.stream, v, p.next, r.within, r.left()); err != nil {
			return err
		}
	}
}

func (r *reader) streamDown(v view) error {
	from := r.begin()
	for {
		p, err := r.streams.backwards(r.stream, v, from, r.within, r.left())
		if err != nil {
			return err
		}
		if err := r.sendPage(p); err != nil || p.end || r.count == 0 {
			return err
		}
		from = p.next
	}
}

// begin is the revision or the position to begin at: the highest for the end.
func (r *reader) begin() uint64 {
	if r.from.kind == fromEnd {
		return math.MaxUint64
	}
	return r.from.at
}

// sendFirstPosition tells where the visible events begin, if that is beyond
// the first page; from the end on, it is where the next event will be.
func (r *reader) sendFirstPosition(v view, from uint64, p page) error {
	if !r.compatible {
		return nil
	}
	first := uint64(v.last) + 1
	if len(p.records) > 0 {
		first = p.records[0].revision
		if first-from < min(r.count, firstPage) {
			return nil
		}
	}
	return r.send(&api.ReadResp{Content: &api.ReadResp_FirstStreamPosition{FirstStreamPosition: first}})
}

// left is how many events may be asked for at once.
func (r *reader) left() int { return int(min(r.count, math.MaxInt)) }

func (r *reader) sendPage(p page) error {
	r.count -= uint64(len(p.records))
	return r.sendEvents(p.records)
}
