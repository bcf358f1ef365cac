package writer

import (
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"
	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"hexarena/eventstore/node/openlog"
	"hexarena/eventstore/node/record"
	"hexarena/eventstore/node/storage"
)

// openWriter opens a log with a writer and nothing else.
func openWriter(t *testing.T, fs vfs.FS) (*Writer, *storage.Store) {
	t.Helper()
	log, err := openlog.Open("log", fs, slog.New(slog.DiscardHandler), time.Now)
	require.NoError(t, err)
	w, err := New(log)
	require.NoError(t, err)
	t.Cleanup(func() {
		w.Stop()
		w.Wait()
		require.NoError(t, log.Store.Close())
	})
	return w, log.Store
}

// The writer decides the requests of one group in order, even if a request depends on
// an earlier one that is not committed yet.
func TestRequestsOfOneGroupDependOnEachOther(t *testing.T) {
	w, s := openWriter(t, vfs.NewMem())
	id := uuid.New()
	event := Proposed{ID: id, Type: "T"}
	requests := []*Request{
		{Stream: "s", Expected: NoStream, Events: []Proposed{event}},
		{Stream: "s", Expected: NoStream, Events: []Proposed{event}}, // a retry
		{Stream: "s", Expected: NoStream, Events: []Proposed{{ID: uuid.New(), Type: "T"}}},
		{Stream: "s", Expected: 0, Events: []Proposed{{ID: uuid.New(), Type: "T"}}},
		{Stream: "$$s", Expected: Any, Events: []Proposed{{ID: uuid.New(), Type: record.TypeMetadata, Data: `{"$tb":1}`}}},
		{Act: Delete, Stream: "s", Expected: 1},
		{Stream: "s", Expected: 1, Events: []Proposed{{ID: uuid.New(), Type: "T"}}},
		{Act: Tombstone, Stream: "s", Expected: Any},
		{Stream: "$$s", Expected: Any, Events: []Proposed{{ID: uuid.New(), Type: record.TypeMetadata}}},
	}
	for _, r := range requests {
		r.done = make(chan Outcome, 1)
	}
	require.True(t, w.enqueue(requests...))
	got := []Outcome{}
	for _, r := range requests {
		out := <-r.done
		out.Position = 0
		got = append(got, out)
	}
	require.Equal(t, []Outcome{
		{Current: 0}, {Current: 0}, {Verdict: WrongVersion, Current: 0}, {Current: 1}, {Current: 0},
		{Current: 1}, {Current: 2}, {Current: record.TombstoneRevision}, {Verdict: StreamDeleted},
	}, got)
	meta, err := s.Meta("s", ^uint64(0))
	require.NoError(t, err)
	require.EqualValues(t, 2, meta.TruncateBefore)
}

// Until a record is synced, the writer neither publishes the record nor returns an
// outcome that depends on it.
func TestEventsAreVisibleOnlyAfterSync(t *testing.T) {
	hold, held := make(chan struct{}), make(chan struct{}, 16)
	var holding atomic.Bool
	fs := errorfs.Wrap(vfs.NewMem(), errorfs.InjectorFunc(func(op errorfs.Op) error {
		if holding.Load() && strings.HasSuffix(op.Path, ".log") && (op.Kind == errorfs.OpFileSync || op.Kind == errorfs.OpFileSyncData) {
			held <- struct{}{}
			<-hold
		}
		return nil
	}))
	w, s := openWriter(t, fs)
	out, err := w.Submit(t.Context(), &Request{Stream: "s", Expected: NoStream, Events: []Proposed{{ID: uuid.New(), Type: "T"}}})
	require.NoError(t, err)
	end := out.Position

	holding.Store(true)
	first := &Request{Stream: "s", Expected: 0, Events: []Proposed{{ID: uuid.New(), Type: "T"}}, done: make(chan Outcome, 1)}
	require.True(t, w.enqueue(first))
	<-held
	second := &Request{Stream: "s", Expected: 0, Events: []Proposed{{ID: uuid.New(), Type: "T"}}, done: make(chan Outcome, 1)}
	require.True(t, w.enqueue(second))
	require.Equal(t, end, w.Tail.End())
	v, err := s.View("s", w.Tail.End(), 0)
	require.NoError(t, err)
	require.Zero(t, v.Last)
	require.Empty(t, first.done)
	require.Empty(t, second.done)

	holding.Store(false)
	close(hold)
	require.Equal(t, Stored, (<-first.done).Verdict)
	require.Equal(t, WrongVersion, (<-second.done).Verdict)
	require.Greater(t, w.Tail.End(), end)
}
