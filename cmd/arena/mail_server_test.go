package main

import (
	"bytes"
	"context"
	"io"
	"mime/quotedprintable"
	"net"
	"net/mail"
	"net/url"
	"regexp"
	"slices"
	"sync"
	"testing"

	"github.com/emersion/go-smtp"
	"github.com/stretchr/testify/require"
)

// mailServer is an SMTP server for tests.
type mailServer struct {
	setting string        // the value for --mail
	reached chan struct{} // receives a value when an email is held

	mu    sync.Mutex
	mails map[string][]receivedMail // by address
	held  <-chan struct{}           // if not nil, the server accepts emails only after held is closed
	grown chan struct{}             // closed when an email arrives
}

// receivedMail is an email as the server received it.
type receivedMail struct {
	header mail.Header
	text   string
}

func newMailServer(t *testing.T) *mailServer {
	t.Helper()
	p := &mailServer{reached: make(chan struct{}, 100), mails: map[string][]receivedMail{}, grown: make(chan struct{})}
	server := smtp.NewServer(p)
	server.Domain = "mx.example"
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	p.setting = "smtp://" + listener.Addr().String() + "?from=arena@arena.example"
	served := make(chan struct{})
	go func() { defer close(served); _ = server.Serve(listener) }()
	t.Cleanup(func() { _ = server.Close(); <-served })
	return p
}

// hold delays the delivery of emails until the returned function is called.
func (p *mailServer) hold() (release func()) {
	held := make(chan struct{})
	p.mu.Lock()
	defer p.mu.Unlock()
	p.held = held
	return func() { close(held) }
}

// NewSession implements smtp.Backend.
func (p *mailServer) NewSession(*smtp.Conn) (smtp.Session, error) { return &delivery{box: p}, nil }

type delivery struct {
	box *mailServer
	to  string
}

func (d *delivery) Mail(string, *smtp.MailOptions) error { return nil }

func (d *delivery) Rcpt(to string, _ *smtp.RcptOptions) error {
	d.to = to
	d.box.mu.Lock()
	held := d.box.held
	d.box.mu.Unlock()
	if held != nil {
		d.box.reached <- struct{}{}
		<-held
	}
	return nil
}

func (d *delivery) Data(r io.Reader) error {
	raw, err := io.ReadAll(r)
	if err != nil {
		return err
	}
	m, err := mail.ReadMessage(bytes.NewReader(raw))
	if err != nil {
		return err
	}
	body := m.Body
	if m.Header.Get("Content-Transfer-Encoding") == "quoted-printable" {
		body = quotedprintable.NewReader(body)
	}
	text, err := io.ReadAll(body)
	if err != nil {
		return err
	}
	d.box.mu.Lock()
	defer d.box.mu.Unlock()
	d.box.mails[d.to] = append(d.box.mails[d.to], receivedMail{m.Header, string(text)})
	close(d.box.grown)
	d.box.grown = make(chan struct{})
	return nil
}

func (d *delivery) Reset()        {}
func (d *delivery) Logout() error { return nil }

// p.to returns the emails that were sent to an address.
func (p *mailServer) to(address string) []receivedMail {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.mails[address])
}

// await waits for the nth email to an address, and returns it.
func (p *mailServer) await(t *testing.T, address string, n int) receivedMail {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	for {
		p.mu.Lock()
		got, grown := p.mails[address], p.grown
		p.mu.Unlock()
		if len(got) >= n {
			return got[n-1]
		}
		select {
		case <-grown:
		case <-ctx.Done():
			require.FailNow(t, "no mail came", "to %s", address)
		}
	}
}

// link returns the sign-in link from an email.
func (l receivedMail) link(t *testing.T) *url.URL {
	t.Helper()
	found := signInLink.FindString(l.text)
	require.NotEmpty(t, found, l.text)
	u, err := url.Parse(found)
	require.NoError(t, err)
	return u
}

var signInLink = regexp.MustCompile(`https?://\S+/sign-in/confirm\?token=\S+`)
