package main

import (
	"context"
	"runtime/debug"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

func TestIdleArenaReturnsMemory(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 3*idleTime+time.Second)
		defer cancel()
		var before, after debug.GCStats
		debug.ReadGCStats(&before)
		releaseMemory(ctx)
		debug.ReadGCStats(&after)
		require.GreaterOrEqual(t, after.NumGC-before.NumGC, int64(2), "at the end of the second and the third interval")
	})
}
