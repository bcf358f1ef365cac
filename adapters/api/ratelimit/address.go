package ratelimit

import (
	"net/http"
	"net/netip"
	"slices"
	"strings"
)

// addressKey is the key under which the calls from an address are counted. For IPv4,
// this is the address; for IPv6, it is the address's /64 network. Keys that several
// callers share begin with the byte 0xff. No caller's address begins with that byte.
type addressKey [16]byte

func keyOf(a netip.Addr) addressKey {
	if a = Caller(a); a.IsValid() {
		return a.As16()
	}
	return addressKey{}
}

// Caller returns the address against which calls from a are counted. For IPv4, this is
// a itself. For IPv6, it is the first address of a's /64 network, because a caller may
// use all addresses of its network.
func Caller(a netip.Addr) netip.Addr {
	a = a.Unmap()
	if a.Is6() {
		if prefix, err := a.WithZone("").Prefix(64); err == nil {
			a = prefix.Addr()
		}
	}
	return a
}

// network returns the key that an address shares with its neighbors when there are too
// many callers. It is the key of the address's /16 network in IPv4, or of its /32
// network in IPv6.
func (k addressKey) network() addressKey {
	if netip.AddrFrom16(k).Is4In6() {
		return addressKey{0xff, 4, k[12], k[13]}
	}
	return addressKey{0xff, 6, k[0], k[1], k[2], k[3]}
}

// clientAddress returns the address of the client that sent a request. Without a
// trusted proxy, this is the address of the direct peer. Behind a trusted proxy, it is
// the last entry of X-Forwarded-For that is not a trusted proxy. Clients can forge the
// earlier entries.
func clientAddress(r *http.Request, trusted []netip.Prefix) netip.Addr {
	peer, _ := netip.ParseAddrPort(r.RemoteAddr)
	address := peer.Addr().Unmap()
	if !contains(trusted, address) {
		return address
	}
	hops := strings.Split(strings.Join(r.Header["X-Forwarded-For"], ","), ",")
	for _, hop := range slices.Backward(hops) {
		claimed, ok := parseHop(hop)
		if !ok {
			break
		}
		if address = claimed; !contains(trusted, address) {
			break
		}
	}
	return address
}

// parseHop parses an entry of X-Forwarded-For. Some proxies add a port.
func parseHop(hop string) (netip.Addr, bool) {
	hop = strings.TrimSpace(hop)
	if withPort, err := netip.ParseAddrPort(hop); err == nil {
		return withPort.Addr().Unmap(), true
	}
	address, err := netip.ParseAddr(strings.Trim(hop, "[]"))
	return address.Unmap(), err == nil
}

func contains(prefixes []netip.Prefix, a netip.Addr) bool {
	return slices.ContainsFunc(prefixes, func(p netip.Prefix) bool { return p.Contains(a.WithZone("")) })
}
