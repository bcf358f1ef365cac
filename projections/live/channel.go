package live

import (
	"cmp"
	"slices"
)

// maxEnds is how many ends a channel remembers for readers that are dropped to
// the newest frames: each match that has ended is told of.
const maxEnds = 1024

// channel is all matches of a mode in one stream, in the log's order.
type channel struct {
	feed  feed
	ends  []numbered    // oldest first
	lost  uint64        // ends before this number may be forgotten
	moved chan struct{} // closed, and replaced, when something comes
}

type numbered struct {
	at     uint64
	record []byte
}

func newChannel() *channel { return &channel{feed: feed{start: 1}, moved: make(chan struct{})} }

// add returns the record's number.
func (c *channel) add(record []byte) uint64 {
	at := c.feed.end()
	c.feed.add(record)
	close(c.moved)
	c.moved = make(chan struct{})
	return at
}

func (c *channel) addEnd(record []byte) {
	at := c.add(record)
	if len(c.ends) == maxEnds {
		c.lost = c.ends[maxEnds/2-1].at + 1
		c.ends = append(make([]numbered, 0, maxEnds), c.ends[maxEnds/2:]...)
	}
	c.ends = append(c.ends, numbered{at, record})
}

// since returns what a reader needs that has everything before a number, but
// nothing from there on: the ends, and the newest frame of each match that has
// moved. It says false where ends are forgotten by now. The hub's lock is held.
func (h *Hub) since(mode string, n uint64) ([][]byte, bool) {
	c := h.channels[mode]
	if n < c.lost {
		return nil, false
	}
	i, _ := slices.BinarySearchFunc(c.ends, n, func(e numbered, n uint64) int { return cmp.Compare(e.at, n) })
	return inOrder(append(h.frames(mode, n), c.ends[i:]...)), true
}

// frames are the newest frame of each match of a mode that has moved since a
// number. The hub's lock is held.
func (h *Hub) frames(mode string, n uint64) []numbered {
	var list []numbered
	for _, m := range h.running {
		at := m.at.all
		if mode != "" {
			at = m.at.own
		}
		if m.shown != nil && at >= n && (mode == "" || mode == m.summary.Mode) {
			list = append(list, numbered{at, m.shown})
		}
	}
	return list
}

func inOrder(list []numbered) [][]byte {
	slices.SortFunc(list, func(a, b numbered) int { return cmp.Compare(a.at, b.at) })
	records := make([][]byte, len(list))
	for i, r := range list {
		records[i] = r.record
	}
	return records
}
