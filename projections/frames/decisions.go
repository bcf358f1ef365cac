package frames

import (
	"encoding/json"
	"fmt"
	"time"

	"hexarena/domain/game"
	"hexarena/domain/match"
	"hexarena/domain/seed"
)

// The outcomes of a decision.
const (
	Played  = "played"
	Timeout = "timeout"
	Illegal = "illegal"
)

// Decision is one decision in the form that the bot's owner sees: the request, the
// answer and the outcome. Fields that do not apply are null.
type Decision struct {
	ID        int            `json:"id"`
	Seq       int            `json:"seq"`  // the seq of the public event that closed the decision
	Kind      string         `json:"kind"` // setup, turn, discard, bandit or trade
	At        string         `json:"at"`   // when the decision closed
	Request   *match.Request `json:"request"`
	Answer    *string        `json:"answer"`
	ElapsedMs int64          `json:"elapsedMs"`
	Outcome   string         `json:"outcome"` // Played, Timeout or Illegal
	Cause     *string        `json:"cause"`   // the cause of a timeout
	Reason    *string        `json:"reason"`  // why the rules rejected the answer
	Message   *string        `json:"message"` // the reason as a sentence
	// Malformed says what is wrong with a malformed answer, and where.
	Malformed *match.Malformed  `json:"malformed"`
	Fault     *match.Fault      `json:"fault"`    // why the decision timed out; nil if that is unknown
	Late      *match.LateAnswer `json:"late"`     // the answer that arrived after the deadline
	Strikes   int               `json:"strikes"`  // the seat's strikes after this decision
	Resigned  bool              `json:"resigned"` // whether this decision's strike resigned the seat
	Played    json.RawMessage   `json:"played"`   // the action that was played: the bot's action, or the default
}

// SeatOf returns the seat of a bot.
func (h *History) SeatOf(botID string) (seat int, ok bool) {
	for i, s := range h.Started.Seats {
		if s.BotID == botID {
			return i, true
		}
	}
	return 0, false
}

// Decisions returns a seat's closed decisions in order. It does not return
// decisions of an open batch, because they are not in the stream yet.
//
// Decisions rebuilds the requests by folding the match with its server seed. The
// stream of an ended match contains that seed. For a running match, the caller
// derives the seed from the seed key. If the seed is nil, the requests are null.
// The deadline in a request is the one that the bot received. If a match has no
// clocks, the time spent redialing is not subtracted from the deadline.
//
// The parameter details is the result of ReadDetails.
func (h *History) Decisions(seat int, serverSeed *seed.Seed, details match.Details) []Decision {
	if h.Proof != nil {
		serverSeed = &h.Proof.ServerSeed
	}
	f := decisionLog{seat: seat, details: details, list: []Decision{}}
	if serverSeed != nil && seed.Commitment(*serverSeed) == h.Started.Commitment {
		m := match.Evolve(match.New(*serverSeed), h.Started)
		f.match = &m
	}
	for i, e := range h.Events {
		f.add(e, h.Times[i], h.Clocks[i])
	}
	return f.list
}

// decisionLog builds one seat's decisions.
type decisionLog struct {
	seat    int
	match   *match.Match    // nil without a server seed
	asked   *match.Request  // the latest request to the seat, without its time limits
	allowed match.Allowance // of that request, before redialing
	seq     int
	strikes int
	details match.Details
	list    []Decision
}

func (f *decisionLog) add(e match.Event, at time.Time, c Clock) {
	if match.KindOf(e) != "" {
		f.seq++
	}
	if d, ok := f.closed(e); ok {
		d.Seq, d.At = f.seq, at.UTC().Format(match.TimeFormat)
		f.explain(&d)
		if f.asked != nil && f.asked.ID == d.ID {
			d.Request = f.asked
			d.Request.DeadlineMs, d.Request.BankMs = f.limits(c.Redial)
		}
		f.list = append(f.list, d)
	}
	f.follow(e, c.Used)
}

// The method closed() folds an event. If the event closes a decision of the seat, the
// method returns that decision. A failed decision is followed by an ActionPlayed
// event with the default action. The method adds this action to the decision that
// is already in the list.
func (f *decisionLog) closed(e match.Event) (Decision, bool) {
	switch e := e.(type) {
	case match.SeatResigned:
		if e.Seat == f.seat {
			f.list[len(f.list)-1].Resigned = true
		}
	case match.DecisionTimedOut:
		return Decision{ID: e.Decision, Kind: e.Kind, Answer: e.Answer, ElapsedMs: e.ElapsedMs, Outcome: Timeout, Cause: &e.Cause, Malformed: malformed(e)}, e.Seat == f.seat
	case match.AnswerRejected:
		return Decision{ID: e.Decision, Kind: e.Kind, Answer: &e.Answer, ElapsedMs: e.ElapsedMs, Outcome: Illegal, Reason: &e.Reason, Message: &e.Message}, e.Seat == f.seat
	case match.ActionPlayed:
		n := len(f.list)
		switch {
		case e.Seat != f.seat:
		case n > 0 && f.list[n-1].ID == e.Decision:
			f.list[n-1].Played = e.Action
		case e.ElapsedMs != nil: // if it is nil, the seat has resigned and got no request
			answer := fmt.Sprintf(`{"id":%d,"action":%s}`, e.Decision, e.Action)
			return Decision{ID: e.Decision, Kind: e.Kind, Answer: &answer, ElapsedMs: *e.ElapsedMs, Outcome: Played, Played: e.Action}, true
		}
	}
	return Decision{}, false
}

// explain adds the strikes and the details to a decision.
func (f *decisionLog) explain(d *Decision) {
	if d.Outcome != Played {
		f.strikes++
	}
	d.Strikes, d.Fault, d.Late = f.strikes, f.details.FaultOf(d.ID), f.details.LateAnswerTo(d.ID)
	switch {
	case d.Malformed == nil:
	case d.Fault == nil:
		fault := match.Fault(*d.Malformed)
		d.Fault = &fault
	default: // the details explain the complete answer
		whole := match.Malformed(*d.Fault)
		d.Malformed = &whole
	}
}

// The function malformed() explains a malformed answer. It returns nil for other
// timeouts.
func malformed(e match.DecisionTimedOut) *match.Malformed {
	kind, ok := game.ParseKind(e.Kind)
	if e.Answer == nil || !ok {
		return nil
	}
	return match.ExplainMalformed(kind, e.Decision, *e.Answer)
}

// The method limits() returns the time limits of the latest request, minus the time
// spent redialing.
func (f *decisionLog) limits(redial []int64) (deadlineMs int64, bankMs *int64) {
	a := f.allowed
	if redial != nil {
		a = a.After(redial[f.seat])
	}
	return a.DeadlineMs, a.BankMs
}

// follow folds an event of the match. If the match now asks the seat for a
// decision, follow stores the request.
func (f *decisionLog) follow(e match.Event, used match.Clocks) {
	if f.match == nil {
		return
	}
	next := match.Evolve(*f.match, e)
	f.match = &next
	for _, d := range next.Asks() {
		if d.Seat == f.seat && (f.asked == nil || f.asked.ID != d.ID) {
			request := next.Request(d)
			f.asked, f.allowed = &request, next.Allow(used, f.seat)
		}
	}
}
