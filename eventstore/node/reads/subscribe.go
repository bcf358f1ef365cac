package reads

import (
	api "github.com/EventStore/EventStore-Client-Go/v4/protos/streams"

	"hexarena/eventstore/node/lifecycle"
	"hexarena/eventstore/node/openlog"
	"hexarena/eventstore/node/record"
	"hexarena/eventstore/node/storage"
	"hexarena/eventstore/node/wire"
)

// fallBehind is the number of events by which a live subscriber may lag. A subscriber
// that lags further behind gets a message that says so, and then catches up again.
const fallBehind = 4096

// awaitNews waits until the watcher is signaled or the subscription ends.
func (r *reader) awaitNews(w *openlog.Watcher) error {
	select {
	case <-w.Wake():
		return nil
	case <-r.call.Context().Done():
		return r.call.Context().Err()
	case <-r.Life.Closing():
		return lifecycle.ErrClosed
	}
}

// subscribeStream sends a stream's stored events and then its new ones, until
// the caller disconnects or the stream is tombstoned.
func (r *reader) subscribeStream() error {
	w, stop := r.Watch(r.stream)
	defer stop()
	v, err := r.look()
	if err != nil {
		return err
	}
	if v.Tombstoned() {
		return wire.RefuseDeleted(r.stream)
	}
	if err := r.confirm(); err != nil {
		return err
	}
	next, live := r.firstAfter(v), false
	for {
		if next, err = r.follow(v, next, &live); err != nil {
			return err
		}
		if err = r.awaitNews(w); err != nil {
			return err
		}
		if v, err = r.look(); err != nil {
			return err
		}
	}
}

// firstAfter returns the first revision that the subscriber does not have yet.
func (r *reader) firstAfter(v storage.View) uint64 {
	switch r.from.Kind {
	case wire.FromStart:
		return 0
	case wire.FromEnd:
		return uint64(v.Last + 1)
	default:
		return r.from.At + 1
	}
}

// follow sends the events in a view, starting at the revision next. It returns the
// revision to continue from.
func (r *reader) follow(v storage.View, next uint64, live *bool) (uint64, error) {
	if v.Tombstoned() { // a subscriber still gets the events that precede the tombstone
		v.First = v.Meta.TruncateBefore
	} else if err := r.noteLag(v, next, live); err != nil {
		return 0, err
	}
	for from, end := next, v.Last < 0; !end; {
		p, err := r.Page(r.stream, v, r.pageAt(from, storage.PageRecords))
		if err == nil {
			err = r.sendEvents(p.Records)
		}
		if err != nil {
			return 0, err
		}
		from, end = p.Next, p.End
	}
	next = max(next, uint64(v.Last+1))
	switch {
	case v.Tombstoned():
		return 0, wire.RefuseDeleted(r.stream)
	case *live:
		return next, nil
	}
	*live = true
	return next, r.caughtUp()
}

// noteLag tells a live subscriber if it has fallen behind.
func (r *reader) noteLag(v storage.View, next uint64, live *bool) error {
	end := uint64(v.Last + 1)
	if !*live || end <= next || end-next <= fallBehind {
		return nil
	}
	*live = false
	return r.fellBehind()
}

// subscribeAll sends the log's stored events and then its new ones, until the
// caller disconnects.
func (r *reader) subscribeAll() error {
	w, stop := r.Tail.Watch("")
	defer stop()
	r.within = r.Tail.End()
	if err := r.confirm(); err != nil {
		return err
	}
	if err := r.checkPosition(); err != nil {
		return err
	}
	c := &cursor{reader: r, at: r.lastSeen()}
	for {
		if err := c.catchUp(); err != nil {
			return err
		}
		if err := r.awaitNews(w); err != nil {
			return err
		}
	}
}

// lastSeen returns the position of the last event that the subscriber has. If the
// prepare position is lower than the commit position, the subscriber does not have
// the event at the commit position yet.
func (r *reader) lastSeen() uint64 {
	switch {
	case r.from.Kind == wire.FromEnd:
		return r.within
	case r.from.Prepare < r.from.At:
		return r.from.At - 1
	default:
		return r.from.At
	}
}

// cursor is the state of a subscription to $all.
type cursor struct {
	*reader
	at         uint64 // all records up to this position have been considered
	live       bool
	considered uint64 // records since the last checkpoint
	reported   uint64 // position of the last checkpoint
}

// catchUp considers all synced records.
func (c *cursor) catchUp() error {
	for {
		records, behind, ok := c.Tail.After(c.at, storage.PageRecords)
		switch {
		case !ok:
			var err error
			if records, err = c.older(); err != nil {
				return err
			}
			if len(records) == 0 {
				continue
			}
		case len(records) == 0:
			return c.goLive()
		}
		if err := c.noteLag(behind, ok); err != nil {
			return err
		}
		if err := c.consider(records); err != nil {
			return err
		}
	}
}

// The method older() reads records that the tail no longer contains. If a scavenge
// removed all of them, the method moves the cursor to the end.
func (c *cursor) older() ([]record.Record, error) {
	end := c.Tail.End()
	p, err := c.Store.LogPage(storage.Range{From: c.at + 1, Within: end, Limit: storage.PageRecords})
	if err == nil && len(p.Records) == 0 {
		if !c.Store.IsScavenged() {
			return nil, record.Damaged(c.at, "nothing follows it")
		}
		c.at = end
	}
	return p.Records, err
}

func (c *cursor) noteLag(behind int, ok bool) error {
	if c.live && (!ok || behind > fallBehind) {
		c.live = false
		return c.fellBehind()
	}
	return nil
}

// consider sends the selected events and the checkpoints between them.
func (c *cursor) consider(records []record.Record) error {
	sent := 0
	for i := range records {
		c.considered++
		if c.filter == nil || c.considered < c.interval {
			continue
		}
		if err := c.sendMatching(records[sent : i+1]); err != nil {
			return err
		}
		sent = i + 1
		if err := c.checkpoint(records[i].Position); err != nil {
			return err
		}
	}
	c.at = records[len(records)-1].Position
	return c.sendMatching(records[sent:])
}

// sendMatching sends the selected records. It must not change the slice, which
// belongs to the tail.
func (c *cursor) sendMatching(records []record.Record) error {
	for len(records) > 0 {
		n := 0
		for n < len(records) && c.selects(&records[n]) {
			n++
		}
		if n > 0 {
			if err := c.sendEvents(records[:n]); err != nil {
				return err
			}
		}
		records = records[min(n+1, len(records)):]
	}
	return nil
}

func (c *cursor) checkpoint(position uint64) error {
	c.considered, c.reported = 0, position
	return c.send(&api.ReadResp{Content: &api.ReadResp_Checkpoint_{
		Checkpoint: &api.ReadResp_Checkpoint{CommitPosition: position, PreparePosition: position},
	}})
}

// goLive tells the subscriber that it has caught up, unless the subscriber already knows.
// A subscriber with a filter gets a checkpoint first.
func (c *cursor) goLive() error {
	if c.live {
		return nil
	}
	c.live = true
	if end := min(c.at, c.Tail.End()); c.filter != nil && end > 0 && end == c.at && c.reported != end {
		if err := c.checkpoint(end); err != nil {
			return err
		}
	}
	return c.caughtUp()
}
