// Package matchcollector collects the events of running matches during one read of
// the whole log. When the read reaches the ladder's event that ends a match, the
// whole match is already in memory. Reading each match's stream instead would mean
// looking up the events one by one
// (docs/adr/0034-ended-matches-are-collected-in-one-read.md). The package does not
// decode events.
package matchcollector

import (
	"context"
	"fmt"
	"strings"

	"hexarena/domain/match"
	"hexarena/eventstore"
)

// maxBytes is the maximum amount of memory for running matches. If a match does not
// fit, callers read it from its stream.
const maxBytes = 512 << 20

// overhead is an estimate of the memory that one event uses in addition to its
// bytes.
const overhead = 256

// Collector stores the events of running matches. Create one with New. Only one
// goroutine may use a Collector.
type Collector struct {
	free    int // bytes left of maxBytes
	running map[eventstore.StreamID]*collected
}

type collected struct {
	events []eventstore.Recorded
	bytes  int
}

// New returns an empty Collector.
func New() *Collector {
	return &Collector{free: maxBytes, running: map[eventstore.StreamID]*collected{}}
}

// Add adds the next event of the log. It ignores events of other streams, and
// events of matches whose first event was not added.
func (c *Collector) Add(r eventstore.Recorded) {
	if !strings.HasPrefix(string(r.Stream), match.StreamPrefix) {
		return
	}
	m := c.running[r.Stream]
	if m == nil && r.Revision == 0 {
		m = &collected{}
		c.running[r.Stream] = m
	}
	if m == nil || eventstore.Revision(len(m.events)) != r.Revision {
		return
	}
	size := r.Bytes() + overhead
	m.events, m.bytes, c.free = append(m.events, r), m.bytes+size, c.free-size
	if c.free < 0 {
		c.forget(r.Stream)
	}
}

func (c *Collector) forget(id eventstore.StreamID) {
	if m := c.running[id]; m != nil {
		c.free += m.bytes
		delete(c.running, id)
	}
}

// Take returns the events of a match up to its end, and removes the match from the
// Collector. It returns nil if the match has not ended, or if some of its events
// were not collected. In that case, use Read.
func (c *Collector) Take(matchID string) []eventstore.Recorded {
	id := eventstore.StreamID(match.Stream(matchID))
	m := c.running[id]
	c.forget(id)
	if m == nil || !endsMatch(m.events[len(m.events)-1]) {
		return nil
	}
	return m.events
}

// Read reads the events of a match from its stream, up to the end of the match.
// If the match has not ended, Read returns nil.
func Read(ctx context.Context, log eventstore.Log, matchID string) ([]eventstore.Recorded, error) {
	var all []eventstore.Recorded
	for r, err := range log.Read(ctx, eventstore.StreamID(match.Stream(matchID)), 0, eventstore.ReadOptions{}) {
		if err != nil {
			return nil, fmt.Errorf("read match %s: %w", matchID, err)
		}
		if all = append(all, r); endsMatch(r) {
			return all, nil
		}
	}
	return nil, ctx.Err()
}

func endsMatch(r eventstore.Recorded) bool {
	return r.Type == match.GameEnded{}.EventType() || r.Type == match.Aborted{}.EventType()
}
