package game

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// A spectator folds a game that is won at the roll. At the end, the hands are the same
// as before the roll, whether or not the winner's points are public.
func TestSpectatorsOfAWinningRoll(t *testing.T) {
	for _, winner := range []struct{ name, points string }{
		{"public points", "city 1 0 11 18 33 3"},
		{"hidden points", "devs 1 victory_point"},
	} {
		t.Run(winner.name, func(t *testing.T) {
			var play script
			for line := range strings.Lines("new 4\nturn 0 4\ncity 1 0 11 18 33\nsettlement 1 53\ncity 0 28\n" + winner.points + "\ndice 2 4\n") {
				_, err := play.run(strings.Fields(line))
				require.NoError(t, err)
			}
			before := play.Public
			watched := before
			watched.Act(0, Action{Type: EndTurn}, [MaxSeats]uint16{})
			play.Act(0, Action{Type: EndTurn})
			for c, more := play.Next(); more; c, more = play.Next() {
				play.Apply(c)
				watched.Apply(c)
				require.Equal(t, before.HandCounts, play.HandCounts, "%+v", c)
			}
			require.True(t, play.Over)
			require.Equal(t, play.Public, watched)
		})
	}
}
