package conformance_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/stretchr/testify/require"

	"hexarena/eventstore"
)

var contextCases = []conformanceCase{
	{"context/cancelled", "port: every method returns when its context ends", cancelled},
	{"context/past its deadline", "port: every method returns by the deadline of its context", pastDeadline},
}

var contentionCases = []conformanceCase{
	{"contention/exact revisions", "Append: an exact revision, with many writers of one stream", contended},
	{"contention/any", "Append: any, with many writers of one stream", contendedAny},
	{"contention/no stream", "Append: with no_stream, only one of many writers creates the stream", contendedStart},
	{"contention/one append sent by many", "Append, idempotence: many callers send the same append at once", sameAppend},
}

func cancelled(f *fixture) {
	ctx, cancel := context.WithCancel(f.ctx)
	cancel()
	endedContext(ctx, f, context.Canceled)
}

func pastDeadline(f *fixture) {
	ctx, cancel := context.WithDeadline(f.ctx, time.Now().Add(-time.Second))
	defer cancel()
	endedContext(ctx, f, context.DeadlineExceeded)
}

func endedContext(ctx context.Context, f *fixture, want error) {
	s := f.stream()
	f.append(s, eventstore.NoStream, f.events(1)...)
	_, err := f.log.Append(ctx, s, eventstore.Any, f.events(1)...)
	require.ErrorIs(f.t, err, want)
	require.ErrorIs(f.t, f.fails(f.log.Read(ctx, s, 0, eventstore.ReadOptions{})), want)
	require.ErrorIs(f.t, f.fails(f.log.ReadAll(ctx, 0, eventstore.ReadOptions{})), want)
	require.ErrorIs(f.t, f.log.SetMetadata(ctx, s, eventstore.StreamMetadata{MaxCount: 1}), want)
	require.ErrorIs(f.t, f.log.Tombstone(ctx, s, eventstore.Any), want)
	for _, err := range f.log.Subscribe(ctx, 0, f.mine()) {
		require.Fail(f.t, "a message after the end", "error: %v", err)
	}
	require.Len(f.t, f.read(s, 0, eventstore.ReadOptions{}), 1)
}

const writers, each = 8, 15

// The function contended() makes writers compete for every revision. The losers read the
// stream and try again.
func contended(f *fixture) {
	s := f.stream()
	f.race(func(writer int) error {
		expected := eventstore.NoStream
		for i := 0; i < each; {
			e := f.events(1)
			e[0].Data = fmt.Appendf(nil, `{"writer":%d,"n":%d}`, writer, i)
			appended, err := f.log.Append(f.ctx, s, expected, e...)
			switch {
			case err == nil:
				expected, i = eventstore.At(appended.Revision), i+1
			case eventstore.IsWrongVersion(err):
				expected = f.head(s)
			default:
				return err
			}
		}
		return nil
	})
	f.complete(s)
}

func contendedAny(f *fixture) {
	s := f.stream()
	f.race(func(writer int) error {
		for i := range each {
			e := f.events(1)
			e[0].Data = fmt.Appendf(nil, `{"writer":%d,"n":%d}`, writer, i)
			if _, err := f.log.Append(f.ctx, s, eventstore.Any, e...); err != nil {
				return err
			}
		}
		return nil
	})
	f.complete(s)
}

// contendedStart makes writers compete to create the same streams, as callers do
// when they claim a name.
func contendedStart(f *fixture) {
	for range each {
		s := f.stream()
		claims := make([][]eventstore.Event, writers)
		won := make([]bool, writers)
		for w := range claims {
			claims[w] = f.events(1 + w%2)
		}
		f.race(func(writer int) error {
			_, err := f.log.Append(f.ctx, s, eventstore.NoStream, claims[writer]...)
			won[writer] = err == nil
			if eventstore.IsWrongVersion(err) {
				return nil
			}
			return err
		})
		winner := slices.Index(won, true)
		require.NotEqual(f.t, -1, winner)
		require.NotContains(f.t, won[winner+1:], true)
		require.Equal(f.t, ids(claims[winner]), recordedIDs(f.read(s, 0, eventstore.ReadOptions{})))
	}
}

func sameAppend(f *fixture) {
	for _, expected := range []eventstore.Expected{eventstore.NoStream, eventstore.Any} {
		s := f.stream()
		events := f.events(3)
		f.race(func(int) error {
			appended, err := f.log.Append(f.ctx, s, expected, events...)
			if err == nil && appended.Revision != 2 {
				err = fmt.Errorf("stored at revision %d", appended.Revision)
			}
			return err
		})
		require.Equal(f.t, ids(events), recordedIDs(f.read(s, 0, eventstore.ReadOptions{})))
	}
}

// The method race() runs the writers concurrently and requires that all of them
// succeed.
func (f *fixture) race(write func(writer int) error) {
	f.t.Helper()
	errs := make([]error, writers)
	var wg sync.WaitGroup
	for w := range writers {
		wg.Go(func() { errs[w] = write(w) })
	}
	wg.Wait()
	for _, err := range errs {
		require.NoError(f.t, err)
	}
}

// head returns the current revision of a stream.
func (f *fixture) head(s eventstore.StreamID) eventstore.Expected {
	for r, err := range f.log.Read(f.ctx, s, eventstore.EndRevision, eventstore.ReadOptions{Direction: eventstore.Backwards, Limit: 1}) {
		if err == nil {
			return eventstore.At(r.Revision)
		}
	}
	return eventstore.NoStream
}

// The method complete() requires that the stream contains each event from the writers
// once and without gaps, and that the events of each writer are in order. The stream,
// $all and a subscription must agree.
func (f *fixture) complete(s eventstore.StreamID) {
	f.t.Helper()
	stored := f.read(s, 0, eventstore.ReadOptions{})
	require.Len(f.t, stored, writers*each)
	next := make([]int, writers)
	for i, r := range stored {
		require.EqualValues(f.t, i, r.Revision)
		var writer, n int
		_, err := fmt.Sscanf(string(r.Data), `{"writer":%d,"n":%d}`, &writer, &n)
		require.NoError(f.t, err)
		require.Equal(f.t, next[writer], n)
		next[writer]++
	}
	last := stored[len(stored)-1].Position
	until := func(r eventstore.Recorded) bool { return r.Position >= last }
	require.Equal(f.t, stored, f.readMine(stored[0].Position, eventstore.ReadOptions{}, until))
	require.Equal(f.t, stored, f.follow(f.ctx, 0, f.mine()).events(len(stored)))
}
