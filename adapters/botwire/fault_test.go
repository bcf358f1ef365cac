package botwire

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"math/big"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"hexarena/domain/match"
	"hexarena/eventstore/logtest"
)

// A line's fault says how the line ended. It is set before receive is called with
// CauseDropped.
func TestFaultsOfLines(t *testing.T) {
	closes := func(payload string) script {
		return func(c *peerConn) { c.write(frame(fin|0x8, []byte(payload))); c.untilEnd() }
	}
	cases := map[string]struct {
		peer          script
		code, message string
	}{
		"closed with a reason":       {closes("\x03\xf3internal error"), match.CodeClosed, `closed by the bot with code 1011 "internal error"`},
		"closed with odd characters": {closes("\x03\xe8\u202e\n\""), match.CodeClosed, `closed by the bot with code 1000 "\u202e\n\""`},
		"closed without a reason":    {closes("\x03\xe9"), match.CodeClosed, "closed by the bot with code 1001"},
		"closed without a code":      {closes(""), match.CodeClosed, "closed by the bot without a code"},
		"an invalid close frame":     {closes("\x03"), match.CodeProtocol, protocol.Message},
		"reset":                      {func(c *peerConn) { _ = c.Conn.(*net.TCPConn).SetLinger(0) }, match.CodeReset, "the bot reset the connection"},
		"ended":                      {func(*peerConn) {}, match.CodeEnded, ended.Message},
		"ended inside a frame":       {func(c *peerConn) { c.write(text("hello")[:4]) }, match.CodeEnded, ended.Message},
		"a masked frame":             {says(masked("x")), match.CodeProtocol, protocol.Message},
		"a flood":                    {says([]byte(strings.Repeat(string(frame(fin|0x9, nil)), 2*pingRate))), match.CodeFlood, flood.Message},
		"oversized":                  {says(announce(FrameLimit + 1)), match.CodeOversized, tooLarge.Message},
	}
	for name, c := range cases {
		for tls, start := range map[string]func(testing.TB, script) *peer{"": newPeer, ", with TLS": newTLSPeer} {
			if name == "reset" && tls != "" {
				continue // the script needs a plain TCP connection
			}
			t.Run(name+tls, func(t *testing.T) {
				ended := make(chan *match.Fault, 1)
				up := make(chan *Line, 1)
				up <- start(t, c.peer).dial(t, func(_ []byte, cause string) {
					if cause == match.CauseDropped {
						line := <-up
						ended <- line.Fault()
					}
				})
				require.Equal(t, &match.Fault{Code: c.code, Message: c.message}, <-ended)
			})
		}
	}
}

// If the arena cuts a line because its peer does not read, the fault says so, even
// though the line's reader fails too.
func TestFaultOfAPeerThatDoesNotRead(t *testing.T) {
	stop := make(chan struct{})
	defer close(stop)
	line := newPeer(t, func(*peerConn) { <-stop }).dial(t, quiet)
	require.Nil(t, line.Fault())
	var err error
	for !errors.Is(err, ErrGone) {
		err = line.Send(timeout(t, 100*time.Millisecond), make([]byte, 1<<20))
	}
	line.Close()
	require.Equal(t, &notReading, line.Fault())
}

