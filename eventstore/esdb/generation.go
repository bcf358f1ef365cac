package esdb

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	es "github.com/EventStore/EventStore-Client-Go/v4/esdb"
)

// generation is one client's life. The client may be asked for its connection
// only while it is sound: once a call has found the server unavailable the
// client begins a discovery of its own, which leaks the old connection and,
// if it fails, blocks whoever asks it next for ever; and closing it while a
// call is asking is a data race. So a generation is retired just before the
// client would begin to look, when no call is asking any more, and its client
// is closed when the last call has ended.
type generation struct {
	number  int // in the order of their making
	client  *es.Client
	ready   chan struct{}   // closed when the client is connected, or will not be
	life    context.Context // ends with the retirement
	retired <-chan struct{} // closed then
	over    context.CancelFunc
	base    time.Time
	heard   atomic.Int64 // when the server last answered, since base

	mu     sync.Mutex
	cause  error         // why it was retired
	calls  int           // calls under way, its maker's own included
	asking int           // those of them that may be asking for the connection
	quiet  chan struct{} // closed when retired and none is asking
}

var errSilent = errors.New("the server is silent")

func newGeneration(number int) *generation {
	life, over := context.WithCancel(context.Background())
	return &generation{
		number:  number,
		ready:   make(chan struct{}),
		life:    life,
		retired: life.Done(),
		over:    over,
		quiet:   make(chan struct{}),
		base:    time.Now(),
		calls:   1,
	}
}

// begin counts a call in, unless the generation is retired.
func (g *generation) begin() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.cause != nil {
		return false
	}
	g.calls++
	g.asking++
	return true
}

// asked counts a call out of those that ask for the connection.
func (g *generation) asked() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.asking--
	if g.cause != nil && g.asking == 0 {
		close(g.quiet)
	}
}

// end counts a call out; the last one of a retired generation closes the
// client.
func (g *generation) end() {
	g.mu.Lock()
	g.calls--
	last := g.calls == 0
	g.mu.Unlock()
	if last && g.client != nil {
		g.client.Close()
	}
}

// retire lets no call begin any more and ends those that are under way.
func (g *generation) retire(cause error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.cause != nil {
		return
	}
	g.cause = cause
	g.over()
	if g.asking == 0 {
		close(g.quiet)
	}
}

// note retires the generation where a call's error says that the server is
// away, and returns the error.
func (g *generation) note(err error) error {
	if unavailable(err) {
		g.retire(err)
	}
	return err
}

// why says why the generation was retired; nil if it was not.
func (g *generation) why() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.cause
}

// working says whether calls are under way beside the maker's own.
func (g *generation) working() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.calls > 1
}

// hear notes that the server has answered.
func (g *generation) hear() { g.heard.Store(int64(time.Since(g.base))) }

// silence is how long ago the server last answered.
func (g *generation) silence() time.Duration {
	return time.Since(g.base) - time.Duration(g.heard.Load())
}

// beforeReconnect is what the client logs, in the goroutine of the call that
// failed, right before it drops its connection and begins to look for another.
const beforeReconnect = "unexpected exception"

// log is the client's logger: it retires the generation at the first error
// that says the server is away, before the client acts on it.
func (g *generation) log(logger *slog.Logger) es.LoggingFunc {
	return func(level es.LogLevel, format string, args ...any) {
		if logger.Enabled(g.life, slog.LevelDebug) {
			logger.Debug("event store client: "+fmt.Sprintf(format, args...), slog.String("level", level))
		}
		for _, arg := range args {
			if err, ok := arg.(error); ok && level == es.LogError && unavailable(err) {
				g.retire(err)
				if strings.HasPrefix(format, beforeReconnect) {
					<-g.quiet
				}
			}
		}
	}
}

// asking is a call's context. The client derives its own from it as soon as it
// has been given the connection, for which it reads the deadline: this tells
// that the call has done asking.
type asking struct {
	context.Context
	once  *sync.Once
	asked func()
}

func newAsking(ctx context.Context, g *generation) asking {
	return asking{Context: ctx, once: new(sync.Once), asked: g.asked}
}

func (a asking) done() { a.once.Do(a.asked) }

// Deadline is that of the context within.
func (a asking) Deadline() (time.Time, bool) {
	a.done()
	return a.Context.Deadline()
}
