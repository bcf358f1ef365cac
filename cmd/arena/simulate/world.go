// Package simulate is a simulated world for tests of the arena: a log, a network to
// bots, and the bots. Everything happens in a testing/synctest bubble, so time passes
// only while all goroutines wait. One seed decides everything: how long each operation
// takes, which operations fail, and what the bots answer.
//
// The arena's own code runs on several goroutines, and the Go scheduler does not run
// them in a fixed order. The world makes the result repeatable anyway. Each operation
// sleeps for a time that is drawn from the seed, in nanoseconds. So two different
// operations almost never end at the same moment, and usually only one chain of
// goroutines runs. A draw depends only on the operation, its process and the time, and
// not on earlier draws. Concurrent operations therefore do not influence each other.
//
// Start with [New]. [NewLog] creates the log, and [Log.Client] connects a process to it.
// [NewNetwork] connects processes to bots.
package simulate

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// World is one simulated history. It is safe for concurrent use.
type World struct {
	seed    uint64
	began   time.Time
	planted Planted

	whole atomic.Bool // whether the whole trace is written

	mu     sync.Mutex         // guards the fields below
	booked map[int64]uint64   // the operation that ends at a time, by nanoseconds
	timers []*time.Timer      // that no operation uses
	counts map[string]int     // how often each fault happened
	steps  [maxSteps]step     // the last steps, as a ring
	next   int                // number of steps so far
	calm   bool               // no faults happen anymore
	rates  map[string]float64 // rates of the faults, in this history
	all    io.Writer          // gets all steps, if it is not nil
}

// maxSteps is the number of steps that a trace shows.
const maxSteps = 400

// step is one line of the trace. Most steps are never printed, so their texts are made late.
type step struct {
	at     time.Time
	format string
	args   []any
}

func (s step) text() string {
	return strings.ReplaceAll(fmt.Sprintf(s.format, s.args...), "\n", "; ")
}

// New returns a world. Call it in a bubble.
func New(seed uint64) *World {
	return &World{seed: seed, began: time.Now(), booked: map[int64]uint64{}, counts: map[string]int{}, rates: map[string]float64{}}
}

// Seed returns the seed of this history.
func (w *World) Seed() uint64 { return w.seed }

// Age returns how much time has passed in the world.
func (w *World) Age() time.Duration { return time.Since(w.began) }

// Draw returns random numbers for one use. The same key returns the same numbers in
// each run of a history. Include the time in the key if the use repeats.
func (w *World) Draw(key ...string) *rand.Rand {
	return rand.New(rand.NewPCG(w.seed, hash(w.seed, key)))
}

// DrawNow is like Draw, but a later call with the same key returns other numbers.
func (w *World) DrawNow(key ...string) *rand.Rand {
	return rand.New(rand.NewPCG(w.seed, mix(hash(w.seed, key)^uint64(time.Since(w.began)))))
}

// Sleep waits for a random time between least and most, and returns an error if ctx
// ends first. The key names the operation that ends then.
func (w *World) Sleep(ctx context.Context, least, most time.Duration, key ...string) error {
	id := hash(w.seed, key)
	now := time.Now()
	n := mix(id ^ uint64(now.Sub(w.began)))
	return w.SleepUntil(ctx, now.Add(least+time.Duration(n%uint64(most-least))), id)
}

// SleepUntil waits for a time, or a few nanoseconds longer if another operation ends
// then. Equal operations may end at the same time, because their order does not matter.
func (w *World) SleepUntil(ctx context.Context, at time.Time, id uint64) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	ns, t := w.book(at.Sub(w.began).Nanoseconds(), id)
	defer w.release(ns, t)
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// book reserves a time for an operation, and returns the time and a timer that fires then.
func (w *World) book(ns int64, id uint64) (int64, *time.Timer) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for {
		other, taken := w.booked[ns]
		if !taken || other == id {
			break
		}
		ns++
	}
	w.booked[ns] = id
	wait := time.Until(w.began.Add(time.Duration(ns)))
	last := len(w.timers) - 1
	if last < 0 {
		return ns, time.NewTimer(wait)
	}
	t := w.timers[last]
	w.timers = w.timers[:last]
	t.Reset(wait)
	return ns, t
}

func (w *World) release(ns int64, t *time.Timer) {
	t.Stop()
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.booked, ns)
	w.timers = append(w.timers, t)
}

// SetRate sets how often a fault happens, from 0 to 1.
func (w *World) SetRate(fault string, rate float64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.rates[fault] = rate
}

// Calm ends all faults that happen at random.
func (w *World) Calm() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.calm = true
}

// IsCalm reports whether Calm has been called.
func (w *World) IsCalm() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.calm
}

// Happens reports whether a fault happens to an operation now. It counts the fault.
func (w *World) Happens(fault string, key ...string) bool {
	w.mu.Lock()
	rate, calm := w.rates[fault], w.calm
	w.mu.Unlock()
	if calm || rate == 0 || !w.chance(rate, hash(w.seed, key), fault) {
		return false
	}
	w.Fault(fault, key...)
	return true
}

// chance is true at a rate. It draws like DrawNow, but needs no memory.
func (w *World) chance(rate float64, id uint64, use string) bool {
	n := mix(hash(id, []string{use}) ^ uint64(time.Since(w.began)))
	return float64(n>>11)/(1<<53) < rate
}

// Fault counts a fault and adds it to the trace.
func (w *World) Fault(fault string, about ...string) {
	w.mu.Lock()
	w.counts[fault]++
	w.mu.Unlock()
	w.Step("fault: %s %v", fault, about)
}

// Faults returns how often each fault happened.
func (w *World) Faults() map[string]int {
	w.mu.Lock()
	defer w.mu.Unlock()
	counts := make(map[string]int, len(w.counts))
	for name, n := range w.counts {
		counts[name] = n
	}
	return counts
}

// FaultCount returns how many faults have happened.
func (w *World) FaultCount() (n int) {
	for _, times := range w.Faults() {
		n += times
	}
	return n
}

// Step adds a line to the trace. The arguments must not change later.
func (w *World) Step(format string, args ...any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	s := step{time.Now(), format, args}
	w.steps[w.next%maxSteps] = s
	w.next++
	if w.all != nil {
		fmt.Fprintf(w.all, "%14s %s\n", s.at.Sub(w.began), s.text())
	}
}

// detailed reports whether the whole trace is written. Then it has more steps.
func (w *World) detailed() bool { return w.whole.Load() }

// TraceTo writes all later steps to a writer.
func (w *World) TraceTo(all io.Writer) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.all = all
	w.whole.Store(true)
}

// Trace returns the last lines of the trace, oldest first.
func (w *World) Trace(most int) (lines []string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for i := max(0, w.next-min(most, maxSteps)); i < w.next; i++ {
		s := w.steps[i%maxSteps]
		lines = append(lines, fmt.Sprintf("%14s %s", s.at.Sub(w.began), s.text()))
	}
	return lines
}

// hash is FNV-1a over the seed and the parts of a key.
func hash(seed uint64, key []string) uint64 {
	const prime = 1099511628211
	h := mix(seed) ^ 14695981039346656037
	for _, part := range key {
		for i := range len(part) {
			h = (h ^ uint64(part[i])) * prime
		}
		h = (h ^ 0xff) * prime // ends the part
	}
	return h
}

// mix is the last step of splitmix64: it spreads each bit over the result.
func mix(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}
