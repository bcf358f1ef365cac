package main

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"slices"
	"sync/atomic"
	"time"

	"github.com/EventStore/EventStore-Client-Go/v4/esdb"
	"github.com/cockroachdb/pebble/v2"
	"github.com/google/uuid"
	"golang.org/x/sync/errgroup"

	"hexarena/eventstore/node"
)

// logBench is a node on loopback, a client of it, and a Pebble of its own.
type logBench struct {
	step    time.Duration
	dir     string
	made    bool // dir is ours to remove
	node    *node.Node
	served  chan error
	client  *esdb.Client
	alone   *pebble.DB
	streams int // names taken so far
}

func newLogBench(dir string, step time.Duration) (b *logBench, err error) {
	b = &logBench{step: step, dir: dir, served: make(chan error, 1)}
	if dir == "" {
		if b.dir, err = os.MkdirTemp("", "arena-bench-"); err != nil {
			return nil, err
		}
		b.made = true
	}
	if err := b.open(); err != nil {
		return nil, errors.Join(err, b.close())
	}
	return b, nil
}

func (b *logBench) open() (err error) {
	quiet := slog.New(slog.DiscardHandler)
	if b.alone, err = pebble.Open(filepath.Join(b.dir, "pebble"), &pebble.Options{Logger: quietPebble{}, MemTableSize: 32 << 20}); err != nil {
		return err
	}
	if b.node, err = node.Open(node.Options{Dir: filepath.Join(b.dir, "node"), Logger: quiet}); err != nil {
		return err
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	go func() { b.served <- b.node.Serve(l) }()
	config, err := esdb.ParseConnectionString("esdb://" + l.Addr().String() + "?tls=false")
	if err != nil {
		return err
	}
	config.Logger = esdb.NoopLogging()
	b.client, err = esdb.NewClient(config)
	return err
}

func (b *logBench) close() (err error) {
	if b.client != nil {
		err = errors.Join(err, b.client.Close(), b.node.Close(), <-b.served)
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
			for turn := 0; time.Now().Before(until); turn++ {
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
	value, serial := make([]byte, benchEventBytes), atomic.Uint64{}
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
	var expected esdb.ExpectedRevision = esdb.NoStream{}
	if turn > 0 {
		expected = esdb.Revision(uint64(turn - 1))
	}
	_, err := b.client.AppendToStream(ctx, stream, esdb.AppendToStreamOptions{ExpectedRevision: expected}, esdb.EventData{
		EventID:     id,
		EventType:   "ActionPlayed",
		ContentType: esdb.ContentTypeJson,
		Data:        benchData,
		Metadata:    benchMetadata,
	})
	return err
}

var (
	benchMetadata = []byte(`{"schema":1,"at":"2026-01-01T00:00:00.000Z","$correlationId":"00000000-0000-0000-0000-000000000000"}`)
	benchData     = bytes.Join([][]byte{[]byte(`{"pad":"`), bytes.Repeat([]byte{'x'}, benchEventBytes-len(benchMetadata)-10), []byte(`"}`)}, nil)
)

// subscribe is how long, at worst but for 1 in 100, an event takes from the
// call that appends it to a live subscriber of $all.
func (b *logBench) subscribe(ctx context.Context) (p99Ms float64, err error) {
	live, err := b.client.SubscribeToAll(ctx, esdb.SubscribeToAllOptions{
		From:   esdb.End{},
		Filter: &esdb.SubscriptionFilter{Type: esdb.StreamFilterType, Prefixes: []string{"bench-"}},
	})
	if err != nil {
		return 0, err
	}
	defer live.Close()
	stream := fmt.Sprintf("bench-%d", b.streams)
	b.streams++
	took, err := b.during(ctx, 1, func(ctx context.Context, _, turn int) error {
		id := uuid.New()
		if err := b.append(ctx, stream, turn, id); err != nil {
			return err
		}
		return awaitEvent(live, id)
	})
	return quantileMs(took, 0.99), err
}

func awaitEvent(live *esdb.Subscription, id uuid.UUID) error {
	for {
		message := live.Recv()
		if message.SubscriptionDropped != nil {
			return message.SubscriptionDropped.Error
		}
		if e := message.EventAppeared; e != nil && e.OriginalEvent().EventID == id {
			return nil
		}
	}
}

// readAll reads the log from its start, over and over, for one step.
func (b *logBench) readAll(ctx context.Context) (perSecond float64, err error) {
	events, begun := 0, time.Now()
	for time.Since(begun) < b.step {
		n, err := b.readOnce(ctx, begun.Add(b.step))
		if err != nil {
			return 0, err
		}
		events += n
	}
	return float64(events) / time.Since(begun).Seconds(), nil
}

func (b *logBench) readOnce(ctx context.Context, until time.Time) (events int, err error) {
	read, err := b.client.ReadAll(ctx, esdb.ReadAllOptions{From: esdb.Start{}}, ^uint64(0))
	if err != nil {
		return 0, err
	}
	defer read.Close()
	for ; events%1000 != 0 || time.Now().Before(until); events++ {
		if _, err := read.Recv(); err != nil {
			if errors.Is(err, io.EOF) {
				return events, nil
			}
			return events, err
		}
	}
	return events, nil
}

type quietPebble struct{}

func (quietPebble) Infof(string, ...any)  {}
func (quietPebble) Errorf(string, ...any) {}

func (quietPebble) Fatalf(format string, args ...any) { panic(fmt.Sprintf(format, args...)) }
