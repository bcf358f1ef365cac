package live_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"hexarena/domain/ladder"
	"hexarena/domain/match"
	"hexarena/eventstore"
	"hexarena/eventstore/memory"
	"hexarena/projections/arenatest"
	"hexarena/projections/live"
	"hexarena/projections/matches"
)

func TestReadyIgnoresAnEndedContextIfTheHubIsReady(t *testing.T) {
	s := newStage(t)
	s.run()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for range 100 {
		require.NoError(t, s.hub.Ready(ctx))
	}
}

// A reader gets the same frames as from GET /matches/{id}/frames. The last record
// is the end of the match.
func TestReaderGetsEachFrameOnceAndTheEnd(t *testing.T) {
	bubble(t, func(t *testing.T, s *stage) {
		s.run()
		g := s.seat(ladder.Standard, "Ann", "Bea", "Cat", "Dot")
		settled()
		r, ok := s.hub.Watch(g.MatchID, -1)
		require.True(t, ok)
		var got []record
		for more := true; more; more = !g.State.Over() {
			records, ended := take(t, r)
			require.False(t, ended)
			got = append(got, records...)
			latest, ok := s.hub.Latest(g.MatchID)
			require.True(t, ok)
			require.Equal(t, got[len(got)-1].data, string(latest))
			g.Step()
			settled()
		}
		records, ended := take(t, r)
		require.False(t, ended, "before the ladder closes the match")
		got = append(got, records...)
		list := s.shown(g)
		require.Len(t, got, len(list))
		for i, f := range list {
			require.Equal(t, frameRecord(t, f), got[i])
		}
		g.Conclude()
		settled()
		records, ended = take(t, r)
		require.True(t, ended)
		require.Len(t, records, 1)
		require.Equal(t, "end", records[0].event)
		require.Empty(t, records[0].id)
		var m matches.Summary
		require.NoError(t, json.Unmarshal([]byte(records[0].data), &m))
		require.Equal(t, matches.Summary{ID: g.MatchID, Status: matches.Completed}, m)
		_, ok = s.hub.Latest(g.MatchID)
		require.False(t, ok)
		_, ok = s.hub.Watch(g.MatchID, -1)
		require.False(t, ok)
		require.Empty(t, s.hub.List(""))
	})
}

func TestListShowsRunningMatchesNewestFirst(t *testing.T) {
	bubble(t, func(t *testing.T, s *stage) {
		old := s.seat(ladder.Standard, "Ann", "Bea", "Cat", "Dot")
		old.Play(3)
		over := s.seat(ladder.Standard, "Eve", "Fay", "Gus")
		over.PlayOut()
		over.Conclude()
		s.run()
		parley := s.seat(ladder.Parley, "Pam", "Quy", "Rob")
		young := s.seat(ladder.Standard, "Eve", "Fay", "Gus")
		settled()
		ids := func(mode string) (ids []string) {
			for _, m := range s.hub.List(mode) {
				ids = append(ids, m.ID)
			}
			return ids
		}
		require.Equal(t, []string{young.MatchID, parley.MatchID, old.MatchID}, ids(""))
		require.Equal(t, []string{young.MatchID, old.MatchID}, ids(ladder.Standard))
		require.Equal(t, []string{parley.MatchID}, ids(ladder.Parley))
		m := s.hub.List("")[2]
		list := s.shown(old)
		require.Equal(t, list[len(list)-1].Turn, m.Turn)
		require.Equal(t, list[len(list)-1].Scores, m.Scores)
		require.Equal(t, ladder.Standard, m.Mode)
		require.Equal(t, matches.Running, m.Status)
		require.Equal(t, old.Times[0].Format(match.TimeFormat), m.StartedAt)
		require.Nil(t, m.EndedAt)
		for seat, p := range m.Players {
			require.Equal(t, matches.Player{Seat: seat, BotID: old.State.Started.Seats[seat].BotID, BotName: old.State.Started.Seats[seat].BotName}, p)
		}
	})
}

