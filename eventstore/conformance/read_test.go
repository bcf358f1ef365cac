package conformance_test

import (
	"slices"

	"github.com/stretchr/testify/require"

	"hexarena/eventstore"
)

var readCases = []conformanceCase{
	{"read/forwards", "Positions and reads: a forward read includes its start; beyond the end it is empty", readForwards},
	{"read/backwards", "Positions and reads: a backward read includes its start; beyond the end it starts at the last event", readBackwards},
	{"read/no stream", "Positions and reads: a stream that does not exist is empty", readNoStream},
	{"read/long streams", "Positions and reads: the number of events in one read is not limited", readLong},
	{"read/stopped early", "Positions and reads: a reader may stop early", readStopped},
}

var readAllCases = []conformanceCase{
	{"read all/forwards", "Positions and reads: a forward read of $all includes its start", readAllForwards},
	{"read all/backwards", "Positions and reads: a backward read of $all excludes its start; MaxUint64 is the end", readAllBackwards},
	{"read all/limits", "Positions and reads: a limit does not count system events", readAllLimits},
	{"read all/beyond the end", "Positions and reads: a forward read beyond the end is empty", readAllBeyond},
}

func readForwards(f *fixture) {
	s := f.stream()
	f.append(s, eventstore.NoStream, f.events(5)...)
	for _, c := range []struct {
		from  eventstore.Revision
		limit int
		want  []eventstore.Revision
	}{
		{0, 0, []eventstore.Revision{0, 1, 2, 3, 4}},
		{2, 0, []eventstore.Revision{2, 3, 4}},
		{4, 0, []eventstore.Revision{4}},
		{5, 0, []eventstore.Revision{}},
		{0, 2, []eventstore.Revision{0, 1}},
		{3, 9, []eventstore.Revision{3, 4}},
	} {
		require.Equal(f.t, c.want, revisions(f.read(s, c.from, eventstore.ReadOptions{Limit: c.limit})), "from %d, limit %d", c.from, c.limit)
	}
}

func readBackwards(f *fixture) {
	s := f.stream()
	f.append(s, eventstore.NoStream, f.events(5)...)
	for _, c := range []struct {
		from  eventstore.Revision
		limit int
		want  []eventstore.Revision
	}{
		{eventstore.EndRevision, 0, []eventstore.Revision{4, 3, 2, 1, 0}},
		{eventstore.EndRevision, 1, []eventstore.Revision{4}},
		{2, 0, []eventstore.Revision{2, 1, 0}},
		{0, 0, []eventstore.Revision{0}},
		{77, 2, []eventstore.Revision{4, 3}},
	} {
		opt := eventstore.ReadOptions{Direction: eventstore.Backwards, Limit: c.limit}
		require.Equal(f.t, c.want, revisions(f.read(s, c.from, opt)), "from %d, limit %d", c.from, c.limit)
	}
}

func readNoStream(f *fixture) {
	s := f.stream()
	require.Empty(f.t, f.read(s, 0, eventstore.ReadOptions{}))
	require.Empty(f.t, f.read(s, eventstore.EndRevision, eventstore.ReadOptions{Direction: eventstore.Backwards}))
}

func readLong(f *fixture) {
	const batches, each = 12, 100
	s := f.stream()
	for i := range batches {
		f.append(s, eventstore.Expected(i*each-1), f.events(each)...)
	}
	forwards := revisions(f.read(s, 0, eventstore.ReadOptions{}))
	require.Len(f.t, forwards, batches*each)
	require.True(f.t, slices.IsSorted(forwards))
	backwards := revisions(f.read(s, eventstore.EndRevision, eventstore.ReadOptions{Direction: eventstore.Backwards}))
	slices.Reverse(backwards)
	require.Equal(f.t, forwards, backwards)
}

