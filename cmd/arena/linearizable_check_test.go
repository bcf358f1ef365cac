package main

import (
	"context"
	"errors"
	"iter"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"hexarena/eventstore"
	"hexarena/eventstore/logtest"
	"hexarena/eventstore/memory"
)

// fakeLog returns the same result for every append, and the same result for every
// read.
type fakeLog struct {
	eventstore.Log
	appended eventstore.Appended
	err      error
	stream   []eventstore.Event
}

func (f *fakeLog) Append(context.Context, eventstore.StreamID, eventstore.Expected, ...eventstore.Event) (eventstore.Appended, error) {
	return f.appended, f.err
}

func (f *fakeLog) Read(_ context.Context, _ eventstore.StreamID, _ eventstore.Revision, opt eventstore.ReadOptions) iter.Seq2[eventstore.Recorded, error] {
	return func(yield func(eventstore.Recorded, error) bool) {
		for i, e := range f.stream {
			if opt.Limit == 1 && i < len(f.stream)-1 {
				continue
			}
			if !yield(eventstore.Recorded{Event: e, Revision: eventstore.Revision(i)}, nil) {
				return
			}
		}
	}
}

func sentOnce() (context.Context, context.CancelFunc, bool) { return nil, nil, false }

// historyStep is one call by a client. It begins after the previous call has ended.
type historyStep struct {
	expected eventstore.Expected
	events   []eventstore.Event // empty if the step is a read
	head     bool
	revision int // in the result
	err      error
	found    []eventstore.Event
}

var errLost = errors.Join(eventstore.ErrUnavailable, errors.New("no answer"))

func conflict(current eventstore.Expected) error {
	return &eventstore.WrongVersionError{Current: current}
}

func recorded(t *testing.T, steps []historyStep) *history {
	h := newHistory()
	for _, s := range steps {
		f := &fakeLog{appended: eventstore.Appended{Revision: eventstore.Revision(s.revision)}, err: s.err, stream: s.found}
		if s.events == nil {
			_, err := h.read(t.Context(), 0, f, "s-1", s.head)
			require.NoError(t, err)
			continue
		}
		_, err := h.append(t.Context(), 0, f, sentOnce, "s-1", s.expected, s.events...)
		require.ErrorIs(t, err, s.err)
	}
	return h
}

func TestHistoryFindsImpossibleAnswers(t *testing.T) {
	e := make([]eventstore.Event, 4)
	for i := range e {
		e[i].ID = uuid.New()
	}
	none := eventstore.NoStream
	tests := []struct {
		name  string
		steps []historyStep
		sound bool
	}{
		{"nothing", nil, true},
		{"one after another", []historyStep{{expected: none, events: e[:2], revision: 1}, {found: e[:2]}, {expected: 1, events: e[2:3], revision: 2}, {head: true, found: e[:3]}}, true},
		{"a conflict", []historyStep{{expected: none, events: e[:2], revision: 1}, {expected: none, events: e[2:3], err: conflict(1)}, {found: e[:2]}}, true},
		{"a retry", []historyStep{{expected: none, events: e[:2], revision: 1}, {expected: none, events: e[:2], revision: 1}, {expected: none, events: e[:1], revision: 0}, {found: e[:2]}}, true},
		{"a retry at any", []historyStep{{expected: eventstore.Any, events: e[:2], revision: 1}, {expected: eventstore.Any, events: e[:2], revision: 1}, {found: e[:2]}}, true},
		{"a lost answer, stored", []historyStep{{expected: none, events: e[:2], err: errLost}, {found: e[:2]}}, true},
		{"a lost answer, not stored", []historyStep{{expected: none, events: e[:2], err: errLost}, {}}, true},
		{"a lost answer, stored late", []historyStep{{expected: none, events: e[:2], err: errLost}, {}, {found: e[:2]}}, true},
		{"exists", []historyStep{{expected: eventstore.Exists, events: e[:1], err: conflict(none)}, {expected: none, events: e[:1]}, {expected: eventstore.Exists, events: e[1:2], revision: 1}}, true},

		{"an acknowledged event is lost", []historyStep{{expected: none, events: e[:1], revision: 0}, {}}, false},
		{"an acknowledged event is lost, seen in the last event", []historyStep{{expected: none, events: e[:2], revision: 1}, {head: true, found: e[:1]}}, false},
		{"an event is doubled", []historyStep{{expected: none, events: e[:1], revision: 0}, {found: []eventstore.Event{e[0], e[0]}}}, false},
		{"a lost answer, doubled", []historyStep{{expected: none, events: e[:1], err: errLost}, {found: []eventstore.Event{e[0], e[0]}}}, false},
		{"a fork", []historyStep{{expected: none, events: e[:1], revision: 0}, {expected: none, events: e[1:2], revision: 0}}, false},
		{"half of an append", []historyStep{{expected: none, events: e[:2], err: errLost}, {found: e[:1]}}, false},
		{"a read goes back", []historyStep{{expected: none, events: e[:1], err: errLost}, {found: e[:1]}, {}}, false},
		{"a refused append is stored", []historyStep{{expected: none, events: e[:1], revision: 0}, {expected: none, events: e[1:2], err: conflict(0)}, {found: e[:2]}}, false},
		{"a conflict without cause", []historyStep{{expected: none, events: e[:1], err: conflict(3)}}, false},
		{"another order", []historyStep{{expected: none, events: e[:2], revision: 1}, {found: []eventstore.Event{e[1], e[0]}}}, false},
		{"an event from nowhere", []historyStep{{found: e[3:]}}, false},
		{"a retry answered elsewhere", []historyStep{{expected: none, events: e[:2], revision: 1}, {expected: none, events: e[:1], revision: 1}}, false},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			v := recorded(t, test.steps).check(5 * time.Minute)
			require.False(t, v.undecided)
			require.Equal(t, test.sound, v.linearizable)
			require.Equal(t, len(test.steps), v.operations)
		})
	}
}

// The in-memory log is linearizable, even if many clients use it at the same time and
// lose some results.
func TestMemoryIsLinearizable(t *testing.T) {
	seed := logtest.Seed(t)
	h, log := newHistory(), logtest.NewFaulty(memory.New())
	for i := range 400 {
		switch i % 9 {
		case 0:
			log.FailAppend(i, logtest.StoredAnyway)
		case 1:
			log.FailAppend(i, logtest.NotStored)
		}
	}
	var wg sync.WaitGroup
	for client := range 8 {
		rng := rand.New(rand.NewPCG(seed, uint64(client)))
		wg.Go(func() {
			c := contender{client: client, log: log, history: h, chance: rng, streams: []eventstore.StreamID{"s-1", "s-2"}, patience: time.Second}
			for range 60 {
				if err := c.step(t.Context()); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	v := h.check(5 * time.Minute)
	t.Logf("%+v", v)
	require.False(t, v.undecided, "the check ran out of time")
	require.True(t, v.linearizable)
	require.Positive(t, v.unknown)
	require.Positive(t, v.conflicts)
}
