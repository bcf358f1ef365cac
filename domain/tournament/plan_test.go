package tournament_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"hexarena/domain/match"
	"hexarena/domain/seed"
	"hexarena/domain/tournament"
)

// seated starts a match as a referee does, and returns the bots by seat.
func seated(t *testing.T, m tournament.Match) (bots []string, board match.BoardData) {
	t.Helper()
	s := match.Seating{MatchID: m.ID, Mode: "standard", Commitment: seed.Commitment(m.Server), Nonces: make([]string, len(m.Table))}
	for _, bot := range m.Table {
		id := string(rune('a' + bot))
		s.Bots, s.Table.Bots = append(s.Bots, match.Seat{BotID: id}), append(s.Table.Bots, id)
	}
	events, err := match.New(m.Server).Start(s)
	require.NoError(t, err)
	for _, seat := range events[0].(match.Started).Seats {
		bots = append(bots, seat.BotID)
	}
	return bots, events[1].(match.BoardLaid).BoardData
}

// Each bot has each seat once in a block, on the same board.
func TestBlocksRotateTheSeats(t *testing.T) {
	for _, bots := range []int{3, 4} {
		p := tournament.Plan{Bots: bots, Blocks: 20, Seed: "x", Rotate: true}
		require.Equal(t, 20*bots, p.Matches())
		ids := map[string]bool{}
		for block := range p.Blocks {
			var board match.BoardData
			for rotation := range bots {
				m := p.Match(block*bots + rotation)
				require.Equal(t, []int{block, rotation}, []int{m.Block, m.Rotation})
				at, laid := seated(t, m)
				for bot := range bots {
					seat := (bot + rotation) % bots
					require.Equal(t, string(rune('a'+bot)), at[seat])
					require.Equal(t, bot, m.Seats[seat])
				}
				if rotation == 0 {
					board = laid
				}
				require.Equal(t, board, laid)
				require.False(t, ids[m.ID])
				ids[m.ID] = true
			}
		}
	}
}

func TestFixedSeats(t *testing.T) {
	p := tournament.Plan{Bots: 4, Blocks: 9, Seed: "x"}
	require.Equal(t, 9, p.Matches())
	for n := range p.Matches() {
		bots, _ := seated(t, p.Match(n))
		require.Equal(t, []string{"a", "b", "c", "d"}, bots)
	}
}

// The matches of a seed never change, because people compare their results.
func TestPlanNeverChanges(t *testing.T) {
	m := tournament.Plan{Bots: 3, Blocks: 2, Seed: "x", Rotate: true}.Match(4)
	require.Equal(t, "bb8f3f8b-dad9-5d8a-9aef-4a69ce0642da", m.ID)
	require.Equal(t, "88ca59e87f07e1bbf68f5da044d82f70afb16ae4338959f129f065e169355121", m.Server.String())
	require.Equal(t, uint64(0x84d3ef222191c922), m.BotSeed(2))
	require.Equal(t, []int{2, 0, 1}, m.Seats)
}

// A seed gives the same block wherever it stands in a file. It is also the first block
// of --seed. A server seed in the file is used as it is.
func TestSeedsOfAFile(t *testing.T) {
	hex := strings.Repeat("0a", 32)
	p := tournament.Plan{Bots: 3, Seeds: []string{"x", "y", hex}, Rotate: true}
	require.Equal(t, 9, p.Matches())
	other := tournament.Plan{Bots: 3, Seeds: []string{"y"}, Rotate: true}
	require.Equal(t, other.Match(1).ID, p.Match(4).ID)
	require.Equal(t, other.Match(1).Server, p.Match(4).Server)
	require.Equal(t, tournament.Plan{Bots: 3, Blocks: 1, Seed: "x", Rotate: true}.Match(2), p.Match(2))
	require.Equal(t, hex, p.Match(6).Server.String())
	require.NotEqual(t, hex, tournament.Plan{Bots: 3, Blocks: 1, Seed: hex}.Match(0).Server.String())
}
