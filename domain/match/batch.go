package match

// BatchStarts returns where the batches of a match begin: the number of events before
// each batch. m is the match after Started, and events are the events after that. All
// decisions of a batch are open at its start, so a match can be played again from there.
// If decisions are open after the last event, that is a start too.
func BatchStarts(m Match, events []Event) (starts []int) {
	last := 0 // the id of the last decision in the current batch
	begin := func(i int) {
		if asks := m.Asks(); len(asks) > 0 {
			starts, last = append(starts, i), asks[len(asks)-1].ID
		}
	}
	for i, e := range events {
		if decisionOf(e) > last {
			begin(i)
		}
		m = Evolve(m, e)
	}
	if asks := m.Asks(); len(asks) > 0 && asks[0].ID > last {
		begin(len(events))
	}
	return starts
}

// decisionOf returns the id of the decision that an event closes, or 0. A seat resigns
// only after its decision was closed, so its resignation belongs to the same batch.
func decisionOf(e Event) int {
	switch e := e.(type) {
	case ActionPlayed:
		return e.Decision
	case DecisionTimedOut:
		return e.Decision
	case AnswerRejected:
		return e.Decision
	}
	return 0
}

// Judge reads a frame as the answer to an open decision, and checks the answer. The
// error is an ErrMalformed, or a *game.Illegal with the first rule that the answer
// breaks.
func (m Match) Judge(d Decision, frame []byte) (Answer, error) {
	return (&decider{m: m}).read(d, Outcome{Decision: d.ID, Frame: frame})
}
