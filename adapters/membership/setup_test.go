package membership_test

import (
	"context"
	"fmt"
	"iter"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"hexarena/adapters/membership"
	"hexarena/domain/arena"
	"hexarena/domain/ladder"
	"hexarena/eventstore"
	"hexarena/eventstore/logtest"
	"hexarena/eventstore/memory"
)

func TestMain(m *testing.M) { logtest.VerifyNoLeaks(m) }

// fixture is a log that several processes use, in a synctest bubble. All of them see the
// same unfinished matches.
type fixture struct {
	t     *testing.T
	log   *memory.Log
	reads atomic.Int64 // of the unfinished matches

	mu         sync.Mutex
	unfinished []ladder.Seating
}

func withFixture(t *testing.T, test func(f *fixture)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) { test(&fixture{t: t, log: memory.New()}) })
}

// seat adds unfinished matches that need the seed key k1.
func (f *fixture) seat(ids ...string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, id := range ids {
		f.unfinished = append(f.unfinished, ladder.Seating{MatchID: id, SeedKey: "k1"})
	}
}

func (f *fixture) end(id string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.unfinished = slices.DeleteFunc(f.unfinished, func(s ladder.Seating) bool { return s.MatchID == id })
}

// assign stores assignments.
func (f *fixture) assign(shares ...arena.Share) {
	f.t.Helper()
	encoded, err := eventstore.Encode(arena.MatchesAssigned{Generation: 1, Shares: shares}, eventstore.Metadata{At: time.Now()})
	require.NoError(f.t, err)
	require.NoError(f.t, f.log.SetMetadata(f.t.Context(), arena.AssignmentsStream, eventstore.StreamMetadata{MaxCount: 1}))
	_, err = f.log.Append(f.t.Context(), arena.AssignmentsStream, eventstore.Any, encoded)
	require.NoError(f.t, err)
	settle()
}

// process is one process that plays. Its referee is a fake.
type process struct {
	*membership.Members
	f          *fixture
	id         string
	log        *connection
	lines      logtest.Lines
	stop       func()                // ends Run, as if the process were killed
	ended      atomic.Pointer[error] // the result of Run; nil before Run has returned
	generation uint64
	stopSeats  func()

	mu      sync.Mutex
	keys    []string // the seed keys that it has
	most    int      // how many matches it takes
	playing map[string]bool
	began   map[string]int // how often a match began
}

// start starts a process with a data folder of this id.
func (f *fixture) start(id string, maxMatches int) *process {
	f.t.Helper()
	return f.startOn(f.log, id, maxMatches)
}

func (f *fixture) startOn(log eventstore.Log, id string, maxMatches int) *process {
	f.t.Helper()
	p := &process{f: f, id: id, log: &connection{Log: log}, keys: []string{"k1"}, most: maxMatches, playing: map[string]bool{}, began: map[string]int{}, stopSeats: func() {}}
	p.Members = membership.New(membership.Options{
		Log: p.log, Member: id, Host: "host-" + id, MaxMatches: p.maxMatches, SeedKeys: p.seedKeys,
		Retry: 30 * time.Second, Logger: slog.New(slog.NewTextHandler(&p.lines, nil)),
		Unfinished: func(ctx context.Context) ([]ladder.Seating, error) {
			err := p.log.fault(ctx)
			f.mu.Lock()
			defer f.mu.Unlock()
			f.reads.Add(1)
			return slices.Clone(f.unfinished), err
		},
	})
	ctx, cancel := context.WithCancel(f.t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		err := p.Run(ctx, p)
		p.ended.Store(&err)
	}()
	p.stop = func() {
		p.stopSeats()
		cancel()
		<-done
	}
	f.t.Cleanup(p.stop)
	settle()
	return p
}

func (p *process) seedKeys() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.keys
}

func (p *process) maxMatches() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.most
}

func (p *process) setMaxMatches(n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.most = n
}

func (p *process) setKeys(keys ...string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.keys = keys
}

// seats makes the process assign matches, as if it had the lease.
func (p *process) seats(generation uint64) {
	ctx, cancel := context.WithCancel(p.f.t.Context())
	done := make(chan struct{})
	p.generation = generation
	go func() { defer close(done); p.Watch(ctx, p.divide) }()
	p.stopSeats = func() {
		cancel()
		<-done
	}
	settle()
}

// divide assigns the matches.
func (p *process) divide(ctx context.Context) error {
	return p.Assign(ctx, p.generation, func(s ladder.Seating) bool { return s.MatchID == "held back" })
}

// tick assigns the matches, as a tick does.
func (p *process) tick() {
	p.f.t.Helper()
	require.NoError(p.f.t, p.divide(p.f.t.Context()))
	settle()
}

// Play implements membership.Referee.
func (p *process) Play(s ladder.Seating) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.playing[s.MatchID] {
		p.playing[s.MatchID] = true
		p.began[s.MatchID]++
	}
}

// StopMatch implements membership.Referee.
func (p *process) StopMatch(id string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.playing, id)
}

// Matches implements membership.Referee.
func (p *process) Matches() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Sorted(maps.Keys(p.playing))
}

