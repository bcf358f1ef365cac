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

// generation is one client, from its first connection to its end. All calls share
// the current generation. When the generation fails, it retires, and the next call
// starts a new one. The client cannot survive an outage on its own, for two
// reasons:
//
//   - When a call finds the server unavailable, the client starts its own discovery.
//     This leaks the old connection. If the discovery fails, the next call that asks
//     the client for its connection blocks forever.
//   - Closing the client while a call asks for the connection is a data race.
//
// Therefore calls ask a client for its connection only while the generation is
// healthy. The generation retires just before the client would start its discovery.
// The discovery then waits until no call is still asking for the connection
// (noneConnecting). The client is closed after its last call has ended.
//
// If a node answers that it is not the leader, the client connects to the leader on its
// own, and may begin a discovery if that fails. The generation retires in this case
// too, and the next one connects to the leader. Calls ask for the connection one at a
// time (asking), so at most one call waits for that discovery, and gets its error.
type generation struct {
	number  int   // counts the generations of a Log, from 1
	losses  int64 // how often the log had lost events when the generation became ready
	client  *es.Client
	ready   chan struct{}   // closes when the client is connected or has failed to connect
	life    context.Context // ends when the generation retires
	retired <-chan struct{} // life.Done()
	endLife context.CancelFunc
	base    time.Time
	heard   atomic.Int64 // time of the server's last response, in nanoseconds since base

	asking sync.Mutex // held by the call that asks the client for its connection

	mu             sync.Mutex
	cause          error         // why the generation retired; nil while it is in use
	calls          int           // running calls, plus one for the goroutine that supervises the generation
	connecting     int           // calls that may be asking the client for its connection
	noneConnecting chan struct{} // closes when the generation is retired and connecting is 0
}

var errSilent = errors.New("the server stopped responding")

func newGeneration(number int) *generation {
	life, endLife := context.WithCancel(context.Background())
	return &generation{
		number:         number,
		ready:          make(chan struct{}),
		life:           life,
		retired:        life.Done(),
		endLife:        endLife,
		noneConnecting: make(chan struct{}),
		base:           time.Now(),
		calls:          1,
	}
}

// begin registers a call. It returns false if the generation is retired.
func (g *generation) begin() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.cause != nil {
		return false
	}
	g.calls++
	g.connecting++
	return true
}

// The method connected() registers that a call has its connection.
func (g *generation) connected() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.connecting--
	if g.cause != nil && g.connecting == 0 {
		close(g.noneConnecting)
	}
}

// The method end() registers the end of a call. The last call closes the client.
func (g *generation) end() {
	g.mu.Lock()
	g.calls--
	last := g.calls == 0
	g.mu.Unlock()
	if last && g.client != nil {
		g.client.Close()
	}
}

// retire ends the running calls and rejects new ones. It keeps only the first
// cause.
func (g *generation) retire(cause error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.cause != nil {
		return
	}
	g.cause = cause
	g.endLife()
	if g.connecting == 0 {
		close(g.noneConnecting)
	}
}

// retireIfUseless retires the generation if err, the error of a call, shows that the
// server is unavailable or not the leader. It returns err unchanged.
func (g *generation) retireIfUseless(err error) error {
	if unavailable(err) || misdirected(err) {
		g.retire(err)
	}
	return err
}

// reason returns the cause of the retirement, or nil while the generation is in
// use.
func (g *generation) reason() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.cause
}

// The method busy() reports whether calls are running.
func (g *generation) busy() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.calls > 1
}

// noteAnswer records that the server has responded.
func (g *generation) noteAnswer() { g.heard.Store(int64(time.Since(g.base))) }

// silence returns the time since the server's last response.
func (g *generation) silence() time.Duration {
	return time.Since(g.base) - time.Duration(g.heard.Load())
}

// Right before the client drops its connection and starts its discovery, it logs a
// message that begins with beforeReconnect. It logs this message in the goroutine
// of the failed call.
const beforeReconnect = "unexpected exception"

// log returns a logger for the client. The client logs each error before it
// reconnects, so the logger can act first. If an error shows that the server is
// unavailable, the logger retires the generation. It also blocks the client until
// no call is waiting for a connection. If the node is not the leader, the client logs
// the address of the leader. The logger then retires the generation, and the next
// generation connects to this address.
func (g *generation) log(logger *slog.Logger) es.LoggingFunc {
	return func(level es.LogLevel, format string, args ...any) {
		if logger.Enabled(g.life, slog.LevelDebug) {
			logger.Debug("event store client: "+fmt.Sprintf(format, args...), slog.String("level", level))
		}
		if level != es.LogError {
			return
		}
		for _, arg := range args {
			if leader, ok := arg.(es.EndPoint); ok {
				g.retire(&notLeader{leader})
			}
			if err, ok := arg.(error); ok && unavailable(err) {
				g.retire(err)
				if strings.HasPrefix(format, beforeReconnect) {
					<-g.noneConnecting
				}
			}
		}
	}
}

// The type connecting is the context of a call. It detects when the call gets its
// connection: at that moment, the client derives another context from this context, and
// so calls Deadline. A test fails if a different version of the client does not do
// this.
type connecting struct {
	context.Context
	generation *generation
	asks       bool // whether the call holds generation.asking
	once       sync.Once
}

// The method ask() waits until the call may ask for its connection. It returns false if
// the generation has retired.
func (c *connecting) ask() bool {
	c.generation.asking.Lock()
	c.asks = true
	return c.generation.reason() == nil
}

func (c *connecting) done() {
	c.once.Do(func() {
		if c.asks {
			c.generation.asking.Unlock()
		}
		c.generation.connected()
	})
}

// Deadline returns the deadline of the inner context.
func (c *connecting) Deadline() (time.Time, bool) {
	c.done()
	return c.Context.Deadline()
}
