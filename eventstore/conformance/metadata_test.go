package conformance_test

import (
	"time"

	"github.com/stretchr/testify/require"

	"hexarena/eventstore"
)

var metadataCases = []conformanceCase{
	{"metadata/max count", "Metadata: $maxCount hides events from stream reads, not from $all", maxCount},
	{"metadata/max age", "Metadata: $maxAge hides old events; a stream whose events have all expired reads as empty", maxAge},
	{"metadata/replaced", "Metadata: $$s keeps one event, which replaces the earlier settings", metadataReplaced},
	{"metadata/before the stream", "Append: a stream that has only metadata exists", metadataFirst},
	{"metadata/retries of hidden events", "Append, idempotence: a retry may have no position if the stored event is hidden", retryHidden},
}

func maxCount(f *fixture) {
	s := f.stream()
	require.NoError(f.t, f.log.SetMetadata(f.ctx, s, eventstore.StreamMetadata{MaxCount: 2}))
	first := f.append(s, eventstore.Any, f.events(1)...)
	last := f.append(s, eventstore.At(0), f.events(4)...)
	require.Equal(f.t, []eventstore.Revision{3, 4}, revisions(f.read(s, 0, eventstore.ReadOptions{})))
	require.Equal(f.t, []eventstore.Revision{3}, revisions(f.read(s, 1, eventstore.ReadOptions{Limit: 1})))
	back := eventstore.ReadOptions{Direction: eventstore.Backwards}
	require.Equal(f.t, []eventstore.Revision{4, 3}, revisions(f.read(s, eventstore.EndRevision, back)))
	require.Empty(f.t, f.read(s, 2, back))
	until := func(r eventstore.Recorded) bool { return r.Position >= last.Position }
	require.Len(f.t, f.readMine(first.Position, eventstore.ReadOptions{}, until), 5)
	require.EqualValues(f.t, 5, f.append(s, eventstore.At(4), f.events(1)...).Revision, "hidden events still have revisions")
}

// maxAge appends events to a stream with a $maxAge, and waits until they are
// hidden.
func maxAge(f *fixture) {
	s := f.stream()
	require.NoError(f.t, f.log.SetMetadata(f.ctx, s, eventstore.StreamMetadata{MaxAge: time.Second}))
	f.append(s, eventstore.Any, f.events(3)...)
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for len(f.read(s, 0, eventstore.ReadOptions{})) > 0 {
		select {
		case <-tick.C:
		case <-f.ctx.Done():
			require.Fail(f.t, "the events are still visible although they are older than $maxAge")
		}
	}
	f.refused(s, eventstore.NoStream, eventstore.At(2), f.events(1)...)
	// A new event is visible for a second. If the machine takes longer to
	// append and read it, the test tries again with another event.
	for next := eventstore.Revision(3); ; next++ {
		began := time.Now()
		require.Equal(f.t, next, f.append(s, eventstore.At(next-1), f.events(1)...).Revision)
		seen := revisions(f.read(s, 0, eventstore.ReadOptions{}))
		if time.Since(began) >= time.Second {
			continue
		}
		require.NotEmpty(f.t, seen)
		require.GreaterOrEqual(f.t, seen[0], eventstore.Revision(3))
		require.Equal(f.t, next, seen[len(seen)-1])
		return
	}
}

func metadataReplaced(f *fixture) {
	s := f.stream()
	f.append(s, eventstore.NoStream, f.events(5)...)
	require.NoError(f.t, f.log.SetMetadata(f.ctx, s, eventstore.StreamMetadata{MaxCount: 1}))
	require.Len(f.t, f.read(s, 0, eventstore.ReadOptions{}), 1)
	require.NoError(f.t, f.log.SetMetadata(f.ctx, s, eventstore.StreamMetadata{MaxCount: 3}))
	require.Len(f.t, f.read(s, 0, eventstore.ReadOptions{}), 3)
	require.NoError(f.t, f.log.SetMetadata(f.ctx, s, eventstore.StreamMetadata{MaxAge: time.Hour}))
	require.Len(f.t, f.read(s, 0, eventstore.ReadOptions{}), 5)
	require.NoError(f.t, f.log.SetMetadata(f.ctx, s, eventstore.StreamMetadata{}))
	require.Len(f.t, f.read(s, 0, eventstore.ReadOptions{}), 5)
}

func metadataFirst(f *fixture) {
	s := f.stream()
	require.NoError(f.t, f.log.SetMetadata(f.ctx, s, eventstore.StreamMetadata{MaxCount: 10}))
	require.Empty(f.t, f.read(s, 0, eventstore.ReadOptions{}))
	require.EqualValues(f.t, 0, f.append(s, eventstore.Exists, f.events(1)...).Revision)
	other := f.stream()
	require.NoError(f.t, f.log.SetMetadata(f.ctx, other, eventstore.StreamMetadata{MaxCount: 10}))
	require.EqualValues(f.t, 0, f.append(other, eventstore.NoStream, f.events(1)...).Revision)
}

func retryHidden(f *fixture) {
	s := f.stream()
	first, second := f.events(1), f.events(1)
	f.append(s, eventstore.NoStream, first...)
	f.append(s, eventstore.At(0), second...)
	require.NoError(f.t, f.log.SetMetadata(f.ctx, s, eventstore.StreamMetadata{MaxCount: 1}))
	require.EqualValues(f.t, 0, f.append(s, eventstore.NoStream, first...).Revision)
	require.EqualValues(f.t, 1, f.append(s, eventstore.At(0), second...).Revision)
	f.refused(s, eventstore.NoStream, eventstore.At(1), f.events(1)...)
}