func readStopped(f *fixture) {
	s := f.stream()
	f.append(s, eventstore.NoStream, f.events(100)...)
	for range 10 {
		for r, err := range f.log.Read(f.ctx, s, 0, eventstore.ReadOptions{}) {
			require.NoError(f.t, err)
			if r.Revision == 3 {
				break
			}
		}
	}
	require.Len(f.t, f.read(s, 0, eventstore.ReadOptions{}), 100)
}

// interleaved appends alternately to two streams, with a system event in
// between. It returns the stored events in order.
func interleaved(f *fixture) []eventstore.Recorded {
	one, other := f.stream(), f.stream()
	f.append(one, eventstore.NoStream, f.events(2)...)
	f.append(other, eventstore.NoStream, f.events(2)...)
	require.NoError(f.t, f.log.SetMetadata(f.ctx, one, eventstore.StreamMetadata{MaxCount: 100}))
	f.append(one, eventstore.At(1), f.events(2)...)
	f.append(other, eventstore.At(1), f.events(1)...)
	a, b := f.read(one, 0, eventstore.ReadOptions{}), f.read(other, 0, eventstore.ReadOptions{})
	return []eventstore.Recorded{a[0], a[1], b[0], b[1], a[2], a[3], b[2]}
}

func readAllForwards(f *fixture) {
	all := interleaved(f)
	last := func(r eventstore.Recorded) bool { return r.Position >= all[6].Position }
	require.Equal(f.t, all, f.readMine(all[0].Position, eventstore.ReadOptions{}, last))
	require.Equal(f.t, all[3:], f.readMine(all[3].Position, eventstore.ReadOptions{}, last))
	require.Equal(f.t, all[6:], f.readMine(all[6].Position, eventstore.ReadOptions{}, nil))
	require.Equal(f.t, all, f.readMine(0, eventstore.ReadOptions{}, last), "0 is the start")
}

func readAllBackwards(f *fixture) {
	all := interleaved(f)
	slices.Reverse(all)
	back := eventstore.ReadOptions{Direction: eventstore.Backwards}
	last := func(r eventstore.Recorded) bool { return r.Position <= all[6].Position }
	require.Equal(f.t, all, f.readMine(eventstore.EndPosition, back, last))
	require.Equal(f.t, all[1:], f.readMine(all[0].Position, back, last))
	require.Equal(f.t, all[4:], f.readMine(all[3].Position, back, last))
}

func readAllLimits(f *fixture) {
	s := f.stream()
	events := f.events(10)
	for i := range events {
		f.append(s, eventstore.Expected(i-1), events[i])
		require.NoError(f.t, f.log.SetMetadata(f.ctx, s, eventstore.StreamMetadata{MaxCount: uint64(100 + i)}))
	}
	stored := f.read(s, 0, eventstore.ReadOptions{})
	for _, direction := range []eventstore.Direction{eventstore.Forwards, eventstore.Backwards} {
		for _, limit := range []int{1, 3, 7} {
			opt := eventstore.ReadOptions{Direction: direction, Limit: limit}
			got := f.collect(f.log.ReadAll(f.ctx, stored[5].Position, opt))
			require.LessOrEqual(f.t, len(got), limit)
			if direction == eventstore.Forwards {
				require.Equal(f.t, stored[5], got[0])
			}
			require.True(f.t, slices.IsSortedFunc(got, func(a, b eventstore.Recorded) int {
				if (a.Position < b.Position) == (direction == eventstore.Forwards) {
					return -1
				}
				return 1
			}))
			if limit <= 5 {
				require.Len(f.t, got, limit, "a limit counts only delivered events")
			}
		}
	}
}

func readAllBeyond(f *fixture) {
	a := f.append(f.stream(), eventstore.NoStream, f.events(1)...)
	require.Empty(f.t, f.readMine(a.Position+1<<40, eventstore.ReadOptions{}, nil))
	require.Empty(f.t, f.readMine(eventstore.EndPosition, eventstore.ReadOptions{}, nil))
}
