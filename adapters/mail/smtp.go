package mail

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/mail"
	"net/textproto"
	"net/url"
	"strconv"
	"time"

	gomail "github.com/wneessen/go-mail"
)

const (
	replyTime = 10 * time.Second // time limit for the reply to one command
	sendTime  = 30 * time.Second // time limit for one email
)

// These are the standard ports for sending email (RFC 8314).
const (
	portSMTP  = 587
	portSMTPS = 465
)

// server sends emails to an SMTP server, over a new connection for each email.
type server struct {
	host           string
	port           int
	user, password string
	implicit       bool             // whether TLS is used from the start
	policy         gomail.TLSPolicy // used if implicit is false
	hello          string
	tls            *tls.Config
	now            func() time.Time
	replyTime      time.Duration
	sendTime       time.Duration
}

// newServer parses the URL of a mail server, and returns the server and the sender's
// address. The server sends the password only over TLS or to a loopback address.
func newServer(u *url.URL, from string) (*server, string, error) {
	s := &server{
		host: u.Hostname(), port: portSMTP, implicit: u.Scheme == "smtps", policy: gomail.TLSOpportunistic,
		now: time.Now, replyTime: replyTime, sendTime: sendTime,
	}
	if s.implicit {
		s.port, s.policy = portSMTPS, gomail.NoTLS
	}
	if s.host == "" || u.Opaque != "" || (u.Path != "" && u.Path != "/") || u.Fragment != "" {
		return nil, "", errors.New("the URL must have the form smtp://user:password@host:port")
	}
	if text := u.Port(); text != "" {
		port, err := strconv.ParseUint(text, 10, 16)
		if err != nil || port == 0 {
			return nil, "", errors.New("the port must be between 1 and 65535")
		}
		s.port = int(port)
	}
	if u.User != nil {
		s.user = u.User.Username()
		s.password, _ = u.User.Password()
	}
	if s.user != "" && !s.implicit && !loopback(s.host) {
		s.policy = gomail.TLSMandatory
	}
	from, err := sender(u, from)
	if err != nil {
		return nil, "", err
	}
	s.hello = domainOf(from)
	s.tls = &tls.Config{ServerName: s.host, MinVersion: tls.VersionTLS12}
	return s, from, nil
}

// sender returns the sender's address. If the URL contains an address, sender returns
// that address. Otherwise, it returns the parameter from.
func sender(u *url.URL, from string) (string, error) {
	query, err := url.ParseQuery(u.RawQuery)
	switch {
	case err != nil:
		return "", errors.New("invalid query")
	case len(query["from"]) == 1 && len(query) == 1:
		from = query.Get("from")
	case len(query) > 0:
		return "", errors.New("the only query parameter is from=ADDRESS")
	}
	if _, err := mail.ParseAddress(from); err != nil {
		return "", fmt.Errorf("%q is not an email address", from)
	}
	return from, nil
}

func loopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// refusal reports why an email was not delivered. It contains no part of the
// email.
type refusal struct {
	why       string
	permanent bool // whether a retry is useless
}

func (r *refusal) Error() string { return r.why }

// deliver sends one letter within sendTime. Its error is a *refusal.
func (s *server) deliver(ctx context.Context, l letter) error {
	ctx, cancel := context.WithTimeout(ctx, s.sendTime)
	defer cancel()
	release := func() {} // closes the connection, because the client ignores ctx after the dial and does not close the connection if it fails early
	defer func() { release() }()
	client, err := s.client(func(dialing context.Context, network, address string) (net.Conn, error) {
		conn, err := s.dial(dialing, network, address)
		if err == nil {
			stop := context.AfterFunc(ctx, func() { conn.Close() })
			release = func() { stop(); conn.Close() }
		}
		return conn, err
	})
	if err != nil {
		return refused(err)
	}
	session, err := client.DialToSMTPClientWithContext(ctx)
	if err != nil {
		return refused(err)
	}
	encoding := gomail.EncodingQP
	if ok, _ := session.Extension("8BITMIME"); ok {
		encoding = gomail.NoEncoding
	}
	m, err := l.message(encoding, s.now())
	if err != nil {
		return refused(err)
	}
	if err = client.SendWithSMTPClient(session, m); !m.IsDelivered() {
		return refused(err)
	}
	_ = session.Quit() // an error does not matter, because the server already has the email
	return nil
}

func (s *server) client(dial gomail.DialContextFunc) (*gomail.Client, error) {
	options := []gomail.Option{
		gomail.WithPort(s.port), gomail.WithTimeout(s.replyTime), gomail.WithHELO(s.hello),
		gomail.WithTLSPolicy(s.policy), gomail.WithTLSConfig(s.tls), gomail.WithDialContextFunc(dial),
	}
	if s.user != "" {
		options = append(options, gomail.WithUsername(s.user), gomail.WithPassword(s.password),
			gomail.WithOpportunisticSMTPAuth(gomail.SMTPAuthSCRAMSHA256, gomail.SMTPAuthPlain, gomail.SMTPAuthLogin, gomail.SMTPAuthCramMD5))
	}
	return gomail.NewClient(s.host, options...)
}

func (s *server) dial(ctx context.Context, network, address string) (net.Conn, error) {
	dialer := &net.Dialer{}
	if !s.implicit {
		return dialer.DialContext(ctx, network, address)
	}
	return (&tls.Dialer{NetDialer: dialer, Config: s.tls}).DialContext(ctx, network, address)
}

// The function refused() describes an error in the arena's own words, because the
// server's text may repeat the address.
func refused(err error) error {
	var failed *gomail.SendError
	var reply *textproto.Error
	var network net.Error
	switch {
	case errors.As(err, &failed) && failed.ErrorCode() > 0:
		permanent := !failed.IsTemp() && failed.ErrorCode() >= 500
		return &refusal{fmt.Sprintf("the mail server refused the email with code %d", failed.ErrorCode()), permanent}
	case errors.As(err, &reply):
		return &refusal{fmt.Sprintf("the mail server refused the connection with code %d", reply.Code), false}
	case errors.As(err, &failed):
		return &refusal{"the connection to the mail server failed: " + failed.Reason.String(), false}
	case errors.As(err, &network) && network.Timeout(), errors.Is(err, context.DeadlineExceeded):
		return &refusal{"the mail server did not reply in time", false}
	case errors.As(err, &network):
		return &refusal{"the mail server cannot be reached: " + network.Error(), false}
	case err == nil:
		return &refusal{"the mail server did not confirm the email", false}
	}
	return &refusal{"unexpected reply from the mail server: " + err.Error(), false}
}
