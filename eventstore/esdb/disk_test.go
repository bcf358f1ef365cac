package esdb

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"
	"github.com/stretchr/testify/require"

	"hexarena/eventstore"
	"hexarena/eventstore/node"
)

// slowDisk wraps a file system and slows down its syncs.
type slowDisk struct{ delay atomic.Int64 }

func (d *slowDisk) String() string { return "slow disk" }

func (d *slowDisk) MaybeError(op errorfs.Op) error {
	switch op.Kind {
	case errorfs.OpFileSync, errorfs.OpFileSyncData, errorfs.OpFileSyncTo:
		return eventstore.Sleep(context.Background(), time.Duration(d.delay.Load()))
	}
	return nil
}

// A server with slow syncs is still available. Calls wait for it, and the Log does
// not reconnect. Nothing is lost, reads continue, and each call returns by its
// deadline. In this test, the Log probes the server often, with a timeout that is
// shorter than the longest sync.
func TestSlowDisk(t *testing.T) {
	t.Parallel()
	pace := brisk
	pace.probe = 4 * time.Second // a busy machine may need seconds for the answer to a probe
	waitForDisk(t, pace, 10*time.Millisecond, 300*time.Millisecond, 5*time.Second)
}

func TestSoakSlowDisk(t *testing.T) {
	t.Parallel()
	if !soaking() {
		t.Skip("takes minutes: run make soak")
	}
	waitForDisk(t, defaultPace, 30*time.Second)
}

func waitForDisk(t *testing.T, pace pace, delays ...time.Duration) {
	for _, delay := range delays {
		t.Run(delay.String(), func(t *testing.T) {
			t.Parallel()
			disk := &slowDisk{}
			n, err := node.Open(node.Options{Dir: "log", FS: errorfs.Wrap(vfs.NewMem(), disk), Logger: slog.New(slog.DiscardHandler)})
			require.NoError(t, err)
			log := openAt(t, serveNode(t, n), pace)
			require.NoError(t, log.Ping(t.Context()))
			disk.delay.Store(int64(delay))
			overrun := appendTwice(t, log, delay)
			appendAndRead(t, log)
			disk.delay.Store(0)
			figures := scrape(t, log)
			t.Logf("syncs of %v: appends took %.2f s on average, %.0f were sent again, %.0f reconnects; a call with a shorter deadline ended %v after it",
				delay, averageAppend(t, log), figures["arena_log_retries_total"], figures["arena_log_reconnects_total"], overrun.Round(time.Microsecond))
			require.Zero(t, figures["arena_log_reconnects_total"])
			requireOverrun(t, overrun, "twice append")
		})
	}
}

// appendAndRead runs writers that wait for each append, and readers that must
// get results during these waits.
func appendAndRead(t *testing.T, log *Log) {
	var wg sync.WaitGroup
	for w := range 4 {
		id := eventstore.StreamID(fmt.Sprintf("waiting-%d", w))
		wg.Go(func() {
			if err := writer(t.Context(), log, id, 2, func(int) error { return nil }); err != nil {
				t.Errorf("writer %d: %v", w, err)
			}
		})
	}
	done := make(chan struct{})
	go func() { wg.Wait(); close(done) }()
	for {
		select {
		case <-done:
			return
		default:
		}
		ctx, cancel := context.WithTimeout(t.Context(), testPatience)
		require.NoError(t, last(log.ReadAll(ctx, eventstore.EndPosition, eventstore.ReadOptions{Direction: eventstore.Backwards, Limit: 1})))
		cancel()
	}
}

// appendTwice appends an event with a deadline that passes before the sync ends,
// and then appends the same event again. The log must store the event once.
// appendTwice returns how far the first call overran its deadline.
func appendTwice(t *testing.T, log *Log, delay time.Duration) (overrun time.Duration) {
	e := events(1)
	ctx, cancel := context.WithTimeout(t.Context(), delay/2)
	defer cancel()
	overrun, err := watchStalls(t).overrun(ctx, func(ctx context.Context) error {
		_, err := log.Append(ctx, "twice-1", eventstore.NoStream, e...)
		return err
	})
	require.ErrorIs(t, err, eventstore.ErrUnavailable)
	appended, err := log.Append(t.Context(), "twice-1", eventstore.NoStream, e...)
	require.NoError(t, err)
	require.EqualValues(t, 0, appended.Revision)
	n := 0
	for _, err := range log.Read(t.Context(), "twice-1", 0, eventstore.ReadOptions{}) {
		require.NoError(t, err)
		n++
	}
	require.Equal(t, 1, n)
	return overrun
}
