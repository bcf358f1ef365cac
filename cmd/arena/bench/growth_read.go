package bench

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"iter"
	"os"
	"runtime/debug"
	"strconv"
	"time"

	"hexarena/cmd/arena/progress"
	"hexarena/eventstore"
)

// readStream reads one of the streams that growth has filled.
func (b *logBench) readStream(ctx context.Context, id eventstore.StreamID) error {
	return wantEvents(b.log.Read(ctx, id, 0, eventstore.ReadOptions{}), growthPerStream)
}

// readSome reads as many events of the log, from one of its ends.
func (b *logBench) readSome(ctx context.Context, from eventstore.Position, way eventstore.Direction) error {
	return wantEvents(b.log.ReadAll(ctx, from, eventstore.ReadOptions{Limit: growthPerStream, Direction: way}), growthPerStream)
}

func wantEvents(events iter.Seq2[eventstore.Recorded, error], want int) error {
	n := 0
	for _, err := range events {
		if err != nil {
			return err
		}
		n++
	}
	if n != want {
		return fmt.Errorf("%d events were read instead of %d", n, want)
	}
	return nil
}

// readEverything reads the log from its start, once.
func (b *logBench) readEverything(ctx context.Context, want int, p *progress.Display) (perSecond float64, err error) {
	n, begun := 0, time.Now()
	for _, err := range b.log.ReadAll(ctx, 0, eventstore.ReadOptions{}) {
		if err != nil {
			return 0, err
		}
		if n++; n%growthPerStream == 0 {
			p.Show("reading the log", uint64(n), uint64(want))
		}
	}
	if n != want {
		return 0, fmt.Errorf("%d events were read instead of %d", n, want)
	}
	return float64(n) / time.Since(begun).Seconds(), nil
}

func milliseconds(f func() error) (float64, error) {
	begun := time.Now()
	err := f()
	return float64(time.Since(begun)) / float64(time.Millisecond), err
}

func folderSize(dir string) (size int64, err error) {
	entries, err := os.ReadDir(dir)
	for _, e := range entries {
		info, err := e.Info()
		if err != nil {
			return 0, err
		}
		size += info.Size()
	}
	return size, err
}

// residentMB is how much memory the process has. It is 0 where the system does
// not tell it as Linux does.
func residentMB() (float64, error) {
	debug.FreeOSMemory()
	statm, err := os.ReadFile("/proc/self/statm")
	if errors.Is(err, os.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	fields := bytes.Fields(statm)
	if len(fields) < 2 {
		return 0, fmt.Errorf("/proc/self/statm: %q", statm)
	}
	pages, err := strconv.ParseFloat(string(fields[1]), 64)
	return pages * float64(os.Getpagesize()) / (1 << 20), err
}
