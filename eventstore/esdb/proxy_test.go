package esdb

import (
	"log/slog"
	"net"
	"slices"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"hexarena/eventstore/node"
)

// outage is what a proxy does to what passes through it.
type outage int

const (
	none     outage = iota
	refused         // connections are cut, and new ones refused
	reset           // connections are reset, new ones as soon as they are made
	hung            // connections stand, new ones are taken, and nothing passes
	deafened        // what the client sends passes, what the server answers does not
)

func (o outage) String() string {
	return [...]string{"none", "refused", "reset", "hung", "answers lost"}[o]
}

// proxy stands between the client and a node.
type proxy struct {
	t       *testing.T
	target  string
	address string
	running sync.WaitGroup

	mu       sync.Mutex
	outage   outage
	changed  chan struct{} // closed when outage changes
	listener net.Listener
	conns    []*net.TCPConn
	accepted int
}

func newProxy(t *testing.T, target string) *proxy {
	p := &proxy{t: t, target: target, changed: make(chan struct{})}
	p.listen("127.0.0.1:0")
	p.address = p.listener.Addr().String()
	t.Cleanup(func() {
		p.set(refused)
		p.running.Wait()
	})
	return p
}

func (p *proxy) listen(address string) {
	listener, err := net.Listen("tcp", address)
	require.NoError(p.t, err)
	p.listener = listener
	p.running.Go(func() { p.accept(listener) })
}

// set begins an outage, or ends it. What hung then passes, what was refused or
// reset is gone.
func (p *proxy) set(o outage) {
	p.mu.Lock()
	defer p.mu.Unlock()
	was := p.outage
	p.outage = o
	close(p.changed)
	p.changed = make(chan struct{})
	if o == refused || o == reset {
		p.cutLocked(o == reset)
	}
	if o == refused {
		p.listener.Close()
	} else if was == refused {
		p.listen(p.address)
	}
}

// cut resets every connection: what was on its way is lost.
func (p *proxy) cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.cutLocked(true)
}

func (p *proxy) cutLocked(hard bool) {
	for _, c := range p.conns {
		if hard {
			_ = c.SetLinger(0)
		}
		c.Close()
	}
	p.conns = nil
}

func (p *proxy) connections() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.accepted
}

func (p *proxy) accept(listener net.Listener) {
	for {
		client, err := listener.Accept()
		if err != nil {
			return
		}
		server, err := net.Dial("tcp", p.target)
		if err != nil {
			client.Close()
			continue
		}
		p.mu.Lock()
		p.accepted++
		p.conns = append(p.conns, client.(*net.TCPConn), server.(*net.TCPConn))
		if p.outage == reset || p.outage == refused {
			p.cutLocked(true)
		}
		p.mu.Unlock()
		p.running.Go(func() { p.copy(server, client, hung) })
		p.running.Go(func() { p.copy(client, server, hung, deafened) })
	}
}

// copy passes bytes on, but holds them while an outage stops this direction.
func (p *proxy) copy(to, from net.Conn, stops ...outage) {
	defer to.Close()
	defer from.Close()
	buffer := make([]byte, 32<<10)
	for {
		n, err := from.Read(buffer)
		if n > 0 {
			if !p.pass(to.(*net.TCPConn), stops) {
				return
			}
			if _, err := to.Write(buffer[:n]); err != nil {
				return
			}
		}
		if err != nil {
			return
		}
	}
}

// pass waits until bytes may pass; false when the connection was cut.
func (p *proxy) pass(to *net.TCPConn, stops []outage) bool {
	for {
		p.mu.Lock()
		held, changed, alive := slices.Contains(stops, p.outage), p.changed, slices.Contains(p.conns, to)
		p.mu.Unlock()
		if !alive {
			return false
		}
		if !held {
			return true
		}
		<-changed
	}
}

// startNode starts a node that ends with the test, and returns its address.
func startNode(t *testing.T) string {
	n, err := node.Open(node.Options{Dir: t.TempDir(), Logger: slog.New(slog.DiscardHandler)})
	require.NoError(t, err)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	served := make(chan error, 1)
	go func() { served <- n.Serve(listener) }()
	t.Cleanup(func() {
		require.NoError(t, n.Close())
		require.NoError(t, <-served)
	})
	return listener.Addr().String()
}
