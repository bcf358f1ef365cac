package api

import (
	"slices"

	"hexarena/adapters/rest"
	"hexarena/projections/frames"
)

// decisions returns the bot's decisions, without their requests.
func (t *trial) decisions() []rest.TrialDecision {
	var list []rest.TrialDecision
	for _, d := range t.history.Decisions(t.seat, nil, t.details) {
		one := rest.TrialDecision{
			ID: d.ID, Seq: d.Seq, Kind: d.Kind, Outcome: d.Outcome, ElapsedMs: d.ElapsedMs, Strikes: d.Strikes, Resigned: d.Resigned,
		}
		switch {
		case d.Fault != nil:
			one.Code, one.Message = &d.Fault.Code, &d.Fault.Message
		case d.Outcome == frames.Illegal:
			one.Code, one.Message = d.Reason, d.Message
		default:
			one.Code = d.Cause
		}
		list = append(list, one)
	}
	return list
}

// The method settled() returns the decisions that a stream may send. The details of a
// timeout arrive a moment after the timeout. So while the game is in progress, the
// method leaves out the last decisions as long as they are timeouts without details.
func (t *trial) settled() []rest.TrialDecision {
	list := t.decisions()
	if t.history.Ended() {
		return list
	}
	return withoutUnexplained(list)
}

// withoutUnexplained removes timeouts without details from the end of a list.
func withoutUnexplained(list []rest.TrialDecision) []rest.TrialDecision {
	n := len(list)
	for n > 0 && list[n-1].Outcome == frames.Timeout && list[n-1].Message == nil {
		n--
	}
	return list[:n]
}

// addDecisions adds the number of the bot's decisions of each kind, its strikes and its
// latency.
func (t *trial) addDecisions(out *rest.Trial) {
	list := t.decisions()
	if len(list) == 0 {
		return
	}
	elapsed := make([]int64, len(list))
	for i, d := range list {
		elapsed[i] = d.ElapsedMs
		count(out, d)
		if d.Outcome != frames.Played {
			out.Strikes = append(out.Strikes, d)
			out.Resigned = out.Resigned || d.Resigned
		}
	}
	slices.Sort(elapsed)
	out.Latency = &rest.TrialLatency{P50Ms: percentile(elapsed, 50), P95Ms: percentile(elapsed, 95), MaxMs: elapsed[len(elapsed)-1]}
}

// count adds a decision to the counts of its kind. The kinds are in the order in which
// the game first asked for them.
func count(out *rest.Trial, d rest.TrialDecision) {
	i := slices.IndexFunc(out.Decisions, func(k rest.TrialKind) bool { return k.Kind == d.Kind })
	if i < 0 {
		i = len(out.Decisions)
		out.Decisions = append(out.Decisions, rest.TrialKind{Kind: d.Kind})
	}
	switch k := &out.Decisions[i]; d.Outcome {
	case frames.Played:
		k.Played++
	case frames.Timeout:
		k.Timeouts++
	default:
		k.Illegal++
	}
}

// percentile returns the smallest value that is at least as large as p percent of the
// sorted values.
func percentile(sorted []int64, p int) int64 { return sorted[(len(sorted)*p+99)/100-1] }
