package live

import (
	"encoding/json"
	"fmt"

	"hexarena/projections/matches"
)

// Reader is one reader of a stream. It is for one goroutine, and holds nothing
// but its place: what it reads belongs to the hub.
type Reader struct {
	hub   *Hub
	match *running // nil: a channel's
	mode  string   // of the channel

	next  uint64 // number of the next record to give
	due   uint64 // records before this one are given, however old they are
	begun bool   // of a channel: the newest frames have been given
}

// Watch reads a running match: the frames behind a seq or, where after is below
// zero or beyond the newest, from the newest on. It says false where the match
// is not there.
func (h *Hub) Watch(matchID string, after int) (*Reader, bool) {
	h.mu.RLock()
	defer h.mu.RUnlock()
	m, ok := h.visible(matchID)
	if !ok {
		return nil, false
	}
	end := m.frames.end()
	r := &Reader{hub: h, match: m, next: end - 1, due: end}
	if after >= 0 && uint64(after) < end {
		r.next = uint64(after) + 1
	}
	return r, true
}

// WatchAll reads all running matches of a mode, or of all modes for "": it
// begins with the newest frame of each.
func (h *Hub) WatchAll(mode string) *Reader { return &Reader{hub: h, mode: mode} }

// Take returns what has come since it was last called, and what is closed when
// there is more. Where ended is set, nothing more will come. It never waits. The
// records are not to be modified.
func (r *Reader) Take() (records [][]byte, more <-chan struct{}, ended bool) {
	if r.match == nil {
		return r.takeAll()
	}
	r.hub.mu.RLock()
	f, m := &r.match.frames, r.match
	if r.next < f.first() && r.next < r.due {
		packed, offset := f.block(r.next)
		r.hub.mu.RUnlock()
		records = unpack(packed)[offset:]
		r.next += uint64(len(records))
		return records, atOnce, false
	}
	defer r.hub.mu.RUnlock()
	if r.next < f.first() {
		r.next = f.end() - 1 // too slow: the newest is what counts
	}
	records = f.from(r.next)
	r.next = f.end()
	if m.end != nil {
		records = append(records, m.end)
	}
	return records, m.moved, m.closed
}

// takeAll is Take of a channel.
func (r *Reader) takeAll() (records [][]byte, more <-chan struct{}, ended bool) {
	r.hub.mu.RLock()
	defer r.hub.mu.RUnlock()
	c := r.hub.channels[r.mode]
	known := true
	switch {
	case !r.begun:
		r.begun, r.next = true, c.feed.end()
		records = inOrder(r.hub.frames(r.mode, 0))
	case r.next < c.feed.first():
		records, known = r.hub.since(r.mode, r.next)
	default:
		records = c.feed.from(r.next)
	}
	r.next = c.feed.end()
	return records, c.moved, !known
}

// atOnce says that there is more already.
var atOnce = func() chan struct{} { c := make(chan struct{}); close(c); return c }()

// Ended is the stream of a match that has ended.
type Ended struct{ records [][]byte }

// NewEnded returns it: the match's last frame, as JSON, and how it ended.
func NewEnded(last []byte, m matches.Summary) (*Ended, error) {
	var frame struct {
		Seq int `json:"seq"`
	}
	if err := json.Unmarshal(last, &frame); err != nil {
		return nil, fmt.Errorf("last frame of match %s: %w", m.ID, err)
	}
	end, err := endRecord(m)
	return &Ended{[][]byte{record("frame", frame.Seq, last), end}}, err
}

// Take is that of a Reader.
func (e *Ended) Take() (records [][]byte, more <-chan struct{}, ended bool) {
	return e.records, atOnce, true
}
