package botwire

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"syscall"
	"time"

	"hexarena/domain/match"
)

// ErrGone is the error that Send returns once either side has closed the connection.
var ErrGone = errors.New("the connection to the bot is closed")

// failure is an error that is shown to an owner. It must not help anyone scan a
// network, so it contains no address and no text from the peer. A closed port, a
// filtered port and a port without valid TLS all give the same message.
//
// The field fault says more, but is shown only for matches: a bot plays only if its URL
// has passed the deploy check. If the connection cannot be established, a rejected
// certificate is the only cause that this field names. It may name this cause, because
// a peer that presents a certificate already reveals that it speaks TLS.
type failure struct {
	words       string
	fault       match.Fault
	refused     bool
	unconnected bool // the connection was not established, or TLS failed
}

const (
	noConnection  = "no connection could be made; check that the bot is running, and check its port and, for https, its certificate"
	deniedAddress = "the address is not allowed; use a public address that is not the arena's own"
	noAnswer      = "the server sent no usable HTTP response in time"
)

var (
	errAddress = &failure{words: deniedAddress, fault: faulty(match.CodeNotAllowed, deniedAddress), refused: true, unconnected: true}
	errResolve = &failure{words: "the host name does not resolve; check the URL", fault: faulty(match.CodeUnreachable, noConnection), unconnected: true}
	errConnect = &failure{words: noConnection, fault: faulty(match.CodeUnreachable, noConnection), unconnected: true}
	errAnswer  = &failure{words: noAnswer, fault: faulty(match.CodeNoHTTP, noAnswer)}
	errHungUp  = &failure{words: noAnswer, fault: faulty(match.CodeReset, "the bot reset the connection before it answered the upgrade")}
	errUpgrade = &failure{words: "the response is not a valid WebSocket upgrade", fault: faulty(match.CodeNoUpgrade, "the response is not a valid WebSocket upgrade")}
	errPong    = &failure{words: "the body is not the text pong"}
)

func faulty(code, message string) match.Fault { return match.Fault{Code: code, Message: message} }

// Fault returns why a dial failed, for the decision log (docs/protocol.md,
// "Faults").
func (f *failure) Fault() match.Fault { return f.fault }

// Error implements error.
func (f *failure) Error() string { return f.words }

// NotAllowed reports whether the URL or its address is not allowed. In that case,
// the arena has sent nothing, and a retry cannot help.
func (f *failure) NotAllowed() bool { return f.refused }

func refusedURL(words string) error {
	return &failure{words: words, fault: faulty(match.CodeNotAllowed, words), refused: true}
}

func badStatus(status, want int) error {
	words := fmt.Sprintf("the server responded with status %d instead of %d", status, want)
	return &failure{words: words, fault: faulty(match.CodeStatus, words)}
}

// badTLS returns the failure that describes a failed TLS handshake.
func badTLS(err error) error {
	var certificate *tls.CertificateVerificationError
	if !errors.As(err, &certificate) {
		return errConnect
	}
	bad := *errConnect
	bad.fault = faulty(match.CodeCertificate, aboutCertificate(certificate.Err))
	return &bad
}

// aboutCertificate explains why a certificate was rejected, without quoting the
// certificate.
func aboutCertificate(err error) string {
	var invalid x509.CertificateInvalidError
	switch {
	case errors.As(err, &invalid) && invalid.Reason == x509.Expired && time.Now().After(invalid.Cert.NotAfter):
		return "certificate expired on " + invalid.Cert.NotAfter.UTC().Format(time.DateOnly)
	case errors.As(err, &invalid) && invalid.Reason == x509.Expired:
		return "certificate is not valid before " + invalid.Cert.NotBefore.UTC().Format(time.DateOnly)
	case errors.As(err, new(x509.HostnameError)):
		return "certificate is for another host name"
	case errors.As(err, new(x509.UnknownAuthorityError)):
		return "certificate is not signed by a known authority; check that the server sends the whole chain"
	}
	return "certificate is not valid"
}

// badExchange returns the failure that describes an error while sending a request or
// reading its response.
func badExchange(err error) error {
	if isReset(err) {
		return errHungUp
	}
	return errAnswer
}

func isReset(err error) bool {
	return errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE)
}

// neverConnected reports whether a probe failed before its connection, including TLS,
// was established.
func neverConnected(err error) bool {
	var f *failure
	return errors.As(err, &f) && f.unconnected
}

// dialFailure returns the failure that describes a dial error.
func dialFailure(err error) error {
	var known *failure
	var dns *net.DNSError
	switch {
	case errors.As(err, &known):
		return known
	case errors.As(err, &dns):
		return errResolve
	}
	return errConnect
}
