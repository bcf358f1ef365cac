package bench

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"iter"
	"log/slog"
	"net"
	"path/filepath"
	"slices"
	"sync/atomic"
	"time"

	"github.com/cockroachdb/pebble/v2"
	"github.com/google/uuid"
	"golang.org/x/sync/errgroup"

	"hexarena/cmd/arena/logs"
	"hexarena/cmd/arena/progress"
	"hexarena/eventstore"
	"hexarena/eventstore/node/nodebench"
	"hexarena/eventstore/node/storage"
)

// logCmd implements `arena bench log`. It measures appends and reads on an embedded
// node on loopback, through the official client. For comparison, it also measures
// Pebble on the same disk, without a node, and a bare gRPC server that stores nothing.
type logCmd struct {
	Seconds float64 `default:"3" help:"how long each step runs"`
	Dir     string  `help:"folder for the measured logs (default: a temporary folder)"`
}

// writersAtOnce contains the number of writers in each step. In a step, that many
// writers first write to Pebble, and then to the log, at the same time.
var writersAtOnce = []int{1, 16, 64}

// eventBytes is the size of an event's data and metadata together.
const eventBytes = 300

type logReport struct {
	Streams              []streamsReport `json:"streams"`
	Pebble               []pebbleReport  `json:"pebble"`
	BatchPerSecond       float64         `json:"batchAppendsPerSecond"` // to as many streams as in the last step
	ReadAllPerSecond     float64         `json:"readAllPerSecond"`
	BareReadAllPerSecond float64         `json:"bareReadAllPerSecond"`
	SubscribeP99Ms       float64         `json:"subscribeP99Ms"`
}

type streamsReport struct {
	N                int     `json:"n"`
	AppendsPerSecond float64 `json:"appendsPerSecond"`
	BarePerSecond    float64 `json:"barePerSecond"` // appends that a bare server answers
	P50Ms            float64 `json:"p50Ms"`
	P99Ms            float64 `json:"p99Ms"`
	AppendsPerSync   float64 `json:"appendsPerSync"`
}

type pebbleReport struct {
	N               int     `json:"n"`
	WritesPerSecond float64 `json:"writesPerSecond"`
}

func (c logCmd) setup() setup { return setup{"log", c.Dir, ""} }

func (c logCmd) measure(ctx context.Context, dir string, _ *progress.Display) (_ report, err error) {
	if c.Seconds <= 0 {
		return nil, errors.New("--seconds must be above zero")
	}
	quiet := &storage.PebbleLog{Logger: slog.New(slog.DiscardHandler)}
	db, err := pebble.Open(filepath.Join(dir, "pebble"), &pebble.Options{Logger: quiet, MemTableSize: 32 << 20})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	r := &logReport{}
	return r, withNode(ctx, filepath.Join(dir, "node"), func(n *logs.Embedded) error {
		return withBareServer(ctx, func(bare eventstore.Log) error {
			b := &logBench{Embedded: n, bare: bare, pebble: db, step: time.Duration(c.Seconds * float64(time.Second))}
			return b.measure(ctx, r)
		})
	})
}

// withBareServer calls f with a server that stores nothing.
func withBareServer(ctx context.Context, f func(bare eventstore.Log) error) error {
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	server := nodebench.NewBareServer(eventData, eventMetadata)
	var serving errgroup.Group
	serving.Go(func() error { return server.Serve(l) })
	log, err := logs.OpenAt(ctx, "the bare server", l.Addr().String())
	if err == nil {
		err = errors.Join(f(log), log.Close())
	}
	server.Stop()
	return errors.Join(err, serving.Wait())
}

// logBench measures a node and, for comparison, a bare server and a Pebble database.
type logBench struct {
	*logs.Embedded
	bare    eventstore.Log
	pebble  *pebble.DB
	step    time.Duration // how long each measurement runs
	streams int           // number of stream names used so far
}

// measure runs appends with each number of writers, and times them. Just before, it
// measures Pebble with the same number of writers, so that the load on the machine is
// about the same for both.
func (b *logBench) measure(ctx context.Context, r *logReport) (err error) {
	for _, n := range writersAtOnce {
		alone, err := b.writePebble(ctx, n)
		if err != nil {
			return err
		}
		streams, err := b.appendAll(ctx, n)
		if err != nil {
			return err
		}
		r.Pebble, r.Streams = append(r.Pebble, alone), append(r.Streams, streams)
	}
	return inOrder(
		into(&r.BatchPerSecond, func() (float64, error) { return b.appendBatches(ctx) }),
		into(&r.SubscribeP99Ms, func() (float64, error) { return b.subscribe(ctx) }),
		into(&r.ReadAllPerSecond, func() (float64, error) { return b.readAll(ctx, b.Log) }),
		into(&r.BareReadAllPerSecond, func() (float64, error) { return b.readAll(ctx, b.bare) }),
	)
}

// repeat runs n writers for the duration b.step and returns how long their calls
// took. Each writer calls write at least once, even if a busy machine starts the
// writer late.
func (b *logBench) repeat(ctx context.Context, n int, write func(ctx context.Context, writer, turn int) error) ([]time.Duration, error) {
	took := make([][]time.Duration, n)
	until := time.Now().Add(b.step)
	err := inParallel(ctx, n, n, func(ctx context.Context, writer int) error {
		for turn := 0; turn == 0 || time.Now().Before(until); turn++ {
			begun := time.Now()
			if err := write(ctx, writer, turn); err != nil {
				return err
			}
			took[writer] = append(took[writer], time.Since(begun))
		}
		return nil
	})
	return slices.Concat(took...), err
}

