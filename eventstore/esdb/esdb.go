// Package esdb implements eventstore.Log with the official EventStoreDB client. No
// other package imports that client. Call [Open] first. [Copy] copies a whole log.
//
// The client does not limit how long it waits, and it does not survive an outage.
// So a Log follows three rules when it uses the client:
//
//   - Deadlines: each call runs in its own goroutine, so the Log returns by the
//     caller's deadline even if the client does not.
//   - Generations: the Log replaces a client that fails or whose server does not
//     respond. All callers share the new client. Reads and subscriptions continue
//     with it, after the last event that they yielded. See generation.
//   - Unknown outcomes: if an append fails without a response, the server may have
//     stored it. The Log sends the append again with the same event ids and the
//     same expected revision. The server recognizes the ids and stores the events
//     once. The function definite() selects the errors that end the retries.
//
// The package knows nothing about any domain.
package esdb

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	es "github.com/EventStore/EventStore-Client-Go/v4/esdb"
	"google.golang.org/grpc/encoding"

	"hexarena/eventstore"
	"hexarena/eventstore/node/wire"
)

// The client's calls use the codec that is registered. The protobuf library needs
// reflection to decode an event. That took 45 % of the CPU time of a read, on both sides
// together.
func init() { encoding.RegisterCodecV2(wire.NewCodec()) }

// ErrClosed is the error of each call to a closed Log.
var ErrClosed = errors.New("the log is closed")

// Log implements eventstore.Log with an EventStoreDB server or cluster.
type Log struct {
	config  es.Configuration
	logger  *slog.Logger
	pace    pace
	closing context.Context // ends when Close begins
	close   context.CancelFunc
	running sync.WaitGroup // counts all goroutines that the Log started
	idle    chan func()    // passes functions to goroutines that wait for work
	waiting atomic.Int64   // how many goroutines wait for work
	metrics *metrics

	// These functions contact the server. Tests replace them.
	dial  func(es.Configuration) (*es.Client, error)
	probe func(context.Context, *es.Client) error

	mu       sync.Mutex // guards the fields up to the next lock
	closed   bool
	current  *generation
	failures int // consecutive generations that got no response from the server
	made     int // number of the latest generation

	reporting   sync.Mutex // guards the following fields
	unavailable bool       // the last state that was reported
	logged      bool       // the last state that was logged
	cause       error      // why the log became unavailable
	settling    *time.Timer
	reported    int // number of the newest generation that reported its state

	known known
}

var _ eventstore.Log = (*Log)(nil)

// Open returns a Log for a connection string such as esdb://… or esdb+discover://….
// The Log connects at its first call and reconnects after each outage, so the
// server may start later. Ping checks that the server responds. The error for an
// invalid connection string is one line and does not contain the password.
func Open(connectionString string, logger *slog.Logger) (*Log, error) {
	config, err := parse(connectionString)
	if err != nil {
		return nil, err
	}
	return open(config, logger, defaultPace), nil
}

func open(config es.Configuration, logger *slog.Logger, pace pace) *Log {
	closing, cancel := context.WithCancel(context.Background())
	return &Log{
		config: config, logger: logger, pace: pace, closing: closing, close: cancel,
		metrics: newMetrics(), idle: make(chan func()), dial: dial, probe: probe,
	}
}

// Close ends all calls and waits for their goroutines. This takes a few seconds
// if the client is currently looking for a server that does not respond.
func (l *Log) Close() error {
	l.mu.Lock()
	l.closed = true
	l.mu.Unlock()
	l.close()
	l.running.Wait()
	l.reporting.Lock()
	defer l.reporting.Unlock()
	if l.settling != nil {
		l.settling.Stop()
	}
	return nil
}

// Ping reads from the server and returns nil when the read succeeds. If no read
// succeeds by the context's deadline, Ping returns an error.
func (l *Log) Ping(ctx context.Context) error {
	_, err := attempt(ctx, l, "ping", func(ctx context.Context, c *es.Client) (struct{}, error) {
		return struct{}{}, l.probe(ctx, c)
	})
	if err != nil {
		return translate("ping", err)
	}
	return nil
}

// start runs f in a goroutine that Close waits for. It returns false if the log is
// closed. After f, the goroutine waits for another function to run, unless maxWaiting
// goroutines already do. Reusing the goroutine saves CPU time, because its stack has
// already grown to the size that a call to the client needs. Growing a new stack for each
// call took a tenth of the CPU time of an append.
func (l *Log) start(f func()) bool {
	select {
	case l.idle <- f:
		return true
	default:
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return false
	}
	l.running.Go(func() {
		for f != nil {
			f()
			f = l.next()
		}
	})
	return true
}

// maxWaiting limits how many goroutines remain after many calls at once, for example after
// an outage. Without an outage, more calls at once are rare, because a call takes about a
// millisecond.
const maxWaiting = 128

// next waits for a function to run. It returns nil if the goroutine should end.
func (l *Log) next() func() {
	defer l.waiting.Add(-1)
	if l.waiting.Add(1) > maxWaiting {
		return nil
	}
	select {
	case f := <-l.idle:
		return f
	case <-l.closing.Done():
		return nil
	}
}
