package esdb

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"hexarena/eventstore"
	"hexarena/eventstore/logtest/outage"
)

// openCluster opens a log on a cluster.
func openCluster(t *testing.T, address string, pace pace) *Log {
	config, err := parse(address)
	require.NoError(t, err)
	log := open(config, slog.New(slog.DiscardHandler), pace)
	t.Cleanup(func() { require.NoError(t, log.Close()) })
	return log
}

// A client that knows only a follower makes every call at the leader.
func TestEveryCallGoesToTheLeader(t *testing.T) {
	c := outage.NewCluster(t, 3, outage.Brisk)
	for name, call := range everyCall {
		if name == "subscribe" {
			continue // a follower serves subscriptions
		}
		log := openCluster(t, c.NodeAddress(1), unhurried)
		before := c.Calls(0, outage.Leader)
		require.NoError(t, call(t.Context(), log), name)
		require.NoError(t, call(t.Context(), log), name)
		require.GreaterOrEqual(t, c.Calls(0, outage.Leader)-before, 2, name)
	}
}

// A node that is not the leader and does not know the leader must not look like a log
// without events.
func TestReadsNeverTakeARefusalForAnEmptyStream(t *testing.T) {
	c := outage.NewCluster(t, 3, outage.Brisk)
	log := openCluster(t, c.NodeAddress(1), brisk)
	_, err := log.Append(t.Context(), "kept-1", eventstore.NoStream, events(3)...)
	require.NoError(t, err)
	c.SetState(0, outage.Unknown)
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	require.ErrorIs(t, last(log.Read(ctx, "kept-1", 0, eventstore.ReadOptions{})), eventstore.ErrUnavailable)
	c.SetState(0, outage.Leader)
	n := 0
	for _, err := range log.Read(t.Context(), "kept-1", 0, eventstore.ReadOptions{}) {
		require.NoError(t, err)
		n++
	}
	require.Equal(t, 3, n)
}

// clusterFaults contains the faults of a cluster after which all acknowledged events
// are still there.
var clusterFaults = []struct {
	name  string
	fault func(*outage.Cluster)
}{
	{"leader killed", func(c *outage.Cluster) { c.Start(c.KillLeader(next(c))) }},
	{"leader cut off", func(c *outage.Cluster) { c.Heal(c.CutOffLeader(next(c))) }},
	{"quorum lost", func(c *outage.Cluster) { was := c.Leader(); c.LoseQuorum(); c.RegainQuorum(was) }},
	{"leader paused", func(c *outage.Cluster) { c.Resume(c.Pause(next(c))) }},
	{"leader resigned", func(c *outage.Cluster) { c.Resign(c.Leader()); c.Resign(next(c)) }},
	{"appends in doubt", func(c *outage.Cluster) {
		was := c.Leader()
		c.SetState(was, outage.Doubtful)
		c.Elect(next(c))
	}},
	{"follower silent", func(c *outage.Cluster) {
		c.SetState(next(c), outage.CatchingUp)
		c.SetLag(next(c), 50*time.Millisecond)
		c.Elect(next(c))
	}},
	{"rolling restart", func(c *outage.Cluster) {
		for i := range 3 {
			if c.Leader() == i {
				c.KillLeader(next(c))
			} else {
				c.SetState(i, outage.Down)
			}
			c.Start(i)
		}
	}},
}

// next returns the node after the leader.
func next(c *outage.Cluster) int { return (max(c.Leader(), 0) + 1) % 3 }

// Writers and subscribers continue through every fault of a cluster. No event is lost,
// stored twice or delivered twice.
func TestClusterFaultsLoseAndDoubleNothing(t *testing.T) {
	for _, f := range clusterFaults {
		t.Run(f.name, func(t *testing.T) {
			t.Parallel()
			surviveFault(t, f.fault)
		})
	}
	t.Run("all, one after another", func(t *testing.T) {
		t.Parallel()
		surviveFault(t, func(c *outage.Cluster) {
			for _, f := range clusterFaults {
				f.fault(c)
			}
		})
	})
}

