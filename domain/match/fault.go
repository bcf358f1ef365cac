package match

import (
	"strconv"
	"strings"

	"hexarena/domain/game"
)

// Fault tells the bot's owner why a decision timed out. If the answer was malformed,
// Fault explains what was wrong with it.
type Fault struct {
	Code    string `json:"code"`
	At      string `json:"at,omitempty"` // a JSON pointer to the invalid value in a malformed answer
	Message string `json:"message"`
}

// The codes of all faults except malformed answers (docs/protocol.md, "Faults").
const (
	CodeSilent    = "silent"
	CodeStale     = "stale"
	CodeLate      = "late"
	CodeNoTime    = "no_time"
	CodeOversized = "oversized"

	CodeUnreachable = "unreachable"
	CodeNotAllowed  = "not_allowed"
	CodeCertificate = "certificate"
	CodeNoHTTP      = "no_http"
	CodeStatus      = "status"
	CodeNoUpgrade   = "no_upgrade"
	CodeSlowConnect = "slow_connect"
	CodeClosed      = "closed"
	CodeReset       = "reset"
	CodeEnded       = "ended"
	CodeNotReading  = "not_reading"
	CodeProtocol    = "protocol"
	CodeFlood       = "flood"
)

var (
	silent    = Fault{Code: CodeSilent, Message: "nothing came"}
	stale     = Fault{Code: CodeStale, Message: "only answers to earlier decisions came"}
	noTime    = Fault{Code: CodeNoTime, Message: "the bot had no time left in this match, so the arena did not ask it"}
	oversized = Fault{Code: CodeOversized, Message: "the message has more than 65,536 bytes"}
)

// KnownFault returns the fault of a timeout as far as the event shows it. The details
// of the match may show more.
func (e DecisionTimedOut) KnownFault() Fault {
	if kind, ok := game.ParseKind(e.Kind); ok && e.Answer != nil {
		return Fault(*ExplainMalformed(kind, e.Decision, *e.Answer))
	}
	return FaultOf(e.Cause)
}

// FaultOf returns the fault that the cause of a timeout indicates. The causes are listed
// under "timeout or illegal" in docs/protocol.md.
func FaultOf(cause string) Fault {
	switch cause {
	case CauseOversized:
		return oversized
	case CauseDropped:
		return Fault{Code: cause, Message: "the connection was lost, or did not open in time"}
	case CauseDeadline:
		return Fault{Code: cause, Message: "the answer came too late or not at all"}
	}
	return Fault{Code: cause, Message: "the message is not a well-formed answer"}
}

// Fault returns the fault of the decision that a answers.
func (a LateAnswer) Fault() Fault { return *late(a.LateMs) }

// The function late() returns the fault for an answer that arrived ms milliseconds
// after its deadline.
func late(ms int64) *Fault {
	return &Fault{Code: CodeLate, Message: "came " + thousands(ms) + " ms late"}
}

// The function thousands() formats a number with a comma between groups of three
// digits.
func thousands(n int64) string {
	s := strconv.FormatInt(n, 10)
	for at := len(s) - 3; at > 0; at -= 3 {
		s = s[:at] + "," + s[at:]
	}
	return s
}

// Explain returns a TimeoutExplained for each timeout whose fault is known. The
// parameter events is the result of Settle with these outcomes.
func (m *Match) Explain(outcomes []Outcome, events []Event) (explained []Event) {
	byID := map[int]Outcome{}
	for _, o := range outcomes {
		byID[o.Decision] = o
	}
	for _, e := range events {
		e, ok := e.(DecisionTimedOut)
		if !ok {
			continue
		}
		if f := m.faultOf(e, byID[e.Decision]); f != nil {
			explained = append(explained, TimeoutExplained{Seat: e.Seat, Decision: e.Decision, Fault: *f})
		}
	}
	return explained
}

// faultOf returns the fault of a timeout, or nil if it is unknown.
func (m *Match) faultOf(e DecisionTimedOut, o Outcome) *Fault {
	switch {
	case o.Fault != nil:
		return o.Fault
	case e.Cause == CauseMalformed:
		return m.malformedFault(e.Decision, o)
	case e.Cause == CauseOversized:
		return &oversized
	case e.Cause == CauseDeadline && o.Unasked:
		return &noTime
	case e.Cause == CauseDeadline && e.Heard:
		return &stale
	case e.Cause == CauseDeadline:
		return &silent
	}
	return nil
}

// malformedFault explains why a frame is malformed. It examines the whole frame, of
// which the log may store only the beginning. If the outcome has a cause, the frame
// is not valid text.
func (m *Match) malformedFault(decision int, o Outcome) *Fault {
	why := notText(string(o.Frame))
	if o.Cause == "" {
		for _, d := range m.open {
			if d.ID == decision {
				why = explain(d.Kind, decision, o.Frame)
			}
		}
	}
	f := Fault(*why)
	return &f
}

// notText explains a frame that is not valid text. The parameter frame contains
// replacement characters in place of invalid UTF-8.
func notText(frame string) *Malformed {
	if strings.Contains(frame, "\uFFFD") {
		return &Malformed{CodeNotUTF8, "", "the message is not valid UTF-8"}
	}
	return &Malformed{CodeBinary, "", "the message is a binary frame; send text frames"}
}
