package botwire

import (
	"net"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"code.dny.dev/ssrf"
)

// The variable metadata lists the addresses at which cloud providers serve credentials
// to virtual machines. The arena never dials these addresses, not even in development.
var metadata = []netip.Addr{
	netip.MustParseAddr("168.63.129.16"),
	netip.MustParseAddr("169.254.169.254"),
	netip.MustParseAddr("169.254.170.2"),
	netip.MustParseAddr("100.100.100.200"),
	netip.MustParseAddr("fd00:ec2::254"),
}

// guard decides which addresses may be dialed.
type guard struct {
	production bool
	public     *ssrf.Guardian
	own        []netip.AddrPort
	hosts      map[string]bool // the arena's names, host:port in lower case
}

func newGuard(production bool, own []netip.AddrPort, hosts []string) *guard {
	g := &guard{production: production, own: slices.Clone(own), public: ssrf.New(ssrf.WithAnyPort()), hosts: map[string]bool{}}
	for _, h := range hosts {
		g.addHost(strings.ToLower(h))
	}
	return g
}

// addHost adds one of the arena's names, as host or host:port. If the port is 80, 443
// or missing, addHost adds the name with both of these ports, because a server usually
// listens on both. If the name is an IP address, it becomes one of the arena's own
// addresses. The guard then rejects every spelling of the address and every name that
// resolves to it.
func (g *guard) addHost(hostPort string) {
	host, port, err := net.SplitHostPort(hostPort)
	ports := []string{port}
	if err != nil {
		host = strings.Trim(hostPort, "[]")
	}
	if err != nil || port == "80" || port == "443" {
		ports = []string{"80", "443"}
	}
	host = strings.TrimSuffix(host, ".")
	addr, _, isAddr := literalAddr(host)
	for _, port := range ports {
		n, err := strconv.ParseUint(port, 10, 16)
		if isAddr && err == nil {
			g.own = append(g.own, netip.AddrPortFrom(addr.WithZone(""), uint16(n)))
		}
		g.hosts[net.JoinHostPort(host, port)] = true
	}
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

// The method allows() reports whether the arena may send a packet to an address.
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

// hasOwnPort reports whether any of the arena's own addresses has the given port.
func (g *guard) hasOwnPort(port uint16) bool {
	return slices.ContainsFunc(g.own, func(own netip.AddrPort) bool { return own.Port() == port })
}

// isOwn reports whether a connection to an address would reach one of the arena's own
// listeners. A dial to the unspecified address reaches this machine. A listener on the
// unspecified address accepts connections to all of the machine's addresses.
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

// isLocal reports whether an address belongs to this machine. It returns true if the
// machine's addresses cannot be listed, to be on the safe side.
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