// A reader that reconnects gets all frames that it missed, even frames from before
// the hub started.
func TestReturningReaderGetsAllMissedFrames(t *testing.T) {
	bubble(t, func(t *testing.T, s *stage) {
		g := s.seat(ladder.Standard, "Ann", "Bea", "Cat", "Dot")
		g.Play(12)
		s.run()
		g.Play(60)
		settled()
		list := s.shown(g)
		n := len(list)
		require.Greater(t, n, 128, "frames, so that some are compressed")
		for after := -3; after <= n+3; after++ {
			r, ok := s.hub.Watch(g.MatchID, after)
			require.True(t, ok)
			want := list[n-1:]
			if after >= 0 && after <= n {
				want = list[after:]
			}
			got, _ := take(t, r)
			require.Len(t, got, len(want), "after %d of %d", after, n)
			for i, f := range want {
				require.Equal(t, frameRecord(t, f), got[i])
			}
		}
	})
}

// A slow reader skips to the newest frame, but still gets the end. A reader
// that reconnects gets every frame that it asked for.
func TestSlowReaderSkipsToTheNewestFrame(t *testing.T) {
	bubble(t, func(t *testing.T, s *stage) {
		s.run()
		g := s.seat(ladder.Standard, "Ann", "Bea", "Cat", "Dot")
		settled()
		slow, _ := s.hub.Watch(g.MatchID, -1)
		take(t, slow)
		g.Play(25)
		settled()
		back, _ := s.hub.Watch(g.MatchID, 0)
		due := len(s.shown(g))
		first, _, _ := back.Take()
		require.Equal(t, "1", parse(t, first[0]).id)
		require.Less(t, len(first), due, "records of one block")
		g.Play(60)
		settled()

		newest := frameRecord(t, last(s.shown(g)))
		got, _ := take(t, slow)
		require.Equal(t, []record{newest}, got)
		rest, _ := take(t, back)
		for i := range due - len(first) {
			require.Equal(t, fmt.Sprint(len(first)+i+1), rest[i].id)
		}
		require.Equal(t, newest, last(rest))
		g.PlayOut()
		g.Conclude()
		settled()
		got, ended := take(t, slow)
		require.True(t, ended)
		require.Equal(t, []record{frameRecord(t, last(s.shown(g))), got[1]}, got)
		require.Equal(t, "end", got[1].event)
	})
}

func last[T any](list []T) T { return list[len(list)-1] }

func TestStreamOfAModeShowsAllItsMatches(t *testing.T) {
	bubble(t, func(t *testing.T, s *stage) {
		a := s.seat(ladder.Standard, "Ann", "Bea", "Cat", "Dot")
		a.Play(2)
		s.run()
		p := s.seat(ladder.Parley, "Pam", "Quy", "Rob")
		b := s.seat(ladder.Standard, "Eve", "Fay", "Gus")
		settled()
		readers := map[string]*live.Reader{}
		for mode, want := range map[string][]*arenatest.Game{"": {a, p, b}, ladder.Standard: {a, b}, ladder.Parley: {p}} {
			readers[mode] = s.hub.WatchAll(mode)
			got, _ := take(t, readers[mode])
			require.Len(t, got, len(want))
			for i, g := range want {
				require.Equal(t, s.ofChannel(g, last(s.shown(g))), got[i], "least recently changed first")
			}
		}
		frames := func(g *arenatest.Game) []record {
			var all []record
			for _, f := range s.shown(g) {
				all = append(all, s.ofChannel(g, f))
			}
			return all
		}
		fromA, fromP := len(frames(a)), len(frames(p))
		a.Step()
		p.Step()
		c := s.seat(ladder.Standard, "Hal", "Ida", "Jon")
		settled()
		want := append(append(frames(a)[fromA:], frames(p)[fromP:]...), frames(c)...)
		got, ended := take(t, readers[""])
		require.Equal(t, want, got)
		require.False(t, ended)
		got, _ = take(t, readers[ladder.Parley])
		require.Equal(t, frames(p)[fromP:], got)
		b.Abort(match.Operator)
		b.Conclude()
		settled()
		got, ended = take(t, readers[ladder.Standard])
		require.False(t, ended, "the stream of the other matches")
		require.Contains(t, last(got).data, `"id":"`+b.MatchID+`","mode":"","status":"aborted"`)
		require.Equal(t, "end", last(got).event)
		got, _ = take(t, readers[ladder.Parley])
		require.Empty(t, got)
	})
}

// ofChannel returns the record that a frame has in a mode's stream.
func (s *stage) ofChannel(g *arenatest.Game, f match.Frame) record {
	data, err := json.Marshal(f)
	require.NoError(s.t, err)
	return record{"frame", "", `{"matchId":"` + g.MatchID + `",` + string(data[1:])}
}

