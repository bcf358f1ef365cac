package persistent

import (
	"container/list"
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"hexarena/eventstore/node/lifecycle"
	"hexarena/eventstore/node/openlog"
	"hexarena/eventstore/node/quota"
)

// These constants limit a group's memory, even if the settings of the group allow
// more. A group keeps the positions of events in memory, not their contents.
const (
	groupBuffer    = 1 << 13 // waiting messages
	groupConsumers = 1 << 10 // consumers of all groups together
	groupInFlight  = 1 << 12 // unanswered messages of one consumer

	// scanTime is the time between two checkpoints while the group skips many events.
	scanTime = time.Second
)

// group is one persistent subscription: several consumers share its messages.
//
// A message comes from the source (fill reads it into buffer) or from the parked stream
// (fillReplay reads it into retry). The strategy picks a consumer with free capacity,
// and the method push() assigns the message to it. The message is then outstanding
// until the consumer acknowledges it, rejects it, lets it expire, or leaves. A message
// that is not acknowledged is retried, and it is parked after too many retries. A
// message is unfinished until it is acknowledged, parked or skipped. A checkpoint is
// the event before the first unfinished message. So after a restart, the group may send
// a message again, but it loses no message.
//
// While the group has consumers, one goroutine reads, expires and parks messages and
// saves checkpoints. Consumers' calls change the lists under mu and wake the goroutine.
// After the last consumer has left, the goroutine finishes pending work and ends.
type group struct {
	*Log
	connected *atomic.Int64 // consumers of all groups
	writes    *quota.Meter  // limits what the group writes if a stranger owns it
	config    groupConfig
	ctx       context.Context // ends when the group is dropped
	end       context.CancelFunc

	mu      sync.Mutex       // guards the fields below
	running bool             // the goroutine runs
	dropped bool             // whether the group is dropped; it then accepts no more consumers
	forget  bool             // set by drop: the group saves no last checkpoint
	kick    *openlog.Watcher // wakes the goroutine
	resting chan struct{}    // closed when the last goroutine has ended
	left    time.Time        // when the last consumer left, or the group was loaded
	paused  time.Time        // until this time, the group's owner has no writes left

	// These fields record how far the group has read its source.
	next       uint64 // revision or position to continue from
	last       mark   // the last event that the group has considered
	considered uint64 // events considered since the group was loaded

	unfinished  *list.List // contains *message, in the order in which the group read them
	retry       *list.List // unfinished messages to send first
	buffer      *list.List // unfinished messages to send after those in retry
	outstanding map[uuid.UUID][]*message
	expiring    *list.List // outstanding messages; the first to expire is at the front
	parking     []parking

	consumers  map[*consumer]struct{}
	strategy   strategy
	checkpoint checkpoint
	replay     replay
	total      measure
}

// mark is a revision of the source, or a position in $all. It may be unknown.
type mark struct {
	at    uint64
	known bool
}

// checkpoint is the last saved checkpoint: the event before the first message
// that was unfinished when the group saved it.
type checkpoint struct {
	stored     bool
	at         uint64
	considered uint64 // the value of group.considered when the checkpoint was saved
	when       time.Time
}

// message is one event on its way to a consumer. The field at is the event's revision
// in the source, or its position if the source is $all.
type message struct {
	at       uint64
	before   mark // the event before it
	sequence uint64
	id       uuid.UUID
	revision uint64
	pin      uint32
	retries  int32
	replayed bool // the message comes from the parked stream

	turn    int       // how many times the message was assigned
	to      *consumer // the consumer that an outstanding message is assigned to
	sent    time.Time
	expires time.Time
	inOrder *list.Element // its element in unfinished
	inTime  *list.Element // its element in expiring
}

type parking struct {
	message *message
	reason  string
}

// newGroup returns a group that continues after its stored checkpoint.
func newGroup(log *Log, connected *atomic.Int64, writes *quota.Meter, config groupConfig) (*group, error) {
	if err := config.check(); err != nil {
		return nil, err
	}
	g := &group{
		Log:         log,
		connected:   connected,
		writes:      writes,
		config:      config,
		kick:        openlog.NewWatcher(),
		next:        config.From,
		unfinished:  list.New(),
		retry:       list.New(),
		buffer:      list.New(),
		outstanding: map[uuid.UUID][]*message{},
		expiring:    list.New(),
		consumers:   map[*consumer]struct{}{},
		strategy:    newStrategy(config.Strategy),
		total:       measure{since: time.Now()},
	}
	g.ctx, g.end = context.WithCancel(context.Background())
	g.checkpoint.when, g.left = time.Now(), time.Now()
	at, ok, err := g.loadCheckpoint()
	if ok {
		g.checkpoint.stored, g.checkpoint.at = true, at
		g.next, g.last = at+1, mark{at, true}
	}
	return g, err
}

