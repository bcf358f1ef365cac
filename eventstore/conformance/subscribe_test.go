package conformance_test

import (
	"context"
	"strings"

	"github.com/stretchr/testify/require"

	"hexarena/eventstore"
)

var subscribeCases = []conformanceCase{
	{"subscribe/catch up, then live", "Subscriptions: the start is exclusive; CaughtUp comes at every change to live", catchUpThenLive},
	{"subscribe/from the end", "Subscriptions: from the end, only new events arrive", fromTheEnd},
	{"subscribe/all", "Subscriptions: from the start, event 0 arrives too", subscribeAll},
	{"subscribe/prefixes", "Subscriptions: $all can be filtered by prefixes of stream names", prefixes},
	{"subscribe/types", "Subscriptions: $all can be filtered by event types", types},
	{"subscribe/types and prefixes", "port: a filter can combine types and prefixes of stream names", typesAndPrefixes},
	{"subscribe/checkpoints", "Subscriptions: a checkpoint is always the position of a real event", checkpoints},
	{"subscribe/checkpoints while live", "Subscriptions: checkpoints come while catching up and while live", liveCheckpoints},
	{"subscribe/beyond the end", "Positions and reads: a subscription from beyond the end is confirmed and has caught up", subscribeBeyond},
	{"subscribe/a position without an event", "Positions and reads: a position inside $all that has no event is rejected", subscribeNowhere},
	{"subscribe/slow readers", "port: a slow reader delays only itself", slowReader},
	{"subscribe/expired events", "Metadata: hidden events are hidden from stream reads, not from $all", subscribeExpired},
	{"subscribe/resumed anywhere", "Subscriptions: the start is exclusive, and each event arrives once, in order", resumedAnywhere},
	{"subscribe/each once, in order", "Subscriptions: there is no gap between catching up and live events", eachOnce},
	{"subscribe/ends with its context", "Subscriptions: a subscription lasts until it is cancelled", endsWithContext},
	{"subscribe/no system events", "Subscriptions: $all contains system events, but the port leaves them out", noSystemEvents},
}

func catchUpThenLive(f *fixture) {
	s := f.stream()
	first := f.append(s, eventstore.NoStream, f.events(1)...)
	f.append(s, eventstore.At(0), f.events(3)...)
	sub := f.follow(f.ctx, first.Position, f.mine())
	require.Equal(f.t, []eventstore.Revision{1, 2, 3}, revisions(sub.untilLive()))
	f.append(s, eventstore.At(3), f.events(2)...)
	f.append(s, eventstore.At(5), f.events(1)...)
	require.Equal(f.t, f.read(s, 4, eventstore.ReadOptions{}), sub.events(3))
}

func fromTheEnd(f *fixture) {
	s := f.stream()
	f.append(s, eventstore.NoStream, f.events(3)...)
	sub := f.follow(f.ctx, eventstore.EndPosition, f.mine())
	require.Empty(f.t, sub.untilLive())
	f.append(s, eventstore.At(2), f.events(1)...)
	require.Equal(f.t, []eventstore.Revision{3}, revisions(sub.events(1)))
}

func subscribeAll(f *fixture) {
	s := f.stream()
	before := f.append(f.stream(), eventstore.NoStream, f.events(1)...)
	f.append(s, eventstore.NoStream, f.events(2)...)
	sub := f.follow(f.ctx, before.Position, eventstore.Filter{})
	require.Equal(f.t, f.read(s, 0, eventstore.ReadOptions{}), sub.events(2))
	whole := f.follow(f.ctx, 0, f.mine())
	require.Len(f.t, whole.events(3), 3)
}

func prefixes(f *fixture) {
	name := func(suffix string) eventstore.StreamID { return eventstore.StreamID(f.prefix() + suffix) }
	for _, suffix := range []string{"red-1", "green-1", "blue-1", "redder-1", "red-2", "re"} {
		f.append(name(suffix), eventstore.NoStream, f.events(1)...)
	}
	sub := f.follow(f.ctx, 0, eventstore.Filter{StreamPrefixes: []string{f.prefix() + "red-", f.prefix() + "blue-"}})
	f.append(name("blue-2"), eventstore.NoStream, f.events(1)...)
	var got []string
	for _, r := range sub.events(4) {
		got = append(got, strings.TrimPrefix(string(r.Stream), f.prefix()))
	}
	require.Equal(f.t, []string{"red-1", "blue-1", "red-2", "blue-2"}, got)
}

// ofType returns n events of a type.
func (f *fixture) ofType(n int, name string) []eventstore.Event {
	events := f.events(n)
	for i := range events {
		events[i].Type = name
	}
	return events
}

