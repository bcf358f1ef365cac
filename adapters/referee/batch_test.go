package referee

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"hexarena/domain/match"
	"hexarena/eventstore"
)

// TestMixedBatch lets the seats of the first open trade, and those of the
// first discard of several, answer each in its own way: it is one append, in
// seat order, at the time of the last.
func TestMixedBatch(t *testing.T) {
	for _, kind := range []string{"trade", "discard"} {
		t.Run(kind, func(t *testing.T) {
			inWorld(t, 4, func(w *world) {
				var mu sync.Mutex
				var first []int // the ids of the batch
				for _, b := range w.bots {
					b.script = func(c call) bool {
						if c.Kind != kind {
							return false
						}
						mu.Lock()
						defer mu.Unlock()
						if first == nil {
							if asks := w.oracle.asks(); len(asks) > 1 {
								first = asks
							}
						}
						return misbehave(w, c, first)
					}
				}
				w.run()
				requireBatch(t, w.batchOf(first[0]), first)
			})
		})
	}
}

// misbehave answers the first of a batch late but lawfully, is silent on the
// second and nonsense on the third.
func misbehave(w *world, c call, batch []int) bool {
	for i, id := range batch {
		if id != c.ID {
			continue
		}
		switch i {
		case 0:
			c.answer(3*time.Second, w.oracle.lawful(c.ID))
		case 2:
			c.answer(time.Second, fmt.Sprintf(`{"id":%d,"action":{}}`, c.ID))
			c.answer(2*time.Second, w.oracle.lawful(c.ID)) // the first answer counts
		}
		return true
	}
	return false
}

func requireBatch(t *testing.T, batch []match.Event, ids []int) {
	t.Helper()
	played := batch[0].(match.ActionPlayed)
	require.Equal(t, ids[0], played.Decision)
	require.False(t, played.Default)
	require.Equal(t, int64(3000), *played.ElapsedMs)

	silent := batch[1].(match.DecisionTimedOut)
	require.Equal(t, ids[1], silent.Decision)
	require.Equal(t, match.CauseDeadline, silent.Cause)
	require.Equal(t, int64(5000), silent.ElapsedMs)
	require.Equal(t, ids[1], batch[2].(match.ActionPlayed).Decision)
	require.True(t, batch[2].(match.ActionPlayed).Default)
	if len(ids) < 3 {
		return
	}
	nonsense := batch[3].(match.DecisionTimedOut)
	require.Equal(t, ids[2], nonsense.Decision)
	require.Equal(t, match.CauseMalformed, nonsense.Cause)
	require.Equal(t, int64(1000), nonsense.ElapsedMs)
	require.True(t, batch[4].(match.ActionPlayed).Default)
}

// asks are the ids of the decisions that are open in the log.
func (o *oracle) asks() []int {
	m := o.now()
	var ids []int
	for _, d := range m.Asks() {
		ids = append(ids, d.ID)
	}
	return ids
}

// batchOf decodes the append that closed a decision.
func (w *world) batchOf(id int) []match.Event {
	for _, batch := range w.log.batches {
		events := decoded(w.t, batch)
		for _, e := range only[match.ActionPlayed](events) {
			if e.Decision == id {
				return events
			}
		}
	}
	return nil
}

func decoded(t *testing.T, batch []eventstore.Event) []match.Event {
	t.Helper()
	var events []match.Event
	for _, b := range batch {
		require.True(t, json.Valid(b.Metadata))
		e, err := match.Decode(b.Type, b.Data)
		require.NoError(t, err)
		events = append(events, e)
	}
	return events
}

// No seat of a batch waits for another seat's line: an offer to all reaches the
// three opponents at the same time.
func TestAskedAtOnce(t *testing.T) {
	inWorld(t, 4, func(w *world) {
		asked := map[time.Time]int{}
		for _, b := range w.bots {
			b.script = func(c call) bool {
				if c.Kind == "trade" {
					w.log.mu.Lock()
					defer w.log.mu.Unlock()
					asked[time.Now()]++
				}
				return false
			}
		}
		w.run()
		require.Contains(t, slices.Collect(maps.Values(asked)), 3)
	})
}
