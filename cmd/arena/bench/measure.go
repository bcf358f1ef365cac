package bench

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"hexarena/cmd/arena/logs"
	"hexarena/eventstore"
)

// withNode opens the node in a folder, calls f with it, and closes it.
func withNode(ctx context.Context, dir string, f func(n *logs.Embedded) error) error {
	n, err := logs.OpenEmbedded(ctx, dir)
	if err != nil {
		return err
	}
	return errors.Join(f(n), n.Close())
}

// inParallel calls f for each number below n, with at most limit calls at the same
// time. After an error, it cancels the context of the other calls.
func inParallel(ctx context.Context, limit, n int, f func(ctx context.Context, i int) error) error {
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(limit)
	for i := range n {
		g.Go(func() error { return f(ctx, i) })
	}
	return g.Wait()
}

// inOrder runs steps until one fails.
func inOrder(steps ...func() error) error {
	for _, step := range steps {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

// The function into() returns a step that stores the result of f.
func into[T any](result *T, f func() (T, error)) func() error {
	return func() (err error) {
		*result, err = f()
		return err
	}
}

// The function timed() returns a step that calls f and stores how long the call took.
func timed(took *float64, unit time.Duration, f func() error) func() error {
	return func() error {
		begun := time.Now()
		err := f()
		*took = float64(time.Since(begun)) / float64(unit)
		return err
	}
}

// count reads and counts all events. If the parameter each is not nil, count calls
// it after every event, with the number of events so far.
func count(events iter.Seq2[eventstore.Recorded, error], each func(n int)) (n int, err error) {
	for _, err := range events {
		if err != nil {
			return n, err
		}
		if n++; each != nil {
			each(n)
		}
	}
	return n, nil
}

// unlessEqual returns an error if got differs from want, which means that a step did
// not handle the expected number of items.
func unlessEqual(got, want int, what string) error {
	if got != want {
		return fmt.Errorf("%d %s instead of %d", got, what, want)
	}
	return nil
}

// perSecond returns a rate.
func perSecond(n int, took time.Duration) float64 { return float64(n) / took.Seconds() }

// latency holds quantiles of durations.
type latency struct {
	P50Ms float64 `json:"p50Ms"`
	P99Ms float64 `json:"p99Ms"`
	MaxMs float64 `json:"maxMs"`
}

func latencyOf(took []time.Duration) latency {
	if len(took) == 0 {
		return latency{}
	}
	slices.Sort(took)
	quantile := func(q float64) float64 {
		return float64(took[int(q*float64(len(took)-1))]) / float64(time.Millisecond)
	}
	return latency{quantile(0.5), quantile(0.99), quantile(1)}
}

// folderMB returns the total size of the files below a folder. It ignores files
// that are deleted while it runs.
func folderMB(dir string) (mb float64, err error) {
	err = filepath.WalkDir(dir, func(_ string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		if info, err := entry.Info(); err == nil {
			mb += float64(info.Size()) / (1 << 20)
		}
		return nil
	})
	return mb, err
}

// residentMB returns the resident memory of a process. On systems that do not report
// it in the same way as Linux, residentMB returns 0.
func residentMB(pid int) (float64, error) {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	_, memory, _ := strings.Cut(string(status), "VmRSS:")
	if err != nil || memory == "" {
		return 0, err
	}
	kb, err := strconv.ParseFloat(strings.Fields(memory)[0], 64)
	return kb / 1024, err
}
