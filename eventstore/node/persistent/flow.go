package persistent

import (
	"container/list"
	"fmt"
	"slices"
	"time"

	api "github.com/EventStore/EventStore-Client-Go/v4/protos/persistent"
	"github.com/google/uuid"

	"hexarena/eventstore/node/record"
	"hexarena/eventstore/node/storage"
	"hexarena/eventstore/node/streams"
)

// fill reads more messages from the source and from the replay. It returns true if it
// found messages or if the source has more.
func (g *group) fill() (bool, error) {
	replayed, err := g.fillReplay()
	if err != nil {
		return false, err
	}
	g.mu.Lock()
	next, limit := g.next, g.readLimit()
	g.mu.Unlock()
	if limit == 0 {
		return replayed, nil
	}
	b, err := g.read(next, limit)
	if err != nil {
		return false, err
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, m := range b.messages {
		m.inOrder = g.unfinished.PushBack(m)
		g.buffer.PushBack(m)
	}
	g.next, g.last, g.considered = b.next, b.last, b.considered
	return replayed || len(b.messages) > 0 || !b.end, nil
}

// readLimit returns how many messages may be read now. A group without consumers
// reads nothing.
func (g *group) readLimit() int {
	size := g.config.buffer()
	left, batch := size-g.buffer.Len()-g.retry.Len(), int(g.config.ReadBatchSize)
	if len(g.consumers) == 0 || len(g.parking) >= size || g.buffer.Len() > 0 && left <= batch {
		return 0
	}
	return min(batch, storage.PageRecords)
}

// sourceBatch is the result of reading one part of the source.
type sourceBatch struct {
	messages   []*message
	next       uint64
	last       mark
	considered uint64
	end        bool
}

// read reads the next batch from the source. Only the group's goroutine calls it.
func (g *group) read(next uint64, limit int) (sourceBatch, error) {
	p, end, err := g.page(next, limit)
	b := sourceBatch{next: p.Next, end: p.End, last: g.last, considered: g.considered}
	if p.End {
		b.next = max(next, end)
	}
	for i := range p.Records {
		r := &p.Records[i]
		at, selected := r.Revision, true
		if g.config.all() {
			at, selected = r.Position, g.config.Filter.Matches(r)
		}
		if len(b.messages) >= limit {
			b.next, b.end = at, false
			break
		}
		if g.config.all() && streams.HiddenFromAll(r.Stream) { // otherwise, each checkpoint would cause the next one
			b.last = mark{at, true}
			continue
		}
		if err := g.consider(&b, r, at, selected); err != nil {
			return b, err
		}
	}
	return b, err
}

// page reads a page of the source. It also returns the first revision or position
// beyond the source's end. If the source is the log, the number of returned records may
// exceed the limit, because a filter may select only a few of them.
func (g *group) page(next uint64, limit int) (p storage.Page, end uint64, err error) {
	within := g.Tail.End()
	if g.config.all() {
		p, err = g.Store.LogPage(storage.Range{From: next, Within: within, Limit: storage.PageRecords})
		return p, within + 1, err
	}
	if err := g.Await(g.ctx, g.config.Stream, within); err != nil {
		return p, 0, err
	}
	v, err := g.View(g.config.Stream, within)
	if err != nil {
		return storage.Page{End: true}, 0, err
	}
	if v.Tombstoned() { // consumers still get the events that precede the tombstone, and then the tombstone
		v.First = v.Meta.TruncateBefore
	}
	p, err = g.Page(g.config.Stream, v, storage.Range{From: next, Within: within, Limit: limit})
	return p, uint64(v.Last) + 1, err
}

// consider adds one record to a batch if the record is selected.
func (g *group) consider(b *sourceBatch, r *record.Record, at uint64, selected bool) (err error) {
	b.considered++
	if selected {
		m := &message{at: at, before: b.last, sequence: b.considered, id: r.ID, revision: r.Revision}
		if m.pin, err = g.strategy.pin(g.Reader, r); err != nil {
			return err
		}
		b.messages = append(b.messages, m)
	}
	b.last = mark{at, true}
	return nil
}

// push assigns messages to consumers with free capacity, and reports whether it
// assigned any.
func (g *group) push() (pushed bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, from := range []*list.List{g.retry, g.buffer} {
		for e := from.Front(); e != nil; {
			m := e.Value.(*message)
			c := g.strategy.pick(m.pin)
			if c == nil && !g.strategy.pinned() {
				return pushed
			}
			next := e.Next()
			if c != nil {
				from.Remove(e)
				g.assign(m, c)
				pushed = true
			}
			e = next
		}
	}
	return pushed
}

func (g *group) assign(m *message, c *consumer) {
	m.to, m.sent = c, time.Now()
	m.turn++
	c.inFlight[m] = struct{}{}
	c.queue = append(c.queue, turn{m, m.turn})
	c.total.count++
	g.total.count++
	g.outstanding[m.id] = append(g.outstanding[m.id], m)
	if g.config.MessageTimeout > 0 {
		m.expires = m.sent.Add(time.Duration(g.config.MessageTimeout) * time.Millisecond)
		m.inTime = g.expiring.PushBack(m)
	}
	c.wake.Signal()
}

// recall takes back a message from its consumer.
func (g *group) recall(m *message) {
	delete(m.to.inFlight, m)
	others := slices.DeleteFunc(g.outstanding[m.id], func(other *message) bool { return other == m })
	if len(others) == 0 {
		delete(g.outstanding, m.id)
	} else {
		g.outstanding[m.id] = others
	}
	if m.inTime != nil {
		g.expiring.Remove(m.inTime)
		m.inTime = nil
	}
	m.to = nil
}

// finish removes a message that needs no more work.
func (g *group) finish(m *message) {
	if m.replayed {
		g.replay.pending--
		return
	}
	g.unfinished.Remove(m.inOrder)
}

// expire takes back the messages that their consumers did not answer in time.
func (g *group) expire(now time.Time) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for e := g.expiring.Front(); e != nil; e = g.expiring.Front() {
		m := e.Value.(*message)
		if m.expires.After(now) {
			return
		}
		g.recall(m)
		g.retryOrPark(m)
	}
}

