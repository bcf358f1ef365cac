// Package esdb is the log's port over the official EventStoreDB client, which
// nothing else imports. The client neither bounds its waits nor outlives an
// outage, so it is supervised: every call runs in a goroutine of its own and
// returns by its deadline, a client that fails or falls silent is replaced,
// once for all callers, and reads, subscriptions and appends go on over the
// next one. It knows no domain.
package esdb

import (
	"context"
	"errors"
	"log/slog"
	"sync"

	es "github.com/EventStore/EventStore-Client-Go/v4/esdb"

	"hexarena/eventstore"
)

// ErrClosed is what every call of a closed Log fails with.
var ErrClosed = errors.New("the log is closed")

// Log is an eventstore.Log on an EventStoreDB server or cluster.
type Log struct {
	config  es.Configuration
	logger  *slog.Logger
	pace    pace
	closing context.Context // ends with Close
	close   context.CancelFunc
	running sync.WaitGroup // every goroutine that was started
	metrics *metrics

	// What reaches the server; tests put another in its place.
	dial  func(es.Configuration) (*es.Client, error)
	probe func(context.Context, *es.Client) error

	mu       sync.Mutex
	closed   bool
	current  *generation
	failures int // generations in a row that never answered
	made     int // generations, ever

	reporting sync.Mutex // guards away and reported
	away      bool       // as far as was reported
	reported  int        // number of the latest generation of which something was reported
}

var _ eventstore.Log = (*Log)(nil)

// Open makes a log of a connection string, esdb://… or esdb+discover://….
// It connects at the first call, and whenever it must, so that a server may
// come up later: Ping says whether one is there. A connection string that is
// wrong is an error of one line.
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
		metrics: newMetrics(), dial: dial, probe: probe,
	}
}

// Close ends what is under way and waits until it has ended: a client that is
// just looking for a silent server takes a few seconds to give up.
func (l *Log) Close() error {
	l.mu.Lock()
	l.closed = true
	l.mu.Unlock()
	l.close()
	l.running.Wait()
	return nil
}

// Ping returns once the server has answered a read, or with an error by the
// context's deadline.
func (l *Log) Ping(ctx context.Context) error {
	_, err := attempt(ctx, l, "ping", func(ctx context.Context, c *es.Client) (struct{}, error) {
		return struct{}{}, l.probe(ctx, c)
	})
	if err != nil {
		return translate("ping", err)
	}
	return nil
}

// start runs f in a goroutine that Close waits for; false when the log is
// closed.
func (l *Log) start(f func()) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return false
	}
	l.running.Go(f)
	return true
}
