package practice

import (
	"context"
	"sync"

	"hexarena/adapters/referee"
	"hexarena/domain/match"
	"hexarena/domain/tournament"
)

// heldLine is a line to a bot that first gets the requests of the past match. The referee
// then takes the line over.
type heldLine struct {
	accepted referee.Accepted
	past     *conversation

	mu      sync.Mutex // guards the field below
	receive func(frame []byte, cause string)
}

// hear handles data from the bot.
func (h *heldLine) hear(frame []byte, cause string) {
	h.mu.Lock()
	receive := h.receive
	if receive == nil {
		h.past.receive(frame, cause)
	}
	h.mu.Unlock()
	if receive != nil {
		receive(frame, cause)
	}
}

// take returns the line, which then delivers to receive. ok is false if the line was
// taken before, or if it has ended.
func (h *heldLine) take(receive func([]byte, string)) (line referee.Line, ok bool) {
	if h == nil {
		return nil, false
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	select {
	case <-h.past.dropped:
		return nil, false
	default:
	}
	if h.receive != nil {
		return nil, false
	}
	h.receive = receive
	return h.past.line, true
}

// close closes the line, unless the referee has taken it.
func (h *heldLine) close() {
	if line, ok := h.take(func([]byte, string) {}); ok {
		line.Close()
	}
}

// remind connects to all bots, and sends each of them the requests that its seat got
// before the fork. So a bot that remembers earlier requests knows what it would know in
// the match. The answers do not matter. A bot that fails to answer plays on without the
// other requests. The result is by seat; nil if the bot has no line.
func (r *forkRun) remind(ctx context.Context, m tournament.Match, dial dialMatch) []*heldLine {
	held := make([]*heldLine, len(r.bots))
	var all sync.WaitGroup
	for seat := range held {
		if r.state.Resigned[seat] {
			continue
		}
		all.Go(func() {
			h := &heldLine{past: newConversation()}
			u := referee.Upgrade{BotID: r.bots[seat].id, Commitment: r.past.started.Commitment.String(), LogIndex: r.past.started.Table.Revision}
			var err error
			if h.past.line, h.accepted, err = dial(ctx, m, u, h.hear); err != nil {
				return // the referee dials again, and counts the failures
			}
			held[seat] = h
			for _, q := range r.earlier[seat] {
				q.MatchID, q.DeadlineMs, q.BankMs = m.ID, r.decision.Milliseconds(), nil
				if answer, err := h.past.ask(ctx, q.ID, q.AppendJSON(nil), r.decision); err != nil || answer.cause != "" {
					return
				}
			}
		})
	}
	all.Wait()
	return held
}

// takeOver returns a dial function that first returns the held lines.
func (r *forkRun) takeOver(held []*heldLine, dial dialMatch) dialMatch {
	return func(ctx context.Context, m tournament.Match, u referee.Upgrade, receive func([]byte, string)) (referee.Line, referee.Accepted, error) {
		for seat, h := range held {
			if r.bots[seat].id != u.BotID {
				continue
			}
			if line, ok := h.take(receive); ok {
				return line, h.accepted, nil
			}
		}
		return dial(ctx, m, u, receive)
	}
}

// requestsBefore returns the requests that a seat got before the fork.
func (r *forkRun) requestsBefore(seat int) (list []match.Request) {
	for _, d := range r.past.decisions(seat) {
		if d.Request != nil && d.Seq <= len(r.before) {
			list = append(list, *d.Request)
		}
	}
	return list
}
