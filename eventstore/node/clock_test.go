package node

import (
	"sync/atomic"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"hexarena/eventstore/logtest"
	"hexarena/eventstore/node/record"
	"hexarena/eventstore/node/writer"
)

// The list jumps contains the changes to the clock, forwards and backwards.
var jumps = []time.Duration{time.Hour, -time.Hour, 24 * time.Hour, -24 * time.Hour}

// The clock jumps by an hour or a day. Creation times never decrease, even across a
// restart of the node. $maxAge hides only events that are too old according to the
// current clock.
func TestClockJumps(t *testing.T) {
	rng := logtest.Random(t)
	start := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	var offset atomic.Int64
	now := func() time.Time { return start.Add(time.Duration(offset.Load())) }
	fs := vfs.NewMem()
	f := serve(t, Options{FS: fs, Now: now})
	const maxAge = 30 * time.Minute
	f.setMeta("s", `{"$maxAge":1800}`)
	var created []int64
	hidden, shown, jumped := 0, 0, 0
	for i := range 400 {
		offset.Add(int64(time.Duration(rng.IntN(60)) * time.Second))
		if rng.IntN(10) == 0 {
			offset.Add(int64(jumps[rng.IntN(len(jumps))]))
			jumped++
		}
		if rng.IntN(100) == 0 {
			require.NoError(t, f.node.Close())
			f = serve(t, Options{FS: fs, Now: now})
		}
		f.must("s", int64(i)-1, wireEvent("T", uuid.New(), "{}"))
		r, ok, err := f.node.log.Store.Find("s", uint64(i), f.node.log.Tail.End())
		require.NoError(t, err)
		require.True(t, ok)
		if i > 0 {
			require.GreaterOrEqual(t, r.Created, created[i-1], "creation times never decrease")
		}
		created = append(created, r.Created)

		want := []uint64{}
		for revision, at := range created {
			if at >= record.Ticks(now().Add(-maxAge)) {
				want = append(want, uint64(revision))
			}
		}
		require.Equal(t, want, f.revisions(ofStream("s")))
		require.Contains(t, want, uint64(i), "the latest event is visible")
		hidden, shown = hidden+i+1-len(want), shown+len(want)
	}
	t.Logf("%d jumps in 400 appends: creation times never decreased; reads hid %d events that $maxAge makes too old and showed %d others", jumped, hidden, shown)
}

// While the clock is ahead, events get creation times in the future. These events
// stay visible longer by the same amount, and a scavenge does not remove them
// before they expire.
func TestEventsDatedAheadStayVisibleLonger(t *testing.T) {
	start := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	var offset atomic.Int64
	f := serve(t, Options{Now: func() time.Time { return start.Add(time.Duration(offset.Load())) }})
	f.setMeta("s", `{"$maxAge":60}`)
	offset.Store(int64(24 * time.Hour))
	f.must("s", writer.NoStream, fresh(1)...)
	offset.Store(0)
	f.must("s", 0, fresh(1)...)
	for _, c := range []struct {
		after time.Duration
		left  int
	}{{time.Hour, 2}, {24 * time.Hour, 2}, {24*time.Hour + time.Minute, 2}, {24*time.Hour + time.Minute + time.Second, 0}} {
		offset.Store(int64(c.after))
		_, err := f.node.Scavenge(t.Context(), nil)
		require.NoError(t, err)
		require.Len(t, f.revisions(ofStream("s")), c.left, "%v", c.after)
	}
}
