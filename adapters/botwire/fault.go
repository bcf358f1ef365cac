package botwire

import (
	"errors"
	"fmt"
	"net"

	"nhooyr.io/websocket"

	"hexarena/domain/match"
)

// These are the faults of a line that had been established (docs/protocol.md,
// "Faults").
var (
	notReading = faulty(match.CodeNotReading, "the bot did not read the request in time")
	reset      = faulty(match.CodeReset, "the bot reset the connection")
	ended      = faulty(match.CodeEnded, "the bot ended the connection without a close frame")
	tooLarge   = faulty(match.CodeOversized, "the message has more than 65,536 bytes")
	protocol   = faulty(match.CodeProtocol, "the bot violated the WebSocket protocol")
	flood      = faulty(match.CodeFlood, "the bot sent too many bytes or pings")
)

// Fault returns why the line ended, or nil while the line is open. The fault is set
// before receive is called with CauseDropped.
func (l *Line) Fault() *match.Fault { return l.fault.Load() }

// faultOf returns the fault of a line whose reader ended with an error.
func faultOf(v verdict, err error) *match.Fault {
	var closed websocket.CloseError
	switch {
	case v == vOversized:
		return &tooLarge
	case v == vProtocol:
		return &protocol
	case v == vFlood:
		return &flood
	case errors.As(err, &closed):
		return closedBy(closed)
	case errors.Is(err, errReset):
		return &reset
	case errors.Is(err, errEnded), errors.Is(err, net.ErrClosed):
		return &ended
	}
	return &protocol // the scanner accepted a frame that the library then rejected, such as an invalid close frame
}

// closedBy describes a close frame and quotes its reason, which has at most 123 bytes.
func closedBy(e websocket.CloseError) *match.Fault {
	message := fmt.Sprintf("closed by the bot with code %d", e.Code)
	if e.Code == websocket.StatusNoStatusRcvd {
		message = "closed by the bot without a code"
	}
	if e.Reason != "" {
		message += fmt.Sprintf(" %q", e.Reason)
	}
	f := faulty(match.CodeClosed, message)
	return &f
}
