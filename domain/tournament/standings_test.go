package tournament_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"hexarena/domain/match"
	"hexarena/domain/tournament"
)

func ms(n int64) *int64 { return &n }

func TestOutcomeOf(t *testing.T) {
	p := tournament.Plan{Bots: 3, Blocks: 1, Seed: "x", Rotate: true}
	m := p.Match(1)
	o := tournament.OutcomeOf(m, []match.Event{
		match.Started{}, match.BoardLaid{},
		match.ActionPlayed{Seat: 1, ActionData: match.ActionData{ElapsedMs: ms(7)}},
		match.DecisionTimedOut{Seat: 2, TimeoutData: match.TimeoutData{Cause: match.CauseDeadline, ElapsedMs: 5000}},
		match.ActionPlayed{Seat: 2, ActionData: match.ActionData{Default: true}},
		match.AnswerRejected{Seat: 2, IllegalData: match.IllegalData{Reason: "occupied", ElapsedMs: 3}},
		match.SeatResigned{Seat: 2},
		match.GameEnded{EndData: match.EndData{Scores: []int{4, 10, 2}, Placements: []int{2, 1, 3}}},
	})
	require.Equal(t, tournament.Outcome{Match: 1, ID: m.ID, Seats: []tournament.SeatResult{
		{Bot: 2, Placement: 2, Points: 4, Latency: tournament.Latency{}},
		{Bot: 0, Placement: 1, Points: 10, Latency: tournament.Latency{7: 1}},
		{
			Bot: 1, Placement: 3, Points: 2, Strikes: map[string]int{"deadline": 1, "occupied": 1}, Resigned: true, Defaults: 1,
			Latency: tournament.Latency{5000: 1, 3: 1},
		},
	}}, o)
}

func result(bot, place, points int) tournament.SeatResult {
	return tournament.SeatResult{Bot: bot, Placement: place, Points: points, Latency: tournament.Latency{int64(place): 1}}
}

func TestStandings(t *testing.T) {
	outcomes := []tournament.Outcome{
		{Match: 0, Seats: []tournament.SeatResult{result(0, 1, 10), result(1, 2, 6), result(2, 3, 4)}},
		{Match: 1, Seats: []tournament.SeatResult{result(2, 3, 2), result(0, 2, 7), result(1, 1, 11)}},
		{Match: 2, Aborted: match.WallClock, Seats: []tournament.SeatResult{
			{Bot: 1}, {Bot: 2, Strikes: map[string]int{"deadline": 3}, Resigned: true, Defaults: 9}, {Bot: 0},
		}},
	}
	s, backwards := tournament.NewStandings(3), tournament.NewStandings(3)
	for i := range outcomes {
		s.Add(outcomes[i])
		backwards.Add(outcomes[len(outcomes)-1-i])
	}
	rows := s.Rows()
	require.Equal(t, rows, backwards.Rows())
	require.Equal(t, rows, s.Rows(), "Rows changes nothing")
	require.Equal(t, []int{2, 1, 3}, []int{s.Completed(), s.Aborted, s.Strikes()})

	first := rows[0]
	require.Equal(t, []int{2, 1}, []int{first.Matches, first.Wins})
	require.Equal(t, []float64{1.5, 8.5}, []float64{first.MeanPlacement, first.MeanPoints})
	low, high := tournament.Wilson(1, 2)
	require.Equal(t, []float64{low, high}, []float64{first.WinLow, first.WinHigh})
	require.Equal(t, []int{1, 1, 0}, []int{first.Seats[0].Matches, first.Seats[1].Matches, first.Seats[2].Matches})
	require.Equal(t, 2.0, first.Seats[1].MeanPlacement)
	require.Equal(t, []int64{1, 2}, []int64{first.LatencyP50Ms, first.LatencyP99Ms})

	last := rows[2]
	require.Equal(t, []int{2, 0, 1, 9}, []int{last.Matches, last.Wins, last.Resigned, last.Defaults})
	require.Equal(t, map[string]int{"deadline": 3}, last.Strikes)
	require.Greater(t, first.Rating, last.Rating)
	require.Less(t, last.RatingLow, last.RatingHigh)
}

func TestLatencyPercentile(t *testing.T) {
	require.Zero(t, tournament.Latency{}.Percentile(50))
	require.Equal(t, int64(7), tournament.Latency{7: 1}.Percentile(99))
	thousand := tournament.Latency{}
	for ms := range int64(1000) {
		thousand[ms+1] = 1
	}
	for p, want := range map[float64]int64{0: 1, 0.1: 1, 0.11: 2, 50: 500, 50.01: 501, 99: 990, 99.9: 999, 100: 1000} {
		require.Equal(t, want, thousand.Percentile(p), "%v %%", p)
	}
	counted := tournament.Latency{5: 3, 1: 90, 200: 1, 7: 6}
	for p, want := range map[float64]int64{0: 1, 90: 1, 91: 5, 93: 5, 94: 7, 99: 7, 100: 200} {
		require.Equal(t, want, counted.Percentile(p), "%v %%", p)
	}
}
