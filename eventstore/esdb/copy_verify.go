package esdb

import (
	"bytes"
	"context"
	"fmt"

	es "github.com/EventStore/EventStore-Client-Go/v4/esdb"
)

// verify reads the whole target back and compares it with the copied events. For
// each stream, it compares the number and revisions of the events, the metadata and
// the tombstones. It also compares a hash of all events in order.
func (c *copier) verify(ctx context.Context) error {
	c.begin(StepVerify, c.copied.Events+uint64(c.copied.Tombstones))
	defer c.end()
	v := verification{plan: &c.plan, counts: map[*planned]uint64{}, held: map[*planned]*es.RecordedEvent{}, sum: newSum()}
	for e, err := range c.to.everything(ctx, nil) {
		if err != nil {
			return fmt.Errorf("the target: %w", err)
		}
		if name := originalStream(e.StreamID); !systemStream(name) {
			if err := v.take(c.streams[name], e); err != nil {
				return err
			}
			if !describes(e.StreamID) {
				c.advance()
			}
		}
	}
	return v.compare(c.copied)
}

// verification summarizes the events that verify has read from a target.
type verification struct {
	*plan
	counts map[*planned]uint64
	held   map[*planned]*es.RecordedEvent // last metadata
	sum    sum
}

// take adds an event from the target to the summary.
func (v *verification) take(s *planned, e *es.RecordedEvent) error {
	switch {
	case s == nil:
		return foreign(e)
	case describes(e.StreamID):
		v.held[s] = e
	case tombstone(e):
		v.sum.add(e, 0)
	default:
		if e.EventNumber != v.counts[s] {
			return fmt.Errorf("the target: %w: %s@%d was expected next, but revision %d follows", ErrDiffers, e.StreamID, v.counts[s], e.EventNumber)
		}
		v.sum.add(e, e.EventNumber)
		v.counts[s]++
	}
	return nil
}

// compare checks the summary of the target against the copied events.
func (v *verification) compare(copied Copied) error {
	for name, s := range v.streams {
		if v.counts[s] != s.copied {
			return fmt.Errorf("the target: %w: %s has %d events instead of %d", ErrDiffers, name, v.counts[s], s.copied)
		}
		if s.meta != nil && !s.tombstoned && (v.held[s] == nil || !bytes.Equal(v.held[s].Data, s.metadata())) {
			return fmt.Errorf("the target: %w: the metadata of %s", ErrDiffers, name)
		}
	}
	if v.sum.value() != copied.Sum {
		return fmt.Errorf("the target: %w: the number of events is correct, but some events differ (run the copy again to see which)", ErrDiffers)
	}
	return nil
}
