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
	case failed:
		w.timeout(d, e, data, strikes)
	case refused:
		w.refusal(d, e, data, strikes)
	default:
		w.unexpected(CheckAnswers, d.String())
	}
	if w.difference != nil {
		return
	}
	w.strikes[d.seat] = strikes
	w.count[nStrikes]++
	w.playDefault(d)
	if strikes == match.MaxStrikes {
		want := resigned{strikes}
		w.expect(nStrikes, "resign", d.seat, equal(want), match.ResignData{Strikes: strikes})
		w.resigned[d.seat] = true
	}
}

// owed reports whether an event closes that decision.
func (d decision) owed(e *event, id int, kind string) bool {
	return e.seat == d.seat && id == d.id && kind == d.kind.String()
}

func (w *walk) answer(d decision, e *event, p *played) {
	if !d.owed(e, p.decision, p.kind) {
		w.unexpected(CheckAnswers, d.String())
		return
	}
	if p.isDefault {
		w.unexpected(CheckDefaults, "an answer, a timeout or an illegal: a default follows a strike")
		return
	}
	if err := w.judge(d, p.answer, p.err); err != nil {
		w.unexpected(CheckAnswers, "a refusal of it: "+err.Error())
		return
	}
	collected := w.collected(d.seat, p.answer.Action)
	switch {
	case !p.whole:
		w.unexpected(CheckAnswers, "only the fields of the schema: "+string(p.answer.Sent))
	case p.elapsed == nobody:
		w.unexpected(CheckAnswers, "an elapsedMs, as every answer has")
	case !slices.Equal(p.collected, collected):
		w.unexpected(CheckAnswers, "collected "+inJSON(collected))
	}
	if w.difference != nil {
		return
	}
	w.take(e)
	w.count[nAnswers]++
	w.heard[d.seat] = true
	w.thinking[d.seat] += p.elapsed
	w.game.Act(uint8(d.seat), p.answer.Action)
	if p.answer.Talk != "" {
		w.talked |= 1 << d.seat
	}
}

// errTalkTwice means that a seat has talked this turn.
var errTalkTwice = &game.Illegal{Reason: game.ReasonTalkTwice, Message: "the seat has talked this turn"}

// judge returns why an answer is not legal: an ErrMalformed or a *game.Illegal.
func (w *walk) judge(d decision, a match.Answer, err error) error {
	if err != nil {
		return err
	}
	if err := w.game.Check(uint8(d.seat), a.Action); err != nil {
		return err
	}
	if a.Talk != "" && w.talked>>d.seat&1 != 0 {
		return errTalkTwice
	}
	return nil
}

// collected returns the cards that an embargo takes, by seat; nil for other
// actions.
func (w *walk) collected(seat int, a game.Action) []int {
	if a.Type != game.PlayEmbargo {
		return nil
	}
	list := make([]int, w.game.Seats)
	for s := range list {
		if s != seat {
			list[s] = int(w.game.Hands[s][a.Get])
		}
	}
	return list
}

func (w *walk) timeout(d decision, e *event, f failed, strikes int) {
	causes := []string{match.CauseDeadline, match.CauseDropped, match.CauseMalformed, match.CauseOversized}
	switch {
	case !d.owed(e, f.decision, f.kind):
		w.unexpected(CheckAnswers, d.String())
	case f.strikes != strikes:
		w.unexpected(CheckStrikes, fmt.Sprintf("strike %d of seat %d", strikes, d.seat))
	case !slices.Contains(causes, f.cause):
		w.unexpected(CheckStrikes, fmt.Sprintf("a cause that is one of %v", causes))
	case f.answered != (f.cause == match.CauseMalformed):
		w.unexpected(CheckStrikes, "an answer if it was malformed, else none")
	default:
		w.take(e)
		w.thinking[d.seat] += f.elapsed
		w.heard[d.seat] = w.heard[d.seat] || f.cause == match.CauseMalformed || f.cause == match.CauseOversized
	}
}

// keptWhole is the length up to which the log certainly holds a whole answer. It
// may have cut a longer one.
const keptWhole = 4092

func (w *walk) refusal(d decision, e *event, r refused, strikes int) {
	switch {
	case !d.owed(e, r.decision, r.kind):
		w.unexpected(CheckAnswers, d.String())
		return
	case r.strikes != strikes:
		w.unexpected(CheckStrikes, fmt.Sprintf("strike %d of seat %d", strikes, d.seat))
		return
	}
	id, a, err := match.ReadFrame(d.kind, []byte(r.answer))
	if errors.Is(err, match.ErrMalformed) && len(r.answer) > keptWhole {
		w.cut++
	} else if follows := w.refusedFor(d, id, a, err); follows != r.reason {
		w.unexpected(CheckRefusals, follows)
		return
	} else {
		w.count[nRefusals]++
	}
	w.take(e)
	w.thinking[d.seat] += r.elapsed
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
	text := match.ActionJSON(action)
	ok := w.expect(nDefaults, "action", d.seat, func(data any) bool {
		p, ok := data.(*played)
		return ok && p.isDefault && p.decision == d.id && p.kind == d.kind.String() && p.elapsed == nobody && p.collected == nil &&
			p.whole && len(p.answer.Sent) == len(text) && sameDefault(p.answer.Action, action)
	}, match.ActionData{Decision: d.id, Kind: d.kind.String(), Action: text, Default: true})
	if ok {
		w.game.Act(uint8(d.seat), action)
	}
}

// sameDefault compares the fields that count for a default's type. Its caller
// compares the length, so that an extra field, such as a talk, does not pass.
func sameDefault(a, want game.Action) bool {
	if a.Type != want.Type {
		return false
	}
	switch a.Type {
	case game.Setup:
		return a.Vertex == want.Vertex && a.Edges[0] == want.Edges[0]
	case game.Discard:
		return a.Giving == want.Giving
	case game.MoveBandit:
		return a.Hex == want.Hex && a.Victim == want.Victim
	case game.Respond:
		return a.Accept == want.Accept
	default:
		return true
	}
}
