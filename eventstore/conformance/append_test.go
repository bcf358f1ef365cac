package conformance_test

import (
	"bytes"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"hexarena/eventstore"
)

var appendCases = []conformanceCase{
	{"append/expected revisions", "Append: the expected revision is any, no_stream, stream_exists or exact", expectedRevisions},
	{"append/wrong versions", "Append: a wrong version is reported with the current revision", wrongVersions},
	{"append/one call is atomic", "Append: one call stores all events or none", atomic},
	{"append/stored as given", "Positions and reads: a stored event has its data, metadata, id and creation time", storedAsGiven},
	{"append/positions increase", "Positions and reads: positions strictly increase; an append returns the position of its last event", positionsIncrease},
	{"append/at most 1 MiB", "Append: at most 1 MiB of data per call", sizeLimit},
	{"append/metadata does not count", "Append: the size of an append counts neither metadata nor types", sizeOfMetadata},
	{"append/names of streams", "Append: any text can be the name of a stream", namesOfStreams},
	{"append/invalid appends are rejected", "Append: an empty type or a nil id is rejected", invalidAppends},
}

func expectedRevisions(f *fixture) {
	s := f.stream()
	require.EqualValues(f.t, 0, f.append(s, eventstore.NoStream, f.events(1)...).Revision)
	require.EqualValues(f.t, 2, f.append(s, eventstore.At(0), f.events(2)...).Revision)
	require.EqualValues(f.t, 3, f.append(s, eventstore.Any, f.events(1)...).Revision)
	require.EqualValues(f.t, 4, f.append(s, eventstore.Exists, f.events(1)...).Revision)
	require.EqualValues(f.t, 0, f.append(f.stream(), eventstore.Any, f.events(1)...).Revision)
	require.Len(f.t, f.read(s, 0, eventstore.ReadOptions{}), 5)
}

func wrongVersions(f *fixture) {
	missing := f.stream()
	f.refused(missing, eventstore.At(0), eventstore.NoStream, f.events(1)...)
	f.refused(missing, eventstore.Exists, eventstore.NoStream, f.events(1)...)
	s := f.stream()
	f.append(s, eventstore.NoStream, f.events(3)...)
	f.refused(s, eventstore.NoStream, eventstore.At(2), f.events(1)...)
	f.refused(s, eventstore.At(1), eventstore.At(2), f.events(1)...)
	f.refused(s, eventstore.At(3), eventstore.At(2), f.events(1)...)
	require.Empty(f.t, f.read(missing, 0, eventstore.ReadOptions{}))
	require.Len(f.t, f.read(s, 0, eventstore.ReadOptions{}), 3)
}

func atomic(f *fixture) {
	s := f.stream()
	first, second := f.events(50), f.events(50)
	f.append(s, eventstore.NoStream, first...)
	f.refused(s, eventstore.At(48), eventstore.At(49), second...)
	require.Equal(f.t, ids(first), recordedIDs(f.read(s, 0, eventstore.ReadOptions{})))
	f.append(s, eventstore.At(49), second...)
	all := f.read(s, 0, eventstore.ReadOptions{})
	require.Equal(f.t, append(ids(first), ids(second)...), recordedIDs(all))
	for i, r := range all {
		require.EqualValues(f.t, i, r.Revision)
	}
}

func storedAsGiven(f *fixture) {
	s := f.stream()
	e := eventstore.Event{
		ID:       uuid.New(),
		Type:     "Größe",
		Data:     []byte(`{ "b": 1,  "a": [null, "é\n"] }`),
		Metadata: []byte(`{"$correlationId":"c","z":0}`),
	}
	bare := eventstore.Event{ID: uuid.New(), Type: "Bare", Data: []byte("{}")}
	f.append(s, eventstore.NoStream, e, bare)
	stored := f.read(s, 0, eventstore.ReadOptions{})
	require.Len(f.t, stored, 2)
	require.Equal(f.t, e, stored[0].Event)
	require.Equal(f.t, s, stored[0].Stream)
	require.WithinDuration(f.t, time.Now(), stored[0].Created, time.Hour)
	require.Equal(f.t, time.UTC, stored[0].Created.Location())
	require.Equal(f.t, bare.ID, stored[1].ID)
	require.Empty(f.t, stored[1].Metadata)
}

