package ladder

import (
	"errors"
	"fmt"
	"slices"

	"hexarena/domain/rating"
)

// The errors of Finish and Void.
var (
	// ErrAlreadyFinished means that the match is already rated or voided. A process
	// that resumes after a crash has nothing left to do for this match. A ladder
	// remembers only the latest 10,000 finished matches. For older ones, the error is
	// ErrUnknownMatch.
	ErrAlreadyFinished = errors.New("match is already rated or voided")
	ErrUnknownMatch    = errors.New("match was not seated on this ladder")
	ErrBadResults      = errors.New("results do not fit the table")
	ErrBadReason       = errors.New("the reason must be wall_clock, operator or beacon")
)

// Result is the outcome of a match for one of its bots.
type Result struct {
	BotID     string
	Placement int // 1 is the best; competition ranking: 1, 2, 2, 4
	Missed    bool
}

// Finish completes a match and rates its bots. The parameter results holds one result
// for each bot, in any order.
func (l Ladder) Finish(matchID string, results []Result) ([]Event, error) {
	m, err := l.unfinished(matchID)
	if err != nil {
		return nil, err
	}
	ordered, err := inTableOrder(m.Bots, results)
	if err != nil {
		return nil, fmt.Errorf("match %s: %w", matchID, err)
	}
	return []Event{RatingsChanged{MatchID: matchID, Seats: l.rate(ordered)}}, nil
}

// Void ends a match without ratings. The parameter why is WhyWallClock, WhyOperator or
// WhyBeacon.
func (l Ladder) Void(matchID, why string) ([]Event, error) {
	if why != WhyWallClock && why != WhyOperator && why != WhyBeacon {
		return nil, fmt.Errorf("match %s: %w, not %q", matchID, ErrBadReason, why)
	}
	if _, err := l.unfinished(matchID); err != nil {
		return nil, err
	}
	return []Event{MatchVoided{MatchID: matchID, Why: why}}, nil
}

func (l Ladder) unfinished(matchID string) (match, error) {
	m, ok := l.open[matchID]
	switch {
	case ok:
		return m, nil
	case l.closed.has(matchID):
		return match{}, fmt.Errorf("match %s: %w", matchID, ErrAlreadyFinished)
	default:
		return match{}, fmt.Errorf("match %s: %w", matchID, ErrUnknownMatch)
	}
}

// rate returns the rated seats for the results of a match. The results must be in table
// order.
func (l Ladder) rate(results []Result) []RatedSeat {
	before := make([]rating.Rating, len(results))
	placements := make([]int, len(results))
	for i, r := range results {
		before[i], placements[i] = l.Bot(r.BotID).Rating, r.Placement
	}
	seats := make([]RatedSeat, len(results))
	for i, after := range rating.Rate(before, placements) {
		r := results[i]
		seats[i] = RatedSeat{
			BotID: r.BotID, Placement: r.Placement,
			Before: before[i], After: after, Missed: r.Missed,
		}
	}
	return seats
}

// inTableOrder sorts results into table order. It requires one result for each
// bot, and placements that are a competition ranking.
func inTableOrder(bots []string, results []Result) ([]Result, error) {
	if len(results) != len(bots) {
		return nil, fmt.Errorf("%w: %d results for %d bots", ErrBadResults, len(results), len(bots))
	}
	ordered := make([]Result, 0, len(bots))
	for _, bot := range bots {
		i := slices.IndexFunc(results, func(r Result) bool { return r.BotID == bot })
		if i < 0 {
			return nil, fmt.Errorf("%w: no result for bot %s", ErrBadResults, bot)
		}
		r := results[i]
		if want := placementOf(r, results); r.Placement != want {
			return nil, fmt.Errorf("%w: bot %s is placed %d, not %d", ErrBadResults, bot, r.Placement, want)
		}
		ordered = append(ordered, r)
	}
	return ordered, nil
}

// placementOf returns r's place in a competition ranking. This is one more than
// the number of results with a better placement.
func placementOf(r Result, results []Result) int {
	place := 1
	for _, other := range results {
		if other.Placement < r.Placement {
			place++
		}
	}
	return place
}