// If a dial fails after it has connected, the fault says how. If it cannot connect, a
// rejected certificate is the only cause that the fault names. The error text is
// general in every case.
func TestFaultsOfDials(t *testing.T) {
	known, roots := certificate(t)
	issued := func(from, until time.Time, address string) tls.Certificate {
		return issue(t, roots, from, until, address)
	}
	now := time.Now()
	secure := func(c tls.Certificate) string {
		return startPeer(t, &tls.Config{Certificates: []tls.Certificate{c}}, nil, (*peerConn).untilEnd).url
	}
	plain := newPeer(t, (*peerConn).untilEnd).url
	unreachable := match.Fault{Code: match.CodeUnreachable, Message: errConnect.words}
	cases := map[string]struct {
		url   string
		roots *x509.CertPool
		fault match.Fault
	}{
		"a closed port":           {"http://" + logtest.ClosedAddress(t), nil, unreachable},
		"a closed port, with TLS": {"https://" + logtest.ClosedAddress(t), nil, unreachable},
		"no such name":            {"http://no-such-name.invalid", nil, unreachable},
		"no TLS":                  {strings.Replace(plain, "http:", "https:", 1), nil, unreachable},
		"status 401":              {raw(t, "HTTP/1.1 401 Unauthorized\r\n\r\n"), nil, faulty(match.CodeStatus, "the server responded with status 401 instead of 101")},
		"a redirect":              {raw(t, "HTTP/1.1 302 Found\r\nLocation: /\r\n\r\n"), nil, faulty(match.CodeStatus, "the server responded with status 302 instead of 101")},
		"not HTTP":                {raw(t, "220 smtp.example ESMTP\r\n"), nil, faulty(match.CodeNoHTTP, noAnswer)},
		"no upgrade":              {raw(t, "HTTP/1.1 101 Switching Protocols\r\n\r\n"), nil, faulty(match.CodeNoUpgrade, errUpgrade.words)},
		"a reset":                 {resetting(t), nil, faulty(match.CodeReset, errHungUp.fault.Message)},
		"a metadata address":      {"http://169.254.169.254", nil, faulty(match.CodeNotAllowed, errAddress.words)},
		"expired":                 {secure(issued(now.AddDate(-1, 0, 0), time.Date(2026, 1, 31, 23, 0, 0, 0, time.UTC), "127.0.0.1")), roots, faulty(match.CodeCertificate, "certificate expired on 2026-01-31")},
		"not valid yet":           {secure(issued(time.Date(2999, 1, 31, 0, 0, 0, 0, time.UTC), now.AddDate(1000, 0, 0), "127.0.0.1")), roots, faulty(match.CodeCertificate, "certificate is not valid before 2999-01-31")},
		"another host":            {secure(issued(now.AddDate(-1, 0, 0), now.AddDate(1, 0, 0), "127.9.9.9")), roots, faulty(match.CodeCertificate, "certificate is for another host name")},
		"an unknown authority":    {secure(known), x509.NewCertPool(), faulty(match.CodeCertificate, "certificate is not signed by a known authority; check that the server sends the whole chain")},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			_, _, err := patient(Options{Key: platformKey, RootCAs: c.roots}).Dial(t.Context(), c.url, "m", Upgrade{}, quiet)
			var f interface{ Fault() match.Fault }
			require.ErrorAs(t, err, &f)
			require.Equal(t, c.fault, f.Fault())
			if c.fault.Code == match.CodeCertificate {
				require.EqualError(t, err, errConnect.words)
				require.True(t, neverConnected(err), "the deploy check takes as long as for a closed port")
			}
		})
	}
}

// issue returns a self-signed certificate, and adds it to the pool trusted.
func issue(t *testing.T, trusted *x509.CertPool, from, until time.Time, address string) tls.Certificate {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "test"}, NotBefore: from, NotAfter: until,
		IPAddresses: []net.IP{net.ParseIP(address)}, IsCA: true, BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	require.NoError(t, err)
	cert, err := x509.ParseCertificate(der)
	require.NoError(t, err)
	trusted.AddCert(cert)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
}

// The function resetting() returns the URL of a server that resets each connection
// after it has received some bytes.
func resetting(t *testing.T) string {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			c, err := ln.Accept()
			if err != nil {
				return
			}
			_, _ = c.Read(make([]byte, 1))
			_ = c.(*net.TCPConn).SetLinger(0)
			_ = c.Close()
		}
	}()
	t.Cleanup(func() { _ = ln.Close(); <-done })
	return "http://" + ln.Addr().String()
}
