package conformance

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"hexarena/domain/game"
	"hexarena/domain/ladder"
	"hexarena/domain/match"
)

// failure is a request that the bot did not answer well.
type failure struct {
	Exchange

	lost bool // the connection was lost or could not be opened
	open bool // the bot may still have answered within the deadline of the request
}

// brokeOff reports whether the bot ended the connection, or could not be reached.
func (f *failure) brokeOff() bool { return f.lost && checkFor(f) == "connection" }

// ask sends the request of an open decision and judges the answer. A nil failure means
// that the answer was played. If frame is nil, ask sends the request as it is.
func (r *run) ask(ctx context.Context, s *session, m *match.Match, d match.Decision, frame []byte) (match.Outcome, *failure) {
	if frame == nil {
		frame = r.request(m, d)
	}
	o, open := s.exchange(ctx, m, d, frame, r.Decision)
	if o.Cause == "" {
		s.answered[d.ID] = true
		r.took = append(r.took, time.Duration(o.ElapsedMs)*time.Millisecond)
	}
	f := judge(m, d, o)
	if f != nil {
		f.Request, f.open = string(frame), open
		if r.Ended != nil && f.lost {
			if why := r.Ended(); why != "" {
				f.Reason += "; " + why
			}
		}
	}
	r.extras(s, m, d)
	return o, f
}

// request returns the frame with the request of a decision in a standard match.
func (r *run) request(m *match.Match, d match.Decision) []byte {
	req := m.Request(d)
	req.DeadlineMs = r.Decision.Milliseconds()
	return req.AppendJSON(nil)
}

// extras judges messages that the arena did not expect.
func (r *run) extras(s *session, m *match.Match, d match.Decision) {
	for _, frame := range s.unexpected {
		switch id := match.IDOf(frame); {
		case s.answered[id]:
			r.report.advise("once", fmt.Sprintf("the bot answered request %d again, with %s; the arena ignores it, but counts it toward the limit of bytes", id, shortAnswer(string(frame))))
			continue
		case id > 0 && id <= d.ID: // it answers a request whose time has run out
			continue
		}
		r.report.fail("once", Exchange{
			MatchID: m.Started.MatchID, Kind: d.Kind.String(), Answer: clip(frame), Code: "unexpected",
			Reason: "the bot sent a message that answers no request; if it arrives while a decision is open, it is malformed",
		})
	}
	s.unexpected = nil
}

// judge lets the engine judge the outcome of a decision. Other open decisions do not
// matter, so their seats time out.
func judge(m *match.Match, d match.Decision, o match.Outcome) *failure {
	outcomes := []match.Outcome{o}
	for _, other := range m.Asks() {
		if other.ID != d.ID {
			outcomes = append(outcomes, match.Outcome{Decision: other.ID, Cause: match.CauseDeadline})
		}
	}
	events, err := m.Settle(outcomes)
	f := &failure{Exchange: Exchange{MatchID: m.Started.MatchID, Kind: d.Kind.String(), Answer: clip(o.Frame)}, lost: o.Cause == match.CauseDropped}
	if err != nil {
		f.Code, f.Reason = "internal", err.Error()
		return f
	}
	events = append(events, m.Explain(outcomes, events)...)
	for _, e := range events {
		switch e := e.(type) {
		case match.AnswerRejected:
			if e.Seat == d.Seat {
				f.Code, f.Reason = e.Reason, fmt.Sprintf("illegal (%s): %s", e.Reason, e.Message)
			}
		case match.DecisionTimedOut:
			if e.Seat == d.Seat {
				known := e.KnownFault()
				f.Code, f.Reason = known.Code, fmt.Sprintf("timeout (%s): %s", e.Cause, known.Message)
			}
		case match.TimeoutExplained:
			if e.Seat == d.Seat {
				f.Code, f.Reason = e.Fault.Code, fmt.Sprintf("timeout (%s): %s", e.Fault.Code, e.Fault.Message)
			}
		}
	}
	if f.Code == "" {
		return nil
	}
	return f
}

func clip(frame []byte) string {
	return strings.ToValidUTF8(string(frame[:min(len(frame), keptAnswer)]), "\uFFFD")
}

// position is a decision in a game. It stays valid, because a match never changes.
type position struct {
	m match.Match
	d match.Decision
}