func TestSlowReaderOfAModeGetsTheNewestFramesAndAllEnds(t *testing.T) {
	bubble(t, func(t *testing.T, s *stage) {
		a := s.seat(ladder.Standard, "Ann", "Bea", "Cat", "Dot")
		idle := s.seat(ladder.Standard, "Hal", "Ida", "Jon")
		b := s.seat(ladder.Standard, "Eve", "Fay", "Gus")
		s.run()
		r := s.hub.WatchAll("")
		got, _ := take(t, r)
		require.Len(t, got, 3)
		b.PlayOut()
		b.Conclude()
		settled() // wait, because otherwise frames of other matches could come before the end
		a.Play(40)
		settled()
		got, ended := take(t, r)
		require.False(t, ended)
		require.Len(t, got, 2, "records without the idle match")
		require.Equal(t, "end", got[0].event)
		require.Contains(t, got[0].data, b.MatchID)
		require.Equal(t, s.ofChannel(a, last(s.shown(a))), got[1])
		idle.Step()
		settled()
		got, _ = take(t, r)
		require.Equal(t, s.ofChannel(idle, last(s.shown(idle))), last(got))
	})
}

// The type failing is a log that a test can make unavailable. Its subscriptions then
// end, and its reads fail.
type failing struct {
	*memory.Log
	mu   sync.Mutex
	away chan struct{} // closed while the log is unavailable
}

func (l *failing) state() chan struct{} {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.away
}

func (l *failing) fail() { close(l.state()) }

func (l *failing) heal() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.away = make(chan struct{})
}

func (l *failing) gone() bool {
	select {
	case <-l.state():
		return true
	default:
		return false
	}
}

var errGone = errors.New("the subscription ended")

func (l *failing) Read(ctx context.Context, id eventstore.StreamID, from eventstore.Revision, o eventstore.ReadOptions) iter.Seq2[eventstore.Recorded, error] {
	return func(yield func(eventstore.Recorded, error) bool) {
		for r, err := range l.Log.Read(ctx, id, from, o) {
			if l.gone() {
				yield(eventstore.Recorded{}, eventstore.ErrUnavailable)
				return
			}
			if !yield(r, err) {
				return
			}
		}
	}
}

func (l *failing) Subscribe(ctx context.Context, after eventstore.Position, f eventstore.Filter) iter.Seq2[eventstore.Message, error] {
	return func(yield func(eventstore.Message, error) bool) {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		away := l.state()
		go func() {
			select {
			case <-away:
				cancel()
			case <-ctx.Done():
			}
		}()
		for m, err := range l.Log.Subscribe(ctx, after, f) {
			if !yield(m, err) {
				return
			}
		}
		if l.gone() {
			yield(eventstore.Message{}, errGone)
		}
	}
}

// Readers miss nothing, even if matches start, continue and end while the hub has
// no subscription.
func TestReadersMissNothingIfTheSubscriptionEnds(t *testing.T) {
	bubble(t, func(t *testing.T, s *stage) {
		wire := &failing{Log: s.log, away: make(chan struct{})}
		s.wire = wire
		on := s.seat(ladder.Standard, "Ann", "Bea", "Cat", "Dot")
		ending := s.seat(ladder.Standard, "Eve", "Fay", "Gus")
		s.run()
		reader, _ := s.hub.Watch(on.MatchID, 0)
		seen, _ := take(t, reader)
		bereft, _ := s.hub.Watch(ending.MatchID, 0)
		all := s.hub.WatchAll("")
		take(t, all)

		wire.fail()
		settled()
		on.Step()
		ending.Abort(match.WallClock)
		ending.Conclude()
		began := s.seat(ladder.Standard, "Hal", "Ida", "Jon")
		settled()
		require.NotContains(t, fmt.Sprint(s.hub.List("")), began.MatchID)
		wire.heal()
		require.True(t, s.hub.Await(t.Context(), began.MatchID), "the match that started during the outage becomes visible")
		on.Step()
		settled()

		missed, _ := take(t, reader)
		list := s.shown(on)
		require.Len(t, append(seen, missed...), len(list))
		for i, r := range append(seen, missed...) {
			require.Equal(t, frameRecord(t, list[i]), r)
		}
		records, ended := take(t, bereft)
		require.True(t, ended)
		require.Equal(t, "end", last(records).event)
		got, ended := take(t, all)
		require.False(t, ended)
		text := fmt.Sprint(got)
		require.Contains(t, text, `"status":"aborted"`)
		require.Contains(t, text, `"matchId":"`+began.MatchID)
		s.stop()
		require.Contains(t, s.errors.String(), errGone.Error())
	})
}

