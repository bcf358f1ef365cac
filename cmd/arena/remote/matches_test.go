package remote

import (
	"testing"

	"github.com/stretchr/testify/require"

	"hexarena/projections/matches"
	"hexarena/projections/seats"
)

func TestPlayersLineMarksSeats(t *testing.T) {
	first, second, up, down := 1, 2, 1.5, -1.5
	m := matches.Summary{
		Status: matches.Completed,
		Players: []matches.Player{
			{Seat: 0, BotName: "Ada", Placement: &second, RatingDelta: &down}, {Seat: 1, BotName: "Bob", Placement: &first, RatingDelta: &up},
		},
		Seats: []seats.Seat{{Strikes: 3, Resigned: true}, {}},
	}
	require.Equal(t, "1. Bob (+1.5), 2. Ada (-1.5, resigned)", PlayersLine(m))
	aborted := matches.Summary{Status: matches.Aborted, Players: []matches.Player{{BotName: "Ada"}}, Seats: []seats.Seat{{Strikes: 2}}}
	require.Equal(t, "Ada (2 strikes)", PlayersLine(aborted))
	require.Equal(t, "Ada", PlayersLine(matches.Summary{Status: matches.Running, Players: aborted.Players}))
}
