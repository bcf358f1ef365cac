package botwire

import (
	"net"
	"net/netip"
	"strings"
	"syscall"

	"code.dny.dev/ssrf"
)

// metadata lists the addresses at which cloud providers serve credentials to the
// machines they host. The arena never dials these addresses, not even in
// development.
var metadata = []netip.Addr{
	netip.MustParseAddr("168.63.129.16"),
	netip.MustParseAddr("169.254.169.254"),
	netip.MustParseAddr("169.254.170.2"),
	netip.MustParseAddr("100.100.100.200"),
	netip.MustParseAddr("fd00:ec2::254"),
}

// guard decides which addresses may be dialled.
type guard struct {
	production bool
	public     *ssrf.Guardian
	own        []netip.AddrPort
	hosts      map[string]bool // the arena's names, host:port in lower case
}

func newGuard(production bool, own []netip.AddrPort, hosts []string) *guard {
	g := &guard{production: production, own: own, public: ssrf.New(ssrf.WithAnyPort()), hosts: map[string]bool{}}
	for _, h := range hosts {
		h = strings.ToLower(h)
		if _, _, err := net.SplitHostPort(h); err == nil {
			g.hosts[h] = true
			continue
		}
		g.hosts[net.JoinHostPort(strings.Trim(h, "[]"), "80")] = true
		g.hosts[net.JoinHostPort(strings.Trim(h, "[]"), "443")] = true
	}
	return g
}

// control is the Control function of the net.Dialer. It runs after the name is
// resolved and before a packet is sent. So a name whose address changes between a
// check and a dial cannot bypass the guard.
func (g *guard) control(network, address string, _ syscall.RawConn) error {
	to, err := netip.ParseAddrPort(address)
	if err != nil || !strings.HasPrefix(network, "tcp") || !g.allows(to) {
		return errAddress
	}
	return nil
}

// allows reports whether the arena may send a packet to an address.
func (g *guard) allows(to netip.AddrPort) bool {
	addr := to.Addr().Unmap()
	for _, m := range metadata {
		if addr.WithZone("") == m {
			return false
		}
	}
	if g.isOwn(netip.AddrPortFrom(addr.WithZone(""), to.Port())) {
		return false
	}
	return !g.production || g.public.SafeAddr(addr) == nil
}

// isOwn reports whether one of the arena's listeners would accept a connection
// to an address. A dial to the unspecified address reaches this machine. A
// listener on the unspecified address accepts connections at all addresses of
// the machine.
func (g *guard) isOwn(to netip.AddrPort) bool {
	for _, own := range g.own {
		if own.Port() != to.Port() {
			continue
		}
		at := own.Addr().Unmap().WithZone("")
		switch {
		case at == to.Addr():
			return true
		case at.IsUnspecified() && isLocal(to.Addr()):
			return true
		case to.Addr().IsUnspecified() && at.IsLoopback():
			return true
		}
	}
	return false
}

// isLocal reports whether an address belongs to this machine. To be safe, it
// returns true if the machine's addresses cannot be listed.
func isLocal(addr netip.Addr) bool {
	if addr.IsLoopback() || addr.IsUnspecified() {
		return true
	}
	locals, err := net.InterfaceAddrs()
	if err != nil {
		return true
	}
	for _, l := range locals {
		p, err := netip.ParsePrefix(l.String())
		if err == nil && p.Addr().Unmap().WithZone("") == addr {
			return true
		}
	}
	return false
}
