// Package quota counts what the clients of a read-only node use, in total and for each
// network. Anyone may connect to a read-only node. The limits restrict how much memory
// and disk space clients can use, and no single network can use up everything. The
// callers decide which things are counted.
package quota

import (
	"net"
	"net/netip"
	"sync"
)

// Limit is the number of things that may be in use, in total and for each network. 0
// means no limit.
type Limit struct{ Total, PerNetwork int }

// Allows reports whether one more thing may be used. total is the number of things in
// use, and ofNetwork is how many of them the same network uses.
func (l Limit) Allows(total, ofNetwork int) bool {
	return (l.Total <= 0 || total < l.Total) && (l.PerNetwork <= 0 || ofNetwork < l.PerNetwork)
}

// Network returns the network that an address belongs to: the address itself for
// IPv4, and its /64 for IPv6, because one subscriber usually owns a whole /64.
func Network(address net.Addr) string { return NetworkOf(address.String()) }

// NetworkOf is like Network, but takes the address as text.
func NetworkOf(address string) string {
	at, err := netip.ParseAddrPort(address)
	if err != nil {
		return address
	}
	ip := at.Addr().Unmap().WithZone("")
	if ip.Is4() {
		return ip.String()
	}
	prefix, _ := ip.Prefix(64) // fails only if the address has fewer bits
	return prefix.String()
}

// Counter counts the things in use. A Counter is safe for concurrent use.
type Counter struct {
	limit Limit

	mu      sync.Mutex
	total   int
	used    map[string]int // by network
	refused uint64
}

// NewCounter returns a counter.
func NewCounter(l Limit) *Counter { return &Counter{limit: l, used: map[string]int{}} }

// Take counts one more thing that a network uses. It returns false if a limit has been
// reached. Otherwise, the caller must call Give once.
func (c *Counter) Take(network string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.limit.Allows(c.total, c.used[network]) {
		c.refused++
		return false
	}
	c.total++
	c.used[network]++
	return true
}

// Give undoes one successful Take.
func (c *Counter) Give(network string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.total--
	if c.used[network]--; c.used[network] == 0 {
		delete(c.used, network)
	}
}

// Count returns how many things are in use and how often Take has returned false.
func (c *Counter) Count() (used int, refused uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.total, c.refused
}
