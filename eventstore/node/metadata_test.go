package node

import (
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"hexarena/eventstore/node/writer"
)

// A metadata stream shows only its last event. Metadata hides events from
// stream reads, not from $all.
func TestMetadataHidesEvents(t *testing.T) {
	tests := []struct {
		meta string
		want []uint64
	}{
		{`{"$maxCount":2}`, []uint64{3, 4}},
		{`{"$maxCount":9}`, []uint64{0, 1, 2, 3, 4}},
		{`{"$tb":3}`, []uint64{3, 4}},
		{`{"$tb":5}`, []uint64{}},
		{`{"$tb":99}`, []uint64{}},
		{`{"$tb":2,"$maxCount":4}`, []uint64{2, 3, 4}},
		{`{"$tb":1,"$maxCount":1}`, []uint64{4}},
		{`{"$maxCount":0}`, []uint64{0, 1, 2, 3, 4}},
		{`{"$tb":-1,"$maxCount":1}`, []uint64{4}},
		{`{"$tb":"3","$maxCount":1}`, []uint64{0, 1, 2, 3, 4}},
		{`nonsense`, []uint64{0, 1, 2, 3, 4}},
	}
	f := serve(t)
	for _, test := range tests {
		t.Run(test.meta, func(t *testing.T) {
			f, stream := f.in(t), "s-"+uuid.NewString()
			f.must(stream, writer.NoStream, fresh(5)...)
			f.setMeta(stream, `{"$tb":1}`)
			f.setMeta(stream, test.meta)
			require.Equal(t, test.want, f.revisions(ofStream(stream)))
			require.Len(t, f.revisions(ofStream(stream), down, theEnd), len(test.want))
			require.Equal(t, []uint64{1}, f.revisions(ofStream("$$"+stream)), "$$s keeps one event")
			require.Len(t, f.events(ofAll, byStream(1, stream)), 5)
		})
	}
	t.Run("a metadata stream shows one event, despite its own metadata", func(t *testing.T) {
		f := f.in(t)
		f.setMeta("m", `{}`)
		f.setMeta("m", `{}`)
		f.setMeta("$$m", `{"$maxCount":5}`)
		require.Equal(t, []uint64{1}, f.revisions(ofStream("$$m")))
	})
}

func TestMaxAgeHidesOldEvents(t *testing.T) {
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	clock := make(chan time.Time, 1)
	clock <- now
	tell := func() time.Time { now := <-clock; clock <- now; return now }
	set := func(now time.Time) { <-clock; clock <- now }
	f := serve(t, Options{Now: tell})
	for i := range 5 {
		set(now.Add(time.Duration(i) * time.Minute))
		f.must("s", int64(i)-1, fresh(1)...)
	}
	f.setMeta("s", `{"$maxAge":120}`)
	require.Equal(t, []uint64{2, 3, 4}, f.revisions(ofStream("s")), "an event of exactly the maximum age is still visible")
	require.Equal(t, []uint64{4, 3, 2}, f.revisions(ofStream("s"), down, theEnd))
	set(now.Add(4*time.Minute + time.Second))
	require.Equal(t, []uint64{3, 4}, f.revisions(ofStream("s")))
	set(now.Add(time.Hour))
	require.Empty(t, f.read(ofStream("s")).messages, "everything expired: empty, not missing")
	require.Empty(t, f.read(ofStream("s"), down, theEnd).messages)
	require.Len(t, f.events(ofAll), 6)

	set(now) // the clock goes back, but creation times never decrease
	f.must("s", 4, fresh(1)...)
	events := f.events(ofAll)
	require.GreaterOrEqual(t, events[6].GetEvent().GetMetadata()["created"], events[5].GetEvent().GetMetadata()["created"])
}
