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

// Allowed says whether a bot may have this URL, as far as the text of it tells
// (Resources, Bot; docs/protocol.md, "Bot URLs"). It sends nothing and looks no
// name up: the addresses behind a name are judged by Check, and again by every
// dial. The error is a sentence for the owner and says NotAllowed.
func (d *Dialer) Allowed(rawURL string) error {
	_, err := d.guard.parse(rawURL)
	return err
}

// parse reads a bot's URL under all the rules.
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
	return u, g.judgeHost(u)
}

// judgeHost refuses a host that is no proper name, or that names an address
// that may not be dialled.
func (g *guard) judgeHost(u *url.URL) error {
	host := strings.ToLower(strings.TrimSuffix(u.Hostname(), "."))
	port, ok := portOf(u)
	if !ok || !properHost(host) {
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

// portOf returns the port that a URL would be dialled at.
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

// properHost says whether a host is written in plain ASCII, without a zone.
// Anything else could be mapped onto an address on its way to the resolver.
func properHost(host string) bool {
	for i := range len(host) {
		c := host[i]
		plain := c >= 'a' && c <= 'z' || c >= '0' && c <= '9'
		if !plain && !strings.ContainsRune("-._:", rune(c)) {
			return false
		}
	}
	return host != ""
}

// literalAddr reads a host that is an address and not a name, in any spelling
// that some resolver understands: dotted, shortened, decimal, octal,
// hexadecimal, IPv6. A host whose last label is a number is an address or
// nothing (WHATWG URL, "ends in a number").
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

// looseIPv4 reads one to four numbers the way inet_aton does: the last one
// fills all the bytes that are left.
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

// isNumber says whether a label is digits, or 0x and hexadecimal digits.
func isNumber(label string) bool {
	if hex, ok := strings.CutPrefix(label, "0x"); ok {
		return strings.Trim(hex, "0123456789abcdef") == ""
	}
	return label != "" && strings.Trim(label, "0123456789") == ""
}

// decimalOrPrefixed makes a bare 0x the zero that resolvers take it for.
func decimalOrPrefixed(label string) string {
	if label == "0x" {
		return "0"
	}
	return label
}
