// Package botwire is the wire to a bot: the rules for its URL, a dial that
// reaches no address it should not, the signed upgrade, text frames both ways,
// and the deploy check.
//
// It does not know what a frame says, what a decision is or when one is due:
// it hands on what arrives and says when the line is gone. Everything that a
// peer may do to a line is bounded here, in bytes, pings, memory and time.
//
// Begin with [New]; [Dialer.Dial] opens a match's socket, [Dialer.Check] probes
// a bot, [Dialer.Allowed] judges a URL without sending a packet.
package botwire

import (
	"crypto/ed25519"
	"crypto/x509"
	"log/slog"
	"net"
	"net/netip"
	"time"
)

// FrameLimit is the most bytes that a message of a bot may have, counted when
// its fragments are put together (Limits, decision frame size).
const FrameLimit = 65_536

// handshakeTime bounds all of a dial: resolve, connect, TLS and the answer to
// the upgrade; and all of a ping.
const handshakeTime = 5 * time.Second

// Options say who dials, and what may be dialled.
type Options struct {
	// Key is the platform key, which signs every upgrade.
	Key ed25519.PrivateKey

	// Production allows https and public addresses alone.
	Production bool

	// Own are the arena's own listen addresses, and OwnHosts the names, as
	// host or host:port, under which it is reached: no bot lives there.
	Own      []netip.AddrPort
	OwnHosts []string

	// Now is the clock of the signed timestamps; nil is time.Now.
	Now func() time.Time

	// Logger hears of lines that were cut, by match and never by URL; nil is
	// silence.
	Logger *slog.Logger

	// Resolver and RootCAs replace the system's; nil keeps them.
	Resolver *net.Resolver
	RootCAs  *x509.CertPool
}

// Dialer makes all calls to bots. It is safe for concurrent use.
type Dialer struct {
	key   ed25519.PrivateKey
	now   func() time.Time
	log   *slog.Logger
	roots *x509.CertPool
	guard *guard
	net   net.Dialer

	patience time.Duration // handshakeTime
	draining time.Duration // drainTime
}

// New returns a Dialer for o.
func New(o Options) *Dialer {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Resolver == nil {
		o.Resolver = net.DefaultResolver
	}
	g := newGuard(o.Production, o.Own, o.OwnHosts)
	return &Dialer{
		key: o.Key, now: o.Now, log: o.Logger, roots: o.RootCAs, guard: g,
		net:      net.Dialer{Control: g.control, Resolver: o.Resolver},
		patience: handshakeTime, draining: drainTime,
	}
}
