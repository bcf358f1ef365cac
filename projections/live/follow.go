package live

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"hexarena/domain/ladder"
	"hexarena/domain/match"
	"hexarena/eventstore"
)

const (
	firstRetry = time.Second // the first pause after a failure of the log or of Running; it doubles with each failure
	maxRetry   = 30 * time.Second
	maxReads   = 8 // maximum number of concurrent reads of streams in catchUp
)

// Run loads the running matches and follows the log until ctx ends. If the
// subscription ends, Run catches up and subscribes again. Readers keep their
// positions.
func (h *Hub) Run(ctx context.Context) {
	defer func() { _ = h.ending.Wait() }()
	for wait := firstRetry; ; wait = min(2*wait, maxRetry) {
		begun := time.Now()
		err := h.follow(ctx)
		if ctx.Err() != nil {
			return
		}
		if errors.Is(err, eventstore.ErrEventsLost) {
			h.forget()
		}
		if time.Since(begun) > maxRetry {
			wait = firstRetry
		}
		h.Logger.Error("live boards will reconnect to the log", "error", err, "in", wait)
		if eventstore.Sleep(ctx, wait) != nil {
			return
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

// catchUp reads the streams of the running matches. It returns the position after
// which to subscribe. A subscription from there may repeat events that catchUp has
// read, but it misses no event.
func (h *Hub) catchUp(ctx context.Context) (eventstore.Position, error) {
	head, err := eventstore.Head(ctx, h.Log)
	if err != nil {
		return 0, fmt.Errorf("read the log's head: %w", err)
	}
	ids, err := h.Running(ctx)
	if err != nil {
		return 0, fmt.Errorf("list running matches: %w", err)
	}
	gone := slices.DeleteFunc(h.ids(), func(id string) bool { return slices.Contains(ids, id) })
	g, reading := errgroup.WithContext(ctx)
	g.SetLimit(maxReads)
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

// forget removes all matches, because their frames may show events that the log has lost.
// Readers connect again, and get the frames of the events that are still there. It
// also forgets the voided matches, because the log may have lost those events, too.
func (h *Hub) forget() {
	h.voided = nil
	for _, id := range h.ids() {
		if m, ok := h.find(id); ok {
			h.leave(m, nil)
		}
	}
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

// read folds the new events of a match's stream. A new match becomes visible only
// after all of its events are folded.
func (h *Hub) read(ctx context.Context, id string) error {
	m, known := h.find(id)
	if !known {
		m = newRunning(id)
	}
	for r, err := range h.Log.Read(ctx, eventstore.StreamID(match.Stream(id)), m.next, eventstore.ReadOptions{}) {
		if err != nil {
			return fmt.Errorf("read match %s: %w", id, err)
		}
		if !h.fold(m, r, known) {
			return nil
		}
	}
	if !known && m.next > 0 {
		h.enter(m)
	}
	return nil
}

// apply folds an event of the subscription. It skips events that are already
// folded, and events of matches that ended before the hub started. It also skips matches
// that were voided before they started: no later event of the ladder would end them.
func (h *Hub) apply(ctx context.Context, r eventstore.Recorded) {
	if _, ok := ladder.ModeOf(string(r.Stream)); ok {
		h.applyLadder(ctx, r)
		return
	}
	id := strings.TrimPrefix(string(r.Stream), match.StreamPrefix)
	m, known := h.find(id)
	if !known {
		if r.Revision > 0 || slices.Contains(h.voided, id) {
			return
		}
		m = newRunning(id)
	}
	if r.Revision >= m.next && h.fold(m, r, known) && !known {
		h.enter(m)
	}
}

// fold folds an event of a match and shows the event's frame. If the event is
// invalid, fold drops the match and returns false.
func (h *Hub) fold(m *running, r eventstore.Recorded, known bool) bool {
	f, err := m.fold(r)
	switch {
	case err != nil:
		h.drop(m, err)
		return false
	case f == nil:
	case known:
		h.publish(m, f)
	default:
		m.show(f)
	}
	return true
}

// applyLadder ends the match that a ladder closes.
func (h *Hub) applyLadder(ctx context.Context, r eventstore.Recorded) {
	if r.Type == (ladder.TablesSeated{}).EventType() {
		return
	}
	e, err := ladder.Decode(r.Type, r.Data)
	if err != nil {
		h.Logger.Error("live boards skip an event that they cannot decode", "error", fmt.Errorf("%s@%d: %w", r.Stream, r.Revision, err))
		return
	}
	switch e := e.(type) {
	case ladder.RatingsChanged:
		h.conclude(ctx, e.MatchID, r.Position)
	case ladder.MatchVoided:
		if _, started := h.find(e.MatchID); !started {
			h.voided = append(h.voided[max(0, len(h.voided)+1-maxVoided):], e.MatchID)
		}
		h.conclude(ctx, e.MatchID, r.Position)
	}
}

// conclude calls Options.Ended in the background, so that other matches do not
// wait. When Options.Ended returns, conclude ends the match.
func (h *Hub) conclude(ctx context.Context, id string, at eventstore.Position) {
	m, ok := h.find(id)
	if !ok {
		return
	}
	h.ending.Go(func() error {
		h.end(ctx, m, at)
		return nil
	})
}

// end waits for Options.Ended and ends the match.
func (h *Hub) end(ctx context.Context, m *running, at eventstore.Position) {
	summary, err := h.Ended(ctx, m.id, at)
	if ctx.Err() != nil {
		return
	}
	if err != nil {
		h.drop(m, fmt.Errorf("look up the match's end: %w", err))
		return
	}
	end, err := endRecord(summary)
	if err != nil {
		h.drop(m, err)
		return
	}
	h.leave(m, end)
}

// drop removes a match that the hub cannot follow.
func (h *Hub) drop(m *running, err error) {
	h.Logger.Error("a live board was dropped", "match", m.id, "error", err)
	h.leave(m, nil)
}

// enter adds a match. The match becomes visible with its first frame.
func (h *Hub) enter(m *running) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.running[m.id] = m
	if m.latest != nil {
		h.announce(m)
		h.added.wake()
	}
}

// publish shows a new frame of a match.
func (h *Hub) publish(m *running, f *encodedFrame) {
	h.mu.Lock()
	defer h.mu.Unlock()
	first := m.latest == nil
	m.show(f)
	h.announce(m)
	if first {
		h.added.wake()
	}
}

// announce appends a match's newest frame to the channels. The caller must hold
// mu.
func (h *Hub) announce(m *running) {
	id, json := m.id, m.latest.json
	frame := sync.OnceValue(func() []byte { return recordWithMatchID(id, json) })
	h.channels[m.summary.Mode].addFrame(m.id, frame)
	h.channels[""].addFrame(m.id, frame)
}

// leave removes a match. If the parameter end is not nil, readers get it as the match's
// last record.
func (h *Hub) leave(m *running, end []byte) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.running[m.id] != m {
		return
	}
	delete(h.running, m.id)
	m.end, m.closed = end, true
	m.moved.wake()
	h.channels[m.summary.Mode].addEnd(m.id, end)
	h.channels[""].addEnd(m.id, end)
}
