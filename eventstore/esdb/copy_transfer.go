package esdb

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"iter"

	es "github.com/EventStore/EventStore-Client-Go/v4/esdb"

	"hexarena/eventstore"
)

// transfer reads the source and the target side by side. The events in the target
// must be the first events of the source. transfer writes the remaining events. To
// keep the order of $all, it waits for each append to finish before it sends the
// next one.
func (c *copier) transfer(ctx context.Context) error {
	pull, stop := iter.Pull2(c.to.everything(ctx, nil))
	defer stop()
	c.begin(StepCompare, c.total)
	held, err := c.pull(ctx, pull)
	if err != nil {
		return err
	}
	for e, err := range c.surveyed(ctx) {
		if err != nil {
			return fmt.Errorf("the source: %w", err)
		}
		s := c.streams[originalStream(e.StreamID)]
		switch {
		case describes(e.StreamID):
			err = c.describe(ctx, s, e, held == nil)
		case held != nil && c.same(s, e, held):
			c.count(s, e)
			held, err = c.pull(ctx, pull)
		case !tombstone(e) && c.expired(s, e):
			c.advance()
			c.copied.Expired++
		case held != nil:
			err = foreign(held)
		default:
			err = c.write(ctx, s, e)
		}
		if err != nil {
			return err
		}
	}
	if held != nil {
		return foreign(held)
	}
	return c.finish(ctx)
}

// The method surveyed() reads the source again and yields the surveyed events that
// must be copied.
func (c *copier) surveyed(ctx context.Context) iter.Seq2[*es.RecordedEvent, error] {
	return func(yield func(*es.RecordedEvent, error) bool) {
		if c.last == nil {
			return
		}
		for e, err := range c.from.everything(ctx, nil) {
			if err == nil && behind(e.Position, *c.last) {
				return
			}
			if (err != nil || !systemStream(originalStream(e.StreamID))) && !yield(e, err) {
				return
			}
		}
	}
}

func behind(p, q es.Position) bool {
	return p.Commit > q.Commit || p.Commit == q.Commit && p.Prepare > q.Prepare
}

// pull returns the next event of the target, or nil after the last one. It records
// the metadata that it reads but does not return it, because the server writes some
// metadata automatically. After the last event, pull begins StepWrite.
func (c *copier) pull(ctx context.Context, next func() (*es.RecordedEvent, error, bool)) (*es.RecordedEvent, error) {
	for {
		e, err, more := next()
		switch {
		case !more:
			c.end()
			c.begin(StepWrite, c.total-c.step.done)
			return nil, c.settle(ctx)
		case err != nil:
			return nil, fmt.Errorf("the target: %w", err)
		}
		c.alive()
		name := originalStream(e.StreamID)
		switch s := c.streams[name]; {
		case systemStream(name):
		case s == nil:
			return nil, foreign(e)
		case !describes(e.StreamID):
			return e, nil
		case s.meta == nil:
			return nil, foreign(e)
		default:
			s.held = e
		}
	}
}

// The method same() reports whether the target's event is a copy of the source's
// event and has the right revision.
func (c *copier) same(s *planned, e, held *es.RecordedEvent) bool {
	if tombstone(e) || tombstone(held) {
		return tombstone(e) && tombstone(held) && e.StreamID == held.StreamID
	}
	return e.StreamID == held.StreamID && held.EventNumber == s.copied && e.EventID == held.EventID &&
		e.EventType == held.EventType && contentType(e) == contentType(held) &&
		bytes.Equal(e.Data, held.Data) && bytes.Equal(e.UserMetadata, held.UserMetadata)
}

// count records that the target contains an event from the source.
func (c *copier) count(s *planned, e *es.RecordedEvent) {
	c.advance()
	c.sum.add(e, s.copied)
	if tombstone(e) {
		c.copied.Tombstones++
		return
	}
	s.took(e)
	c.copied.Events++
}

// describe copies an event of stream metadata, if it is the last such event of its
// stream. If the parameter "now" is false, describe only queues the metadata until all
// events in the target have been read. A tombstoned stream needs no metadata.
func (c *copier) describe(ctx context.Context, s *planned, e *es.RecordedEvent, now bool) error {
	if e.Position != s.meta.Position || s.tombstoned {
		return nil
	}
	c.described = append(c.described, s)
	if now {
		return c.settle(ctx)
	}
	return nil
}

// settle writes the queued metadata, except metadata that must come after the
// events.
func (c *copier) settle(ctx context.Context) error {
	due := c.described
	c.described = nil
	for _, s := range due {
		if s.late() {
			c.described = append(c.described, s)
		} else if err := c.writeMetadata(ctx, s); err != nil {
			return err
		}
	}
	return nil
}

func (c *copier) writeMetadata(ctx context.Context, s *planned) error {
	c.copied.Described++
	e := *s.meta
	e.Data = s.metadata()
	if s.held != nil && s.held.EventID == e.EventID && bytes.Equal(s.held.Data, e.Data) {
		return nil
	}
	if err := c.flush(ctx); err != nil {
		return err
	}
	return c.append(ctx, e.StreamID, eventstore.Any, []es.EventData{proposal(&e)})
}

// write copies an event that the target does not contain. It appends
// consecutive events of one stream in one batch.
func (c *copier) write(ctx context.Context, s *planned, e *es.RecordedEvent) error {
	defer c.count(s, e)
	if tombstone(e) {
		if err := c.flush(ctx); err != nil {
			return err
		}
		err := c.to.Tombstone(ctx, eventstore.StreamID(e.StreamID), eventstore.Any)
		if err != nil && !errors.Is(err, eventstore.ErrStreamDeleted) {
			return fmt.Errorf("the target: %w", err)
		}
		return nil
	}
	if !c.pending.fits(e) {
		if err := c.flush(ctx); err != nil {
			return err
		}
	}
	c.copied.Written++
	c.pending.add(e, s.copied)
	return nil
}

// finish writes the last batch and the remaining metadata, and counts the streams.
func (c *copier) finish(ctx context.Context) error {
	if err := c.flush(ctx); err != nil {
		return err
	}
	for _, s := range c.described {
		if err := c.writeMetadata(ctx, s); err != nil {
			return err
		}
	}
	c.end()
	for _, s := range c.streams {
		if s.copied > 0 || s.tombstoned {
			c.copied.Streams++
		}
		if s.copied < s.next {
			c.copied.Renumbered++
		}
	}
	c.copied.Sum = c.sum.value()
	return nil
}

// flush appends the pending batch.
func (c *copier) flush(ctx context.Context) error {
	if len(c.pending.events) == 0 {
		return nil
	}
	full := c.pending
	c.pending = batch{}
	return c.append(ctx, full.stream, full.expected, full.events)
}

func (c *copier) append(ctx context.Context, stream string, expected eventstore.Expected, events []es.EventData) error {
	defer c.alive()
	if _, err := c.to.write(ctx, fmt.Sprintf("append to %s", stream), eventstore.StreamID(stream), stream, expected, events); err != nil {
		return fmt.Errorf("the target: %w", err)
	}
	return nil
}
