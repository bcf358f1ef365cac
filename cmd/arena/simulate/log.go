package simulate

import (
	"context"
	"fmt"
	"runtime/pprof"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"

	"hexarena/eventstore"
	"hexarena/eventstore/memory"
)

// These are the faults of the log. [World.SetRate] sets how often each of them happens
// to an operation.
const (
	LostRequest     = "lost request"     // the log never gets an append
	LostAnswer      = "lost answer"      // the log stores an append, but the answer is lost
	RepeatedRequest = "repeated request" // the log gets an append again, later
	DelayedRequest  = "delayed request"  // the log gets an append only after its caller gave up
	FailedRead      = "failed read"      // a read fails part way
	SlowLog         = "slow log"         // an operation takes up to 3 s
	SilentStream    = "silent stream"    // a subscription delivers nothing for a while
)

const (
	leastLatency = 200 * time.Microsecond // in each direction
	mostLatency  = 8 * time.Millisecond
	slowLatency  = 3 * time.Second
	silence      = 30 * time.Second // the most time that a subscription is silent
	burst        = 256              // how many stored events a subscription delivers at once
)

// Log is the log that all processes of a world share.
type Log struct {
	world *World
	store *memory.Log

	// Stored is called after each append that the log has stored. Set it before the
	// history begins.
	Stored func(id eventstore.StreamID, first eventstore.Revision, events []eventstore.Event)

	mu        sync.Mutex // guards the fields below
	acked     []Acked
	confirmed eventstore.Position // of the last acknowledged event
	clients   []*Client
	losses    int
}

// EventsLost is the fault that the log loses events that it has not acknowledged.
const EventsLost = "events lost"

// Lose loses the events that are not acknowledged yet. It keeps the events of ladders,
// because an arena may already have signed a head that covers them. All processes lose
// their connections for some seconds. Lose reports whether the log has lost an event.
func (l *Log) Lose() bool {
	ctx := context.Background()
	l.mu.Lock()
	after, clients := l.confirmed, slices.Clone(l.clients)
	l.mu.Unlock()
	n := 0
	for r, err := range l.store.ReadAll(ctx, eventstore.EndPosition, eventstore.ReadOptions{Direction: eventstore.Backwards}) {
		if err != nil || strings.HasPrefix(string(r.Stream), "ladder-") {
			return false
		}
		if r.Position <= after {
			break
		}
		l.world.Fault(EventsLost, string(r.Stream), r.Type)
		n++
	}
	if n == 0 {
		return false
	}
	l.store.Lose(after)
	l.mu.Lock()
	l.losses++
	l.mu.Unlock()
	for _, c := range clients {
		if !c.isDead() {
			go c.lose(after)
		}
	}
	return true
}

func (l *Log) lossCount() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.losses
}

// Acked is an event that the log has acknowledged.
type Acked struct {
	Stream   eventstore.StreamID
	Revision eventstore.Revision
	ID       uuid.UUID
}

// NewLog returns an empty log.
func NewLog(w *World) *Log { return &Log{world: w, store: memory.New()} }

// Store returns the log without latencies and faults, for judges.
func (l *Log) Store() eventstore.Log { return l.store }

// Acked returns the events whose writers know that they are stored.
func (l *Log) Acked() []Acked {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.acked[:len(l.acked):len(l.acked)]
}

func (l *Log) acknowledge(id eventstore.StreamID, appended eventstore.Appended, events []eventstore.Event) {
	l.mu.Lock()
	defer l.mu.Unlock()
	last := appended.Revision
	l.confirmed = max(l.confirmed, appended.Position)
	for i, e := range events {
		l.acked = append(l.acked, Acked{id, last - eventstore.Revision(len(events)-1-i), e.ID})
	}
}

// Point is a place in the code at which a process may crash.
type Point string

// These are the points of the log.
const (
	BeforeAppend Point = "before append"
	AfterAppend  Point = "after append" // the log has stored the events, but the process does not know yet
	AfterAnswer  Point = "after answer" // the process is about to learn that the events are stored
	BeforeRead   Point = "before read"  // for read models, often inside a transaction
	AfterSend    Point = "after send"   // a request is on its way to a bot
)

// BeforeCommit is the point at which a read model has written its rows and its
// checkpoint, but has not committed them. It is the only point that is not in this package.
const BeforeCommit Point = "before commit"

