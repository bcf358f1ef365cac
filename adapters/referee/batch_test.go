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

// The seats of one batch react in different ways. The batch is either the first trade
// that is open to several seats, or the first discard of several seats. The referee
// stores the batch in one append, in seat order.
func TestMixedBatch(t *testing.T) {
	for _, kind := range []string{"trade", "discard"} {
		t.Run(kind, func(t *testing.T) {
			withFixture(t, 4, func(f *fixture) {
				var mu sync.Mutex
				var first []int // the decision ids of the batch
				for _, b := range f.bots {
					b.script = func(c call) bool {
						if c.Kind != kind {
							return false
						}
						mu.Lock()
						defer mu.Unlock()
						if first == nil {
							if asks := f.legal.asks(); len(asks) > 1 {
								first = asks
							}
						}
						return misbehave(f, c, first)
					}
				}
				f.run()
				requireBatch(t, f.batchOf(first[0]), first)
			})
		})
	}
}

// misbehave answers the first request of a batch slowly but legally. It does not
// answer the second request. It answers the third request with an illegal action.
func misbehave(f *fixture, c call, batch []int) bool {
	for i, id := range batch {
		if id != c.ID {
			continue
		}
		switch i {
		case 0:
			c.answer(3*time.Second, f.legal.answer(c.ID))
		case 2:
			c.answer(time.Second, fmt.Sprintf(`{"id":%d,"action":{}}`, c.ID))
			c.answer(2*time.Second, f.legal.answer(c.ID)) // ignored, because the first answer has closed the decision
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

// The method asks() returns the ids of the decisions that are now open.
func (o *legalBot) asks() []int {
	m := o.now()
	var ids []int
	for _, d := range m.Asks() {
		ids = append(ids, d.ID)
	}
	return ids
}

// batchOf returns the events of the append that closed a decision.
func (f *fixture) batchOf(id int) []match.Event {
	for _, batch := range f.log.batches {
		events := decoded(f.t, batch)
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

// A trade offer to all seats reaches the three opponents at the same time.
func TestSeatsOfBatchAreAskedAtOnce(t *testing.T) {
	withFixture(t, 4, func(f *fixture) {
		asked := map[time.Time]int{}
		for _, b := range f.bots {
			b.script = func(c call) bool {
				if c.Kind == "trade" {
					f.log.mu.Lock()
					defer f.log.mu.Unlock()
					asked[time.Now()]++
				}
				return false
			}
		}
		f.run()
		require.Contains(t, slices.Collect(maps.Values(asked)), 3)
	})
}