// writePebble measures Pebble and the disk without a node. Each of the n writers
// makes one synced write at a time.
func (b *logBench) writePebble(ctx context.Context, n int) (pebbleReport, error) {
	value, serial := make([]byte, eventBytes), atomic.Uint64{}
	took, err := b.repeat(ctx, n, func(context.Context, int, int) error {
		return b.pebble.Set(binary.BigEndian.AppendUint64(nil, serial.Add(1)), value, pebble.Sync)
	})
	return pebbleReport{N: n, WritesPerSecond: perSecond(len(took), b.step)}, err
}

// appendAll appends to n new streams in parallel, first to the bare server and then to
// the node.
func (b *logBench) appendAll(ctx context.Context, n int) (streamsReport, error) {
	bare, err := b.append(ctx, b.bare, n)
	if err != nil {
		return streamsReport{}, err
	}
	before := b.Node.Stats()
	took, err := b.append(ctx, b.Log, n)
	after, calls := b.Node.Stats(), latencyOf(took)
	return streamsReport{
		N:                n,
		AppendsPerSecond: perSecond(len(took), b.step),
		BarePerSecond:    perSecond(len(bare), b.step),
		P50Ms:            calls.P50Ms,
		P99Ms:            calls.P99Ms,
		AppendsPerSync:   float64(after.Events-before.Events) / float64(max(1, after.Syncs-before.Syncs)),
	}, err
}

// The method append() appends to n new streams in parallel. It appends one event at a
// time to each stream, at an exact revision.
func (b *logBench) append(ctx context.Context, to eventstore.Log, n int) ([]time.Duration, error) {
	base := b.streams
	b.streams += n
	return b.repeat(ctx, n, func(ctx context.Context, writer, turn int) error {
		return appendOne(ctx, to, fmt.Sprintf("bench-%d", base+writer), turn, uuid.New())
	})
}

// appendBatches is like appendAll, but uses BatchAppend, without the official client.
func (b *logBench) appendBatches(ctx context.Context) (rate float64, err error) {
	n := writersAtOnce[len(writersAtOnce)-1]
	appends, err := nodebench.Batches(ctx, b.Address, n, time.Now().Add(b.step), eventData, eventMetadata)
	return perSecond(appends, b.step), err
}

// appendOne appends an event to a stream at an exact revision.
func appendOne(ctx context.Context, log eventstore.Log, stream string, revision int, id uuid.UUID) error {
	_, err := log.Append(ctx, eventstore.StreamID(stream), eventstore.Expected(revision-1), eventstore.Event{
		ID: id, Type: "ActionPlayed", Data: eventData, Metadata: eventMetadata,
	})
	return err
}

var (
	eventMetadata = []byte(`{"schema":1,"at":"2026-01-01T00:00:00.000Z","$correlationId":"00000000-0000-0000-0000-000000000000"}`)
	eventData     = bytes.Join([][]byte{[]byte(`{"pad":"`), bytes.Repeat([]byte{'x'}, eventBytes-len(eventMetadata)-10), []byte(`"}`)}, nil)
)

// subscribe measures the time from the call that appends an event until a live
// subscriber to $all has received the event. It returns the 99th percentile.
func (b *logBench) subscribe(ctx context.Context) (p99Ms float64, err error) {
	next, stop := iter.Pull2(b.Log.Subscribe(ctx, eventstore.EndPosition, eventstore.Filter{StreamPrefixes: []string{"bench-"}}))
	defer stop()
	for live := false; !live; {
		message, err, _ := next()
		if err != nil {
			return 0, err
		}
		live = message.CaughtUp
	}
	took, err := b.repeat(ctx, 1, func(ctx context.Context, _, turn int) error {
		id := uuid.New()
		if err := appendOne(ctx, b.Log, fmt.Sprintf("bench-%d", b.streams), turn, id); err != nil {
			return err
		}
		for {
			message, err, _ := next()
			switch {
			case err != nil:
				return err
			case message.Event != nil && message.Event.ID != id:
				return fmt.Errorf("the subscriber got event %s, not %s", message.Event.ID, id)
			case message.Event != nil:
				return nil
			}
		}
	})
	return latencyOf(took).P99Ms, err
}

// readAll repeatedly reads a whole log, for the duration b.step.
func (b *logBench) readAll(ctx context.Context, log eventstore.Log) (rate float64, err error) {
	events, begun := 0, time.Now()
	for time.Since(begun) < b.step {
		n, err := count(log.ReadAll(ctx, 0, eventstore.ReadOptions{}), nil)
		if err != nil {
			return 0, err
		}
		events += n
	}
	return perSecond(events, time.Since(begun)), nil
}

func (r *logReport) print(w io.Writer) {
	for i, s := range r.Streams {
		alone := r.Pebble[i].WritesPerSecond
		fmt.Fprintf(w, "%2d streams   %8.0f appends/s  p50 %6.2f ms  p99 %6.2f ms  %5.1f appends/sync   Pebble only %8.0f writes/s, %.1f times as many   bare server %8.0f/s\n",
			s.N, s.AppendsPerSecond, s.P50Ms, s.P99Ms, s.AppendsPerSync, alone, alone/s.AppendsPerSecond, s.BarePerSecond)
	}
	fmt.Fprintf(w, "BatchAppend  %8.0f appends/s to %d streams\n$all read    %8.0f events/s   bare server %8.0f/s\nappend → live subscriber p99 %.2f ms\n",
		r.BatchPerSecond, r.Streams[len(r.Streams)-1].N, r.ReadAllPerSecond, r.BareReadAllPerSecond, r.SubscribeP99Ms)
}
