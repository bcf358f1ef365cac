package conformance_test

import (
	"github.com/stretchr/testify/require"

	"hexarena/eventstore"
)

var retryCases = []conformanceCase{
	{"retry/exact revision", "Append, idempotence: if expected < current and all ids are equal, the original result is returned", retryExact},
	{"retry/a prefix of the stored events", "Append, idempotence: a prefix of the stored events is a retry too", retryPrefix},
	{"retry/ids that differ", "Append, idempotence: if expected < current and the ids differ, the append fails with a wrong version", retryDiffers},
	{"retry/a known id at the current revision", "Append, idempotence: if expected = current, an event with a known id is stored as new", knownIDAtCurrent},
	{"retry/any and exists", "Append, idempotence: with any and stream_exists, the first id decides", retryByID},
	{"retry/any, known and unknown ids", "Append, idempotence: if the first id is known, the stream must contain all the others", retryMixed},
	{"retry/any, known ids in any order", "Append, idempotence: with any and stream_exists, known ids may come in any order and repeatedly", retryAnyOrder},
	{"retry/any, an id that is stored twice", "Append, idempotence: with any and stream_exists, the answer is the first revision of the last id", retryStoredTwice},
	{"retry/an id of another stream", "Append, idempotence: an id known only from another stream is new", idElsewhere},
}

func retryExact(f *fixture) {
	s := f.stream()
	first, second, third := f.events(2), f.events(1), f.events(1)
	a := f.append(s, eventstore.NoStream, first...)
	require.Equal(f.t, a, f.append(s, eventstore.NoStream, first...))
	b := f.append(s, eventstore.At(1), second...)
	f.append(s, eventstore.At(2), third...)
	require.Equal(f.t, a, f.append(s, eventstore.NoStream, first...))
	require.Equal(f.t, b, f.append(s, eventstore.At(1), second...))
	require.Len(f.t, f.read(s, 0, eventstore.ReadOptions{}), 4)
}

func retryPrefix(f *fixture) {
	s := f.stream()
	events := f.events(4)
	f.append(s, eventstore.NoStream, events...)
	stored := f.read(s, 0, eventstore.ReadOptions{})
	require.Equal(f.t, eventstore.Appended{Revision: 1, Position: stored[1].Position}, f.append(s, eventstore.NoStream, events[:2]...))
	require.Equal(f.t, eventstore.Appended{Revision: 2, Position: stored[2].Position}, f.append(s, eventstore.At(0), events[1:3]...))
	require.Len(f.t, f.read(s, 0, eventstore.ReadOptions{}), 4)
}

func retryDiffers(f *fixture) {
	s := f.stream()
	events := f.events(3)
	f.append(s, eventstore.NoStream, events...)
	f.refused(s, eventstore.NoStream, eventstore.At(2), f.events(1)...)
	f.refused(s, eventstore.NoStream, eventstore.At(2), events[1], events[0])
	f.refused(s, eventstore.At(0), eventstore.At(2), events[2])
	f.refused(s, eventstore.NoStream, eventstore.At(2), append(events[:3:3], f.events(1)...)...)
	require.Len(f.t, f.read(s, 0, eventstore.ReadOptions{}), 3)
}

func knownIDAtCurrent(f *fixture) {
	s := f.stream()
	e := f.events(1)
	f.append(s, eventstore.NoStream, e...)
	require.EqualValues(f.t, 1, f.append(s, eventstore.At(0), e...).Revision)
	require.Len(f.t, f.read(s, 0, eventstore.ReadOptions{}), 2)
}

func retryByID(f *fixture) {
	for _, expected := range []eventstore.Expected{eventstore.Any, eventstore.Exists} {
		s := f.stream()
		f.append(s, eventstore.NoStream, f.events(1)...)
		events := f.events(3)
		first := f.append(s, expected, events...)
		f.append(s, eventstore.Any, f.events(1)...)
		require.Equal(f.t, first, f.append(s, expected, events...))
		require.Equal(f.t, first.Revision-1, f.append(s, expected, events[:2]...).Revision)
		require.Len(f.t, f.read(s, 0, eventstore.ReadOptions{}), 5)
	}
}

func retryMixed(f *fixture) {
	s := f.stream()
	events, unknown := f.events(2), f.events(1)
	f.append(s, eventstore.Any, events...)
	f.refused(s, eventstore.Any, eventstore.At(1), events[0], unknown[0])
	require.EqualValues(f.t, 3, f.append(s, eventstore.Any, unknown[0], events[0]).Revision, "an unknown first id makes the whole append new")
	require.Len(f.t, f.read(s, 0, eventstore.ReadOptions{}), 4)
}

func retryAnyOrder(f *fixture) {
	for _, expected := range []eventstore.Expected{eventstore.Any, eventstore.Exists} {
		s := f.stream()
		f.append(s, eventstore.NoStream, f.events(1)...)
		e := f.events(2)
		f.append(s, expected, e...)
		stored := f.read(s, 0, eventstore.ReadOptions{})
		for _, retry := range []struct {
			events []eventstore.Event
			answer int
		}{
			{[]eventstore.Event{e[1], e[0]}, 1},
			{[]eventstore.Event{e[0], e[0]}, 1},
			{[]eventstore.Event{e[0], e[0], e[1]}, 2},
			{[]eventstore.Event{e[1], e[0], e[1]}, 2},
		} {
			require.Equal(f.t, eventstore.Appended{Revision: stored[retry.answer].Revision, Position: stored[retry.answer].Position}, f.append(s, expected, retry.events...))
		}
		f.refused(s, expected, eventstore.At(2), e[1], e[0], f.events(1)[0])
		require.Len(f.t, f.read(s, 0, eventstore.ReadOptions{}), 3)
	}
}

func retryStoredTwice(f *fixture) {
	for _, expected := range []eventstore.Expected{eventstore.Any, eventstore.Exists} {
		s := f.stream()
		e := f.events(1)[0]
		f.append(s, eventstore.NoStream, e, e)
		require.EqualValues(f.t, 0, f.append(s, expected, e).Revision)
		require.EqualValues(f.t, 0, f.append(s, expected, e, e).Revision)
		require.EqualValues(f.t, 2, f.append(s, eventstore.At(1), e).Revision)
		require.EqualValues(f.t, 0, f.append(s, expected, e).Revision, "the first revision counts")
		require.Len(f.t, f.read(s, 0, eventstore.ReadOptions{}), 3)
	}
}

func idElsewhere(f *fixture) {
	one, other := f.stream(), f.stream()
	events := f.events(2)
	f.append(one, eventstore.Any, events...)
	require.EqualValues(f.t, 1, f.append(other, eventstore.Any, events...).Revision)
	require.EqualValues(f.t, 1, f.append(f.stream(), eventstore.NoStream, events...).Revision)
	require.Equal(f.t, ids(events), recordedIDs(f.read(other, 0, eventstore.ReadOptions{})))
}
