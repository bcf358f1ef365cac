package secrets_test

import (
	"bytes"
	"context"
	"log/slog"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"hexarena/eventstore"
	"hexarena/eventstore/logtest"
	"hexarena/eventstore/memory"
)

// If the log loses a rotation, a process uses the old key again. If it loses the copies
// of keys, a process stores them again. After that, rotations still reach the process.
func TestFollowAfterALoss(t *testing.T) {
	for name, c := range map[string]struct{ lost int }{"a rotation": {3}, "a rotation and the copies": {4}} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				log, path := logtest.NewLosing(memory.New()), pathIn(t.TempDir())
				s := open(t, log, path)
				otherPath := onAnotherMachine(t, path)
				other := open(t, log, otherPath)
				before := copies(t, log)
				old, oldKey := other.CurrentSeedKey()
				ctx, stop := context.WithCancel(t.Context())
				var lines bytes.Buffer
				var following sync.WaitGroup
				following.Go(func() { other.Follow(ctx, slog.New(slog.NewTextHandler(&lines, nil))) })
				synctest.Wait()
				rotate(t, s)
				synctest.Wait()
				rotated, _ := s.CurrentSeedKey()
				current, _ := other.CurrentSeedKey()
				require.Equal(t, rotated, current)

				total := 0
				for _, err := range log.ReadAll(t.Context(), 0, eventstore.ReadOptions{}) {
					require.NoError(t, err)
					total++
				}
				log.Become(logtest.CopyInto(t, memory.New(), log.Log(), total-c.lost))
				synctest.Wait()
				current, key := other.CurrentSeedKey()
				require.Equal(t, old, current)
				require.Equal(t, oldKey, key)
				require.Len(t, copies(t, log), len(before))
				require.Equal(t, old, copies(t, log)[0].ID)

				rotate(t, s)
				synctest.Wait()
				id, want := s.CurrentSeedKey()
				requireKey(t, other, otherPath, id, want)
				require.Empty(t, lines.String())
				stop()
				following.Wait()
			})
		})
	}
}
