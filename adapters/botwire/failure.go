package botwire

import (
	"errors"
	"fmt"
	"net"
)

// ErrGone is the error of Send after the line was cut or closed.
var ErrGone = errors.New("the connection to the bot is closed")

// failure is an error that is shown to an owner. It must not help anyone scan a
// network, so it contains no address and no text from the peer. A closed port, a
// filtered port and a port without valid TLS all give the same message.
type failure struct {
	words   string
	refused bool
}

var (
	errAddress = &failure{words: "the address is not allowed", refused: true}
	errResolve = &failure{words: "the host name does not resolve"}
	errConnect = &failure{words: "no connection could be made; check that the bot is running, and check its port and, for https, its certificate"}
	errAnswer  = &failure{words: "the server sent no usable HTTP response in time"}
	errUpgrade = &failure{words: "the response is not a valid WebSocket upgrade"}
	errPong    = &failure{words: "the body is not the text pong"}
)

// Error implements error.
func (f *failure) Error() string { return f.words }

// NotAllowed reports whether the URL or its address is not allowed. In that case,
// the arena has sent nothing, and a retry cannot help.
func (f *failure) NotAllowed() bool { return f.refused }

func refusedURL(words string) error { return &failure{words: words, refused: true} }

func badStatus(status, want int) error {
	return &failure{words: fmt.Sprintf("the server responded with status %d instead of %d", status, want)}
}

// neverConnected reports whether a probe failed before its connection was up,
// including TLS.
func neverConnected(err error) bool {
	return err == errResolve || err == errAddress || err == errConnect //nolint:errorlint // failures are never wrapped
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
