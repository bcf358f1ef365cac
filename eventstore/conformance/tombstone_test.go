package conformance_test

import (
	"github.com/stretchr/testify/require"

	"hexarena/eventstore"
)

var tombstoneCases = []conformanceCase{
	{"tombstone/forever", "Append: a tombstoned stream rejects every call, including those on $$s", tombstoned},
	{"tombstone/wrong version", "Append: a Tombstone at a wrong version fails with FAILED_PRECONDITION", tombstoneWrongVersion},
	{"tombstone/no stream", "Deletes: a missing stream can be deleted with any or no_stream", tombstoneMissing},
	{"tombstone/kept in $all", "Deletes: $all keeps the stored events", tombstoneAll},
}

// The method gone() requires that all calls on a stream fail with the error for a
// tombstoned stream.
func (f *fixture) gone(s eventstore.StreamID) {
	f.t.Helper()
	for _, expected := range []eventstore.Expected{eventstore.Any, eventstore.NoStream, eventstore.Exists, eventstore.At(1), eventstore.At(7)} {
		_, err := f.log.Append(f.ctx, s, expected, f.events(1)...)
		require.ErrorIs(f.t, err, eventstore.ErrStreamDeleted, "append at %s", expected)
	}
	require.ErrorIs(f.t, f.fails(f.log.Read(f.ctx, s, 0, eventstore.ReadOptions{})), eventstore.ErrStreamDeleted)
	back := eventstore.ReadOptions{Direction: eventstore.Backwards, Limit: 1}
	require.ErrorIs(f.t, f.fails(f.log.Read(f.ctx, s, eventstore.EndRevision, back)), eventstore.ErrStreamDeleted)
	require.ErrorIs(f.t, f.log.SetMetadata(f.ctx, s, eventstore.StreamMetadata{}), eventstore.ErrStreamDeleted)
	require.ErrorIs(f.t, f.log.Tombstone(f.ctx, s, eventstore.Any), eventstore.ErrStreamDeleted)
}

func tombstoned(f *fixture) {
	for _, expected := range []eventstore.Expected{eventstore.At(1), eventstore.Any, eventstore.Exists} {
		s := f.stream()
		f.append(s, eventstore.NoStream, f.events(2)...)
		require.NoError(f.t, f.log.Tombstone(f.ctx, s, expected), "at %s", expected)
		f.gone(s)
	}
}

func tombstoneWrongVersion(f *fixture) {
	s := f.stream()
	f.append(s, eventstore.NoStream, f.events(2)...)
	for _, expected := range []eventstore.Expected{eventstore.NoStream, eventstore.At(0), eventstore.At(2)} {
		f.wrongVersion(f.log.Tombstone(f.ctx, s, expected), s, expected, eventstore.At(1))
	}
	require.Len(f.t, f.read(s, 0, eventstore.ReadOptions{}), 2)
	missing := f.stream()
	f.wrongVersion(f.log.Tombstone(f.ctx, missing, eventstore.At(0)), missing, eventstore.At(0), eventstore.NoStream)
}

func tombstoneMissing(f *fixture) {
	for _, expected := range []eventstore.Expected{eventstore.Any, eventstore.NoStream} {
		s := f.stream()
		require.NoError(f.t, f.log.Tombstone(f.ctx, s, expected))
		f.gone(s)
	}
}

func tombstoneAll(f *fixture) {
	s := f.stream()
	first := f.append(s, eventstore.NoStream, f.events(2)...)
	require.NoError(f.t, f.log.Tombstone(f.ctx, s, eventstore.Any))
	last := f.append(f.stream(), eventstore.NoStream, f.events(1)...)
	until := func(r eventstore.Recorded) bool { return r.Position >= last.Position }
	require.Len(f.t, f.readMine(first.Position, eventstore.ReadOptions{}, until), 2)
}
