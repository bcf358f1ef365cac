package persistent

import (
	"container/list"
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"

	"hexarena/eventstore/node/lifecycle"
	"hexarena/eventstore/node/streams"
	"hexarena/eventstore/node/tail"
)

// Bounds of what one group holds in memory, whatever its settings allow: only
// places in the log, no contents.
const (
	groupBuffer    = 1 << 13 // messages that wait
	groupConsumers = 1 << 10 // consumers, of all groups
	groupRoom      = 1 << 12 // messages that one consumer has and did not answer

	// scanTime is the time between checkpoints while much is passed over.
	scanTime = time.Second
)

// group is one persistent subscription: several consumers share its messages.
// Each is sent until a consumer acknowledges it, or it is parked or passed.
// While it has consumers one goroutine reads, expires, parks and checkpoints;
// without them it rests, and costs the log nothing.
type group struct {
	*Log
	connected *atomic.Int64 // consumers of all groups
	config    groupConfig
	filter    *streams.Filter // of $all; nil for none
	ctx       context.Context // ends when the group is dropped
	end       context.CancelFunc

	mu      sync.Mutex // guards what follows
	running bool       // the goroutine is there
	dropped bool       // no consumer is taken any more
	forget  bool       // and no checkpoint is to be left
	kick    chan struct{}
	resting chan struct{} // closed when the goroutine of the last start has ended

	// Where the source was read to.
	next       uint64 // revision or position to go on from
	last       mark   // what was looked at last
	considered uint64 // events, since the group was loaded

	unfinished  *list.List // of *message, in the order of their reading
	retry       *list.List // of those, to be sent first
	buffer      *list.List // of those, to be sent then
	outstanding map[uuid.UUID][]*message
	expiring    *list.List // of outstanding ones, the first to expire in front
	parking     []parking

	consumers  map[*consumer]struct{}
	strategy   strategy
	checkpoint checkpoint
	replay     replay
	total      measure
}

// mark is a revision, or a position of a group that reads $all, if there is one.
type mark struct {
	at    uint64
	known bool
}

// checkpoint is how far everything was done with.
type checkpoint struct {
	stored     bool
	at         uint64
	considered uint64 // the count, then
	when       time.Time
}

// message is one event on its way. at is its revision in the stream that it is
// read from, or its position if that is $all.
type message struct {
	at       uint64
	before   mark // what was looked at before it
	sequence uint64
	id       uuid.UUID
	revision uint64
	pin      uint32
	retries  int32
	replayed bool // it comes from the parked stream

	turn    int       // how often it was given to a consumer
	to      *consumer // outstanding: whose it is
	sent    time.Time
	expires time.Time
	inOrder *list.Element // of unfinished
	inTime  *list.Element // of expiring
}

type parking struct {
	message *message
	reason  string
}

// newGroup loads a group as it was left.
func newGroup(log *Log, connected *atomic.Int64, config groupConfig) (*group, error) {
	f, err := config.parse()
	if err != nil {
		return nil, err
	}
	g := &group{
		Log:         log,
		connected:   connected,
		config:      config,
		filter:      f,
		kick:        make(chan struct{}, 1),
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
	g.checkpoint.when = time.Now()
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
	w, stop := g.Streams.Watch(g.source())
	defer stop()
	for {
		err := g.round()
		if err != nil && g.ctx.Err() != nil {
			// The group was dropped in the middle of the round. It has no
			// consumers any more, so one more round only parks and checkpoints.
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

// source is the stream that is read, empty for all of them.
func (g *group) source() string {
	if g.config.all() {
		return ""
	}
	return g.config.Stream
}

// pauseFor waits for something to do; false means that the node ends.
func (g *group) pauseFor(w *tail.Watcher, wait time.Duration) bool {
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-w.Wake():
	case <-g.kick:
	case <-timer.C:
	case <-g.Life.Closing():
		return false
	case <-g.Life.Failed():
		return false
	}
	return true
}

// round does all that there is to do now.
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

// checkpointIfDue looks up from a long reading: whether it is still wanted, and to say
// how far it came.
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

// settle says how long nothing is to do unless something happens, or ends the
// goroutine: then the next consumer starts it again.
func (g *group) settle() (wait time.Duration, over bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	wait = time.Hour
	if front := g.expiring.Front(); front != nil {
		wait = min(wait, time.Until(front.Value.(*message).expires))
	}
	after, due := g.checkpointDue()
	if due {
		wait = min(wait, after)
	}
	if len(g.consumers) == 0 && len(g.parking) == 0 && !g.replay.over() && !due {
		g.running = false
		return 0, true
	}
	return max(wait, 0), false
}

// giveUp ends the consumers: the log cannot be read or written any more, or not
// now.
func (g *group) giveUp(err error) {
	if !errors.Is(err, lifecycle.ErrClosed) && !errors.Is(err, lifecycle.ErrFailed) && !errors.Is(err, context.Canceled) {
		g.Logger.Error("persistent subscription", "group", g.config.key(), "error", err)
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.running = false
	for c := range g.consumers {
		c.end(err)
	}
}

// wakeUp has the goroutine look again.
func (g *group) wakeUp() {
	select {
	case g.kick <- struct{}{}:
	default:
	}
}