func surviveFault(t *testing.T, fault func(*outage.Cluster)) {
	c := outage.NewCluster(t, 3, outage.Brisk)
	log := openCluster(t, c.Address(), brisk)
	ctx, cancel := context.WithTimeout(t.Context(), testPatience)
	defer cancel()
	enough, stop := errors.New("enough"), make(chan struct{})
	wrote := make(chan struct{}, 1)
	const writers = 2
	var written [writers]int
	names := [writers]eventstore.StreamID{"outage-0", "outage-1"}
	var writing, following sync.WaitGroup
	for w := range writers {
		writing.Go(func() {
			err := writer(ctx, log, names[w], 1<<30, func(i int) error {
				written[w] = i + 1
				select {
				case <-stop:
					return enough
				case wrote <- struct{}{}:
				default:
				}
				return eventstore.Sleep(ctx, time.Millisecond)
			})
			if !errors.Is(err, enough) {
				t.Errorf("writer %d: %v", w, err)
				cancel()
			}
		})
	}
	seen := map[eventstore.StreamID]eventstore.Revision{}
	following.Go(func() {
		for m, err := range log.Subscribe(ctx, 0, eventstore.Filter{StreamPrefixes: []string{"outage-"}}) {
			switch {
			case err != nil:
				t.Errorf("subscriber: %v", err)
				return
			case m.Event == nil:
			case m.Event.Revision != seen[m.Event.Stream]:
				t.Errorf("got %s@%d, want revision %d", m.Event.Stream, m.Event.Revision, seen[m.Event.Stream])
				return
			case m.Event.Stream == "outage-end":
				return
			default:
				seen[m.Event.Stream]++
			}
		}
		t.Error("the subscriber did not see the end")
	})
	await := func() {
		for range 10 {
			select {
			case <-wrote:
			case <-ctx.Done():
				require.Fail(t, "the writers did not continue")
			}
		}
	}
	await()
	fault(c)
	await()
	close(stop)
	writing.Wait()
	_, err := log.Append(ctx, "outage-end", eventstore.NoStream, events(1)...)
	require.NoError(t, err)
	following.Wait()
	for w := range writers {
		n := 0
		for r, err := range log.Read(ctx, names[w], 0, eventstore.ReadOptions{}) {
			require.NoError(t, err)
			require.EqualValues(t, n, r.Revision)
			n++
		}
		require.Equal(t, written[w], n)
		require.EqualValues(t, n, seen[names[w]], "seen by the subscriber")
	}
}

// If a cluster loses events that a process knows, the calls that began before fail, and
// the functions of OnLoss run before any call succeeds.
func TestLostEventsAreNoticed(t *testing.T) {
	for _, how := range []string{"read", "appended", "subscribed"} {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			c := outage.NewCluster(t, 3, outage.Brisk)
			other := openCluster(t, c.Address(), brisk)
			log := openCluster(t, c.Address(), brisk)
			lost := make(chan struct{})
			log.OnLoss(func() { close(lost) })
			_, err := other.Append(t.Context(), "kept-1", eventstore.NoStream, events(2)...)
			require.NoError(t, err)
			mark := c.Mark()
			live, got, ended := make(chan struct{}, 1), make(chan struct{}, 10), make(chan error, 1)
			go func() {
				for m, err := range log.Subscribe(t.Context(), 0, eventstore.Filter{StreamPrefixes: []string{how}}) {
					switch {
					case err != nil:
						ended <- err
					case m.CaughtUp:
						note(live)
					case m.Event != nil:
						got <- struct{}{}
					}
				}
			}()
			<-live
			switch how {
			case "read":
				_, err = other.Append(t.Context(), "lost-1", eventstore.NoStream, events(2)...)
				require.NoError(t, err)
				require.NoError(t, last(log.Read(t.Context(), "lost-1", 0, eventstore.ReadOptions{})))
			case "appended":
				_, err = log.Append(t.Context(), "lost-1", eventstore.NoStream, events(2)...)
				require.NoError(t, err)
			case "subscribed":
				_, err = other.Append(t.Context(), "subscribed-1", eventstore.NoStream, events(2)...)
				require.NoError(t, err)
				<-got
				<-got
			}
			c.Rewind(mark, 1)
			require.ErrorIs(t, <-ended, eventstore.ErrEventsLost)
			_, open := <-lost
			require.False(t, open)
			require.NoError(t, last(log.Read(t.Context(), "kept-1", 0, eventstore.ReadOptions{})))
			_, err = log.Append(t.Context(), "lost-1", eventstore.NoStream, events(1)...)
			require.NoError(t, err)
		})
	}
}

