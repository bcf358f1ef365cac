package mail

import (
	"bufio"
	"cmp"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/big"
	"mime/quotedprintable"
	"net"
	"net/mail"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/emersion/go-sasl"
	"github.com/emersion/go-smtp"
	"github.com/stretchr/testify/require"

	"hexarena/eventstore/logtest"
)

// The type received contains an email that the mail server has received.
type received struct {
	from, to, user string
	secure         bool
	data           string
}

// mailServer is a real SMTP server that runs in the test.
type mailServer struct {
	port  int
	mails chan received

	mu     sync.Mutex
	refuse error // the error that RCPT returns
}

func (s *mailServer) NewSession(c *smtp.Conn) (smtp.Session, error) {
	_, secure := c.TLSConnectionState()
	return &session{server: s, mail: received{secure: secure}}, nil
}

type session struct {
	server *mailServer
	mail   received
}

func (s *session) AuthMechanisms() []string { return []string{sasl.Plain} }

func (s *session) Auth(string) (sasl.Server, error) {
	return sasl.NewPlainServer(func(_, user, password string) error {
		if password != "s3cret" {
			return errors.New("wrong password")
		}
		s.mail.user = user
		return nil
	}), nil
}

func (s *session) Mail(from string, _ *smtp.MailOptions) error { s.mail.from = from; return nil }

func (s *session) Rcpt(to string, _ *smtp.RcptOptions) error {
	s.server.mu.Lock()
	defer s.server.mu.Unlock()
	s.mail.to = to
	return s.server.refuse
}

func (s *session) Data(r io.Reader) error {
	data, err := io.ReadAll(r)
	s.mail.data = string(data)
	s.server.mails <- s.mail
	return err
}

func (s *session) Reset()        {}
func (s *session) Logout() error { return nil }

// startServer starts a server. If secure is true, the server supports STARTTLS.
// If implicit is also true, it uses TLS from the start.
func startServer(t *testing.T, implicit, secure bool) (*mailServer, *x509.CertPool) {
	t.Helper()
	s := &mailServer{mails: make(chan received, 10)}
	server := smtp.NewServer(s)
	server.Domain, server.AllowInsecureAuth = "mx.example", true
	tcp, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	listener := tcp
	s.port = listener.Addr().(*net.TCPAddr).Port
	config, roots := newCertificate(t)
	if secure {
		server.TLSConfig = config
	}
	if implicit {
		listener = tls.NewListener(listener, config)
	}
	served := make(chan struct{})
	go func() { defer close(served); _ = server.Serve(listener) }()
	t.Cleanup(func() {
		_ = tcp.Close() // needed because Shutdown closes the listener only if Serve has been called
		<-served
		_ = server.Shutdown(context.Background()) // waits until the server has noticed that the clients have closed their connections
	})
	return s, roots
}

// newCertificate returns a certificate for 127.0.0.1.
func newCertificate(t *testing.T) (*tls.Config, *x509.CertPool) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "mx"}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	require.NoError(t, err)
	certificate, err := x509.ParseCertificate(der)
	require.NoError(t, err)
	roots := x509.NewCertPool()
	roots.AddCert(certificate)
	return &tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}}, MinVersion: tls.VersionTLS12}, roots
}

// openServer opens the mailer for a setting and runs it during the test. The
// mailer trusts the test's certificate.
func openServer(t *testing.T, setting string, roots *x509.CertPool) *Mailer {
	t.Helper()
	u, err := url.Parse(setting)
	require.NoError(t, err)
	s, sender, err := newServer(u, from)
	require.NoError(t, err)
	s.tls.RootCAs = roots
	s.patient()
	m := newServerMailer(s, writer{from: sender, now: time.Now})
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { defer close(done); m.Run(ctx, slog.New(slog.DiscardHandler)) }()
	t.Cleanup(func() { cancel(); <-done })
	return m
}

// The method patient() raises the time limits, which a busy machine could otherwise
// exceed.
func (s *server) patient() { s.replyTime, s.sendTime = 2*time.Minute, 5*time.Minute }