// run is the group's goroutine.
func (g *group) run(rest chan struct{}) {
	defer g.Life.Leave()
	defer close(rest)
	w, stop := g.Watch(g.source())
	defer stop()
	for {
		err := g.round()
		if err != nil && g.ctx.Err() != nil {
			// The group was dropped during the round. It no longer has consumers, so
			// one more round only parks messages and saves a checkpoint.
			err = g.round()
		}
		if err != nil {
			g.giveUp(err)
			return
		}
		wait, over := g.settle()
		if over {
			return
		}
		if !g.pauseFor(w, wait) {
			g.giveUp(lifecycle.ErrClosed)
			return
		}
	}
}

// source returns the stream that the group reads, or an empty string for $all.
func (g *group) source() string {
	if g.config.all() {
		return ""
	}
	return g.config.Stream
}

// pauseFor waits until there is something to do, but no longer than the given time. It
// returns false if the node is closing.
func (g *group) pauseFor(w *openlog.Watcher, wait time.Duration) bool {
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-w.Wake():
	case <-g.kick.Wake():
	case <-timer.C:
	case <-g.Life.Open().Done():
		return false
	}
	return true
}

// round does all the work that the group can do now.
func (g *group) round() error {
	for {
		g.expire(time.Now())
		if err := g.park(); err != nil {
			return err
		}
		read, err := g.fill()
		if err != nil {
			return err
		}
		if pushed := g.push(); !read && !pushed {
			break
		}
		if err := g.checkpointIfDue(); err != nil {
			return err
		}
	}
	if err := g.endReplay(); err != nil {
		return err
	}
	return g.saveCheckpoint()
}

// checkpointIfDue saves a checkpoint during a long catch-up. If the group was dropped,
// it stops the catch-up.
func (g *group) checkpointIfDue() error {
	if err := g.Life.Ready(); err != nil {
		return err
	}
	g.mu.Lock()
	over, long := g.dropped, time.Since(g.checkpoint.when) > scanTime
	g.mu.Unlock()
	if over || !long {
		return g.ctx.Err()
	}
	return g.saveCheckpoint()
}

// settle returns how long the goroutine may wait. If the group has nothing left to do,
// the result over is true and the goroutine ends. The next consumer starts a new
// goroutine.
func (g *group) settle() (wait time.Duration, over bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	wait = time.Hour
	if front := g.expiring.Front(); front != nil {
		wait = min(wait, time.Until(front.Value.(*message).expires))
	}
	paused := time.Until(g.paused)
	stalled := g.dropped && paused > 0 // a dropped group must not wait until its owner may write again
	after, due := g.checkpointDue()
	if due = due && !stalled; due {
		wait = min(wait, max(after, paused))
	}
	parking := len(g.parking) > 0 && !stalled
	if parking {
		wait = min(wait, paused)
	}
	if len(g.consumers) == 0 && !parking && !g.replay.over() && !due {
		g.running = false
		return 0, true
	}
	return max(wait, 0), false
}

// giveUp ends the calls of all consumers because the log cannot be read or written.
func (g *group) giveUp(err error) {
	if !errors.Is(err, lifecycle.ErrClosed) && !errors.Is(err, lifecycle.ErrFailed) && !errors.Is(err, context.Canceled) {
		g.Logger.Error("persistent subscription failed", "group", g.config.key(), "error", err)
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.running = false
	for c := range g.consumers {
		c.end(err)
	}
}

// connect adds a consumer.
func (g *group) connect(c *consumer) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	limit := int(g.config.MaxSubscribers)
	switch {
	case g.dropped:
		return refuseMissing(g.config.Stream, g.config.Group)
	case g.connected.Load() >= groupConsumers:
		return status.Errorf(codes.ResourceExhausted, "persistent subscriptions already have %d subscribers, the maximum", groupConsumers)
	case limit > 0 && len(g.consumers) >= limit:
		return refuseSubscriber(g.config.Stream, g.config.Group)
	case g.config.Nowhere && !g.checkpoint.stored: // EventStoreDB confirms the subscription and then drops it
		c.end(refuseDropped(g.config.Stream, g.config.Group))
		return nil
	}
	if !g.running {
		if !g.Life.Enter() {
			return lifecycle.ErrClosed
		}
		g.running, g.resting = true, make(chan struct{})
		go g.run(g.resting)
	}
	g.consumers[c] = struct{}{}
	g.connected.Add(1)
	g.strategy.add(c)
	g.kick.Signal()
	return nil
}

// leave removes a consumer. The group retries the messages that this consumer did
// not answer.
func (g *group) leave(c *consumer) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.release(c)
	g.kick.Signal()
}

func (g *group) release(c *consumer) {
	if _, ok := g.consumers[c]; !ok {
		return
	}
	delete(g.consumers, c)
	g.connected.Add(-1)
	g.strategy.remove(c)
	g.left = time.Now()
	for _, m := range c.unanswered() {
		g.recall(m)
		g.retryOrPark(m)
	}
}

// drop ends the group and waits for its goroutine. The group saves a last checkpoint
// unless the parameter forget is true.
func (g *group) drop(forget bool) {
	g.mu.Lock()
	g.dropped, g.forget = true, forget
	for c := range g.consumers {
		c.end(refuseDropped(g.config.Stream, g.config.Group))
		g.release(c)
	}
	resting := g.resting
	g.mu.Unlock()
	g.end()
	g.kick.Signal()
	if resting != nil {
		<-resting
	}
}
