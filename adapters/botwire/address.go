package botwire

import (
	"net"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
)

// maxURL is the longest URL of a bot, in bytes.
const maxURL = 2048

// Allowed checks the text of a bot's URL (docs/protocol.md, "Bot URLs"). It sends
// no packet and resolves no name: Check and each dial check the addresses of a
// name. The error is a sentence for the owner, and its NotAllowed is true.
func (d *Dialer) Allowed(rawURL string) error {
	_, err := d.guard.parse(rawURL)
	return err
}

// parse parses a bot's URL and applies all rules to its text.
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
		return nil, refusedURL("the URL must not hold a user name or a password")
	case strings.Contains(raw, "#"):
		return nil, refusedURL("the URL must not have a fragment")
	}
	return u, g.checkHost(u)
}

// checkHost rejects a host that is not a valid name, and a host that is an
// address that the arena must not dial.
func (g *guard) checkHost(u *url.URL) error {
	host := strings.ToLower(strings.TrimSuffix(u.Hostname(), "."))
	port, ok := portOf(u)
	if !ok || !isPlainHost(host) {
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

// portOf returns the port of a URL, or the default port of its scheme.
func portOf(u *url.URL) (uint16, bool) {
	switch {
	case u.Port() != "":
		port, err := strconv.ParseUint(u.Port(), 10, 16)
		return uint16(port), err == nil && port != 0
	case u.Scheme == "https":
		return 443, true
	default:
		return 80, true
	}
}

// isPlainHost reports whether a host has only plain ASCII characters and no zone.
// A resolver could map other characters to those of an address.
func isPlainHost(host string) bool {
	for i := range len(host) {
		c := host[i]
		plain := c >= 'a' && c <= 'z' || c >= '0' && c <= '9'
		if !plain && !strings.ContainsRune("-._:", rune(c)) {
			return false
		}
	}
	return host != ""
}

// literalAddr parses a host that is an address, in any form that some resolver
// understands: dotted, shortened, decimal, octal, hexadecimal or IPv6. A host
// whose last label is a number is an address or invalid (WHATWG URL, "ends in a
// number"). literal is false for a name; ok is false for an invalid address.
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

// looseIPv4 parses one to four numbers like inet_aton: the last number fills all
// remaining bytes.
func looseIPv4(labels []string) (netip.Addr, bool) {
	if len(labels) > 4 {
		return netip.Addr{}, false
	}
	var value uint64
	for i, label := range labels {
		n, err := strconv.ParseUint(decimalOrPrefixed(label), 0, 32)
		last := i == len(labels)-1
		if err != nil || !isNumber(label) || !last && n > 255 {
			return netip.Addr{}, false
		}
		if !last {
			value |= n << (8 * (3 - i))
			continue
		}
		if n >= 1<<(8*(4-i)) {
			return netip.Addr{}, false
		}
		value |= n
	}
	return netip.AddrFrom4([4]byte{byte(value >> 24), byte(value >> 16), byte(value >> 8), byte(value)}), true
}

// isNumber reports whether a label is digits, or 0x and hexadecimal digits.
func isNumber(label string) bool {
	if hex, ok := strings.CutPrefix(label, "0x"); ok {
		return strings.Trim(hex, "0123456789abcdef") == ""
	}
	return label != "" && strings.Trim(label, "0123456789") == ""
}

// decimalOrPrefixed returns 0 for a bare 0x, as resolvers do.
func decimalOrPrefixed(label string) string {
	if label == "0x" {
		return "0"
	}
	return label
}
