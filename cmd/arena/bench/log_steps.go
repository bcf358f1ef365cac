package bench

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"slices"
	"sync/atomic"
	"time"

	"github.com/cockroachdb/pebble/v2"
	"github.com/google/uuid"
	"golang.org/x/sync/errgroup"

	"hexarena/eventstore"
	"hexarena/eventstore/esdb"
	"hexarena/eventstore/node"
)

// logBench is a node on loopback, the log through the official client as the
// arena uses it, and a Pebble of its own.
type logBench struct {
	step    time.Duration
	dir     string
	made    bool // dir is ours to remove
	node    *node.Node
	served  chan error
	log     *esdb.Log
	alone   *pebble.DB
	streams int // names taken so far
}

func newLogBench(ctx context.Context, dir string, step time.Duration) (b *logBench, err error) {
	b = &logBench{step: step, dir: dir, served: make(chan error, 1)}
	if dir == "" {
		if b.dir, err = os.MkdirTemp("", "arena-bench-"); err != nil {
			return nil, err
		}
		b.made = true
	}
	if err := b.open(ctx); err != nil {
		return nil, errors.Join(err, b.close())
	}
	return b, nil
}

func (b *logBench) open(ctx context.Context) (err error) {
	if b.alone, err = pebble.Open(filepath.Join(b.dir, "pebble"), &pebble.Options{Logger: quietPebble{}, MemTableSize: 32 << 20}); err != nil {
		return err
	}
	return b.openNode(ctx)
}

func (b *logBench) openNode(ctx context.Context) (err error) {
	quiet := slog.New(slog.DiscardHandler)
	if b.node, err = node.Open(node.Options{Dir: filepath.Join(b.dir, "node"), Logger: quiet}); err != nil {
		return err
	}
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	go func() { b.served <- b.node.Serve(l) }()
	b.log, err = esdb.Open("esdb://"+l.Addr().String()+"?tls=false", quiet)
	return err
}

func (b *logBench) close() (err error) {
	if b.log != nil {
		err = errors.Join(err, b.log.Close(), b.node.Close(), <-b.served)
	}
	if b.alone != nil {
		err = errors.Join(err, b.alone.Close())
	}
	if b.made {
		err = errors.Join(err, os.RemoveAll(b.dir))
	}
	return err
}

// during runs n writers for one step. Each calls write again and again, which
// tells nothing but its error; the durations of the calls come back sorted.
func (b *logBench) during(ctx context.Context, n int, write func(ctx context.Context, writer, turn int) error) ([]time.Duration, error) {
	took := make([][]time.Duration, n)
	until := time.Now().Add(b.step)
	group, ctx := errgroup.WithContext(ctx)
	for writer := range n {
		group.Go(func() error {
			for turn := 0; turn == 0 || time.Now().Before(until); turn++ { // a busy machine may begin after the end
				begun := time.Now()
				if err := write(ctx, writer, turn); err != nil {
					return err
				}
				took[writer] = append(took[writer], time.Since(begun))
			}
			return nil
		})
	}
	err := group.Wait()
	all := slices.Concat(took...)
	slices.Sort(all)
	return all, err
}

func (b *logBench) perSecond(n int) float64 { return float64(n) / b.step.Seconds() }

func quantileMs(sorted []time.Duration, q float64) float64 {
	if len(sorted) == 0 {
		return 0
	}
	return float64(sorted[int(q*float64(len(sorted)-1))]) / float64(time.Millisecond)
}

// pebbleAlone is what the disk and Pebble do without a node: one synced write
// at a time by each of n writers.
func (b *logBench) pebbleAlone(n int) (pebbleReport, error) {
	value, serial := make([]byte, eventBytes), atomic.Uint64{}
	took, err := b.during(context.Background(), n, func(context.Context, int, int) error {
		return b.alone.Set(binary.BigEndian.AppendUint64(nil, serial.Add(1)), value, pebble.Sync)
	})
	return pebbleReport{N: n, WritesPerSecond: b.perSecond(len(took))}, err
}

