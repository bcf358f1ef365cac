package bench

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"path/filepath"
	"runtime/debug"
	"sync/atomic"
	"time"

	"github.com/google/uuid"

	"hexarena/cmd/arena/logs"
	"hexarena/cmd/arena/progress"
	"hexarena/eventstore"
	"hexarena/eventstore/node/storage"
)

// growthCmd implements `arena bench growth`. It measures the performance of an
// embedded node that stores many events.
type growthCmd struct {
	Events int    `default:"10000000" help:"how many events of about 300 bytes to put into the log"`
	Dir    string `help:"folder for the log (default: a temporary folder)"`
}

// Each stream has as many events as a long match. Only a few streams are
// written at a time.
const (
	growthPerStream = 1000
	growthWriters   = 4
)

type growthReport struct {
	Events         int     `json:"events"`
	Streams        int     `json:"streams"`
	FillPerSecond  float64 `json:"fillPerSecond"`
	BytesPerEvent  float64 `json:"bytesPerEvent"` // on the disk
	OpenMs         float64 `json:"openMs"`        // until the log responds
	OpenedMB       float64 `json:"openedMB"`      // resident memory of the whole process
	FirstStreamMs  float64 `json:"firstStreamMs"`
	LastStreamMs   float64 `json:"lastStreamMs"`
	HeadOfAllMs    float64 `json:"headOfAllMs"` // of 1000 events
	EndOfAllMs     float64 `json:"endOfAllMs"`
	AppendMs       float64 `json:"appendMs"`
	ReadAllPerSec  float64 `json:"readAllPerSecond"`
	ReadMB         float64 `json:"readMB"`    // resident memory after all events were read
	Scavenged      uint64  `json:"scavenged"` // events
	ScavengeSecs   float64 `json:"scavengeSeconds"`
	CheckSeconds   float64 `json:"checkSeconds"`
	CheckedDamages uint64  `json:"checkedDamages"`
}

func (c growthCmd) setup() setup { return setup{"growth", c.Dir, "events"} }

func (c growthCmd) measure(ctx context.Context, dir string, p *progress.Display) (report, error) {
	if c.Events < growthPerStream {
		return nil, fmt.Errorf("--events must be at least %d", growthPerStream)
	}
	dir = filepath.Join(dir, "node")
	r := &growthReport{Streams: c.Events / growthPerStream}
	r.Events = r.Streams * growthPerStream
	return r, inOrder(
		func() error {
			return withNode(ctx, dir, func(n *logs.Embedded) error { return r.fill(ctx, n.Log, p) })
		},
		func() error { return r.reopen(ctx, dir, p) },
		timed(&r.CheckSeconds, time.Second, func() error {
			found, err := storage.Check(ctx, dir, nil, p.Show)
			r.CheckedDamages = found.Damages
			return err
		}),
	)
}

// fill writes each stream with one append.
func (r *growthReport) fill(ctx context.Context, log eventstore.Log, p *progress.Display) error {
	var done atomic.Int64
	begun := time.Now()
	err := inParallel(ctx, growthWriters, r.Streams, func(ctx context.Context, i int) error {
		if _, err := log.Append(ctx, growthStream(i), eventstore.NoStream, growthEvents()...); err != nil {
			return err
		}
		p.Show("filling the log", uint64(done.Add(growthPerStream)), uint64(r.Events))
		return nil
	})
	r.FillPerSecond = perSecond(r.Events, time.Since(begun))
	return err
}

func growthStream(i int) eventstore.StreamID { return eventstore.StreamID(fmt.Sprintf("growth-%d", i)) }

// growthEvents returns events that are about as large as a match's events and compress
// no better.
func growthEvents() []eventstore.Event {
	events := make([]eventstore.Event, growthPerStream)
	for i := range events {
		data := append([]byte(`{"pad":"`), bytes.Repeat([]byte("0123456789"), 10)...)
		for range 2 {
			data = append(data, uuid.NewString()...)
		}
		events[i] = eventstore.Event{ID: uuid.New(), Type: "ActionPlayed", Data: append(data, `"}`...), Metadata: eventMetadata}
	}
	return events
}

