package live

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"hexarena/domain/ladder"
	"hexarena/eventstore"
	"hexarena/projections/matches"
)

// A feed holds its newest records. A history also stores the older ones.
func TestFeedHoldsItsRecords(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var f history
		n := rapid.IntRange(0, 7*historyBlock).Draw(t, "records")
		var all [][]byte
		for i := range n {
			r := fmt.Appendf(nil, "event: frame\ndata: {\"n\":%d}\n\n", i)
			held := f.from(f.first())
			before := fmt.Sprint(held)
			f.add(r)
			all = append(all, r)
			require.Equal(t, before, fmt.Sprint(held), "records that were read earlier do not change")
		}
		require.Equal(t, 1+uint64(n), f.end())
		require.LessOrEqual(t, len(f.newest), 2*historyBlock)
		require.GreaterOrEqual(t, len(f.newest), min(n, historyBlock), "uncompressed records")
		for i := range all {
			number := 1 + uint64(i)
			if number >= f.first() {
				require.Equal(t, all[i:], f.from(number))
				continue
			}
			packed, offset := f.block(number)
			block := unpack(packed)
			require.Len(t, block, historyBlock)
			require.Equal(t, string(all[i]), string(block[offset]))
		}
	})
}

// If the channel drops the end of a match before a slow reader has read it, the
// reader's stream is closed. The reader then has to start again.
func TestReaderThatMissedDroppedEndsIsEnded(t *testing.T) {
	h := New(Options{})
	c := h.channels[""]
	for i := range 2 * maxEnds {
		c.addEnd("", fmt.Append(nil, i))
	}
	require.LessOrEqual(t, len(c.ends), maxEnds)
	_, known := c.since(c.lost - 1)
	require.False(t, known)
	records, known := c.since(c.lost)
	require.True(t, known)
	require.Len(t, records, len(c.ends))
	require.Equal(t, fmt.Append(nil, 2*maxEnds-1), records[len(records)-1]())

	slow := &Reader{hub: h, channel: c, begun: true, next: 1}
	missed, _, ended := slow.Take()
	require.True(t, ended, "the stream ends for a reader that missed ends")
	require.Empty(t, missed)
}

// If the match list is far behind, at most maxEnding ended matches wait for it.
func TestFewEndedMatchesWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var waiting atomic.Int64
		listed := make(chan struct{})
		h := New(Options{Ended: func(context.Context, string, eventstore.Position) (matches.Summary, error) {
			waiting.Add(1)
			<-listed
			return matches.Summary{}, nil
		}})
		var concluded atomic.Int64
		go func() {
			for i := range maxEnding + 2 {
				m := newRunning(fmt.Sprint(i))
				m.summary.Mode = ladder.Standard
				h.enter(m)
				h.conclude(t.Context(), m.id, 0)
				concluded.Add(1)
			}
		}()
		synctest.Wait()
		require.Equal(t, int64(maxEnding), waiting.Load())
		require.Equal(t, int64(maxEnding), concluded.Load(), "the hub waits")
		close(listed)
		synctest.Wait()
		require.Equal(t, int64(maxEnding+2), waiting.Load())
		require.Empty(t, h.running)
	})
}
