// Package live shows the matches that run now. One subscription feeds all
// readers: the hub folds the public state of each running match, encodes each
// frame once, as one record of a server-sent stream, and shares the bytes.
// Readers fetch what has come since they last did; one that is slow is dropped
// to the newest frame, and holds up neither a match nor the hub.
//
// The hub folds what is public alone, so that it cannot show a hand, a deck or
// a seed. It knows no socket and no HTTP. That a match is over it learns from
// its ladder; how it ended, from who was plugged in for that.
package live

import (
	"cmp"
	"context"
	"log/slog"
	"slices"
	"sync"

	"hexarena/domain/ladder"
	"hexarena/eventstore"
	"hexarena/projections/matches"
)

// Options plug a Hub together.
type Options struct {
	Log eventstore.Log
	// Running lists the matches that have started and that their ladders have
	// not closed: all such of a moment that is not before the call.
	Running func(ctx context.Context) ([]string, error)
	// Ended returns the summary of a match that its ladder has closed, with an
	// event that stands at a position of the log. It waits until others are
	// answered the same. The position is 0 where it is not known: the match was
	// missing from Running.
	Ended  func(ctx context.Context, matchID string, at eventstore.Position) (matches.Summary, error)
	Logger *slog.Logger
}

// Match is a running match, as /live lists it.
type Match struct {
	matches.Summary
	Turn   int   `json:"turn"`
	Scores []int `json:"scores"` // public points, by seat
}

// Hub keeps the running matches. Run feeds it; its other methods are safe for
// concurrent use.
type Hub struct {
	Options
	ready     chan struct{} // closed once what ran at the start is there
	readyOnce sync.Once
	ending    sync.WaitGroup // matches whose end is being told

	mu       sync.RWMutex
	running  map[string]*running
	channels map[string]*channel // by mode; "" is all modes
	came     chan struct{}       // closed, and replaced, when a match is seen first
}

// New returns a hub that holds nothing; Run fills it.
func New(o Options) *Hub {
	h := &Hub{Options: o, ready: make(chan struct{}), running: map[string]*running{}, channels: map[string]*channel{}, came: make(chan struct{})}
	for _, mode := range slices.Concat(ladder.Modes, []string{""}) {
		h.channels[mode] = newChannel()
	}
	return h
}

// Ready returns once all matches that ran at the start are there.
func (h *Hub) Ready(ctx context.Context) error {
	select {
	case <-h.ready:
		return nil // even if ctx has ended too
	default:
	}
	select {
	case <-h.ready:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Await returns once a match is there, which it may be at any moment: it has
// begun. It says false when ctx ends before that.
func (h *Hub) Await(ctx context.Context, matchID string) bool {
	for {
		h.mu.RLock()
		_, ok := h.visible(matchID)
		came := h.came
		h.mu.RUnlock()
		if ok {
			return true
		}
		select {
		case <-came:
		case <-ctx.Done():
			return false
		}
	}
}

// List returns the running matches of a mode, or of all modes for "", newest
// first.
func (h *Hub) List(mode string) []Match {
	h.mu.RLock()
	defer h.mu.RUnlock()
	var chosen []*running
	for _, m := range h.running {
		if m.latest != nil && (mode == "" || mode == m.summary.Mode) {
			chosen = append(chosen, m)
		}
	}
	slices.SortFunc(chosen, func(a, b *running) int { return cmp.Compare(b.began, a.began) })
	list := make([]Match, len(chosen))
	for i, m := range chosen {
		list[i] = Match{m.summary, m.turn, m.scores}
	}
	return list
}

// Latest returns the newest frame of a running match as JSON, which is not to
// be modified. It says false where the match is not there.
func (h *Hub) Latest(matchID string) ([]byte, bool) {
	h.mu.RLock()
	defer h.mu.RUnlock()
	m, ok := h.visible(matchID)
	if !ok {
		return nil, false
	}
	return m.latest, true
}

// visible finds a match that has a frame. The lock is held.
func (h *Hub) visible(matchID string) (*running, bool) {
	m, ok := h.running[matchID]
	return m, ok && m.latest != nil
}
