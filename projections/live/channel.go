package live

import (
	"cmp"
	"slices"
)

// maxEnds limits the ends that a channel stores for readers that skip to the newest
// frames. Such readers still get the end of each match.
const maxEnds = 1024

// channel is the stream of all matches of a mode, in the order of the log.
type channel struct {
	feed  feed
	ends  []numbered    // oldest first
	lost  uint64        // the channel may lack ends before this number
	moved chan struct{} // closed and replaced with each record
}

type numbered struct {
	at     uint64
	record []byte
}

func newChannel() *channel { return &channel{feed: feed{start: 1}, moved: make(chan struct{})} }

// add appends a record and returns its number.
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

// since returns the records for a reader that has read the channel up to a number and
// then fell behind: the ends since then, and the newest frame of each match that has
// changed. It returns false if the channel no longer has all of these ends. Call it
// with the hub's lock held.
func (h *Hub) since(mode string, n uint64) ([][]byte, bool) {
	c := h.channels[mode]
	if n < c.lost {
		return nil, false
	}
	i, _ := slices.BinarySearchFunc(c.ends, n, func(e numbered, n uint64) int { return cmp.Compare(e.at, n) })
	return inOrder(append(h.frames(mode, n), c.ends[i:]...)), true
}

// frames returns the newest frame of each match of a mode that has changed since a
// number. Call it with the hub's lock held.
func (h *Hub) frames(mode string, n uint64) []numbered {
	var list []numbered
	for _, m := range h.running {
		at := m.numbers.all
		if mode != "" {
			at = m.numbers.own
		}
		if m.channelRecord != nil && at >= n && (mode == "" || mode == m.summary.Mode) {
			list = append(list, numbered{at, m.channelRecord})
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