// The case types tests a filter with exact types. Because the server filters by
// prefixes, the test also appends events whose types only begin with a selected
// type.
func types(f *fixture) {
	s, tag := f.stream(), "T"+strings.ReplaceAll(f.name, "-", "")
	start := f.append(s, eventstore.NoStream, f.ofType(1, tag+"Seated")...)
	for i, name := range []string{"Seated", "SeatedLate", "Rated", "Seate", "Rated"} {
		f.append(s, eventstore.Expected(i), f.ofType(1, tag+name)...)
	}
	filter := eventstore.Filter{Types: []string{tag + "Seated", tag + "Rated"}}
	sub := f.follow(f.ctx, start.Position, filter)
	require.Equal(f.t, []eventstore.Revision{1, 3, 5}, revisions(sub.untilLive()))
	f.append(s, eventstore.At(5), append(f.ofType(1, tag+"SeatedLate"), f.ofType(2, tag+"Seated")...)...)
	require.Equal(f.t, f.read(s, 7, eventstore.ReadOptions{}), sub.events(2))
	require.Equal(f.t, []eventstore.Revision{0, 1, 3, 5, 7, 8}, revisions(f.follow(f.ctx, 0, filter).untilLive()))
}

func typesAndPrefixes(f *fixture) {
	red, blue := eventstore.StreamID(f.prefix()+"red-1"), eventstore.StreamID(f.prefix()+"blue-1")
	for _, s := range []eventstore.StreamID{red, blue} {
		f.append(s, eventstore.NoStream, append(f.events(1), f.ofType(1, "Painted")...)...)
	}
	filter := eventstore.Filter{StreamPrefixes: []string{f.prefix() + "red-"}, Types: []string{"Painted"}}
	sub := f.follow(f.ctx, 0, filter)
	require.Equal(f.t, f.read(red, 1, eventstore.ReadOptions{}), sub.untilLive())
	f.append(blue, eventstore.At(1), f.ofType(1, "Painted")...)
	f.append(red, eventstore.At(1), append(f.events(1), f.ofType(1, "Painted")...)...)
	require.Equal(f.t, f.read(red, 3, eventstore.ReadOptions{}), sub.events(1))
}

// The case checkpoints appends many events that the filter leaves out. The
// subscription must yield checkpoints, and a subscription that starts at a
// checkpoint must yield every event after it.
func checkpoints(f *fixture) {
	const filtered = 1500
	noise, quiet := f.stream(), eventstore.StreamID(f.prefix()+"quiet")
	filter := eventstore.Filter{StreamPrefixes: []string{string(quiet)}}
	start := f.append(noise, eventstore.NoStream, f.events(1)...)
	f.append(quiet, eventstore.NoStream, f.events(1)...)
	for i := range filtered / 100 {
		f.append(noise, eventstore.Expected(i*100), f.events(100)...)
	}
	f.append(quiet, eventstore.At(0), f.events(1)...)
	sub := f.follow(f.ctx, start.Position, filter)
	var seen, at eventstore.Position
	var before []eventstore.Recorded
	for at == 0 {
		m := sub.message()
		if m.Event != nil {
			seen, before = m.Event.Position, append(before, *m.Event)
		}
		if m.Checkpoint != 0 {
			require.Greater(f.t, m.Checkpoint, start.Position)
			require.GreaterOrEqual(f.t, m.Checkpoint, seen)
			if len(before) > 0 { // other cases append too, so a checkpoint may precede the first event
				at = m.Checkpoint
			}
		}
	}
	f.append(quiet, eventstore.At(1), f.events(1)...)
	all := f.read(quiet, 0, eventstore.ReadOptions{})
	require.Equal(f.t, all, append(before, f.follow(f.ctx, at, filter).events(3-len(before))...))
}

// liveCheckpoints is like checkpoints, but with a subscription that has already
// caught up.
func liveCheckpoints(f *fixture) {
	noise, quiet := f.stream(), eventstore.StreamID(f.prefix()+"quiet")
	start := f.append(noise, eventstore.NoStream, f.events(1)...)
	filter := eventstore.Filter{StreamPrefixes: []string{string(quiet)}}
	sub := f.follow(f.ctx, start.Position, filter)
	require.Empty(f.t, sub.untilLive())
	for i := range 15 {
		f.append(noise, eventstore.Expected(i*100), f.events(100)...)
	}
	at := eventstore.Position(0)
	for second := f.read(noise, 1, eventstore.ReadOptions{Limit: 1})[0]; at < second.Position; {
		m := sub.message()
		require.Nil(f.t, m.Event)
		require.True(f.t, m.CaughtUp || m.Checkpoint > at, "checkpoints increase")
		at = max(at, m.Checkpoint)
	}
	f.append(quiet, eventstore.NoStream, f.events(2)...)
	require.Equal(f.t, f.read(quiet, 0, eventstore.ReadOptions{}), f.follow(f.ctx, at, filter).events(2))
}

