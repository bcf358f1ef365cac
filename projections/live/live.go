// Package live shows the running matches. One subscription to the log feeds all
// readers. The hub folds the public state of each match, encodes each frame once as
// a server-sent event, and shares the bytes. Each reader fetches the records that
// it does not have yet. A slow reader skips to the newest frame, and does not delay
// the hub or other readers (docs/adr/0027-live-boards-share-encoded-frames.md).
//
// The hub folds only public events, so it cannot reveal a hand, the deck or the
// seed. It learns from an event of the ladder that a match is over, and gets the
// result from Options.Ended.
//
// Create a Hub with New and call Run. Watch and WatchAll return readers.
package live

import (
	"cmp"
	"context"
	"log/slog"
	"slices"
	"sync"

	"golang.org/x/sync/errgroup"

	"hexarena/domain/ladder"
	"hexarena/domain/seed"
	"hexarena/eventstore"
	"hexarena/projections/matches"
)

// Options configure a Hub. All fields are required.
type Options struct {
	Log eventstore.Log
	// Running lists the matches that have started but have not been closed by
	// their ladders. The list must be up to date with all events that were stored
	// before the call.
	Running func(ctx context.Context) ([]string, error)
	// Ended waits until the match list shows that the ladder has closed the match,
	// and then returns the match's summary. The parameter at is the log position of
	// the ladder's event. It is 0 if the hub has not seen the event and calls Ended
	// because the match is missing from Running.
	Ended  func(ctx context.Context, matchID string, at eventstore.Position) (matches.Summary, error)
	Logger *slog.Logger
}

// Match is a running match in the form in which /live lists it.
type Match struct {
	matches.Summary
	Turn   int   `json:"turn"`
	Scores []int `json:"scores"` // public points, by seat
}

// maxEnding is the maximum number of ended matches that wait for Options.Ended at the same
// time. If more matches end, the hub waits, so that a match list that is far behind does
// not fill the memory with boards.
const maxEnding = 1024

// maxVoided is the maximum number of matches in Hub.voided. If another process starts such a
// match, it usually does so within seconds.
const maxVoided = 1024

// Hub contains the running matches. Its methods are safe for concurrent use, but
// Run must be called only once.
type Hub struct {
	Options
	ready     chan struct{} // closed once Run has loaded the matches that were running when it began
	readyOnce sync.Once
	ending    errgroup.Group // calls to Options.Ended; they return no errors
	voided    []string       // the newest matches that the subscription showed as voided before they started; only Run uses it

	mu       sync.RWMutex
	running  map[string]*running
	channels map[string]*channel // by mode; "" is all modes
	added    signal              // wakes Await each time a match becomes visible
}

// New returns an empty hub. Run fills it.
func New(o Options) *Hub {
	h := &Hub{Options: o, ready: make(chan struct{}), running: map[string]*running{}, channels: map[string]*channel{}, added: signal{make(chan struct{})}}
	h.ending.SetLimit(maxEnding)
	for _, mode := range slices.Concat(ladder.Modes, []string{""}) {
		h.channels[mode] = newChannel()
	}
	return h
}

// Ready waits until the hub has loaded the matches that were running when Run
// started.
func (h *Hub) Ready(ctx context.Context) error {
	select {
	case <-h.ready:
		return nil // returns nil even if ctx has ended too
	default:
	}
	select {
	case <-h.ready:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Await waits until a match is visible. Call it for a match that has started but
// that the hub may not show yet. If ctx ends first, Await returns false.
func (h *Hub) Await(ctx context.Context, matchID string) bool {
	for {
		h.mu.RLock()
		_, ok := h.visible(matchID)
		added := h.added.next
		h.mu.RUnlock()
		if ok {
			return true
		}
		select {
		case <-added:
		case <-ctx.Done():
			return false
		}
	}
}

// List returns the running matches of a mode ("" for all modes), newest first.
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
		list[i] = Match{m.summary, m.latest.turn, m.latest.scores}
	}
	return list
}

// Latest returns the newest frame of a running match as JSON. If the match is not
// visible, it returns false. Callers must not modify the frame.
func (h *Hub) Latest(matchID string) ([]byte, bool) {
	h.mu.RLock()
	defer h.mu.RUnlock()
	m, ok := h.visible(matchID)
	if !ok {
		return nil, false
	}
	return m.latest.json, true
}

// Started returns the summary of a running match, and its commitment. If the match is not
// visible, it returns false.
func (h *Hub) Started(matchID string) (summary matches.Summary, commitment seed.Seed, ok bool) {
	h.mu.RLock()
	defer h.mu.RUnlock()
	m, ok := h.visible(matchID)
	if !ok {
		return summary, commitment, false
	}
	return m.summary, m.commits, true
}

// The method visible() returns a match that has a frame. The caller must hold mu.
func (h *Hub) visible(matchID string) (*running, bool) {
	m, ok := h.running[matchID]
	return m, ok && m.latest != nil
}
