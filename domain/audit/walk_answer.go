package audit

import (
	"errors"
	"fmt"
	"slices"

	"hexarena/domain/game"
	"hexarena/domain/match"
)

func describeClose(d match.Decision) string {
	return fmt.Sprintf("an event that closes decision %d (%v) of seat %d", d.ID, d.Kind, d.Seat)
}

// close reads the events that close a decision of a seat that still plays. These are
// either the answer, or a failure and then the default. The third strike is also followed
// by the resignation.
func (w *walk) close(d match.Decision) {
	e := w.peek(CheckAnswers, func() string { return describeClose(d) })
	if e == nil {
		return
	}
	strikes := w.strikes[d.Seat] + 1
	switch data := e.data.(type) {
	case *played:
		w.answer(d, e, data)
		return
	case match.DecisionTimedOut:
		w.timeout(d, e, data, strikes)
	case match.AnswerRejected:
		w.refusal(d, e, data, strikes)
	default:
		w.unexpected(CheckAnswers, describeClose(d))
	}
	if w.difference != nil {
		return
	}
	w.strikes[d.Seat] = strikes
	w.made(CheckStrikes, 1)
	w.playDefault(d)
	if strikes == match.MaxStrikes {
		w.expect(w.check(CheckStrikes), match.SeatResigned{Seat: d.Seat, ResignData: match.ResignData{Strikes: strikes}})
		w.resigned |= 1 << d.Seat
	}
}

// The function closes() reports whether an event closes the given decision.
func closes(d match.Decision, e *event, id int, kind string) bool {
	return e.seat == d.Seat && id == d.ID && kind == d.Kind.String()
}

func (w *walk) answer(d match.Decision, e *event, p *played) {
	if !closes(d, e, p.Decision, p.Kind) {
		w.unexpected(CheckAnswers, describeClose(d))
		return
	}
	if p.Default {
		w.unexpected(CheckDefaults, "an answer, a timeout or an illegal event: a default comes only after a strike")
		return
	}
	if err := w.judge(d, p.answer, p.err); err != nil {
		w.unexpected(CheckAnswers, "a refusal of the answer: "+err.Error())
		return
	}
	collected := match.Collected(&w.game, d.Seat, p.answer.Action)
	switch {
	case !p.whole:
		w.unexpected(CheckAnswers, "only the fields of the schema: "+string(p.answer.Sent))
	case p.ElapsedMs == nil:
		w.unexpected(CheckAnswers, "an elapsedMs, which every answer has")
	case !slices.Equal(p.Collected, collected):
		w.unexpected(CheckAnswers, "collected "+inJSON(collected))
	}
	if w.difference != nil {
		return
	}
	w.take(e)
	w.answers.Count++
	w.heard[d.Seat] = true
	w.thinking[d.Seat] += *p.ElapsedMs
	w.game.Act(uint8(d.Seat), p.answer.Action)
	if p.answer.Talk != "" {
		w.talked |= 1 << d.Seat
	}
}

// judge returns nil if an answer is legal. Otherwise it returns an ErrMalformed
// or a *game.Illegal.
func (w *walk) judge(d match.Decision, a match.Answer, err error) error {
	if err != nil {
		return err
	}
	return a.Check(&w.game, d.Seat, w.talked)
}

func (w *walk) timeout(d match.Decision, e *event, f match.DecisionTimedOut, strikes int) {
	causes := []string{match.CauseDeadline, match.CauseDropped, match.CauseMalformed, match.CauseOversized}
	switch {
	case !closes(d, e, f.Decision, f.Kind):
		w.unexpected(CheckAnswers, describeClose(d))
	case f.Strikes != strikes:
		w.unexpected(CheckStrikes, fmt.Sprintf("strike %d of seat %d", strikes, d.Seat))
	case !slices.Contains(causes, f.Cause):
		w.unexpected(CheckStrikes, fmt.Sprintf("a cause that is one of %v", causes))
	case (f.Answer != nil) != (f.Cause == match.CauseMalformed):
		w.unexpected(CheckStrikes, "an answer only if the cause is malformed")
	default:
		w.take(e)
		w.thinking[d.Seat] += f.ElapsedMs
		w.heard[d.Seat] = w.heard[d.Seat] || f.Cause == match.CauseMalformed || f.Cause == match.CauseOversized
	}
}

func (w *walk) refusal(d match.Decision, e *event, r match.AnswerRejected, strikes int) {
	switch {
	case !closes(d, e, r.Decision, r.Kind):
		w.unexpected(CheckAnswers, describeClose(d))
		return
	case r.Strikes != strikes:
		w.unexpected(CheckStrikes, fmt.Sprintf("strike %d of seat %d", strikes, d.Seat))
		return
	}
	id, a, err := match.ReadFrame(d.Kind, []byte(r.Answer))
	if errors.Is(err, match.ErrMalformed) && len(r.Answer) > match.KeptWhole {
		w.cut++
	} else if follows := w.refusedFor(d, id, a, err); follows != r.Reason {
		w.unexpected(CheckRefusals, follows)
		return
	} else {
		w.made(CheckRefusals, 1)
	}
	w.take(e)
	w.thinking[d.Seat] += r.ElapsedMs
	w.heard[d.Seat] = true
}

// refusedFor returns the reason why the rules refuse an answer. If the rules do
// not refuse it, refusedFor describes the correct outcome instead.
func (w *walk) refusedFor(d match.Decision, id int, a match.Answer, err error) string {
	if errors.Is(err, match.ErrMalformed) {
		return "a timeout: " + err.Error()
	}
	if id != d.ID {
		return fmt.Sprintf("a timeout: the answer is to decision %d, not %d", id, d.ID)
	}
	err = w.judge(d, a, err)
	var illegal *game.Illegal
	if !errors.As(err, &illegal) {
		return "no refusal: the answer is legal"
	}
	return illegal.Reason
}

// playDefault checks that the next event is the default action for a decision, and
// plays the default.
func (w *walk) playDefault(d match.Decision) {
	if w.difference != nil {
		return
	}
	action := w.game.Default(uint8(d.Seat))
	data := match.ActionData{Decision: d.ID, Kind: d.Kind.String(), Action: match.ActionJSON(action), Default: true}
	if w.expect(w.defaults, match.ActionPlayed{Seat: d.Seat, ActionData: data}) {
		w.game.Act(uint8(d.Seat), action)
	}
}
