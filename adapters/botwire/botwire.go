// Package botwire connects to bots. It checks bot URLs, dials only allowed
// addresses, sends the signed upgrade, and exchanges text frames. It also runs
// the deploy check.
//
// The package knows nothing about the content of frames, decisions or deadlines. An
// open connection to a bot is called a line. The package passes the frames of a line to
// a callback and reports when the line ends. On each line, it limits the bytes, pings,
// memory and time that the peer can use.
//
// Start with [New]. [Dialer.Dial] opens the socket of a match, [Dialer.Check]
// probes a bot, and [Dialer.Allowed] checks a URL without sending a packet.
package botwire

import (
	"crypto/ed25519"
	"crypto/x509"
	"log/slog"
	"net"
	"net/netip"
	"time"
)

// FrameLimit is the maximum size of a bot's message, in bytes, after its
// fragments are joined (docs/protocol.md, "Size and floods").
const FrameLimit = 65_536

// handshakeTime is the time limit for a whole dial, from resolving the name to the
// response to the upgrade. A ping in the deploy check has the same limit.
const handshakeTime = 5 * time.Second

// unconnectedTime is how long a step of the deploy check takes to fail if it cannot
// connect. It is longer than handshakeTime, so that the cause of the failure does not
// affect the duration.
const unconnectedTime = handshakeTime + 100*time.Millisecond

// Options configure a Dialer. Key, Now and Logger are required.
type Options struct {
	// Key is the platform key, which signs every upgrade.
	Key ed25519.PrivateKey

	// Production allows only https URLs and public addresses.
	Production bool

	// Own contains the arena's listen addresses. OwnHosts contains the arena's
	// public names, as host or host:port. The Dialer rejects both, so that no
	// bot URL can reach the arena itself.
	Own      []netip.AddrPort
	OwnHosts []string

	// Now returns the current time for signed timestamps.
	Now func() time.Time

	// Logger receives a record when the arena cuts a connection to a bot. The record
	// contains the match id, but never the URL.
	Logger *slog.Logger

	// If Resolver and RootCAs are not nil, they replace the system's resolver and
	// root certificates.
	Resolver *net.Resolver
	RootCAs  *x509.CertPool
}

// Dialer makes all connections to bots. It is safe for concurrent use.
type Dialer struct {
	options Options
	guard   *guard
	net     net.Dialer

	patience    time.Duration // handshakeTime
	unconnected time.Duration // unconnectedTime
	draining    time.Duration // drainTime
}

// New returns a Dialer with the given options.
func New(o Options) *Dialer {
	g := newGuard(o.Production, o.Own, o.OwnHosts)
	return &Dialer{
		options: o, guard: g, net: net.Dialer{Control: g.control, Resolver: o.Resolver},
		patience: handshakeTime, unconnected: unconnectedTime, draining: drainTime,
	}
}