func TestMailIsDelivered(t *testing.T) {
	for name, c := range map[string]struct {
		setting          string // %d is replaced by the port
		implicit, secure bool
		want             received
	}{
		"plain":                 {"smtp://127.0.0.1:%d", false, false, received{}},
		"with a password":       {"smtp://ada:s3cret@127.0.0.1:%d", false, false, received{user: "ada"}},
		"STARTTLS":              {"smtp://127.0.0.1:%d", false, true, received{secure: true}},
		"STARTTLS and password": {"smtp://ada:s3cret@127.0.0.1:%d/", false, true, received{secure: true, user: "ada"}},
		"TLS":                   {"smtps://127.0.0.1:%d", true, true, received{secure: true}},
		"TLS and a password":    {"smtps://ada%%40x:s3cret@127.0.0.1:%d", true, true, received{secure: true, user: "ada@x"}},
		"another sender":        {"smtp://127.0.0.1:%d?from=Hex+%%3Chex%%40other.example%%3E", false, false, received{from: "hex@other.example"}},
		"from a bare address":   {"smtp://127.0.0.1:%d?from=hex@other.example", false, false, received{from: "hex@other.example"}},
		"an encoded password":   {"smtp://ada:s%%33cret@127.0.0.1:%d", false, false, received{user: "ada"}},
	} {
		t.Run(name, func(t *testing.T) {
			server, roots := startServer(t, c.implicit, c.secure)
			m := openServer(t, fmt.Sprintf(c.setting, server.port), roots)
			require.NoError(t, m.SendSignInLink(t.Context(), "ada@example.org", link, time.Now().Add(time.Minute)))
			got := <-server.mails
			if c.want.from == "" {
				c.want.from = "arena@arena.example"
			}
			data := got.data
			got.data = ""
			c.want.to = "ada@example.org"
			require.Equal(t, c.want, got)
			require.Contains(t, data, "\r\n"+link+"\r\n", "the link is on a line of its own")
			parsed, err := mail.ReadMessage(strings.NewReader(data))
			require.NoError(t, err)
			require.Equal(t, "<ada@example.org>", parsed.Header.Get("To"))
			require.Equal(t, "Sign in to Hex Arena", parsed.Header.Get("Subject"))
		})
	}
}

func TestSendBotPausedReturnsAfterDelivery(t *testing.T) {
	server, _ := startServer(t, false, false)
	m := openServer(t, fmt.Sprintf("smtp://127.0.0.1:%d", server.port), nil)
	for range 2 {
		require.NoError(t, m.SendBotPaused(t.Context(), "ada@example.org", paused, page))
	}
	first, second := <-server.mails, <-server.mails
	require.Contains(t, first.data, "Bot: Ada \"é\" (standard)\r\n")
	id := func(r received) string {
		parsed, err := mail.ReadMessage(strings.NewReader(r.data))
		require.NoError(t, err)
		return parsed.Header.Get("Message-ID")
	}
	require.Equal(t, "<paused.b1.1788696000000@arena.example>", id(first))
	require.Equal(t, id(first), id(second), "the same mail, sent twice")
}

// A server may repeat the address in its reply. The error must not contain the
// address.
func TestRefusalContainsNoAddress(t *testing.T) {
	for name, c := range map[string]struct {
		setting string
		refuse  error
		want    *refusal
	}{
		"unknown mailbox": {"smtp://127.0.0.1:%d", &smtp.SMTPError{Code: 550, Message: "<ada@example.org> is not here"}, &refusal{"the mail server refused the email with code 550", true}},
		"try later":       {"smtp://127.0.0.1:%d", &smtp.SMTPError{Code: 451, Message: "ada@example.org later"}, &refusal{"the mail server refused the email with code 451", false}},
		"wrong password":  {"smtp://ada:wrong@127.0.0.1:%d", nil, &refusal{"the mail server refused the connection with code 454", false}},
	} {
		t.Run(name, func(t *testing.T) {
			server, _ := startServer(t, false, false)
			server.refuse = c.refuse
			m := openServer(t, fmt.Sprintf(c.setting, server.port), nil)
			require.Equal(t, c.want, m.SendBotPaused(t.Context(), "ada@example.org", paused, page))
		})
	}
	t.Run("no server listens", func(t *testing.T) {
		m := openServer(t, "smtp://"+logtest.ClosedAddress(t), nil)
		require.ErrorContains(t, m.SendBotPaused(t.Context(), "ada@example.org", paused, page), "cannot be reached")
	})
	t.Run("an untrusted certificate", func(t *testing.T) {
		server, _ := startServer(t, true, true)
		m := openServer(t, fmt.Sprintf("smtps://127.0.0.1:%d", server.port), nil)
		require.Error(t, m.SendBotPaused(t.Context(), "ada@example.org", paused, page))
		require.Empty(t, server.mails)
	})
	t.Run("a header in an address", func(t *testing.T) {
		server, _ := startServer(t, false, false)
		m := openServer(t, fmt.Sprintf("smtp://127.0.0.1:%d", server.port), nil)
		evil := "ada@example.org\r\nBcc: eve@example.org"
		require.Error(t, m.SendSignInLink(t.Context(), evil, link, time.Now().Add(time.Minute)))
		err := m.SendBotPaused(t.Context(), evil, paused, page)
		require.Error(t, err)
		require.NotContains(t, err.Error(), "eve")
		require.Empty(t, server.mails)
	})
}

