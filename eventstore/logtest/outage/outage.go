// Package outage provides failing servers for tests. A [Proxy] simulates the ways in
// which a server or its network can fail. It knows nothing about the protocol inside
// the connections. Call [New] first, then [Proxy.Set] to begin or end an outage.
//
// A [Cluster] simulates several EventStoreDB nodes with one leader, and how they fail.
// Call [NewCluster] first, then its methods, such as [Cluster.KillLeader]. Its comment
// says what it models, and what it does not.
package outage

import (
	"net"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Kind is a kind of outage.
type Kind int

// These are the kinds of outages. After any of them, new connections work.
const (
	None       Kind = iota
	Refused         // open connections are closed, and new ones are refused
	Reset           // open connections are reset, and new ones are reset as soon as they are made
	Hung            // connections stay open and new ones are accepted, but no data passes until the outage ends
	OneWay          // an asymmetric partition: data from the client passes, and responses from the server wait until the outage ends
	BlackHoled      // data is lost forever; the kernel ignores new connections
	Slow            // each chunk of data is delayed, in both directions; see SetDelay
)

// Kinds lists all kinds of outages.
var Kinds = []Kind{Refused, Reset, Hung, OneWay, BlackHoled, Slow}

func (k Kind) String() string {
	return [...]string{"none", "refused", "reset", "hung", "one-way", "black-holed", "slow"}[k]
}

// Proxy passes data between clients and a server, except during an outage.
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
	full     []net.Conn // connections that fill the queue of the listener while the proxy is black-holed
	release  func()     // releases the address, which stays bound while the proxy refuses connections
	links    map[*link]struct{}
	accepted int
}

// link is one connection through the proxy. The proxy's lock guards the fields of the
// link.
type link struct {
	client, server *net.TCPConn
	lost           bool          // whether the link was ever black-holed; all its data is then lost
	gone           chan struct{} // closes when the link is cut
}

// New starts a proxy for the server at target. The proxy stops when the test
// ends.
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

// Address returns the address for clients.
func (p *Proxy) Address() string { return p.address }

// Target returns the address of the server.
func (p *Proxy) Target() string { return p.target }

// Connections returns the number of connections that the proxy has accepted.
func (p *Proxy) Connections() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.accepted
}

// SetTarget sends new connections to another address, for example that of a
// restarted server.
func (p *Proxy) SetTarget(target string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.target = target
}

// SetDelay sets how long each chunk of data is delayed while the proxy is Slow.
func (p *Proxy) SetDelay(d time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.delay = d
}

// Set begins an outage, and Set(None) ends it. When Hung or OneWay ends, the waiting data
// passes. Refused, Reset and BlackHoled lose the data in transit. Slow loses nothing.
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
		p.blackHole()
	}
}

// Cut resets every connection. Data in transit is lost.
func (p *Proxy) Cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.cut(true)
}

// cut closes every connection. The callers of cut and of the methods below hold
// p.mu.
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

// The method refuse() makes the proxy stop listening. The proxy keeps the address
// bound, so that the kernel does not assign it to another server on this machine.
func (p *Proxy) refuse() {
	_ = p.listener.Close()
	release, err := hold(p.listener.Addr().(*net.TCPAddr))
	if err != nil {
		p.t.Logf("the proxy cannot keep its address bound while it refuses connections: %v", err)
		release = func() {}
	}
	p.release = release
}

// blackHole makes the proxy drop all data. It also fills the queue of the listener,
// so that the kernel ignores new connections.
func (p *Proxy) blackHole() {
	for l := range p.links {
		l.lost = true
	}
	_ = p.listener.SetDeadline(time.Unix(1, 0))
	if err := setBacklog(p.listener, 0); err != nil {
		p.t.Logf("the proxy cannot make the kernel ignore new connections: %v", err)
		return
	}
	// On a loaded machine, a dial may time out even though the queue has accepted
	// its connection. So the queue counts as full only after two dials in a row
	// have timed out.
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