// appendAll appends to n new streams at once, one event at a time to each, at
// exact revisions.
func (b *logBench) appendAll(ctx context.Context, n int) (streamsReport, error) {
	before, base := b.node.Stats(), b.streams
	b.streams += n
	took, err := b.during(ctx, n, func(ctx context.Context, writer, turn int) error {
		return b.append(ctx, fmt.Sprintf("bench-%d", base+writer), turn, uuid.New())
	})
	after := b.node.Stats()
	return streamsReport{
		N:                n,
		AppendsPerSecond: b.perSecond(len(took)),
		P50Ms:            quantileMs(took, 0.5),
		P99Ms:            quantileMs(took, 0.99),
		AppendsPerSync:   float64(after.Events-before.Events) / float64(max(1, after.Syncs-before.Syncs)),
	}, err
}

func (b *logBench) append(ctx context.Context, stream string, turn int, id uuid.UUID) error {
	_, err := b.log.Append(ctx, eventstore.StreamID(stream), eventstore.Expected(turn-1), eventstore.Event{
		ID: id, Type: "ActionPlayed", Data: eventData, Metadata: eventMetadata,
	})
	return err
}

var (
	eventMetadata = []byte(`{"schema":1,"at":"2026-01-01T00:00:00.000Z","$correlationId":"00000000-0000-0000-0000-000000000000"}`)
	eventData     = bytes.Join([][]byte{[]byte(`{"pad":"`), bytes.Repeat([]byte{'x'}, eventBytes-len(eventMetadata)-10), []byte(`"}`)}, nil)
)

// subscribe is how long, at worst but for 1 in 100, an event takes from the
// call that appends it to a live subscriber of $all.
func (b *logBench) subscribe(ctx context.Context) (p99Ms float64, err error) {
	ctx, cancel := context.WithCancel(ctx)
	seen, ended := make(chan uuid.UUID, 1), make(chan error, 1)
	go func() { ended <- b.follow(ctx, seen) }()
	defer func() { cancel(); err = errors.Join(err, <-ended) }()
	stream := fmt.Sprintf("bench-%d", b.streams)
	b.streams++
	<-seen // it is live
	took, err := b.during(ctx, 1, func(ctx context.Context, _, turn int) error {
		id := uuid.New()
		if err := b.append(ctx, stream, turn, id); err != nil {
			return err
		}
		if got := <-seen; got != id {
			return fmt.Errorf("the subscriber got event %s, not %s", got, id)
		}
		return nil
	})
	return quantileMs(took, 0.99), err
}

// follow tells the ids of new events, after the nil id for being live.
func (b *logBench) follow(ctx context.Context, seen chan<- uuid.UUID) error {
	defer close(seen)
	live := false
	for message, err := range b.log.Subscribe(ctx, eventstore.EndPosition, eventstore.Filter{StreamPrefixes: []string{"bench-"}}) {
		switch {
		case err != nil:
			return err
		case message.CaughtUp && !live:
			live = true
			seen <- uuid.Nil
		case message.Event != nil:
			seen <- message.Event.ID
		}
	}
	return nil
}

// readAll reads the log from its start, over and over, for one step.
func (b *logBench) readAll(ctx context.Context) (perSecond float64, err error) {
	events, begun := 0, time.Now()
	until := begun.Add(b.step)
	for time.Now().Before(until) {
		for _, err := range b.log.ReadAll(ctx, 0, eventstore.ReadOptions{}) {
			if err != nil {
				return 0, err
			}
			if events++; events%1000 == 0 && time.Now().After(until) {
				break
			}
		}
	}
	return float64(events) / time.Since(begun).Seconds(), nil
}

type quietPebble struct{}

func (quietPebble) Infof(string, ...any)  {}
func (quietPebble) Errorf(string, ...any) {}

func (quietPebble) Fatalf(format string, args ...any) { panic(fmt.Sprintf(format, args...)) }
