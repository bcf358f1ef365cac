package logtest

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"sync"

	"hexarena/eventstore"
)

// ErrInjected is the cause of every error that a Faulty log injects. Each of
// these errors wraps ErrInjected and eventstore.ErrUnavailable.
var ErrInjected = errors.New("injected fault")

// Fault is the way in which an append fails.
type Fault int

// These are the ways in which an append can fail. The caller cannot tell them
// apart.
const (
	NotStored    Fault = iota + 1 // nothing was stored
	StoredAnyway                  // all events were stored, but the response was lost
)

// Faulty wraps a log and makes chosen appends and reads fail. It counts all appends
// and all reads from 1, including those that fail. It is safe for concurrent use.
type Faulty struct {
	eventstore.Log

	mu      sync.Mutex
	appends int
	reads   int
	faults  map[int]Fault  // by number of the append
	hooks   map[int]func() // by number of the append
	cuts    map[int]int    // for the number of a read, how many events it yields before it fails
}

// NewFaulty wraps a log. Nothing fails until a test calls FailAppend or
// FailRead.
func NewFaulty(log eventstore.Log) *Faulty {
	return &Faulty{Log: log, faults: make(map[int]Fault), hooks: make(map[int]func()), cuts: make(map[int]int)}
}

// FailAppend makes the nth append fail.
func (f *Faulty) FailAppend(nth int, how Fault) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.faults[nth] = how
}

// BeforeAppend calls hook just before the nth append, for example to append as
// another writer. The hook may use the wrapped log or this one.
func (f *Faulty) BeforeAppend(nth int, hook func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.hooks[nth] = hook
}

// FailRead makes the nth read, of a stream or of $all, fail after the given
// number of events. If the read has fewer events than that, it fails after its
// last event.
func (f *Faulty) FailRead(nth, events int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.cuts[nth] = events
}

// Appends returns the number of appends so far.
func (f *Faulty) Appends() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.appends
}

// Reads returns the number of reads so far.
func (f *Faulty) Reads() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.reads
}

// Append appends to the wrapped log, or fails if the test asked for that.
func (f *Faulty) Append(ctx context.Context, id eventstore.StreamID, expected eventstore.Expected, events ...eventstore.Event) (eventstore.Appended, error) {
	f.mu.Lock()
	f.appends++
	nth, how, hook := f.appends, f.faults[f.appends], f.hooks[f.appends]
	f.mu.Unlock()
	if hook != nil {
		hook()
	}
	if how == NotStored {
		return eventstore.Appended{}, injected("append %d to %s", nth, id)
	}
	appended, err := f.Log.Append(ctx, id, expected, events...)
	if how == StoredAnyway && err == nil {
		return eventstore.Appended{}, injected("append %d to %s", nth, id)
	}
	return appended, err
}

// Read reads from the wrapped log, and fails if the test asked for that.
func (f *Faulty) Read(ctx context.Context, id eventstore.StreamID, from eventstore.Revision, opt eventstore.ReadOptions) iter.Seq2[eventstore.Recorded, error] {
	return f.cut(f.Log.Read(ctx, id, from, opt), string(id))
}

// ReadAll reads from the wrapped log, and fails if the test asked for that.
func (f *Faulty) ReadAll(ctx context.Context, from eventstore.Position, opt eventstore.ReadOptions) iter.Seq2[eventstore.Recorded, error] {
	return f.cut(f.Log.ReadAll(ctx, from, opt), "$all")
}

func (f *Faulty) cut(events iter.Seq2[eventstore.Recorded, error], what string) iter.Seq2[eventstore.Recorded, error] {
	return func(yield func(eventstore.Recorded, error) bool) {
		f.mu.Lock()
		f.reads++
		nth := f.reads
		left, cut := f.cuts[nth]
		f.mu.Unlock()
		for r, err := range events {
			if cut && left == 0 {
				break
			}
			left--
			if !yield(r, err) || err != nil {
				return
			}
		}
		if cut {
			yield(eventstore.Recorded{}, injected("read %d of %s", nth, what))
		}
	}
}

func injected(format string, args ...any) error {
	return fmt.Errorf("%s: %w: %w", fmt.Sprintf(format, args...), eventstore.ErrUnavailable, ErrInjected)
}
