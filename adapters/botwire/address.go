package botwire

import (
	"context"
	"net"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// maxURL is the maximum length of a bot's URL, in bytes.
const maxURL = 2048

// Allowed checks a bot's URL without connecting to it (docs/protocol.md, "Bot URLs").
// It resolves a host name only if the URL's port is also the port of one of the arena's
// own addresses. In that case, the name must not resolve to that address. Only Check
// and the actual dials check all addresses to which a name resolves. The error has a
// message for the bot's owner and a method NotAllowed that returns true.
func (d *Dialer) Allowed(ctx context.Context, rawURL string) error {
	u, err := d.guard.parse(rawURL)
	if err != nil {
		return err
	}
	if port, _ := portOf(u); !d.guard.hasOwnPort(port) {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, d.patience)
	defer cancel()
	if d.reachesArena(ctx, u) {
		return errAddress
	}
	return nil
}

// reachesArena reports whether the host of a URL resolves to an address of the
// arena. It returns false if the host does not resolve.
func (d *Dialer) reachesArena(ctx context.Context, u *url.URL) bool {
	addrs, err := d.net.Resolver.LookupNetIP(ctx, "ip", u.Hostname())
	port, _ := portOf(u)
	return err == nil && slices.ContainsFunc(addrs, func(addr netip.Addr) bool {
		return d.guard.isOwn(netip.AddrPortFrom(addr.Unmap().WithZone(""), port))
	})
}

// parse parses a bot's URL and applies all rules that do not need the network.
func (g *guard) parse(raw string) (*url.URL, error) {
	u, err := url.Parse(raw)
	switch {
	case err != nil || len(raw) > maxURL || u.Opaque != "" || u.Hostname() == "":
		return nil, refusedURL("the URL is not a valid http or https URL")
	case u.Scheme != "http" && u.Scheme != "https":
		return nil, refusedURL("the URL must be an http or https URL")
	case g.production && u.Scheme != "https":
		return nil, refusedURL("the URL must be an https URL")
	case u.User != nil:
		return nil, refusedURL("the URL must not contain a user name or a password")
	case strings.Contains(raw, "#"):
		return nil, refusedURL("the URL must not have a fragment")
	}
	return u, g.checkHost(u)
}

// checkHost rejects a host that is not a valid name or is an address that the
// arena must not dial.
func (g *guard) checkHost(u *url.URL) error {
	host := strings.ToLower(strings.TrimSuffix(u.Hostname(), "."))
	port, ok := portOf(u)
	if !ok || host == "" || strings.Trim(host, plainHost) != "" {
		return refusedURL("the URL's host or port is not valid; write an international name in its ASCII form")
	}
	local := host == "localhost" || strings.HasSuffix(host, ".localhost")
	if g.production && local || g.hosts[net.JoinHostPort(host, strconv.Itoa(int(port)))] {
		return errAddress
	}
	addr, literal, ok := literalAddr(host)
	if literal && (!ok || !g.allows(netip.AddrPortFrom(addr, port))) {
		return errAddress
	}
	return nil
}

// portOf returns the port of a URL, or the standard port of its scheme.
func portOf(u *url.URL) (uint16, bool) {
	if u.Port() == "" {
		return standardPort(u.Scheme), true
	}
	port, err := strconv.ParseUint(u.Port(), 10, 16)
	return uint16(port), err == nil && port != 0
}

func standardPort(scheme string) uint16 {
	if scheme == "https" {
		return 443
	}
	return 80
}

// plainHost lists the characters that a host may contain. A resolver could map
// other characters to those of an IP address, so they are rejected. IPv6 zones are
// rejected too.
const plainHost = "abcdefghijklmnopqrstuvwxyz0123456789-._:"

// literalAddr parses a host that is an IP address. It accepts every notation that a
// resolver might understand: dotted, shortened, decimal, octal, hexadecimal or IPv6. A
// host whose last label is a number is either an address or invalid (WHATWG URL, "ends
// in a number"). literal is false if the host is a name. ok is false if the address is
// invalid.
func literalAddr(host string) (addr netip.Addr, literal, ok bool) {
	if strings.Contains(host, ":") {
		addr, err := netip.ParseAddr(host)
		return addr.Unmap(), true, err == nil
	}
	labels := strings.Split(host, ".")
	if !isNumber(labels[len(labels)-1]) {
		return netip.Addr{}, false, false
	}
	addr, ok = looseIPv4(labels)
	return addr, true, ok
}

// looseIPv4 parses one to four numbers the way inet_aton does: the last number
// fills all remaining bytes.
func looseIPv4(labels []string) (netip.Addr, bool) {
	var ip [4]byte
	last := len(labels) - 1
	if last >= len(ip) {
		return netip.Addr{}, false
	}
	for i, label := range labels {
		bits := 8
		if i == last {
			bits = 8 * (len(ip) - last)
		}
		if label == "0x" { // resolvers read it as 0
			label = "0"
		}
		n, err := strconv.ParseUint(label, 0, bits)
		if err != nil || !isNumber(label) {
			return netip.Addr{}, false
		}
		for at := i; bits > 0; at++ {
			bits -= 8
			ip[at] = byte(n >> bits)
		}
	}
	return netip.AddrFrom4(ip), true
}

// isNumber reports whether a label consists of digits, or of 0x followed by hexadecimal
// digits.
func isNumber(label string) bool {
	if hex, ok := strings.CutPrefix(label, "0x"); ok {
		return strings.Trim(hex, "0123456789abcdef") == ""
	}
	return label != "" && strings.Trim(label, "0123456789") == ""
}