func subscribeBeyond(f *fixture) {
	a := f.append(f.stream(), eventstore.NoStream, f.events(1)...)
	require.Empty(f.t, f.follow(f.ctx, a.Position+1<<40, f.mine()).untilLive())
}

// subscribeNowhere subscribes from a position between two events. The
// subscription must fail.
func subscribeNowhere(f *fixture) {
	s := f.stream()
	a := f.append(s, eventstore.NoStream, f.events(1)...)
	f.append(s, eventstore.At(0), f.events(1)...)
	sub := f.follow(f.ctx, a.Position+1, f.mine())
	for {
		m, err, more := sub.next()
		require.True(f.t, more)
		if err != nil {
			require.NotErrorIs(f.t, err, eventstore.ErrUnavailable)
			return
		}
		require.Nil(f.t, m.Event, "an event after an invalid position")
	}
}

// slowReader starts to read a subscription only after another subscription has
// received all events.
func slowReader(f *fixture) {
	const n = 2000
	s := f.stream()
	first := f.append(s, eventstore.NoStream, f.events(1)...)
	slow, quick := f.follow(f.ctx, first.Position, f.mine()), f.follow(f.ctx, first.Position, f.mine())
	require.Empty(f.t, slow.untilLive())
	require.Empty(f.t, quick.untilLive())
	for i := range n / 100 {
		f.append(s, eventstore.Expected(i*100), f.events(100)...)
	}
	want := f.read(s, 1, eventstore.ReadOptions{})
	require.Len(f.t, want, n)
	require.Equal(f.t, want, quick.events(n))
	require.Equal(f.t, want, slow.events(n))
}

func subscribeExpired(f *fixture) {
	s := f.stream()
	require.NoError(f.t, f.log.SetMetadata(f.ctx, s, eventstore.StreamMetadata{MaxCount: 1}))
	f.append(s, eventstore.NoStream, f.events(3)...)
	require.Len(f.t, f.read(s, 0, eventstore.ReadOptions{}), 1)
	require.Equal(f.t, []eventstore.Revision{0, 1, 2}, revisions(f.follow(f.ctx, 0, f.mine()).events(3)))
}

func resumedAnywhere(f *fixture) {
	one, other := f.stream(), f.stream()
	for i := range 5 {
		f.append(one, eventstore.Expected(2*i-1), f.events(2)...)
		f.append(other, eventstore.Expected(i-1), f.events(1)...)
	}
	all := f.follow(f.ctx, 0, f.mine()).events(15)
	for i := range all {
		if i > 0 {
			require.Less(f.t, all[i-1].Position, all[i].Position)
		}
		if rest := all[i+1:]; len(rest) > 0 {
			require.Equal(f.t, rest, f.follow(f.ctx, all[i].Position, f.mine()).events(len(rest)))
		}
	}
}

// eachOnce appends events while a subscription catches up.
func eachOnce(f *fixture) {
	const n = 300
	s := f.stream()
	f.append(s, eventstore.NoStream, f.events(n)...)
	writer := make(chan error, 1)
	go func() {
		for i := range n {
			if _, err := f.log.Append(f.ctx, s, eventstore.At(eventstore.Revision(n+i-1)), f.events(1)...); err != nil {
				writer <- err
				return
			}
		}
		writer <- nil
	}()
	sub := f.follow(f.ctx, 0, f.mine())
	for i, r := range sub.events(2 * n) {
		require.EqualValues(f.t, i, r.Revision)
	}
	require.NoError(f.t, <-writer)
}

func endsWithContext(f *fixture) {
	ctx, cancel := context.WithCancel(f.ctx)
	s := f.stream()
	f.append(s, eventstore.NoStream, f.events(1)...)
	sub := f.follow(ctx, 0, f.mine())
	sub.untilLive()
	cancel()
	for {
		_, err, more := sub.next()
		require.NoError(f.t, err, "a subscription ends with its context, without an error")
		if !more {
			break
		}
	}
	_, _, more := f.follow(ctx, 0, f.mine()).next()
	require.False(f.t, more)
}

func noSystemEvents(f *fixture) {
	s, gone := f.stream(), f.stream()
	start := f.append(s, eventstore.NoStream, f.events(1)...)
	require.NoError(f.t, f.log.SetMetadata(f.ctx, s, eventstore.StreamMetadata{MaxCount: 9}))
	f.append(gone, eventstore.NoStream, f.events(1)...)
	require.NoError(f.t, f.log.Tombstone(f.ctx, gone, eventstore.At(0)))
	end := f.append(s, eventstore.At(0), f.events(1)...)
	for _, filter := range []eventstore.Filter{{}, f.mine()} {
		sub := f.follow(f.ctx, start.Position, filter)
		for {
			m := sub.message()
			if m.Event == nil {
				continue
			}
			require.False(f.t, strings.HasPrefix(m.Event.Type, "$"), m.Event.Type)
			if m.Event.Position >= end.Position {
				break
			}
		}
	}
}