// retryOrPark queues a message for a retry, ahead of later messages, or parks
// the message if it has no retries left.
func (g *group) retryOrPark(m *message) {
	if m.retries >= g.config.MaxRetryCount {
		g.parking = append(g.parking, parking{m, fmt.Sprintf("Reached retry count of %d", g.config.MaxRetryCount)})
		return
	}
	m.retries++
	if !m.replayed {
		for e := g.retry.Front(); e != nil; e = e.Next() {
			if other := e.Value.(*message); !other.replayed && other.sequence > m.sequence {
				g.retry.InsertBefore(m, e)
				return
			}
		}
	}
	g.retry.PushBack(m)
}

// pick returns the outstanding message with the given id. It prefers a message of
// the consumer c. If c answers late, another consumer may have the message by now.
func (g *group) pick(c *consumer, id uuid.UUID) *message {
	of := g.outstanding[id]
	if i := slices.IndexFunc(of, func(m *message) bool { return m.to == c }); i >= 0 {
		return of[i]
	}
	if len(of) > 0 {
		return of[0]
	}
	return nil
}

// ack finishes the messages with the given ids. It ignores unknown ids.
func (g *group) ack(c *consumer, ids []uuid.UUID) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, id := range ids {
		if m := g.pick(c, id); m != nil {
			g.measure(c, m)
			g.recall(m)
			g.finish(m)
		}
	}
	g.kick.Signal()
}

// measure records how long a consumer took to answer a message.
func (g *group) measure(c *consumer, m *message) {
	if m.to == c && g.config.ExtraStatistics {
		c.total.took(time.Since(m.sent))
	}
}

// nack retries, parks or skips the messages with the given ids.
func (g *group) nack(c *consumer, ids []uuid.UUID, action api.ReadReq_Nack_Action, reason string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, id := range ids {
		m := g.pick(c, id)
		if m == nil {
			continue
		}
		g.measure(c, m)
		g.recall(m)
		switch action {
		case api.ReadReq_Nack_Unknown, api.ReadReq_Nack_Retry:
			g.retryOrPark(m)
		case api.ReadReq_Nack_Park:
			g.parking = append(g.parking, parking{m, "Client explicitly NAK'ed message.\n" + shortened(reason, g.config.Owner)})
		default: // skipped
			g.finish(m)
		}
	}
	g.kick.Signal()
}

// pass finishes a message without sending it, because its event no longer exists.
func (g *group) pass(m *message, c *consumer) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if m.to == c {
		g.recall(m)
		g.finish(m)
		g.kick.Signal()
	}
}
