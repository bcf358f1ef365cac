package main

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"hexarena/eventstore"
	"hexarena/eventstore/esdb"
	"hexarena/eventstore/logtest"
	"hexarena/eventstore/logtest/outage"
)

// The node's log is linearizable, even if the node is killed with SIGKILL and
// responses are lost.
func TestLogIsLinearizable(t *testing.T) {
	t.Parallel()
	contend(t, 6, 150)
}

func TestSoakLogIsLinearizable(t *testing.T) {
	if os.Getenv("ARENA_SOAK") == "" {
		t.Skip("takes minutes: run make soak")
	}
	contend(t, 100, 600)
}

// contend makes clients compete for the same streams. Checking a long history takes a
// long time, so each round has its own streams and its own history. In each round,
// the node is killed once and responses are lost twice.
func contend(t *testing.T, rounds, steps int) {
	rng := logtest.Random(t)
	n := newNodeProcess(t)
	logs := make([]eventstore.Log, 4)
	for i := range logs {
		logs[i] = n.connect()
	}
	var sum verdict
	checking := time.Duration(0)
	for round := range rounds {
		h := n.round(round, steps, logs, rng)
		began := time.Now()
		v := h.check(2 * time.Minute)
		checking += time.Since(began)
		require.False(t, v.undecided, "round %d: %+v", round, v)
		require.True(t, v.linearizable, "round %d: %+v", round, v)
		sum.operations += v.operations
		sum.reads += v.reads
		sum.conflicts += v.conflicts
		sum.unknown += v.unknown
	}
	t.Logf("%d operations of 8 clients over 4 connections, %d of them reads, %d conflicts, %d appends with an unknown outcome; "+
		"%d kills, answers lost %d times: linearizable (checked in %v)",
		sum.operations, sum.reads, sum.conflicts, sum.unknown, rounds, 2*rounds, checking.Round(time.Millisecond))
	require.Positive(t, sum.conflicts)
	require.Positive(t, sum.unknown)
}

// nodeProcess is an `arena node` in its own process, behind a proxy.
type nodeProcess struct {
	t       *testing.T
	data    string
	process *process
	proxy   *outage.Proxy
}

func newNodeProcess(t *testing.T) *nodeProcess { return newNodeProcessIn(t, t.TempDir()) }

func newNodeProcessIn(t *testing.T, data string) *nodeProcess {
	n := &nodeProcess{t: t, data: data}
	n.proxy = outage.New(t, n.start())
	return n
}

// start starts the node and returns its address.
func (n *nodeProcess) start() string {
	n.t.Helper()
	n.process = launch(n.t, "node", "--listen", "127.0.0.1:0", "--data", n.data)
	return n.process.await(`event store on esdb://(\S+)\?`)[1]
}

// restart kills the node and starts it again.
func (n *nodeProcess) restart() {
	n.t.Helper()
	n.process.kill()
	n.proxy.SetTarget(n.start())
}

// connection returns the connection string of the node, through the proxy.
func (n *nodeProcess) connection() string { return "esdb://" + n.proxy.Address() + "?tls=false" }

func (n *nodeProcess) connect() eventstore.Log {
	n.t.Helper()
	log, err := esdb.Open(n.connection(), slog.New(slog.DiscardHandler))
	require.NoError(n.t, err)
	n.t.Cleanup(func() { _ = log.Close() })
	return log
}

// round makes eight clients call the log, and causes faults at random times.
func (n *nodeProcess) round(round, steps int, logs []eventstore.Log, rng *rand.Rand) *history {
	const clients = 8
	h := newHistory()
	streams := make([]eventstore.StreamID, 3)
	for i := range streams {
		streams[i] = eventstore.StreamID(fmt.Sprintf("contended-%d-%d", round, i))
	}
	ctx, cancel := context.WithTimeout(n.t.Context(), patience)
	defer cancel()
	taken := make(chan struct{}, clients*steps)
	var wg sync.WaitGroup
	for client := range clients {
		c := contender{
			client: client, log: logs[client%len(logs)], history: h, chance: rand.New(rand.NewPCG(rng.Uint64(), 0)),
			streams: streams, patience: 2 * time.Second,
		}
		wg.Go(func() {
			for range steps {
				if err := c.step(ctx); err != nil {
					n.t.Errorf("client %d: %v", client, err)
				}
				taken <- struct{}{}
			}
		})
	}
	faults := []func(){n.restart, n.loseAnswers, n.loseAnswers}
	rng.Shuffle(len(faults), func(i, j int) { faults[i], faults[j] = faults[j], faults[i] })
	for _, fault := range faults {
		for range clients*steps/4 - rng.IntN(clients*steps/8) {
			<-taken
		}
		fault()
	}
	wg.Wait()
	return h
}

// loseAnswers makes the proxy pass requests to the node but drop the node's
// responses.
func (n *nodeProcess) loseAnswers() {
	n.proxy.Set(outage.OneWay)
	pause(20 * time.Millisecond)
	n.proxy.Cut()
	n.proxy.Set(outage.None)
}
