package botwire

import (
	"errors"
	"fmt"
	"net"
)

// ErrGone is what Send returns once the line is cut or closed.
var ErrGone = errors.New("the line is gone")

// failure is an error in words that tell an owner enough and a scanner
// nothing: no address, no text of the peer, and the same words for a closed
// and a filtered port.
type failure struct {
	words   string
	refused bool
}

var (
	errAddress = &failure{words: "the address is not allowed", refused: true}
	errResolve = &failure{words: "the host name does not resolve"}
	errConnect = &failure{words: "no connection could be made"}
	errTLS     = &failure{words: "the TLS handshake failed"}
	errAnswer  = &failure{words: "no usable HTTP answer came in time"}
	errUpgrade = &failure{words: "the answer is not a valid WebSocket upgrade"}
	errPong    = &failure{words: "the body is not the text pong"}
)

// Error implements error.
func (f *failure) Error() string { return f.words }

// NotAllowed says whether the URL or its address is refused for good: nothing
// was sent, and trying again is useless.
func (f *failure) NotAllowed() bool { return f.refused }

func refusedURL(words string) error { return &failure{words: words, refused: true} }

func badStatus(status, want int) error {
	return &failure{words: fmt.Sprintf("the server answered with status %d instead of %d", status, want)}
}

// classify turns what a transport said into a failure: by its own kind where
// it has one, else by how far the attempt came.
func classify(err error, reached stage) error {
	var known *failure
	var dns *net.DNSError
	switch {
	case errors.As(err, &known):
		return known
	case errors.As(err, &dns):
		return errResolve
	}
	return reached.failure()
}
