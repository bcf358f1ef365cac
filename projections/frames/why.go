package frames

import "hexarena/domain/match"

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
