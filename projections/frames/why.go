package frames

import (
	"fmt"

	"hexarena/domain/match"
)

// Why explains in a sentence why the decision failed. It returns "" for a decision
// that was played.
func (d Decision) Why() string {
	switch {
	case d.Message != nil && *d.Message != "":
		return *d.Message
	case d.Fault != nil:
		return d.Fault.Message
	case d.Request != nil && d.Request.DeadlineMs == 0 && d.Cause != nil && *d.Cause == match.CauseDeadline:
		return "the bot had no time left in this match, so the arena did not ask it"
	case d.Cause != nil:
		return match.FaultOf(*d.Cause).Message
	}
	return ""
}

// Code returns the reason of an illegal answer, or the cause of a timeout. It
// returns "" for a decision that was played.
func (d Decision) Code() string {
	switch {
	case d.Reason != nil:
		return *d.Reason
	case d.Cause != nil:
		return *d.Cause
	}
	return ""
}

// Took says how long the decision took, and how much time the bot had when it got the
// request. If the arena spent all of the time on dialing, the bot never got the request.
func (d Decision) Took() string {
	if d.Request == nil || d.Request.DeadlineMs == 0 && d.ElapsedMs > 0 {
		return fmt.Sprintf("%d ms", d.ElapsedMs)
	}
	return fmt.Sprintf("%d of %d ms", d.ElapsedMs, d.Request.DeadlineMs)
}
