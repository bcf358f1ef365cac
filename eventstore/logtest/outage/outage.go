// Package outage is a TCP proxy that goes away, for tests, in every way in
// which a server or the network before it does. It knows nothing of what passes
// through it.
package outage

import (
	"net"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Kind is what a Proxy does to what passes through it.
type Kind int

// The kinds of outages. After each one, new connections are sound.
const (
	None       Kind = iota
	Refused         // connections are closed, and new ones refused
	Reset           // connections are reset, new ones as soon as they are made
	Hung            // connections stand, new ones are taken, and nothing passes till it is over
	Deaf            // what the client sends passes, what the server answers waits till it is over
	BlackHoled      // what is sent is lost, for good; new connections are not answered
	Slow            // each piece that passes waits before, either way, see SetDelay
)

// Kinds are all that are outages.
var Kinds = []Kind{Refused, Reset, Hung, Deaf, BlackHoled, Slow}

func (k Kind) String() string {
	return [...]string{"none", "refused", "reset", "hung", "answers lost", "black-holed", "slow"}[k]
}

// Proxy stands between clients and a server.
type Proxy struct {
	t       testing.TB
	target  string
	address string
	running sync.WaitGroup

	mu       sync.Mutex
	kind     Kind
	delay    time.Duration
	changed  chan struct{} // closed when kind changes
	listener *net.TCPListener
	full     []net.Conn // what fills the listener's queue while it is black-holed
	release  func()     // gives up the address, which is held while connections are refused
	links    map[*link]struct{}
	accepted int
}

// link is one connection through the proxy. Its fields are guarded by the
// proxy's lock.
type link struct {
	client, server *net.TCPConn
	lost           bool          // black-holed once: what is sent goes nowhere
	gone           chan struct{} // closed when it is cut
}

// New makes a proxy of a server, which ends with the test.
func New(t testing.TB, target string) *Proxy {
	t.Helper()
	p := &Proxy{t: t, target: target, delay: 100 * time.Millisecond, changed: make(chan struct{}), links: make(map[*link]struct{})}
	require.NoError(t, p.listen("127.0.0.1:0"))
	p.address = p.listener.Addr().String()
	t.Cleanup(func() {
		p.Set(Refused)
		p.running.Wait()
		p.mu.Lock()
		defer p.mu.Unlock()
		p.release()
	})
	return p
}

// Address is where clients connect to.
func (p *Proxy) Address() string { return p.address }

// Target is the server's own address.
func (p *Proxy) Target() string { return p.target }

// Connections is how many were taken.
func (p *Proxy) Connections() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.accepted
}

// SetTarget has new connections go to another address: that of a server which
// was started again.
func (p *Proxy) SetTarget(target string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.target = target
}

// SetDelay is how long each piece waits while the proxy is slow.
func (p *Proxy) SetDelay(d time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.delay = d
}

// Set begins an outage, or ends it. What hung then passes; what was refused,
// reset or black-holed is gone.
func (p *Proxy) Set(k Kind) {
	p.mu.Lock()
	defer p.mu.Unlock()
	was := p.kind
	p.kind = k
	close(p.changed)
	p.changed = make(chan struct{})
	switch was {
	case Refused:
		if k != Refused {
			p.release()
			require.NoError(p.t, p.listen(p.address))
		}
	case BlackHoled:
		p.answerAgain()
	}
	switch k {
	case Refused, Reset:
		p.cut(k == Reset)
		if k == Refused && was != Refused {
			p.refuse()
		}
	case BlackHoled:
		p.fallSilent()
	}
}

// Cut resets every connection: what was on its way is lost.
func (p *Proxy) Cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.cut(true)
}

// cut closes every connection. p.mu is held, as in all that follows.
func (p *Proxy) cut(hard bool) {
	for l := range p.links {
		p.drop(l, hard)
	}
}

func (p *Proxy) drop(l *link, hard bool) {
	if _, there := p.links[l]; !there {
		return
	}
	delete(p.links, l)
	close(l.gone)
	if hard {
		_ = l.client.SetLinger(0)
		_ = l.server.SetLinger(0)
	}
	_ = l.client.Close()
	_ = l.server.Close()
}

// refuse stops listening. It holds the address meanwhile, so that no other
// server of this machine is given it.
func (p *Proxy) refuse() {
	_ = p.listener.Close()
	release, err := hold(p.listener.Addr().(*net.TCPAddr))
	if err != nil {
		p.t.Logf("the address of the proxy is not held while it refuses connections: %v", err)
		release = func() {}
	}
	p.release = release
}

// fallSilent makes connections lose what is sent, and the kernel ignore new
// ones: their place in the queue is taken.
func (p *Proxy) fallSilent() {
	for l := range p.links {
		l.lost = true
	}
	_ = p.listener.SetDeadline(time.Unix(1, 0))
	if err := setBacklog(p.listener, 0); err != nil {
		p.t.Logf("new connections are taken, and lost: %v", err)
		return
	}
	// On a loaded machine one dial may time out although its connection has
	// taken a place in the queue. The queue is full when the next one does too.
	dialer := net.Dialer{Timeout: 100 * time.Millisecond}
	for unanswered := 0; unanswered < 2; {
		c, err := dialer.DialContext(p.t.Context(), "tcp", p.address)
		if err != nil {
			unanswered++
			continue
		}
		unanswered = 0
		p.full = append(p.full, c)
	}
}

func (p *Proxy) answerAgain() {
	_ = setBacklog(p.listener, 128)
	for _, c := range p.full {
		_ = c.Close()
	}
	p.full = nil
	_ = p.listener.SetDeadline(time.Time{})
}