// Points lists all points.
var Points = []Point{BeforeAppend, AfterAppend, AfterAnswer, BeforeRead, AfterSend, BeforeCommit}

// Client connects one process to the log. It is safe for concurrent use.
type Client struct {
	log     *Log
	world   *World
	process string
	// At is called at each point, with the name of the stream. If it kills the process,
	// the operation has no result.
	At func(p Point, stream string)

	mu     sync.Mutex // guards the fields below
	dead   chan struct{}
	healed chan struct{} // closed when the process can reach the log again; nil if it can
	since  time.Time     // when the process lost the log
	onLoss []func()
	known  eventstore.Position // the newest that the process has read, received or stored
	losses int                 // how often the log has lost an event that the process knew
}

// lose separates the process from the log for some seconds. Then the process notices
// whether it knew a lost event.
func (c *Client) lose(after eventstore.Position) {
	heal := c.Cut()
	_ = c.world.Sleep(context.Background(), 5*time.Second, 12*time.Second, "leader", c.process) // its context never ends
	c.mu.Lock()
	var told []func()
	if c.known > after && !c.isDead() {
		c.known = after
		c.losses++
		told = slices.Clone(c.onLoss)
	}
	c.mu.Unlock()
	for _, f := range told {
		f()
	}
	heal()
}

func (c *Client) lossCount() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.losses
}

// see records a position that the process knows now.
func (c *Client) see(p eventstore.Position) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.known = max(c.known, p)
}

var _ eventstore.Log = (*Client)(nil)

// Client returns the connection of a new process.
func (l *Log) Client(process string) *Client {
	c := &Client{log: l, world: l.world, process: process, dead: make(chan struct{}), At: func(Point, string) {}}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.clients = append(l.clients, c)
	return c
}

// Kill ends all operations of the process. Nothing that it does later has an effect.
func (c *Client) Kill() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.isDead() {
		close(c.dead)
	}
}

func (c *Client) isDead() bool {
	select {
	case <-c.dead:
		return true
	default:
		return false
	}
}

// Cut separates the process from the log until heal is called.
func (c *Client) Cut() (heal func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	healed := make(chan struct{})
	c.healed, c.since = healed, time.Now()
	return func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		close(healed)
		if c.healed == healed {
			c.healed = nil
		}
	}
}

// Outage returns how long the process has been separated from the log.
func (c *Client) Outage() time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.healed == nil {
		return 0
	}
	return max(1, time.Since(c.since))
}

// OnLoss registers a function that is called when the log has lost events.
func (c *Client) OnLoss(f func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.onLoss = append(c.onLoss, f)
}

// Ping waits until the log responds.
func (c *Client) Ping(ctx context.Context) error { return c.travel(ctx, "ping") }

// Close does nothing.
func (c *Client) Close() error { return nil }

// travel waits while a request or an answer is on its way.
func (c *Client) travel(ctx context.Context, what ...string) error {
	key := c.caller(ctx, what)
	losses := c.lossCount()
	if c.world.detailed() {
		c.world.Step("%v", key)
	}
	most := mostLatency
	if c.world.Happens(SlowLog, key...) {
		most = slowLatency
	}
	for {
		if err := c.world.Sleep(ctx, leastLatency, most, key...); err != nil {
			return unavailable(ctx, what)
		}
		c.mu.Lock()
		healed := c.healed
		c.mu.Unlock()
		if c.isDead() {
			return errDead
		}
		switch {
		case healed != nil:
		case c.lossCount() != losses:
			return fmt.Errorf("%v: %w", what, eventstore.ErrEventsLost)
		default:
			return nil
		}
		select {
		case <-healed:
		case <-ctx.Done():
			return unavailable(ctx, what)
		case <-c.dead:
			return errDead
		}
	}
}

// caller returns the names of the process and of the part of it that makes a call. The
// arena names its parts with profiler labels. So two parts that make the same call at
// the same time do not get the answer at the same time. The names end with those of the
// call.
func (c *Client) caller(ctx context.Context, what []string) []string {
	key := append(make([]string, 0, 8), "log", c.process)
	pprof.ForLabels(ctx, func(_, value string) bool { key = append(key, value); return true })
	return append(key, what...)
}

var errDead = fmt.Errorf("this process was killed: %w", eventstore.ErrUnavailable)

func unavailable(ctx context.Context, what []string) error {
	return fmt.Errorf("%v: %w: %w", what, context.Cause(ctx), eventstore.ErrUnavailable)
}