// The log line of a dropped match contains the stream and the revision. Other
// matches continue.
func TestMatchWithAnInvalidEventIsDropped(t *testing.T) {
	for name, c := range map[string]struct {
		event eventstore.Event
		want  string
	}{
		"an unknown event": {eventstore.Event{Type: "DiceLost", Data: []byte(`{}`), Metadata: []byte(`{"schema":1}`)}, "DiceLost"},
		"invalid JSON":     {eventstore.Event{Type: "DiceRolled", Data: []byte(`{`), Metadata: []byte(`{"schema":1}`)}, "DiceRolled"},
		"invalid metadata": {eventstore.Event{Type: "DiceRolled", Data: []byte(`{}`), Metadata: []byte(`{"schema":2}`)}, "schema version 2"},
		"a second start":   {eventstore.Event{Type: "MatchStarted", Data: []byte(`{}`), Metadata: []byte(`{"schema":1}`)}, "out of order"},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, s *stage) {
				s.run()
				bad := s.seat(ladder.Standard, "Ann", "Bea", "Cat", "Dot")
				good := s.seat(ladder.Standard, "Eve", "Fay", "Gus")
				settled()
				r, _ := s.hub.Watch(bad.MatchID, -1)
				take(t, r)
				c.event.ID[0] = 1
				_, err := s.log.Append(t.Context(), eventstore.StreamID(match.Stream(bad.MatchID)), eventstore.Any, c.event)
				require.NoError(t, err)
				good.Step()
				settled()
				records, ended := take(t, r)
				require.Empty(t, records)
				require.True(t, ended)
				require.Len(t, s.hub.List(""), 1)
				latest, ok := s.hub.Latest(good.MatchID)
				require.True(t, ok)
				require.Equal(t, frameRecord(t, last(s.shown(good))).data, string(latest))
				s.stop()
				require.Contains(t, s.errors.String(), c.want)
				require.Contains(t, s.errors.String(), bad.MatchID)
			})
		})
	}
}

func TestStreamEndsWithoutARecordIfTheEndIsUnknown(t *testing.T) {
	bubble(t, func(t *testing.T, s *stage) {
		s.run()
		g := s.seat(ladder.Standard, "Ann", "Bea", "Cat", "Dot")
		settled()
		r, _ := s.hub.Watch(g.MatchID, -1)
		all := s.hub.WatchAll("")
		take(t, r)
		take(t, all)
		s.ended = errors.New("the list has stopped")
		g.Void(match.Operator)
		settled()
		records, ended := take(t, r)
		require.True(t, ended)
		require.Empty(t, records)
		records, ended = take(t, all)
		require.False(t, ended)
		require.Empty(t, records)
	})
}

// Another process may start a match just after the ladder has voided it. No event of the ladder
// ends this match, so the hub does not show it.
func TestMatchThatStartsAfterItsVoidIsNotShown(t *testing.T) {
	bubble(t, func(t *testing.T, s *stage) {
		s.run()
		late := s.Seat(ladder.Standard, arenatest.ID("Ann"), arenatest.ID("Bea"), arenatest.ID("Cat"))[0]
		late.Void(match.Operator)
		late.Start()
		late.Play(1)
		good := s.seat(ladder.Standard, "Dot", "Eve", "Fay")
		settled()
		list := s.hub.List("")
		require.Len(t, list, 1)
		require.Equal(t, good.MatchID, list[0].ID)
	})
}

func TestAwaitEndsWithTheMatchOrTheContext(t *testing.T) {
	bubble(t, func(t *testing.T, s *stage) {
		s.run()
		ctx, cancel := context.WithCancel(t.Context())
		waiting := make(chan bool, 1)
		go func() { waiting <- s.hub.Await(ctx, "no match") }()
		settled()
		cancel()
		require.False(t, <-waiting)
		g := s.Seat(ladder.Standard, arenatest.ID("Ann"), arenatest.ID("Bea"), arenatest.ID("Cat"))[0]
		go func() { waiting <- s.hub.Await(t.Context(), g.MatchID) }()
		settled()
		g.Start()
		require.True(t, <-waiting)
		unready := live.New(live.Options{Log: s.log})
		require.ErrorIs(t, unready.Ready(ctx), context.Canceled)
	})
}