func positionsIncrease(f *fixture) {
	one, other := f.stream(), f.stream()
	a := f.append(one, eventstore.NoStream, f.events(2)...)
	b := f.append(other, eventstore.NoStream, f.events(2)...)
	c := f.append(one, eventstore.At(1), f.events(1)...)
	first, second := f.read(one, 0, eventstore.ReadOptions{}), f.read(other, 0, eventstore.ReadOptions{})
	require.Greater(f.t, first[0].Position, eventstore.Position(0))
	require.Less(f.t, first[0].Position, first[1].Position)
	require.Equal(f.t, a.Position, first[1].Position)
	require.Less(f.t, first[1].Position, second[0].Position)
	require.Equal(f.t, b.Position, second[1].Position)
	require.Less(f.t, second[1].Position, first[2].Position)
	require.Equal(f.t, c.Position, first[2].Position)
}

// sizeLimit appends events of the maximum size, and then events that are one byte
// larger.
func sizeLimit(f *fixture) {
	full := func(extra int) []eventstore.Event {
		events := f.events(3)
		rest := eventstore.MaxAppendBytes - eventstore.AppendBytes(events) + len(events[2].Data)
		events[2].Data = append(append([]byte{'"'}, bytes.Repeat([]byte("x"), rest-2+extra)...), '"')
		return events
	}
	s := f.stream()
	_, err := f.log.Append(f.ctx, s, eventstore.NoStream, full(1)...)
	require.ErrorIs(f.t, err, eventstore.ErrTooLarge)
	require.Empty(f.t, f.read(s, 0, eventstore.ReadOptions{}))
	events := full(0)
	f.append(s, eventstore.NoStream, events...)
	stored := f.read(s, 0, eventstore.ReadOptions{})
	require.Equal(f.t, ids(events), recordedIDs(stored))
	require.True(f.t, bytes.Equal(events[2].Data, stored[2].Data))
}

// sizeOfMetadata appends data of the maximum size, with much more metadata.
func sizeOfMetadata(f *fixture) {
	s := f.stream()
	events := f.events(3)
	text := func(n int) []byte { return append(append([]byte{'"'}, bytes.Repeat([]byte("m"), n-2)...), '"') }
	events[0].Data = text(eventstore.MaxAppendBytes - eventstore.AppendBytes(events[1:]))
	for i := range events {
		events[i].Metadata, events[i].Type = text(1_000_000), strings.Repeat("Long", 50)
	}
	f.append(s, eventstore.NoStream, events...)
	stored := f.read(s, 0, eventstore.ReadOptions{})
	require.Equal(f.t, ids(events), recordedIDs(stored))
	for i, r := range stored {
		require.True(f.t, bytes.Equal(events[i].Metadata, r.Metadata), i)
	}
}

// namesOfStreams uses stream names that a server might mistake for each other.
func namesOfStreams(f *fixture) {
	suffixes := []string{"a", "A", "ä", "a\u0308", "a b", "a/b?c=d&e#f", "a%20b", "a@1", "'a'", "🐑", strings.Repeat("long", 50)}
	for i, suffix := range suffixes {
		s := eventstore.StreamID(f.prefix() + suffix)
		f.append(s, eventstore.NoStream, f.events(i+1)...)
		f.refused(s, eventstore.NoStream, eventstore.At(eventstore.Revision(i)), f.events(1)...)
	}
	for i, suffix := range suffixes {
		stored := f.read(eventstore.StreamID(f.prefix()+suffix), 0, eventstore.ReadOptions{})
		require.Len(f.t, stored, i+1, suffix)
		require.EqualValues(f.t, f.prefix()+suffix, stored[0].Stream)
	}
	require.Len(f.t, f.follow(f.ctx, 0, f.mine()).events(len(suffixes)*(len(suffixes)+1)/2), len(suffixes)*(len(suffixes)+1)/2)
}

func invalidAppends(f *fixture) {
	s := f.stream()
	noID, noType := f.events(1), f.events(1)
	noID[0].ID = uuid.Nil
	noType[0].Type = ""
	for name, try := range map[string]func() error{
		"no id":          func() error { _, err := f.log.Append(f.ctx, s, eventstore.Any, noID...); return err },
		"no type":        func() error { _, err := f.log.Append(f.ctx, s, eventstore.Any, noType...); return err },
		"no events":      func() error { _, err := f.log.Append(f.ctx, s, eventstore.Any); return err },
		"no stream name": func() error { _, err := f.log.Append(f.ctx, "", eventstore.Any, f.events(1)...); return err },
		"no expectation": func() error { _, err := f.log.Append(f.ctx, s, -3, f.events(1)...); return err },
		"half a second": func() error {
			return f.log.SetMetadata(f.ctx, s, eventstore.StreamMetadata{MaxAge: time.Second / 2})
		},
	} {
		err := try()
		require.Error(f.t, err, name)
		require.False(f.t, eventstore.IsWrongVersion(err), name)
		require.NotErrorIs(f.t, err, eventstore.ErrUnavailable, name)
	}
	require.Empty(f.t, f.read(s, 0, eventstore.ReadOptions{}))
}
