package ladder

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"hexarena/domain/rating"
)

func results(placements map[string]int, missed ...string) []Result {
	var all []Result
	for bot, p := range placements {
		r := Result{BotID: bot, Placement: p}
		for _, m := range missed {
			r.Missed = r.Missed || m == bot
		}
		all = append(all, r)
	}
	return all
}

func TestFinishRatesInTableOrder(t *testing.T) {
	l := given(seated("m", "d", "b", "a"), rated("m", "d", "b", "a"), seated("n", "c", "d", "a", "b"))
	events, err := l.Finish("n", results(map[string]int{"a": 1, "b": 2, "c": 2, "d": 4}, "d"))
	require.NoError(t, err)
	before := []rating.Rating{rating.New(), {Mu: 30, Sigma: 5}, {Mu: 26, Sigma: 5}, {Mu: 28, Sigma: 5}}
	after := rating.Rate(before, []int{2, 4, 1, 2})
	require.Equal(t, []Event{RatingsChanged{MatchID: "n", Seats: []RatedSeat{
		{BotID: "c", Placement: 2, Before: before[0], After: after[0]},
		{BotID: "d", Placement: 4, Before: before[1], After: after[1], Missed: true},
		{BotID: "a", Placement: 1, Before: before[2], After: after[2]},
		{BotID: "b", Placement: 2, Before: before[3], After: after[3]},
	}}}, events)
}

func TestFinishTakesEveryCompetitionRanking(t *testing.T) {
	l := given(seated("m", "a", "b", "c", "d"))
	for _, p := range [][4]int{{1, 2, 3, 4}, {4, 3, 2, 1}, {1, 1, 1, 1}, {1, 1, 3, 3}, {2, 1, 2, 4}, {1, 1, 1, 4}, {1, 2, 2, 2}} {
		_, err := l.Finish("m", results(map[string]int{"a": p[0], "b": p[1], "c": p[2], "d": p[3]}))
		require.NoError(t, err, "%v", p)
	}
}

func TestFinishRefuses(t *testing.T) {
	open := []Event{seated("m", "a", "b", "c")}
	fine := map[string]int{"a": 1, "b": 2, "c": 3}
	for name, c := range map[string]struct {
		given   []Event
		match   string
		results []Result
		want    error
	}{
		"a match that does not exist": {open, "x", results(fine), ErrUnknownMatch},
		"on a new ladder":             {nil, "m", results(fine), ErrUnknownMatch},
		"a rated match":               {append(open, rated("m", "a", "b", "c")), "m", results(fine), ErrAlreadyFinished},
		"a voided match":              {append(open, MatchVoided{"m", WhyOperator}), "m", results(fine), ErrAlreadyFinished},
		"no results":                  {open, "m", nil, ErrBadResults},
		"one result too few":          {open, "m", results(map[string]int{"a": 1, "b": 2}), ErrBadResults},
		"one result too many":         {open, "m", results(map[string]int{"a": 1, "b": 2, "c": 3, "d": 4}), ErrBadResults},
		"a bot from another match":    {open, "m", results(map[string]int{"a": 1, "b": 2, "x": 3}), ErrBadResults},
		"one bot twice":               {open, "m", []Result{{"a", 1, false}, {"b", 2, false}, {"a", 3, false}}, ErrBadResults},
		"nobody first":                {open, "m", results(map[string]int{"a": 2, "b": 3, "c": 4}), ErrBadResults},
		"no gap after a tie":          {open, "m", results(map[string]int{"a": 1, "b": 1, "c": 2}), ErrBadResults},
		"a gap without a tie":         {open, "m", results(map[string]int{"a": 1, "b": 2, "c": 4}), ErrBadResults},
		"counted from zero":           {open, "m", results(map[string]int{"a": 0, "b": 1, "c": 2}), ErrBadResults},
	} {
		t.Run(name, func(t *testing.T) {
			events, err := given(c.given...).Finish(c.match, c.results)
			require.ErrorIs(t, err, c.want)
			require.Empty(t, events)
		})
	}
}

func TestVoid(t *testing.T) {
	open := []Event{seated("m", "a", "b", "c")}
	for _, why := range []string{WhyWallClock, WhyOperator} {
		events, err := given(open...).Void("m", why)
		require.NoError(t, err)
		require.Equal(t, []Event{MatchVoided{MatchID: "m", Why: why}}, events)
	}
	for name, c := range map[string]struct {
		given      []Event
		match, why string
		want       error
	}{
		"a match that does not exist": {open, "x", WhyOperator, ErrUnknownMatch},
		"a rated match":               {append(open, rated("m", "a", "b", "c")), "m", WhyOperator, ErrAlreadyFinished},
		"a voided match":              {append(open, MatchVoided{"m", WhyOperator}), "m", WhyOperator, ErrAlreadyFinished},
		"no reason":                   {open, "m", "", ErrBadReason},
		"an unknown reason":           {open, "m", "boredom", ErrBadReason},
	} {
		t.Run(name, func(t *testing.T) {
			events, err := given(c.given...).Void(c.match, c.why)
			require.ErrorIs(t, err, c.want)
			require.Empty(t, events)
		})
	}
}

func TestALadderRemembersOnlyTheLatestFinishedMatches(t *testing.T) {
	l := New(Standard)
	for i := range recentMatches + 2 {
		id := fmt.Sprint("m", i)
		l = Evolve(l, seated(id, "a", "b", "c"), noon)
		l = Evolve(l, rated(id, "a", "b", "c"), noon.Add(time.Second))
	}
	for id, want := range map[string]error{
		"m0": ErrUnknownMatch, "m1": ErrUnknownMatch, "m2": ErrAlreadyFinished,
		fmt.Sprint("m", recentMatches+1): ErrAlreadyFinished,
	} {
		_, err := l.Void(id, WhyOperator)
		require.ErrorIs(t, err, want, id)
	}
	require.Len(t, l.closed.known, recentMatches)
}
