package botwire

import (
	"context"
	"net"
	"net/netip"
	"slices"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/net/dns/dnsmessage"
)

// nameServer is a fake DNS server. The test can change its answers.
type nameServer struct {
	conn net.PacketConn
	done chan struct{}

	mu    sync.Mutex
	addrs []netip.Addr
}

func newNameServer(t *testing.T) *nameServer {
	conn, err := net.ListenPacket("udp", "127.0.0.1:0")
	require.NoError(t, err)
	s := &nameServer{conn: conn, done: make(chan struct{})}
	go s.run()
	t.Cleanup(func() { _ = conn.Close(); <-s.done })
	return s
}

func (s *nameServer) points(addrs ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.addrs = nil
	for _, a := range addrs {
		s.addrs = append(s.addrs, netip.MustParseAddr(a))
	}
}

func (s *nameServer) resolver() *net.Resolver {
	return &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "udp", s.conn.LocalAddr().String())
	}}
}

func (s *nameServer) run() {
	defer close(s.done)
	buf := make([]byte, 1500)
	for {
		n, from, err := s.conn.ReadFrom(buf)
		if err != nil {
			return
		}
		if answer, err := s.answer(buf[:n]); err == nil {
			_, _ = s.conn.WriteTo(answer, from)
		}
	}
}

func (s *nameServer) answer(query []byte) ([]byte, error) {
	var m dnsmessage.Message
	if err := m.Unpack(query); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	q := m.Questions[0]
	m.Response, m.Authoritative, m.Additionals = true, true, nil
	for _, a := range s.addrs {
		header := dnsmessage.ResourceHeader{Name: q.Name, Type: q.Type, Class: q.Class}
		switch {
		case q.Type == dnsmessage.TypeA && a.Is4():
			m.Answers = append(m.Answers, dnsmessage.Resource{Header: header, Body: &dnsmessage.AResource{A: a.As4()}})
		case q.Type == dnsmessage.TypeAAAA && a.Is6():
			m.Answers = append(m.Answers, dnsmessage.Resource{Header: header, Body: &dnsmessage.AAAAResource{AAAA: a.As16()}})
		}
	}
	return m.Pack()
}

// A name resolves to a public address during the check, and to a private address during
// the dial. The dial checks the newly resolved address, rejects it, and sends no
// packet.
func TestRebinding(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	accepted := make(chan struct{})
	go func() {
		defer close(accepted)
		for {
			c, err := ln.Accept()
			if err != nil {
				return
			}
			accepted <- struct{}{}
			_ = c.Close()
		}
	}()
	_, port, err := net.SplitHostPort(ln.Addr().String())
	require.NoError(t, err)
	names := newNameServer(t)
	d := patient(Options{Key: platformKey, Production: true, Resolver: names.resolver()})
	url := "https://bot.example.:" + port

	names.points("8.8.8.8")
	require.NoError(t, failed(d.run(t.Context(), url, d.resolve)))

	for _, inside := range []string{
		"127.0.0.1", "10.0.0.1", "169.254.169.254", "168.63.129.16", "100.64.0.1", "0.0.0.0",
		"::1", "::", "fe80::1", "fd00::1", "64:ff9b::7f00:1", "2002:7f00:1::", "::ffff:127.0.0.1",
	} {
		names.points(inside)
		require.True(t, notAllowed(failed(d.run(t.Context(), url, d.resolve))), inside)
		_, _, err := d.Dial(t.Context(), url, "m", Upgrade{}, quiet)
		require.True(t, notAllowed(err), "%s: %v", inside, err)
		require.True(t, notAllowed(failed(d.run(t.Context(), url, d.ping))), inside)
	}

	names.points("8.8.8.8", "10.0.0.1")
	require.True(t, notAllowed(failed(d.run(t.Context(), url, d.resolve))), "one of two addresses is private")

	names.points()
	require.EqualError(t, failed(d.run(t.Context(), url, d.resolve)), errResolve.words)
	_, _, err = d.Dial(t.Context(), url, "m", Upgrade{}, quiet)
	require.EqualError(t, err, errResolve.words)
	require.False(t, notAllowed(err), "a retry may succeed when the name resolves again")

	require.NoError(t, ln.Close())
	_, open := <-accepted
	require.False(t, open, "the arena dialed a private address")
}

// The deploy check rejects the address before it dials.
func TestCheckRejectsPrivateAddress(t *testing.T) {
	names := newNameServer(t)
	names.points("192.168.1.1")
	d := patient(Options{Key: platformKey, Production: true, Resolver: names.resolver()})
	steps := slices.Collect(d.Check(t.Context(), "bot-1", "https://bot.example."))
	require.Len(t, steps, 1)
	require.Equal(t, "resolve", steps[0].Name)
	require.False(t, steps[0].OK)
	require.Equal(t, errAddress.words, steps[0].Detail)
	require.NotContains(t, steps[0].Detail, "192.168")
}
