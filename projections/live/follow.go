package live

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"hexarena/domain/ladder"
	"hexarena/domain/match"
	"hexarena/eventstore"
)

// How long the hub waits before it begins anew where the log, or the list of
// matches, has failed it: at first, and longer each time up to at most.
const (
	retryAfter  = time.Second
	retryAtMost = 30 * time.Second
)

// catchUpAtOnce is how many streams are read at a time at the start.
const catchUpAtOnce = 8

// Run follows the log until ctx ends. It begins with the matches that run, and
// begins anew, with what it has, where the log gives up a subscription.
func (h *Hub) Run(ctx context.Context) {
	defer h.ending.Wait()
	wait := retryAfter
	for ctx.Err() == nil {
		begun := time.Now()
		err := h.follow(ctx)
		if ctx.Err() != nil {
			return
		}
		if time.Since(begun) > retryAtMost {
			wait = retryAfter
		}
		h.Logger.Error("live boards begin anew", "error", err, "in", wait)
		timer := time.NewTimer(wait)
		wait = min(2*wait, retryAtMost)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
		}
	}
}

func (h *Hub) follow(ctx context.Context) error {
	at, err := h.catchUp(ctx)
	if err != nil {
		return err
	}
	h.readyOnce.Do(func() { close(h.ready) })
	filter := eventstore.Filter{StreamPrefixes: []string{match.StreamPrefix, ladder.StreamPrefix}}
	for m, err := range h.Log.Subscribe(ctx, at, filter) {
		if err != nil {
			return fmt.Errorf("subscribe after %d: %w", at, err)
		}
		if m.Event != nil {
			h.apply(ctx, *m.Event)
		}
	}
	return ctx.Err()
}

// catchUp reads the streams of the matches that run, and returns a position
// after which each event is one that has been read here, or is still to come.
func (h *Hub) catchUp(ctx context.Context) (eventstore.Position, error) {
	head, err := eventstore.Head(ctx, h.Log)
	if err != nil {
		return 0, fmt.Errorf("read the log's head: %w", err)
	}
	ids, err := h.Running(ctx)
	if err != nil {
		return 0, fmt.Errorf("list running matches: %w", err)
	}
	running := map[string]bool{}
	for _, id := range ids {
		running[id] = true
	}
	gone := slices.DeleteFunc(h.ids(), func(id string) bool { return running[id] })
	g, reading := errgroup.WithContext(ctx)
	g.SetLimit(catchUpAtOnce)
	for _, id := range append(ids, gone...) {
		g.Go(func() error { return h.read(reading, id) })
	}
	if err := g.Wait(); err != nil {
		return 0, err
	}
	for _, id := range gone {
		h.conclude(ctx, id, 0)
	}
	return head, nil
}

func (h *Hub) ids() []string {
	h.mu.RLock()
	defer h.mu.RUnlock()
	return slices.Collect(maps.Keys(h.running))
}

func (h *Hub) find(id string) (*running, bool) {
	h.mu.RLock()
	defer h.mu.RUnlock()
	m, ok := h.running[id]
	return m, ok
}

// read folds what a match's stream holds beyond what has been folded. Others see
// a new match once all of it is there.
func (h *Hub) read(ctx context.Context, id string) error {
	m, known := h.find(id)
	if !known {
		m = newRunning(id)
	}
	for r, err := range h.Log.Read(ctx, eventstore.StreamID(match.Stream(id)), m.next, eventstore.ReadOptions{}) {
		if err != nil {
			return fmt.Errorf("read match %s: %w", id, err)
		}
		f, err := m.fold(r)
		switch {
		case err != nil:
			h.lose(m, err)
			return nil
		case f == nil:
		case known:
			h.publish(m, f)
		default:
			m.show(f)
		}
	}
	if !known && m.next > 0 {
		h.enter(m)
	}
	return nil
}

// apply folds an event of the subscription. One that has been folded already is
// passed over, as are those of a match that had ended before the hub began.
func (h *Hub) apply(ctx context.Context, r eventstore.Recorded) {
	if _, ok := ladder.ModeOf(string(r.Stream)); ok {
		h.applyLadder(ctx, r)
		return
	}
	id := strings.TrimPrefix(string(r.Stream), match.StreamPrefix)
	m, known := h.find(id)
	if !known {
		if r.Revision > 0 {
			return
		}
		m = newRunning(id)
	}
	if r.Revision < m.next {
		return
	}
	f, err := m.fold(r)
	switch {
	case err != nil:
		h.lose(m, err)
	case !known:
		h.enter(m)
	case f != nil:
		h.publish(m, f)
	}
}

// applyLadder ends the match that a ladder closes.
func (h *Hub) applyLadder(ctx context.Context, r eventstore.Recorded) {
	if r.Type == (ladder.TablesSeated{}).EventType() {
		return
	}
	e, err := ladder.Decode(r.Type, r.Data)
	if err != nil {
		h.Logger.Error("live boards pass over an event", "error", fmt.Errorf("%s@%d: %w", r.Stream, r.Revision, err))
		return
	}
	switch e := e.(type) {
	case ladder.RatingsChanged:
		h.conclude(ctx, e.MatchID, r.Position)
	case ladder.MatchVoided:
		h.conclude(ctx, e.MatchID, r.Position)
	}
}

// conclude ends a match, once it is known how; others go on meanwhile.
func (h *Hub) conclude(ctx context.Context, id string, at eventstore.Position) {
	m, ok := h.find(id)
	if !ok {
		return
	}
	h.ending.Go(func() {
		summary, err := h.Ended(ctx, id, at)
		if ctx.Err() != nil {
			return
		}
		if err != nil {
			h.lose(m, fmt.Errorf("its end: %w", err))
			return
		}
		end, err := endRecord(summary)
		if err != nil {
			h.lose(m, err)
			return
		}
		h.leave(m, end)
	})
}

// lose gives up a match that cannot be followed; the others go on.
func (h *Hub) lose(m *running, err error) {
	h.Logger.Error("a live board is lost", "match", m.id, "error", err)
	h.leave(m, nil)
}

// enter takes in a match; with its first frame others see it.
func (h *Hub) enter(m *running) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.running[m.id] = m
	if m.latest != nil {
		h.announce(m)
		h.tell()
	}
}

// publish shows a frame of a match.
func (h *Hub) publish(m *running, f *moment) {
	h.mu.Lock()
	defer h.mu.Unlock()
	first := m.latest == nil
	m.show(f)
	h.announce(m)
	if first {
		h.tell()
	}
}

// tell wakes who awaits a match. The lock is held.
func (h *Hub) tell() {
	close(h.came)
	h.came = make(chan struct{})
}

// announce has the channels show a match's newest frame. The lock is held.
func (h *Hub) announce(m *running) {
	m.at = place{own: h.channels[m.summary.Mode].add(m.shown), all: h.channels[""].add(m.shown)}
}

// leave takes a match away, with its last record if there is one.
func (h *Hub) leave(m *running, end []byte) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.running[m.id] != m {
		return
	}
	delete(h.running, m.id)
	m.end, m.closed = end, true
	m.wake()
	if end != nil {
		h.channels[m.summary.Mode].addEnd(end)
		h.channels[""].addEnd(end)
	}
}