// reopen opens the log again, and measures reads, an append and a scavenge.
func (r *growthReport) reopen(ctx context.Context, dir string, p *progress.Display) error {
	debug.FreeOSMemory()
	size, err := folderMB(dir)
	if err != nil {
		return err
	}
	r.BytesPerEvent = size * (1 << 20) / float64(r.Events)
	begun := time.Now()
	return withNode(ctx, dir, func(n *logs.Embedded) error {
		r.OpenMs = float64(time.Since(begun)) / float64(time.Millisecond)
		return inOrder(
			into(&r.OpenedMB, ownMB),
			timed(&r.FirstStreamMs, time.Millisecond, read(n.Log.Read(ctx, growthStream(0), 0, eventstore.ReadOptions{}))),
			timed(&r.LastStreamMs, time.Millisecond, read(n.Log.Read(ctx, growthStream(r.Streams-1), 0, eventstore.ReadOptions{}))),
			timed(&r.HeadOfAllMs, time.Millisecond, read(n.Log.ReadAll(ctx, 0, eventstore.ReadOptions{Limit: growthPerStream}))),
			timed(&r.EndOfAllMs, time.Millisecond, read(n.Log.ReadAll(ctx, eventstore.EndPosition, eventstore.ReadOptions{Limit: growthPerStream, Direction: eventstore.Backwards}))),
			timed(&r.AppendMs, time.Millisecond, func() error { return appendOne(ctx, n.Log, "growth-new", 0, uuid.New()) }),
			func() error { return r.readAll(ctx, n.Log, p) },
			into(&r.ReadMB, ownMB),
			func() error { return r.scavenge(ctx, n, p) },
		)
	})
}

// ownMB returns the resident memory of this process.
func ownMB() (float64, error) {
	debug.FreeOSMemory()
	return residentMB(os.Getpid())
}

// The function read() returns a step that reads as many events as one stream contains.
func read(events iter.Seq2[eventstore.Recorded, error]) func() error {
	return func() error {
		n, err := count(events, nil)
		return errors.Join(err, unlessEqual(n, growthPerStream, "events were read"))
	}
}

// readAll reads the whole log once.
func (r *growthReport) readAll(ctx context.Context, log eventstore.Log, p *progress.Display) error {
	want := r.Events + 1 // including the appended event
	begun := time.Now()
	n, err := count(log.ReadAll(ctx, 0, eventstore.ReadOptions{}), func(n int) {
		if n%growthPerStream == 0 {
			p.Show("reading the log", uint64(n), uint64(want))
		}
	})
	r.ReadAllPerSec = perSecond(n, time.Since(begun))
	return errors.Join(err, unlessEqual(n, want, "events were read"))
}

// scavenge removes nine in ten events of every tenth stream from the disk.
func (r *growthReport) scavenge(ctx context.Context, n *logs.Embedded, p *progress.Display) error {
	for i := 0; i < r.Streams; i += 10 {
		if err := n.Log.SetMetadata(ctx, growthStream(i), eventstore.StreamMetadata{MaxCount: growthPerStream / 10}); err != nil {
			return err
		}
	}
	return timed(&r.ScavengeSecs, time.Second, func() error {
		done, err := n.Node.Scavenge(ctx, p.Show)
		r.Scavenged = done.Events
		return err
	})()
}

func (r *growthReport) print(w io.Writer) {
	fmt.Fprintf(w, `%d events in %d streams, put in at %.0f events/s, %.0f bytes/event on the disk
open              %8.1f ms, then %.0f MB of memory
first stream      %8.1f ms for %d events
last stream       %8.1f ms
head of $all      %8.1f ms
end of $all       %8.1f ms
one append        %8.1f ms
all of $all       %8.0f events/s, then %.0f MB of memory
scavenge          %8.1f s, %d events
check             %8.1f s, %d damages
`, r.Events, r.Streams, r.FillPerSecond, r.BytesPerEvent, r.OpenMs, r.OpenedMB, r.FirstStreamMs, growthPerStream, r.LastStreamMs,
		r.HeadOfAllMs, r.EndOfAllMs, r.AppendMs, r.ReadAllPerSec, r.ReadMB, r.ScavengeSecs, r.Scavenged, r.CheckSeconds, r.CheckedDamages)
}
