package stats_test

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"hexarena/domain/board"
	"hexarena/domain/game"
	"hexarena/domain/match"
	"hexarena/domain/match/matchtest"
	"hexarena/domain/seed"
	"hexarena/domain/stats"
)

// play plays a match of random legal moves, and calls watch with the state before each
// event.
func play(rng *rand.Rand, seats int, watch func(before match.Match, e match.Event)) (match.Match, []match.Event) {
	var server seed.Seed
	for i := range server {
		server[i] = byte(rng.IntN(256))
	}
	m, started := matchtest.Start(server, seats)
	all := started[1:]
	p := matchtest.Player{Below: rng.IntN, Build: true}
	for !m.Over() {
		var outcomes []match.Outcome
		for _, d := range m.Asks() {
			outcomes = append(outcomes, p.Answer(&m, d))
		}
		events, err := m.Settle(outcomes)
		if err != nil {
			panic(err) // the player answers each open decision
		}
		for _, e := range events {
			watch(m, e)
			m = match.Evolve(m, e)
		}
		all = append(all, events...)
	}
	return m, all
}

// The numbers of a match agree with the engine, which also sees the hidden cards.
func TestNumbersAgreeWithTheEngine(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rng := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1))
		seats := rapid.IntRange(3, 4).Draw(t, "seats")
		var received [game.MaxSeats]int
		var expected36 [game.MaxSeats]int
		m, events := play(rng, seats, func(before match.Match, e match.Event) {
			roll, ok := e.(match.DiceRolled)
			if !ok {
				return
			}
			for seat, paid := range paidAt(&before.Game, roll, roll.Dice) {
				received[seat] += paid
			}
			for a := 1; a <= 6; a++ {
				for b := 1; b <= 6; b++ {
					for seat, paid := range paidAt(&before.Game, roll, [2]int{a, b}) {
						expected36[seat] += paid
					}
				}
			}
		})
		got := stats.Of(m.Started, events)
		require.Len(t, got.Seats, seats)
		rolls, ways := 0, 0
		for _, d := range got.Dice {
			rolls += d.Count
			ways += d.Expected36
		}
		require.Equal(t, int(m.Game.Turn), rolls)
		require.Equal(t, 36*rolls, ways)
		for i, s := range got.Seats {
			require.Equal(t, received[i], s.Received.Sum(), "seat %d", i)
			require.Equal(t, expected36[i], s.Expected36.Sum(), "seat %d", i)
			require.Equal(t, 36*received[i]-expected36[i], s.Luck36, "seat %d", i)
			require.Len(t, s.Opening, 2)
			require.Equal(t, m.Game.Hands[i].Total(), s.CardsAtEnd, "seat %d", i)
			in := s.Setup.Sum() + s.Received.Sum() + s.Stole + s.EmbargoTook + s.Windfall + s.PlayerTrades.Got.Sum() + s.BankTrades.Got.Sum()
			out := s.Discarded + s.Stolen + s.EmbargoLost + s.Spent + s.PlayerTrades.Gave.Sum() + s.BankTrades.Gave.Sum()
			require.Equal(t, s.CardsAtEnd, in-out, "seat %d: the cards add up", i)
		}
	})
}

// paidAt returns how many cards each seat gets if a roll shows the given dice.
func paidAt(g *game.State, e match.DiceRolled, dice [2]int) (paid [game.MaxSeats]int) {
	after := *g
	after.Apply(game.Consequence{Kind: game.Rolled, Seat: uint8(e.Seat), Turn: uint16(e.Turn), Dice: [2]uint8{uint8(dice[0]), uint8(dice[1])}})
	for seat := range paid {
		paid[seat] = after.Hands[seat].Total() - g.Hands[seat].Total()
	}
	return paid
}

// laid is a board on which the token of each hex is known: hex 0 is the desert.
func laid() game.Public {
	var l board.Layout
	tokens := []uint8{0, 6, 8, 5, 9, 4, 10, 3, 11, 2, 12, 6, 8, 5, 9, 4, 10, 3, 11}
	for h := range l.Tokens {
		l.Tokens[h], l.Resources[h] = tokens[h], board.Resource(h%board.Resources)
	}
	l.Resources[0] = board.Desert
	return game.NewPublic(3, l)
}

// A settlement next to a 6 and an 8 is expected to get ten 36ths of a card, and a city twice
// as many. A hex with the bandit adds nothing.
func TestExpectationOfOneRoll(t *testing.T) {
	p := laid()
	v := between(t, 1, 2)
	want := 0
	for _, h := range board.VertexHexes[v] {
		if h != board.None && p.Layout.Tokens[h] != 0 {
			want += stats.Ways(int(p.Layout.Tokens[h]))
		}
	}
	p.Act(1, game.Action{Type: game.Setup, Vertex: v, Edges: [2]uint8{board.VertexEdges[v][0], board.None}}, [game.MaxSeats]uint16{})
	require.Equal(t, want, stats.Expected36(&p)[1].Sum())
	require.Zero(t, stats.Expected36(&p)[0])
	p.Act(1, game.Action{Type: game.BuildCity, Vertex: v}, [game.MaxSeats]uint16{})
	require.Equal(t, 2*want, stats.Expected36(&p)[1].Sum())
	p.Bandit = 1
	require.Equal(t, 2*(want-5), stats.Expected36(&p)[1].Sum())
	require.Equal(t, 2, p.Blocked(6)[1].Total())
}

func between(t *testing.T, a, b uint8) uint8 {
	for v := range uint8(board.Vertices) {
		if board.HexVertexSet[a].Has(v) && board.HexVertexSet[b].Has(v) {
			return v
		}
	}
	t.Fatalf("the hexes %d and %d have no common vertex", a, b)
	return 0
}

func TestWays(t *testing.T) {
	var ways [13]int
	for a := 1; a <= 6; a++ {
		for b := 1; b <= 6; b++ {
			ways[a+b]++
		}
	}
	for total := 2; total <= 12; total++ {
		require.Equal(t, ways[total], stats.Ways(total))
	}
}