// A leader that is cut off misses the newest events. This is not a loss.
func TestLeaderThatIsCutOffIsNotBelieved(t *testing.T) {
	c := outage.NewCluster(t, 3, outage.Brisk)
	steady := brisk
	steady.doubt = time.Hour
	log := openCluster(t, c.Address(), steady)
	log.OnLoss(func() { t.Error("no event is lost") })
	old := c.CutOffLeader(1)
	_, err := log.Append(t.Context(), "kept-1", eventstore.NoStream, events(1)...)
	require.NoError(t, err)
	c.SetState(old, outage.Alone)
	c.SetState(1, outage.Unknown)
	ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
	defer cancel()
	require.ErrorIs(t, last(log.Read(ctx, "kept-1", 0, eventstore.ReadOptions{})), eventstore.ErrUnavailable)
	c.Heal(old)
	c.Elect(1)
	n := 0
	for _, err := range log.Read(t.Context(), "kept-1", 0, eventstore.ReadOptions{}) {
		require.NoError(t, err)
		n++
	}
	require.Equal(t, 1, n)
}

// A subscription that stays open and silent, although the log has new events for it, is
// replaced. The subscriber gets each event once. A subscription without new events is not
// replaced.
func TestSilentSubscriptionIsReplaced(t *testing.T) {
	c := outage.NewCluster(t, 1, outage.Brisk)
	log := openCluster(t, c.Address(), brisk)
	got, lives := make(chan eventstore.Revision, 10), []chan struct{}{}
	ctx, cancel := context.WithCancel(t.Context())
	var following sync.WaitGroup
	for _, prefix := range []string{"heard-", "other-"} {
		live := make(chan struct{}, 1)
		lives = append(lives, live)
		following.Go(func() {
			for m, err := range log.Subscribe(ctx, 0, eventstore.Filter{StreamPrefixes: []string{prefix}}) {
				switch {
				case err != nil:
					t.Error(err)
				case m.CaughtUp:
					note(live)
				case m.Event != nil:
					got <- m.Event.Revision
				}
			}
		})
	}
	defer following.Wait()
	defer cancel()
	for _, live := range lives {
		<-live
	}
	_, err := log.Append(ctx, "heard-1", eventstore.NoStream, events(1)...)
	require.NoError(t, err)
	require.EqualValues(t, 0, <-got)
	c.SetLag(0, time.Hour)
	_, err = log.Append(ctx, "heard-1", eventstore.At(0), events(2)...)
	require.NoError(t, err)
	require.Eventually(t, func() bool {
		if value(t, log.metrics.silent) == 0 {
			return false
		}
		c.SetLag(0, 0)
		return true
	}, testPatience, time.Millisecond)
	require.EqualValues(t, 1, <-got)
	require.EqualValues(t, 2, <-got)
	require.Empty(t, got)
}

// note puts a value into a channel unless the channel is full. A subscriber that reconnects
// gets one more CaughtUp, which a test may not expect.
func note(c chan<- struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// A node without a leader does not confirm a subscription. The subscriber subscribes
// again, until a node confirms.
func TestSubscriptionWithoutConfirmationIsReplaced(t *testing.T) {
	c := outage.NewCluster(t, 1, outage.Brisk)
	log := openCluster(t, c.Address(), brisk)
	_, err := log.Append(t.Context(), "heard-1", eventstore.NoStream, events(1)...)
	require.NoError(t, err)
	c.SetLag(0, time.Hour)
	got := make(chan eventstore.Revision, 10)
	ctx, cancel := context.WithCancel(t.Context())
	var following sync.WaitGroup
	defer following.Wait()
	defer cancel()
	following.Go(func() {
		for m, err := range log.Subscribe(ctx, 0, eventstore.Filter{StreamPrefixes: []string{"heard-"}}) {
			switch {
			case err != nil:
				t.Error(err)
			case m.Event != nil:
				got <- m.Event.Revision
			}
		}
	})
	require.Eventually(t, func() bool { return value(t, log.metrics.silent) > 0 }, testPatience, time.Millisecond)
	c.SetLag(0, 0)
	require.EqualValues(t, 0, <-got)
}
