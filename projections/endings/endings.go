// Package endings gathers the events of running matches, as a read of the whole
// log brings them, so that each is there, whole, when its ladder ends it: many
// matches in one read, where reading each one's stream would look up its events
// one by one. It knows streams, not what is in them.
package endings

import (
	"context"
	"fmt"
	"strings"

	"hexarena/domain/match"
	"hexarena/eventstore"
)

// room is how many bytes of running matches are held. Those that do not fit are
// read from their streams.
const room = 512 << 20

// overhead is what holding an event takes beside its own bytes.
const overhead = 256

// Gatherer holds matches that run. Make one with New; it is for one goroutine.
type Gatherer struct {
	room    int
	running map[eventstore.StreamID]*held
}

type held struct {
	events []eventstore.Recorded
	bytes  int
}

// New returns a gatherer that holds nothing.
func New() *Gatherer {
	return &Gatherer{room: room, running: map[eventstore.StreamID]*held{}}
}

// Add takes the next event of the log. Of a match whose beginning it was not
// given it holds nothing.
func (g *Gatherer) Add(r eventstore.Recorded) {
	if !strings.HasPrefix(string(r.Stream), match.StreamPrefix) {
		return
	}
	h := g.running[r.Stream]
	if h == nil && r.Revision == 0 {
		h = &held{}
		g.running[r.Stream] = h
	}
	if h == nil || eventstore.Revision(len(h.events)) != r.Revision {
		return
	}
	size := eventstore.AppendBytes([]eventstore.Event{r.Event}) + overhead
	h.events, h.bytes, g.room = append(h.events, r), h.bytes+size, g.room-size
	if g.room < 0 {
		g.forget(r.Stream)
	}
}

func (g *Gatherer) forget(id eventstore.StreamID) {
	if h := g.running[id]; h != nil {
		g.room += h.bytes
		delete(g.running, id)
	}
}

// Take returns a match up to its end, and holds it no longer; nil where it does
// not hold all of it, or where it has not ended.
func (g *Gatherer) Take(matchID string) []eventstore.Recorded {
	id := eventstore.StreamID(match.Stream(matchID))
	h := g.running[id]
	g.forget(id)
	if h == nil || !ends(h.events[len(h.events)-1]) {
		return nil
	}
	return h.events
}

// Read reads a match from its stream up to its end; nil where it has none.
func Read(ctx context.Context, log eventstore.Log, matchID string) ([]eventstore.Recorded, error) {
	var all []eventstore.Recorded
	for r, err := range log.Read(ctx, eventstore.StreamID(match.Stream(matchID)), 0, eventstore.ReadOptions{}) {
		if err != nil {
			return nil, fmt.Errorf("read match %s: %w", matchID, err)
		}
		if all = append(all, r); ends(r) {
			return all, nil
		}
	}
	return nil, ctx.Err()
}

func ends(r eventstore.Recorded) bool {
	return r.Type == match.GameEnded{}.EventType() || r.Type == match.Aborted{}.EventType()
}
