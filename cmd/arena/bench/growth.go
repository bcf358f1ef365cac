package bench

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime/debug"
	"sync/atomic"
	"time"

	"github.com/alecthomas/kong"
	"github.com/google/uuid"
	"golang.org/x/sync/errgroup"

	"hexarena/cmd/arena/progress"
	"hexarena/eventstore"
	"hexarena/eventstore/node/storage"
)

// growthCmd is `arena bench growth`: how an embedded node does that holds
// very much.
type growthCmd struct {
	Events int    `default:"10000000" help:"how many events to put into the log, of about 300 bytes"`
	Dir    string `help:"folder for the log; default: a temporary one"`
	JSON   bool   `name:"json" help:"print one JSON object"`
}

// Events come in streams of as many as a long match has, and a few streams at a
// time.
const (
	growthPerStream = 1000
	growthWriters   = 4
)

// growthReport is what a run measured.
type growthReport struct {
	Events         int     `json:"events"`
	Streams        int     `json:"streams"`
	FillPerSecond  float64 `json:"fillPerSecond"`
	BytesPerEvent  float64 `json:"bytesPerEvent"` // on the disk
	OpenMs         float64 `json:"openMs"`
	OpenedMB       float64 `json:"openedMB"` // resident, of the whole process
	FirstStreamMs  float64 `json:"firstStreamMs"`
	LastStreamMs   float64 `json:"lastStreamMs"`
	HeadOfAllMs    float64 `json:"headOfAllMs"` // of 1000 events
	EndOfAllMs     float64 `json:"endOfAllMs"`
	AppendMs       float64 `json:"appendMs"`
	ReadAllPerSec  float64 `json:"readAllPerSecond"`
	ReadMB         float64 `json:"readMB"`    // resident, after reading all
	Scavenged      uint64  `json:"scavenged"` // events
	ScavengeSecs   float64 `json:"scavengeSeconds"`
	CheckSeconds   float64 `json:"checkSeconds"`
	CheckedDamages uint64  `json:"checkedDamages"`
}

// Run fills a log as the flags say and prints how it does then.
func (c growthCmd) Run(ctx context.Context, k *kong.Kong) error {
	if c.Events < growthPerStream {
		return fmt.Errorf("bench growth: --events must be at least %d", growthPerStream)
	}
	report, err := measureGrowth(ctx, k.Stderr, c)
	if err != nil {
		return fmt.Errorf("bench growth: %w", err)
	}
	if c.JSON {
		return json.NewEncoder(k.Stdout).Encode(report)
	}
	return report.print(k.Stdout)
}

func measureGrowth(ctx context.Context, told io.Writer, flags growthCmd) (r growthReport, err error) {
	dir := flags.Dir
	if dir == "" {
		if dir, err = os.MkdirTemp("", "arena-bench-"); err != nil {
			return r, err
		}
		defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	}
	p := progress.New(told, "events")
	defer p.Finish()
	if err := r.fill(ctx, dir, flags.Events, p); err != nil {
		return r, err
	}
	debug.FreeOSMemory()
	if err := r.reopen(ctx, dir, p); err != nil {
		return r, err
	}
	begun := time.Now()
	found, err := storage.Check(ctx, filepath.Join(dir, "node"), nil, p.Show)
	r.CheckSeconds, r.CheckedDamages = time.Since(begun).Seconds(), found.Damages
	return r, err
}

// fill appends a stream's events in one call, to a new log.
func (r *growthReport) fill(ctx context.Context, dir string, events int, p *progress.Display) (err error) {
	b := &logBench{dir: dir, served: make(chan error, 1)}
	defer func() { err = errors.Join(err, b.close()) }()
	if err := b.openNode(ctx); err != nil {
		return err
	}
	r.Streams = events / growthPerStream
	r.Events = r.Streams * growthPerStream
	var next, done atomic.Int64
	begun := time.Now()
	group, filling := errgroup.WithContext(ctx)
	for range growthWriters {
		group.Go(func() error {
			for i := next.Add(1) - 1; i < int64(r.Streams); i = next.Add(1) - 1 {
				if _, err := b.log.Append(filling, growthStream(int(i)), eventstore.NoStream, growthEvents()...); err != nil {
					return err
				}
				done.Add(growthPerStream)
			}
			return nil
		})
	}
	filled := make(chan error, 1)
	go func() { filled <- group.Wait() }()
	ticker := time.NewTicker(100 * time.Millisecond)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
			p.Show("filling the log", uint64(done.Load()), uint64(r.Events))
		case err := <-filled:
			r.FillPerSecond = float64(r.Events) / time.Since(begun).Seconds()
			return err
		}
	}
}

func growthStream(i int) eventstore.StreamID { return eventstore.StreamID(fmt.Sprintf("growth-%d", i)) }

// growthEvents are events of a size like those of a match. They do not compress
// better than those.
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

// reopen opens the log again, and reads its first and last events.
func (r *growthReport) reopen(ctx context.Context, dir string, p *progress.Display) (err error) {
	size, err := folderSize(filepath.Join(dir, "node"))
	if err != nil {
		return err
	}
	r.BytesPerEvent = float64(size) / float64(r.Events)
	b := &logBench{dir: dir, served: make(chan error, 1)}
	defer func() { err = errors.Join(err, b.close()) }()
	if r.OpenMs, err = milliseconds(func() error { return b.openNode(ctx) }); err != nil {
		return err
	}
	if r.OpenedMB, err = residentMB(); err != nil {
		return err
	}
	if err := b.log.Ping(ctx); err != nil { // so that no step has to connect
		return err
	}
	for _, step := range []struct {
		took *float64
		run  func() error
	}{
		{&r.FirstStreamMs, func() error { return b.readStream(ctx, growthStream(0)) }},
		{&r.LastStreamMs, func() error { return b.readStream(ctx, growthStream(r.Streams-1)) }},
		{&r.HeadOfAllMs, func() error { return b.readSome(ctx, 0, eventstore.Forwards) }},
		{&r.EndOfAllMs, func() error { return b.readSome(ctx, eventstore.EndPosition, eventstore.Backwards) }},
		{&r.AppendMs, func() error { return b.append(ctx, "growth-new", 0, uuid.New()) }},
	} {
		if *step.took, err = milliseconds(step.run); err != nil {
			return err
		}
	}
	if r.ReadAllPerSec, err = b.readEverything(ctx, r.Events+1, p); err != nil {
		return err
	}
	if r.ReadMB, err = residentMB(); err != nil {
		return err
	}
	return r.scavenge(ctx, b, p)
}

// scavenge has nine in ten events of every tenth stream removed from the disk.
func (r *growthReport) scavenge(ctx context.Context, b *logBench, p *progress.Display) error {
	for i := 0; i < r.Streams; i += 10 {
		if err := b.log.SetMetadata(ctx, growthStream(i), eventstore.StreamMetadata{MaxCount: growthPerStream / 10}); err != nil {
			return err
		}
	}
	begun := time.Now()
	done, err := b.node.Scavenge(ctx, p.Show)
	r.Scavenged, r.ScavengeSecs = done.Events, time.Since(begun).Seconds()
	return err
}

func (r growthReport) print(w io.Writer) error {
	_, err := fmt.Fprintf(w, `%d events in %d streams, put in at %.0f events/s, %.0f bytes/event on the disk
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
	return err
}
