package esdb

import (
	"context"
	"math"
	"sync"
	"time"

	es "github.com/EventStore/EventStore-Client-Go/v4/esdb"

	"hexarena/eventstore"
)

// maxUnselected is the number of events after which the server must have sent a
// checkpoint, even if the filter selects none of them.
const maxUnselected = 2*checkpointEvery + 32

// reception is what a subscription has received on its connection. A node that has lost
// its leader keeps subscriptions open, but sends nothing. So while a subscription
// receives nothing, watch compares it with the log.
type reception struct {
	filter eventstore.Filter

	mu       sync.Mutex // guards the fields below
	at       eventstore.Position
	messages int
	waiting  bool // whether the subscription waits for a message; false while its subscriber is slow
}

func (r *reception) wait() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.waiting = true
}

func (r *reception) receive(at eventstore.Position) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.waiting = false
	r.messages++
	r.at = max(r.at, at)
}

func (r *reception) state() (at eventstore.Position, messages int, waiting bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.at, r.messages, r.waiting
}

// watch calls drop if the subscription stays silent although a message is due. It returns
// when ctx ends.
func (r *reception) watch(ctx context.Context, l *Log, drop func()) {
	tick := time.NewTicker(l.pace.silence)
	defer tick.Stop()
	last, overdue := -1, false // a message is overdue if it was already due at the last tick
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		at, messages, waiting := r.state()
		due := waiting && messages == last && r.due(ctx, l, at)
		if _, now, waiting := r.state(); due && overdue && waiting && now == messages {
			l.metrics.silent.Inc()
			drop()
			return
		}
		last, overdue = messages, due
	}
}

// due reports whether the log contains events after a position for which the server must
// have sent a message.
func (r *reception) due(ctx context.Context, l *Log, at eventstore.Position) bool {
	ctx, cancel := context.WithTimeout(ctx, l.pace.probe)
	defer cancel()
	n := 0
	for e, err := range l.stored(ctx, allPosition(at), es.Forwards, func() uint64 { return maxUnselected }) {
		if err != nil {
			return false
		}
		if eventstore.Position(e.Position.Commit) <= at {
			continue
		}
		n++
		if !system(e.EventType) && r.filter.Selects(eventstore.StreamID(e.StreamID), e.EventType) || n == maxUnselected {
			return true
		}
	}
	return false
}

// positionOf returns the position up to which a message shows that the subscription has
// received all events, or 0.
func positionOf(event *es.SubscriptionEvent) eventstore.Position {
	switch {
	case event.EventAppeared != nil:
		return eventstore.Position(event.EventAppeared.OriginalEvent().Position.Commit)
	case event.CheckPointReached != nil && event.CheckPointReached.Commit != math.MaxUint64:
		return eventstore.Position(event.CheckPointReached.Commit)
	}
	return 0
}
