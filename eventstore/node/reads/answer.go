package reads

import (
	"math"

	"github.com/EventStore/EventStore-Client-Go/v4/protos/shared"
	api "github.com/EventStore/EventStore-Client-Go/v4/protos/streams"

	"hexarena/eventstore/node/record"
	"hexarena/eventstore/node/storage"
	"hexarena/eventstore/node/streams"
	"hexarena/eventstore/node/wire"
)

// firstPage is the number of revisions that EventStoreDB reads first. If none of them
// is a visible event, the client gets the first stream position.
const firstPage = 32

// readStream responds to a read of one stream.
func (r *reader) readStream() error {
	v, err := r.look()
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
	begin := r.begin()
	err = r.sendPages(begin, func(from uint64) (storage.Page, error) {
		p, err := r.Page(r.stream, v, r.pageAt(from, r.left()))
		if err == nil && from == begin && !r.backwards && r.compatible {
			err = r.sendFirstPosition(v, from, p)
		}
		return p, err
	})
	if err != nil || !r.compatible {
		return err
	}
	return r.send(&api.ReadResp{Content: &api.ReadResp_LastStreamPosition{LastStreamPosition: uint64(v.Last)}})
}

// look returns the current view of the stream.
func (r *reader) look() (storage.View, error) {
	r.within = r.Tail.End()
	if err := r.Await(r.call.Context(), r.stream, r.within); err != nil {
		return storage.View{}, err
	}
	return r.View(r.stream, r.within)
}

// readAll responds to a read of the whole log.
func (r *reader) readAll() error {
	if err := r.checkPosition(); err != nil {
		return err
	}
	return r.sendPages(r.begin(), func(from uint64) (storage.Page, error) {
		limit := r.left()
		if r.filter != nil { // the filter may select only a few records
			limit = storage.PageRecords
		}
		p, err := r.Store.LogPage(r.pageAt(from, limit))
		selected := p.Records[:0]
		for i := range p.Records {
			if r.selects(&p.Records[i]) && uint64(len(selected)) < r.count {
				selected = append(selected, p.Records[i])
			}
		}
		p.Records = selected
		return p, err
	})
}

// checkPosition rejects a position inside the log at which no record begins. It
// accepts a position in a gap that a scavenge left.
func (r *reader) checkPosition() error {
	if r.from.Kind != wire.FromExactly || r.from.At == 0 || r.from.At > r.within {
		return nil
	}
	_, ok, err := r.Store.At(r.from.At)
	if err == nil && !ok {
		ok, err = r.Store.WasScavenged(r.from.At)
	}
	if err == nil && !ok {
		err = wire.Invalid("no event is at position %d", r.from.At)
	}
	return err
}

// The method selects() reports whether a record is part of this read of $all.
func (r *reader) selects(found *record.Record) bool {
	return !streams.HiddenFromAll(found.Stream) && r.filter.Matches(found)
}

// The method begin() returns the revision or position at which the read starts. If the
// read starts at the end, it returns the highest number.
func (r *reader) begin() uint64 {
	if r.from.Kind == wire.FromEnd {
		return math.MaxUint64
	}
	return r.from.At
}

func (r *reader) pageAt(from uint64, limit int) storage.Range {
	return storage.Range{From: from, Within: r.within, Limit: limit, Backwards: r.backwards}
}

// The method left() returns how many more events the client wants.
func (r *reader) left() int { return int(min(r.count, math.MaxInt)) }

// sendPages sends pages until it has sent the last page or all the events that the
// client asked for.
func (r *reader) sendPages(from uint64, page func(from uint64) (storage.Page, error)) error {
	for {
		p, err := page(from)
		if err != nil {
			return err
		}
		r.count -= uint64(len(p.Records))
		if err := r.sendEvents(p.Records); err != nil || p.End || r.count == 0 {
			return err
		}
		from = p.Next
	}
}

// sendFirstPosition sends the revision of the first visible event if it is beyond
// the first page. If no event is visible, it sends the revision that the next
// event will get.
func (r *reader) sendFirstPosition(v storage.View, from uint64, p storage.Page) error {
	first := uint64(v.Last) + 1
	if len(p.Records) > 0 {
		first = p.Records[0].Revision
		if first-from < min(r.count, firstPage) {
			return nil
		}
	}
	return r.send(&api.ReadResp{Content: &api.ReadResp_FirstStreamPosition{FirstStreamPosition: first}})
}
