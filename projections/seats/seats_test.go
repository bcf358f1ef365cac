package seats_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"hexarena/domain/ladder"
	"hexarena/domain/match"
	"hexarena/domain/rating"
	"hexarena/projections/seats"
)

func TestFold(t *testing.T) {
	list := make([]seats.Seat, 3)
	used := []int64{7, 0, 9}
	for _, e := range []match.Event{
		match.DecisionTimedOut{Seat: 2, TimeoutData: match.TimeoutData{Strikes: 1}},
		match.AnswerRejected{Seat: 2, IllegalData: match.IllegalData{Strikes: 2}},
		match.AnswerRejected{Seat: 1, IllegalData: match.IllegalData{Strikes: 1}},
		match.DecisionTimedOut{Seat: 2, TimeoutData: match.TimeoutData{Strikes: 3}},
		match.SeatResigned{Seat: 2},
		match.GameEnded{},
	} {
		require.Contains(t, seats.Types, e.EventType())
		require.NoError(t, seats.Fold(list, e, used))
	}
	list[0].Rate(ladder.RatedSeat{Before: rating.New(), After: rating.Rating{Mu: 30, Sigma: 2}, Missed: true})
	before, after := 0.0, 24.0
	require.Equal(t, []seats.Seat{
		{Missed: true, TimeUsedMs: &used[0], RatingBefore: &before, RatingAfter: &after}, {Strikes: 1, TimeUsedMs: &used[1]}, {Strikes: 3, Resigned: true, TimeUsedMs: &used[2]},
	}, list)
	require.ErrorContains(t, seats.Fold(list, match.SeatResigned{Seat: 3}, nil), "no seat 3")
}

func TestMark(t *testing.T) {
	for want, s := range map[string]seats.Seat{
		"": {}, "1 strike": {Strikes: 1}, "2 strikes": {Strikes: 2}, "resigned": {Strikes: 3, Resigned: true}, "missed": {Strikes: 3, Resigned: true, Missed: true},
	} {
		require.Equal(t, want, s.Mark())
	}
}
