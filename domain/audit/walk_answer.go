package audit

import (
	"errors"
	"fmt"
	"slices"

	"hexarena/domain/game"
	"hexarena/domain/match"
)

// decision is one answer that a seat owes.
type decision struct {
	id, seat int
	kind     game.Kind
}

func (d decision) String() string {
	return fmt.Sprintf("the close of decision %d (%v) of seat %d", d.id, d.kind, d.seat)
}

// close reads how a decision of a seat that still plays closed: its answer, or its
// failure, the default, and the resignation on the third strike.
func (w *walk) close(d decision) {
	e := w.peek(CheckAnswers, d.String)
	if e == nil {
		return
	}
	strikes := w.strikes[d.seat] + 1
	switch data := e.data.(type) {
	case *played:
		w.answer(d, e, data)
		return
	case match.DecisionTimedOut:
		w.timeout(d, e, data, strikes)
	case match.AnswerRejected:
		w.refusal(d, e, data, strikes)
	default:
		w.unexpected(CheckAnswers, d.String())
	}
	if w.difference != nil {
		return
	}
	w.strikes[d.seat] = strikes
	w.made(CheckStrikes, 1)
	w.playDefault(d)
	if strikes == match.MaxStrikes {
		w.expect(CheckStrikes, match.SeatResigned{Seat: d.seat, ResignData: match.ResignData{Strikes: strikes}})
		w.resigned[d.seat] = true
	}
}

// owed reports whether an event closes that decision.
func (d decision) owed(e *event, id int, kind string) bool {
	return e.seat == d.seat && id == d.id && kind == d.kind.String()
}

func (w *walk) answer(d decision, e *event, p *played) {
	if !d.owed(e, p.Decision, p.Kind) {
		w.unexpected(CheckAnswers, d.String())
		return
	}
	if p.Default {
		w.unexpected(CheckDefaults, "an answer, a timeout or an illegal: a default follows a strike")
		return
	}
	if err := w.judge(d, p.answer, p.err); err != nil {
		w.unexpected(CheckAnswers, "a refusal of it: "+err.Error())
		return
	}
	collected := match.Collected(&w.game, d.seat, p.answer.Action)
	switch {
	case !p.whole:
		w.unexpected(CheckAnswers, "only the fields of the schema: "+string(p.answer.Sent))
	case p.ElapsedMs == nil:
		w.unexpected(CheckAnswers, "an elapsedMs, as every answer has")
	case !slices.Equal(p.Collected, collected):
		w.unexpected(CheckAnswers, "collected "+inJSON(collected))
	}
	if w.difference != nil {
		return
	}
	w.take(e)
	w.made(CheckAnswers, 1)
	w.heard[d.seat] = true
	w.thinking[d.seat] += *p.ElapsedMs
	w.game.Act(uint8(d.seat), p.answer.Action)
	if p.answer.Talk != "" {
		w.talked |= 1 << d.seat
	}
}

// judge returns why an answer is not legal: an ErrMalformed or a *game.Illegal.
func (w *walk) judge(d decision, a match.Answer, err error) error {
	if err != nil {
		return err
	}
	return a.Check(&w.game, d.seat, w.talked)
}

func (w *walk) timeout(d decision, e *event, f match.DecisionTimedOut, strikes int) {
	causes := []string{match.CauseDeadline, match.CauseDropped, match.CauseMalformed, match.CauseOversized}
	switch {
	case !d.owed(e, f.Decision, f.Kind):
		w.unexpected(CheckAnswers, d.String())
	case f.Strikes != strikes:
		w.unexpected(CheckStrikes, fmt.Sprintf("strike %d of seat %d", strikes, d.seat))
	case !slices.Contains(causes, f.Cause):
		w.unexpected(CheckStrikes, fmt.Sprintf("a cause that is one of %v", causes))
	case (f.Answer != nil) != (f.Cause == match.CauseMalformed):
		w.unexpected(CheckStrikes, "an answer if it was malformed, else none")
	default:
		w.take(e)
		w.thinking[d.seat] += f.ElapsedMs
		w.heard[d.seat] = w.heard[d.seat] || f.Cause == match.CauseMalformed || f.Cause == match.CauseOversized
	}
}

// keptWhole is the length up to which the log certainly holds a whole answer. It
// may have cut a longer one.
const keptWhole = 4092

func (w *walk) refusal(d decision, e *event, r match.AnswerRejected, strikes int) {
	switch {
	case !d.owed(e, r.Decision, r.Kind):
		w.unexpected(CheckAnswers, d.String())
		return
	case r.Strikes != strikes:
		w.unexpected(CheckStrikes, fmt.Sprintf("strike %d of seat %d", strikes, d.seat))
		return
	}
	id, a, err := match.ReadFrame(d.kind, []byte(r.Answer))
	if errors.Is(err, match.ErrMalformed) && len(r.Answer) > keptWhole {
		w.cut++
	} else if follows := w.refusedFor(d, id, a, err); follows != r.Reason {
		w.unexpected(CheckRefusals, follows)
		return
	} else {
		w.made(CheckRefusals, 1)
	}
	w.take(e)
	w.thinking[d.seat] += r.ElapsedMs
	w.heard[d.seat] = true
}

// refusedFor returns the reason for which the rules refuse an answer, or a text
// that explains why they do not.
func (w *walk) refusedFor(d decision, id int, a match.Answer, err error) string {
	if errors.Is(err, match.ErrMalformed) {
		return "a timeout: " + err.Error()
	}
	if id != d.id {
		return fmt.Sprintf("a timeout: the answer is to decision %d, not %d", id, d.id)
	}
	err = w.judge(d, a, err)
	var illegal *game.Illegal
	if !errors.As(err, &illegal) {
		return "no refusal: the answer is legal"
	}
	return illegal.Reason
}

// playDefault expects the default of a decision.
func (w *walk) playDefault(d decision) {
	if w.difference != nil {
		return
	}
	action := w.game.Default(uint8(d.seat))
	data := match.ActionData{Decision: d.id, Kind: d.kind.String(), Action: match.ActionJSON(action), Default: true}
	if w.expect(CheckDefaults, match.ActionPlayed{Seat: d.seat, ActionData: data}) {
		w.game.Act(uint8(d.seat), action)
	}
}
