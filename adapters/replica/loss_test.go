package replica_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"hexarena/adapters/replica"
	"hexarena/domain/arena"
	"hexarena/domain/ladder"
	"hexarena/eventstore"
	"hexarena/eventstore/logtest"
	"hexarena/eventstore/memory"
)

// If the source or the target loses events, Feed continues, unless the target contains
// events that the source has lost.
func TestFeedAfterALoss(t *testing.T) {
	w := newSource(t)
	all := everything(t, w.log)
	lastOfLadder := 0
	for i, s := range all {
		if s.stream == eventstore.StreamID(ladder.Stream(ladder.Standard)) {
			lastOfLadder = i
		}
	}
	for name, c := range map[string]struct {
		kept   int // events of the source that are not lost
		target int // events of the target that are lost
		fails  bool
	}{
		"the source lost private events": {kept: lastOfLadder + 1},
		"the source lost public events":  {kept: lastOfLadder, fails: true},
		"the target lost events":         {kept: len(all), target: 1},
	} {
		t.Run(name, func(t *testing.T) {
			from, to := logtest.NewLosing(w.log), logtest.NewLosing(memory.New())
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			caughtUp, reported := make(chan struct{}, 100), make(chan struct{}, 10_000)
			ended := make(chan struct{})
			go func() {
				defer close(ended)
				err := replica.Feed(ctx, from, to, func(p replica.Progress) {
					reported <- struct{}{}
					if p.CaughtUp {
						caughtUp <- struct{}{}
					}
				})
				if c.fails {
					assert.ErrorIs(t, err, replica.ErrNotReplica)
					assert.ErrorContains(t, err, "the source has lost events that were copied")
					return
				}
				assert.NoError(t, err)
			}()
			await := func(c <-chan struct{}) {
				select {
				case <-c:
				case <-ended:
					t.Fatal("Feed has ended")
				}
			}
			await(caughtUp)
			if c.target > 0 {
				to.Become(logtest.CopyInto(t, memory.New(), to.Log(), len(everything(t, to))-c.target))
			}
			kept := logtest.CopyInto(t, memory.New(), w.log, c.kept)
			from.Become(kept)
			if c.fails {
				<-ended
				return
			}
			await(caughtUp)
			encoded, err := eventstore.Encode(arena.SeedKeyAdded{ID: "later"}, eventstore.Metadata{})
			require.NoError(t, err)
			_, err = kept.Append(ctx, arena.KeysStream, eventstore.Any, encoded)
			require.NoError(t, err)
			once := memory.New()
			catchUp(t, kept, once)
			want := everything(t, once)
			for n := len(everything(t, to)); n < len(want); n = len(everything(t, to)) {
				await(reported)
			}
			require.Equal(t, want, everything(t, to))
			cancel()
			<-ended
		})
	}
}
