package api

import (
	"net/http"
	"net/netip"
	"slices"
	"strings"
)

// addressKey is whom an address is counted with: an IPv4 address alone, an
// IPv6 address with its /64. A first byte of 0xff, which no caller's address
// has, marks those that share.
type addressKey [16]byte

func keyOf(a netip.Addr) addressKey {
	a = a.Unmap()
	if a.Is6() {
		if prefix, err := a.WithZone("").Prefix(64); err == nil {
			a = prefix.Addr()
		}
	}
	if !a.IsValid() {
		return addressKey{}
	}
	return a.As16()
}

// network is whom an address shares with when there are too many: those of its
// /16 in IPv4, of its /32 in IPv6.
func (k addressKey) network() addressKey {
	if netip.AddrFrom16(k).Is4In6() {
		return addressKey{0xff, 4, k[12], k[13]}
	}
	return addressKey{0xff, 6, k[0], k[1], k[2], k[3]}
}

// clientAddress is the address that a request comes from: that of the direct
// peer or, where it is a trusted proxy, the last one of X-Forwarded-For that is
// none. What stands before it there is anyone's claim.
func clientAddress(r *http.Request, trusted []netip.Prefix) netip.Addr {
	peer, _ := netip.ParseAddrPort(r.RemoteAddr)
	address := peer.Addr().Unmap()
	if !within(address, trusted) {
		return address
	}
	hops := strings.Split(strings.Join(r.Header["X-Forwarded-For"], ","), ",")
	for _, hop := range slices.Backward(hops) {
		claimed, ok := parseHop(hop)
		if !ok {
			break
		}
		if address = claimed; !within(address, trusted) {
			break
		}
	}
	return address
}

// parseHop reads an entry of X-Forwarded-For; some proxies add a port.
func parseHop(hop string) (netip.Addr, bool) {
	hop = strings.TrimSpace(hop)
	if withPort, err := netip.ParseAddrPort(hop); err == nil {
		return withPort.Addr().Unmap(), true
	}
	address, err := netip.ParseAddr(strings.Trim(hop, "[]"))
	return address.Unmap(), err == nil
}

func within(a netip.Addr, prefixes []netip.Prefix) bool {
	return slices.ContainsFunc(prefixes, func(p netip.Prefix) bool { return p.Contains(a.WithZone("")) })
}
