package live

import (
	"cmp"
	"slices"
)

// maxEnds is the maximum number of end records that a channel stores. A slow reader
// skips to the newest frames, but must still get the end of each match.
const maxEnds = 1024

// channel is the stream of records of all matches of a mode, or of all modes, in
// the order of the log. The hub's lock guards all fields.
type channel struct {
	feed   feed[lazy]
	newest map[string]numbered // the newest frame of each running match, by match id
	ends   []numbered          // oldest first
	lost   uint64              // end records with a lower number may have been dropped
	moved  signal              // signals each record
}

// lazy returns a record. The first call encodes it, so that a channel without readers
// costs little.
type lazy func() []byte

type numbered struct {
	at     uint64
	record lazy
}

func newChannel() *channel {
	return &channel{newest: map[string]numbered{}, moved: signal{make(chan struct{})}}
}

func (c *channel) add(record lazy) numbered {
	at := c.feed.end()
	c.feed.add(record, channelBlock)
	c.moved.wake()
	return numbered{at, record}
}

func (c *channel) addFrame(matchID string, record lazy) { c.newest[matchID] = c.add(record) }

// addEnd removes a match. If record is not nil, readers get it as the match's
// last record.
func (c *channel) addEnd(matchID string, record []byte) {
	delete(c.newest, matchID)
	if record == nil {
		return
	}
	end := c.add(func() []byte { return record })
	if len(c.ends) == maxEnds {
		c.lost = c.ends[maxEnds/2-1].at + 1
		c.ends = append(make([]numbered, 0, maxEnds), c.ends[maxEnds/2:]...)
	}
	c.ends = append(c.ends, end)
}

// The method since() returns the records for a slow reader that next needs record n. These
// are the end records from number n on, and the newest frame of each match if its number
// is n or higher. It returns false if some of these end records may have been dropped.
func (c *channel) since(n uint64) ([]lazy, bool) {
	if n < c.lost {
		return nil, false
	}
	i, _ := slices.BinarySearchFunc(c.ends, n, func(e numbered, n uint64) int { return cmp.Compare(e.at, n) })
	return inOrder(append(c.frames(n), c.ends[i:]...)), true
}

// The method frames returns the newest frame of each match, but only frames whose
// number is n or higher.
func (c *channel) frames(n uint64) []numbered {
	var list []numbered
	for _, f := range c.newest {
		if f.at >= n {
			list = append(list, f)
		}
	}
	return list
}

func inOrder(list []numbered) []lazy {
	slices.SortFunc(list, func(a, b numbered) int { return cmp.Compare(a.at, b.at) })
	records := make([]lazy, len(list))
	for i, r := range list {
		records[i] = r.record
	}
	return records
}

// encode returns the encoded records.
func encode(list []lazy) [][]byte {
	records := make([][]byte, len(list))
	for i, record := range list {
		records[i] = record()
	}
	return records
}
