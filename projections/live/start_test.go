package live_test

import (
	"context"
	"fmt"
	"iter"
	"math/rand/v2"
	"strconv"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"hexarena/domain/ladder"
	"hexarena/domain/match"
	"hexarena/eventstore"
	"hexarena/eventstore/logtest"
	"hexarena/eventstore/memory"
	"hexarena/projections/arenatest"
	"hexarena/projections/live"
)

// meddling is a log that calls its function happen() before, between and after the events
// of a read.
type meddling struct {
	*memory.Log
	happen func()
}

func (l meddling) ReadAll(ctx context.Context, from eventstore.Position, o eventstore.ReadOptions) iter.Seq2[eventstore.Recorded, error] {
	return l.between(l.Log.ReadAll(ctx, from, o))
}

func (l meddling) Read(ctx context.Context, id eventstore.StreamID, from eventstore.Revision, o eventstore.ReadOptions) iter.Seq2[eventstore.Recorded, error] {
	return l.between(l.Log.Read(ctx, id, from, o))
}

func (l meddling) between(events iter.Seq2[eventstore.Recorded, error]) iter.Seq2[eventstore.Recorded, error] {
	return func(yield func(eventstore.Recorded, error) bool) {
		l.happen()
		defer l.happen()
		for r, err := range events {
			if !yield(r, err) {
				return
			}
			l.happen()
		}
	}
}

// course is a match that the method step advances through its states: seated,
// started, over, and closed by its ladder.
type course struct {
	*arenatest.Game
	closed bool
}

// step advances the match, usually by one batch of decisions and sometimes by an
// abort.
func (c *course) step(rng *rand.Rand) {
	switch {
	case len(c.Events) == 0:
		c.Start()
	case c.closed:
	case c.State.Over():
		c.Conclude()
		c.closed = true
	case rng.IntN(12) == 0:
		c.Abort(match.Operator)
	default:
		c.Step()
	}
}

// Matches start, continue and end while the hub starts. After that, the hub must
// have each frame once, and must not have any match that its ladder has closed.
func TestHubThatStartsDuringPlayHasEachFrameOnce(t *testing.T) {
	chance := logtest.Seed(t)
	for round := range uint64(20) {
		bubble(t, func(t *testing.T, s *stage) {
			rng := rand.New(rand.NewPCG(chance, round))
			courses := []*course{
				{Game: s.seat(ladder.Standard, "Ann", "Bea", "Cat")},
				{Game: s.seat(ladder.Standard, "Dot", "Eve", "Fay")},
				{Game: s.seat(ladder.Parley, "Pam", "Quy", "Rob")},
				{Game: s.Seat(ladder.Standard, arenatest.ID("Gus"), arenatest.ID("Hal"), arenatest.ID("Ida"))[0]},
			}
			courses[0].Play(1)
			var mu sync.Mutex // the hub reads streams concurrently
			s.wire = meddling{s.log, func() {
				mu.Lock()
				defer mu.Unlock()
				if rng.IntN(4) == 0 {
					courses[rng.IntN(len(courses))].step(rng)
				}
			}}
			s.run()
			settled()
			for i, c := range courses {
				r, ok := s.hub.Watch(c.MatchID, 0)
				require.Equal(t, len(c.Events) > 0 && !c.closed, ok, "match %d", i)
				if !ok {
					continue
				}
				got, _ := take(t, r)
				list := s.shown(c.Game)
				require.Len(t, got, len(list), "match %d", i)
				for i, f := range list {
					require.Equal(t, frameRecord(t, f), got[i])
				}
			}
			s.stop()
			require.Empty(t, s.errors.String())
		})
	}
}

// The readers connect at the same time during a match. One more reader never reads,
// and must not delay the others.
func TestFiveThousandReadersGetTheWholeMatchInOrder(t *testing.T) {
	s := newStage(t)
	g := s.seat(ladder.Standard, "Ann", "Bea", "Cat")
	g.Play(2)
	s.run()
	idle, ok := s.hub.Watch(g.MatchID, -1)
	require.True(t, ok)
	var ready, done sync.WaitGroup
	faults := make(chan string, 5000)
	for i := range 5000 {
		ready.Add(1)
		done.Go(func() {
			if fault := follow(s.hub, g.MatchID, i%40-1, ready.Done); fault != "" {
				faults <- fault
			}
		})
	}
	ready.Wait()
	g.Play(12)
	g.Abort(match.Operator)
	g.Conclude()
	done.Wait()
	close(faults)
	for fault := range faults {
		require.Fail(t, fault)
	}
	records, ended := take(t, idle)
	require.True(t, ended)
	require.Equal(t, "end", last(records).event)
}

// follow reads a match to its end. It returns a description of the first error in
// the records, or an empty string.
func follow(h *live.Hub, matchID string, after int, ready func()) string {
	r, ok := h.Watch(matchID, after)
	if !ok {
		ready()
		return "the match is not visible"
	}
	seq, first := 0, true
	for {
		records, more, ended := r.Take()
		for i, raw := range records {
			got := parse(assertions{}, raw)
			n, _ := strconv.Atoi(got.id)
			if isEnd := got.event == "end"; isEnd != (ended && i == len(records)-1) || !isEnd && n <= seq {
				return "out of order: " + string(raw)
			}
			seq = max(seq, n)
		}
		if first {
			first = false
			ready()
		}
		if ended {
			return ""
		}
		<-more
	}
}

// The type assertions turns a failed requirement into a panic, because the test checks
// requirements in other goroutines.
type assertions struct{}

func (assertions) Errorf(format string, args ...any) { panic(fmt.Sprintf(format, args...)) }
func (assertions) FailNow()                          {}