func (p *process) mayCallBots() bool { return p.Gate() == nil }

// connection is the connection of one process to the log.
type connection struct {
	eventstore.Log
	away    atomic.Bool // calls fail, and subscriptions wait
	silent  atomic.Bool // subscriptions that exist now deliver nothing anymore
	frozen  atomic.Pointer[chan struct{}]
	hangs   atomic.Pointer[chan struct{}] // appends wait until it is closed or their context ends; nil if they do not hang
	assign  atomic.Pointer[func()]        // called before the next append of assignments
	assigns atomic.Int64                  // how often the process has assigned matches
}

func (c *connection) beforeAssign(f func()) { c.assign.Store(&f) }

// freeze makes each call last until the returned function is called, as if the process
// were paused.
func (c *connection) freeze() (thaw func()) {
	ended := make(chan struct{})
	c.frozen.Store(&ended)
	return sync.OnceFunc(func() {
		c.frozen.Store(nil)
		close(ended)
	})
}

func (c *connection) fault(context.Context) error {
	if ended := c.frozen.Load(); ended != nil {
		<-*ended
	}
	if c.away.Load() {
		return eventstore.ErrUnavailable
	}
	return nil
}

func (c *connection) Append(ctx context.Context, id eventstore.StreamID, expected eventstore.Expected, events ...eventstore.Event) (eventstore.Appended, error) {
	if err := c.fault(ctx); err != nil {
		return eventstore.Appended{}, err
	}
	if answered := c.hangs.Load(); answered != nil {
		select {
		case <-*answered:
		case <-ctx.Done():
			return eventstore.Appended{}, eventstore.ErrUnavailable
		}
	}
	if id == arena.AssignmentsStream {
		if c.assigns.Add(1) > 1000 {
			panic("two processes endlessly replace each other's assignments")
		}
		if f := c.assign.Swap(nil); f != nil {
			(*f)()
		}
	}
	return c.Log.Append(ctx, id, expected, events...)
}

func (c *connection) Read(ctx context.Context, id eventstore.StreamID, from eventstore.Revision, opt eventstore.ReadOptions) iter.Seq2[eventstore.Recorded, error] {
	if err := c.fault(ctx); err != nil {
		return func(yield func(eventstore.Recorded, error) bool) { yield(eventstore.Recorded{}, err) }
	}
	return c.Log.Read(ctx, id, from, opt)
}

func (c *connection) SetMetadata(ctx context.Context, id eventstore.StreamID, m eventstore.StreamMetadata) error {
	if err := c.fault(ctx); err != nil {
		return err
	}
	return c.Log.SetMetadata(ctx, id, m)
}

func (c *connection) Subscribe(ctx context.Context, after eventstore.Position, filter eventstore.Filter) iter.Seq2[eventstore.Message, error] {
	c.silent.Store(false)
	return func(yield func(eventstore.Message, error) bool) {
		for m, err := range c.Log.Subscribe(ctx, after, filter) {
			for c.away.Load() && eventstore.Sleep(ctx, 100*time.Millisecond) == nil {
				continue // the client catches up after an outage
			}
			_ = c.fault(ctx)
			if !c.silent.Load() && !yield(m, err) {
				return
			}
		}
	}
}

// later advances the clock of the synctest bubble.
func later(d time.Duration) {
	<-time.After(d)
	synctest.Wait()
}

// settle waits until all processes have acted on what was stored before. They wait for a
// millisecond for further changes.
func settle() { later(settleTime) }

const settleTime = 2 * time.Millisecond

// until advances the clock until a condition is true, and returns how long that took.
func (f *fixture) until(most time.Duration, what string, holds func() bool) time.Duration {
	f.t.Helper()
	began := time.Now()
	for !holds() {
		if time.Since(began) > most {
			require.Fail(f.t, "never: "+what)
		}
		later(10 * time.Millisecond)
	}
	return time.Since(began)
}

// stored returns the events of a stream's type that were appended, including those that
// the stream's metadata hides.
func (f *fixture) stored(eventType string) (n int) {
	for r, err := range f.log.ReadAll(f.t.Context(), 0, eventstore.ReadOptions{}) {
		require.NoError(f.t, err)
		if r.Type == eventType {
			n++
		}
	}
	return n
}

// assigned returns the newest assignments.
func (f *fixture) assigned() (shares map[string][]string) {
	shares = map[string][]string{}
	n := 0
	for r, err := range f.log.Read(f.t.Context(), arena.AssignmentsStream, 0, eventstore.ReadOptions{}) {
		require.NoError(f.t, err)
		e, err := arena.DecodeAssignments(r.Type, r.Data)
		require.NoError(f.t, err)
		for _, s := range e.(arena.MatchesAssigned).Shares {
			shares[s.Member] = s.Matches
		}
		n++
	}
	require.LessOrEqual(f.t, n, 1, "$maxCount is 1")
	return shares
}

func numbered(n int) (ids []string) {
	for i := range n {
		ids = append(ids, fmt.Sprintf("match-%02d", i))
	}
	return ids
}