// The client sends a password without TLS only to this machine.
func TestPasswordsNeedTLS(t *testing.T) {
	for setting, policy := range map[string]string{
		"smtp://ada:s3cret@mx.example":  "TLSMandatory",
		"smtp://mx.example":             "TLSOpportunistic",
		"smtp://ada:s3cret@[::1]:25":    "TLSOpportunistic",
		"smtp://ada:s3cret@localhost":   "TLSOpportunistic",
		"smtps://ada:s3cret@mx.example": "NoTLS", // the connection already uses TLS
	} {
		u, err := url.Parse(setting)
		require.NoError(t, err)
		s, _, err := newServer(u, from)
		require.NoError(t, err)
		require.Equal(t, policy, s.policy.String(), setting)
	}
}

// The type scripted is a server that accepts every command, except for those in its
// fields hangs and ends.
type scripted struct {
	greeting string // reply to EHLO; if empty, the server does not offer 8BITMIME
	hangs    string // the server does not reply to this command; "connect" means that it sends no greeting
	ends     string // the server closes the connection at this command

	hanging chan struct{} // closed when the server stops replying
	data    chan string   // the received data
}

// start serves one connection.
func (s *scripted) start(t *testing.T) (setting string) {
	t.Helper()
	s.hanging, s.data = make(chan struct{}), make(chan string, 1)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	done := make(chan struct{})
	go func() {
		defer close(done)
		c, err := listener.Accept()
		if err != nil {
			return
		}
		defer c.Close()
		s.serve(c, bufio.NewReader(c))
	}()
	t.Cleanup(func() { listener.Close(); <-done })
	return "smtp://" + listener.Addr().String()
}

func (s *scripted) serve(c net.Conn, r *bufio.Reader) {
	for command := "connect"; command != "quit"; {
		switch command {
		case s.hangs:
			close(s.hanging)
			_, _ = io.Copy(io.Discard, c)
			return
		case s.ends:
			return
		}
		_, _ = io.WriteString(c, s.reply(command)+"\r\n")
		if command == "data" {
			s.data <- readData(r)
			command = "accepted"
			continue
		}
		line, err := r.ReadString('\n')
		if err != nil {
			return
		}
		command, _, _ = strings.Cut(strings.ToLower(strings.TrimSpace(line)), " ")
	}
	_, _ = io.WriteString(c, "221 bye\r\n")
}

func (s *scripted) reply(command string) string {
	switch command {
	case "connect":
		return "220 mx"
	case "ehlo":
		return cmp.Or(s.greeting, "250 mx")
	case "data":
		return "354 go on"
	}
	return "250 fine"
}

func readData(r *bufio.Reader) string {
	var b strings.Builder
	for {
		line, err := r.ReadString('\n')
		if err != nil || line == ".\r\n" {
			return b.String()
		}
		b.WriteString(line)
	}
}

// A server without 8BITMIME receives a quoted-printable body. The decoded body contains
// the link.
func TestSevenBitServerReceivesQuotedPrintable(t *testing.T) {
	s := &scripted{}
	m := openServer(t, s.start(t), nil)
	require.NoError(t, m.SendSignInLink(t.Context(), "ada@example.org", link, time.Now().Add(time.Minute)))
	parsed, err := mail.ReadMessage(strings.NewReader(<-s.data))
	require.NoError(t, err)
	require.Equal(t, "quoted-printable", parsed.Header.Get("Content-Transfer-Encoding"))
	decoded, err := io.ReadAll(quotedprintable.NewReader(parsed.Body))
	require.NoError(t, err)
	require.Contains(t, string(decoded), "\r\n"+link+"\r\n")
}

// If the connection fails after the server has accepted the email, deliver
// returns no error, so that the email is not sent again.
func TestFailureAfterAcceptanceIsNoError(t *testing.T) {
	for _, command := range []string{"rset", "quit"} {
		s := &scripted{greeting: "250-mx\r\n250 8BITMIME", ends: command}
		m := openServer(t, s.start(t), nil)
		require.NoError(t, m.SendBotPaused(t.Context(), "ada@example.org", paused, page))
	}
}

// A server may stop replying or close the connection at any command. In that case, the
// delivery fails no later than when its context ends, and closes the connection.
func TestServerFailsAtAnyCommand(t *testing.T) {
	for _, command := range []string{"connect", "ehlo", "noop", "mail", "rcpt", "data", "accepted"} {
		for _, s := range []*scripted{{hangs: command}, {ends: command}} {
			t.Run(fmt.Sprintf("hangs at %q, ends at %q", s.hangs, s.ends), func(t *testing.T) {
				s.greeting = "250-mx\r\n250 8BITMIME"
				u, err := url.Parse(s.start(t))
				require.NoError(t, err)
				server, sender, err := newServer(u, from)
				require.NoError(t, err)
				server.patient()
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				if s.hangs != "" {
					go func() { <-s.hanging; cancel() }()
				}
				err = server.deliver(ctx, writer{from: sender, now: time.Now}.botPaused("ada@example.org", paused, page))
				var r *refusal
				require.ErrorAs(t, err, &r)
				require.False(t, r.permanent)
				require.NotContains(t, err.Error(), "ada@")
			})
		}
	}
}