// newMatchID returns the id of a match that the bot has not seen.
func (r *run) newMatchID() string {
	r.matches++
	return ladder.NameUUID(fmt.Sprintf("hexarena:check-bot:%d:%d", r.begun.UnixNano(), r.matches))
}

// change returns the frame with a changed request. It may also change the request.
type change func(*match.Request) []byte

// single sends one request in a match of its own, as the arena does after a restart.
func (r *run) single(ctx context.Context, p position, c change) *failure {
	p.m.Started.MatchID = r.newMatchID()
	var frame []byte
	if c != nil {
		req := p.m.Request(p.d)
		req.DeadlineMs = r.Decision.Milliseconds()
		frame = c(&req)
	}
	s := r.open(&p.m)
	defer r.close(s)
	_, f := r.ask(ctx, s, &p.m, p.d, frame)
	return f
}

// special checks requests that differ from a plain match in one way. It leaves out the
// kinds of requests that the bot does not answer well in plain matches.
func (r *run) special(ctx context.Context, id string, positions []position, c change) {
	for _, p := range positions {
		if !r.ready(id) || ctx.Err() != nil {
			return
		}
		if !r.soundKind(p.d.Kind.String()) {
			continue
		}
		f := r.single(ctx, p, c)
		switch {
		case f == nil:
			r.pass(id)
		case f.open && c != nil:
			r.report.advise(id, fmt.Sprintf("the bot took more than %v for a %s request; check-bot did not wait longer", 2*r.Decision, p.d.Kind))
			return
		default:
			r.blame(ctx, id, p, c, f)
		}
	}
}

// blame decides which check a failure belongs to. If the bot fails only sometimes, or
// fails without the change too, the change is not the cause.
func (r *run) blame(ctx context.Context, id string, p position, c change, f *failure) {
	again := r.single(ctx, p, c)
	switch {
	case again == nil:
		r.plain(p.d.Kind, f)
		return
	case unreachable(again):
		r.fail(id, f)
		r.down = "the bot accepts no connections any more, since the check " + id
		return
	case c == nil:
		r.fail(id, f)
		return
	}
	if without := r.single(ctx, p, nil); without != nil {
		r.plain(p.d.Kind, without)
		return
	}
	r.fail(id, f)
}

func unreachable(f *failure) bool {
	return f.Code == match.CodeUnreachable || f.Code == match.CodeNoHTTP
}

// faulty is an error of the dialer.
type faulty interface{ Fault() match.Fault }

// faultOf returns the fault of a failed dial.
func faultOf(err error) *match.Fault {
	var f faulty
	if errors.As(err, &f) {
		fault := f.Fault()
		return &fault
	}
	return &match.Fault{Code: match.CodeUnreachable, Message: err.Error()}
}

// shownFields are the parts of a view that people need to judge an answer. They come
// first in the short form of a request.
var shownFields = []string{"seatCount", "phase", "turn", "dice", "hand", "devCards", "handCounts", "openTrade"}

// shortRequest returns the request without the board, the pieces and the talk.
func shortRequest(request string) string {
	var fields struct {
		ID         json.RawMessage            `json:"id"`
		Mode       json.RawMessage            `json:"mode"`
		Seat       json.RawMessage            `json:"seat"`
		Kind       json.RawMessage            `json:"kind"`
		DeadlineMs json.RawMessage            `json:"deadlineMs"`
		View       map[string]json.RawMessage `json:"view"`
	}
	if json.Unmarshal([]byte(request), &fields) != nil {
		return shortAnswer(request)
	}
	var b bytes.Buffer
	fmt.Fprintf(&b, `{"id":%s,"mode":%s,"seat":%s,"kind":%s,"deadlineMs":%s,"view":{`, fields.ID, fields.Mode, fields.Seat, fields.Kind, fields.DeadlineMs)
	for _, name := range shownFields {
		if value, ok := fields.View[name]; ok {
			fmt.Fprintf(&b, `%q:`, name)
			_ = json.Compact(&b, value) // it is valid JSON
			b.WriteByte(',')
		}
	}
	var talk []any
	_ = json.Unmarshal(fields.View["talkLog"], &talk) // without talk, the number is 0
	fmt.Fprintf(&b, "… %d messages in talkLog, board, towns, roads}}", len(talk))
	return b.String()
}

// kinds lists the kinds of decisions.
var kinds = []string{
	game.KindSetup.String(), game.KindTurn.String(), game.KindDiscard.String(), game.KindBandit.String(), game.KindTrade.String(),
}
