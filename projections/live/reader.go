package live

import (
	"encoding/json"
	"fmt"

	"hexarena/projections/matches"
)

// Reader reads the stream of a match or of a mode. It stores only a position,
// because the hub stores the records. Only one goroutine may use a Reader.
type Reader struct {
	hub     *Hub
	match   *running // nil for a reader of a channel
	channel *channel // nil for a reader of a match

	next  uint64 // number of the next record
	due   uint64 // for a match: the reader gets all records with a lower number, even if they are compressed
	begun bool   // for a channel: whether the reader has received its first frames
}

// Watch returns a reader of a running match. The parameter after is the seq of a
// frame, and the reader begins with the next frame. If after is negative or beyond
// the newest frame, the reader begins with the newest frame. If the match is not
// visible, Watch returns false.
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

// WatchAll returns a reader of all running matches of a mode ("" for all modes).
// The reader begins with the newest frame of each match.
func (h *Hub) WatchAll(mode string) *Reader { return &Reader{hub: h, channel: h.channels[mode]} }

// Take returns the records since the last call, without waiting. The returned
// channel, more, is closed once there are new records. If ended is true, no more
// records will come. Callers must not modify the records.
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
		return records, closed, false
	}
	defer r.hub.mu.RUnlock()
	if r.next < f.first() {
		r.next = f.end() - 1 // too slow: skip to the newest frame
	}
	records = f.from(r.next)
	r.next = f.end()
	if m.end != nil {
		records = append(records, m.end)
	}
	return records, m.moved.next, m.closed
}

// takeAll implements Take for a reader of a channel.
func (r *Reader) takeAll() (records [][]byte, more <-chan struct{}, ended bool) {
	list, more, ended := r.takeLazy()
	return encode(list), more, ended
}

// takeLazy is like takeAll, but does not encode the records. So the hub's lock is not
// held while they are encoded.
func (r *Reader) takeLazy() (records []lazy, more <-chan struct{}, ended bool) {
	r.hub.mu.RLock()
	defer r.hub.mu.RUnlock()
	c := r.channel
	known := true
	switch {
	case !r.begun:
		r.begun, r.next = true, c.feed.end()
		records = inOrder(c.frames(0))
	case r.next < c.feed.first():
		records, known = c.since(r.next)
	default:
		records = c.feed.from(r.next)
	}
	r.next = c.feed.end()
	return records, c.moved.next, !known
}

// The variable closed is a closed channel. If Take returns it as the result more, the
// caller calls Take again immediately.
var closed = func() chan struct{} { c := make(chan struct{}); close(c); return c }()

// Ended reads the stream of an ended match.
type Ended struct{ records [][]byte }

// NewEnded returns a reader of an ended match, from its last frame as JSON and its
// summary.
func NewEnded(last []byte, m matches.Summary) (*Ended, error) {
	var frame struct {
		Seq int `json:"seq"`
	}
	if err := json.Unmarshal(last, &frame); err != nil {
		return nil, fmt.Errorf("last frame of match %s: %w", m.ID, err)
	}
	end, err := endRecord(m)
	return &Ended{[][]byte{Record("frame", frame.Seq, last), end}}, err
}

// Take is like Reader.Take, but returns all records in one call.
func (e *Ended) Take() (records [][]byte, more <-chan struct{}, ended bool) {
	return e.records, closed, true
}
