package node

import (
	api "github.com/EventStore/EventStore-Client-Go/v4/protos/streams"
)

// A live subscriber that is further behind than this has fallen behind, and
// catches up anew.
const fallBehind = 4096

// awaitNews waits until a watcher is woken, or the subscription ends.
func (r *reader) awaitNews(w *watcher) error {
	select {
	case <-w.wake:
		return nil
	case <-r.call.Context().Done():
		return r.call.Context().Err()
	case <-r.life.closing:
		return errClosed
	}
}

// subscribeStream sends a stream's events, stored and then new, until the
// caller leaves or the stream is tombstoned.
func (r *reader) subscribeStream() error {
	w, stop := r.streams.watch(r.stream)
	defer stop()
	v, err := r.look()
	if err != nil {
		return err
	}
	if v.tombstoned() {
		return refuseDeleted(r.stream)
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

// look views the stream as it is now.
func (r *reader) look() (view, error) {
	r.within = r.tail.end()
	if err := r.streams.await(r.call.Context(), r.stream, r.within); err != nil {
		return view{}, err
	}
	return r.streams.view(r.stream, r.within)
}

// firstAfter is the first revision that the subscriber does not have.
func (r *reader) firstAfter(v view) uint64 {
	switch r.from.kind {
	case fromStart:
		return 0
	case fromEnd:
		return uint64(v.last + 1)
	default:
		return r.from.at + 1
	}
}

// follow sends what a view has from a revision on, and returns the revision to
// go on from.
func (r *reader) follow(v view, next uint64, live *bool) (uint64, error) {
	if v.tombstoned() { // what came before it still goes to who has followed so far
		v.first = v.meta.truncateBefore
	} else if err := r.noteLag(v, next, live); err != nil {
		return 0, err
	}
	for from, end := next, v.last < 0; !end; {
		p, err := r.streams.forwards(r.stream, v, from, r.within, pageRecords)
		if err == nil {
			err = r.sendEvents(p.records)
		}
		if err != nil {
			return 0, err
		}
		from, end = p.next, p.end
	}
	next = max(next, uint64(v.last+1))
	switch {
	case v.tombstoned():
		return 0, refuseDeleted(r.stream)
	case *live:
		return next, nil
	}
	*live = true
	return next, r.caughtUp()
}

// noteLag tells a live subscriber that it has fallen behind.
func (r *reader) noteLag(v view, next uint64, live *bool) error {
	end := uint64(v.last + 1)
	if !*live || end <= next || end-next <= fallBehind {
		return nil
	}
	*live = false
	return r.fellBehind()
}

// subscribeAll sends the log's events, stored and then new, until the caller
// leaves.
func (r *reader) subscribeAll() error {
	w, stop := r.tail.watch("")
	defer stop()
	r.within = r.tail.end()
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

// lastSeen is the position of the last event that the subscriber has. A commit
// position with a lower prepare position stands just before the event.
func (r *reader) lastSeen() uint64 {
	switch {
	case r.from.kind == fromEnd:
		return r.within
	case r.from.prepare < r.from.at:
		return r.from.at - 1
	default:
		return r.from.at
	}
}

// cursor is a subscription's place in the log.
type cursor struct {
	*reader
	at         uint64 // everything up to here was considered
	live       bool
	considered uint64 // since the last checkpoint
	reported   uint64 // position of the last checkpoint
}

// catchUp considers all that is synced.
func (c *cursor) catchUp() error {
	for {
		records, behind, ok := c.tail.after(c.at, pageRecords)
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

// older reads what the tail does not reach back to. Where all of that was
// scavenged there is nothing to consider, up to the end.
func (c *cursor) older() ([]record, error) {
	end := c.tail.end()
	p, err := c.store.logForwards(c.at+1, end, pageRecords)
	if err == nil && len(p.records) == 0 {
		if !c.store.isScavenged() {
			return nil, damaged(c.at, "nothing follows it")
		}
		c.at = end
	}
	return p.records, err
}

func (c *cursor) noteLag(behind int, ok bool) error {
	if c.live && (!ok || behind > fallBehind) {
		c.live = false
		return c.fellBehind()
	}
	return nil
}

// consider sends the events that are selected, and checkpoints.
func (c *cursor) consider(records []record) error {
	sent := 0
	for i := range records {
		c.considered++
		if c.filter == nil || c.considered < c.filter.interval {
			continue
		}
		if err := c.sendMatching(records[sent : i+1]); err != nil {
			return err
		}
		sent = i + 1
		if err := c.checkpoint(records[i].position); err != nil {
			return err
		}
	}
	c.at = records[len(records)-1].position
	return c.sendMatching(records[sent:])
}

// sendMatching sends the selected ones of records, which are shared.
func (c *cursor) sendMatching(records []record) error {
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

// goLive tells, once, that what comes from here on is new. A filtered
// subscriber hears first how far the log was considered.
func (c *cursor) goLive() error {
	if c.live {
		return nil
	}
	c.live = true
	if end := min(c.at, c.tail.end()); c.filter != nil && end > 0 && end == c.at && c.reported != end {
		if err := c.checkpoint(end); err != nil {
			return err
		}
	}
	return c.caughtUp()
}
