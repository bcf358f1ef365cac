package search

import (
	"cmp"
	"math"
	"slices"

	"hexarena/domain/board"
	"hexarena/domain/game"
)

// raid is a move of the bandit.
type raid struct {
	hex, victim uint8
	value       float64
}

// raids lists moves of the bandit, the best one first. If a knight moves the bandit, act
// plays it. A stolen card counts as the mean of the victim's probable cards.
func (i *island) raids(g *game.State, me uint8, kind game.Type) []raid {
	var list []raid
	for hex := range uint8(board.Hexes) {
		if hex == g.Bandit {
			continue
		}
		after := *g
		after.Act(me, game.Action{Type: kind, Hex: hex, Victim: board.None})
		settle(&after)
		list = append(list, raid{hex, board.None, i.value(&after, me)})
	}
	list = best(list, 6)
	for _, r := range slices.Clone(list) {
		for victim := range g.Seats {
			if victim == me || g.HandCounts[victim] == 0 || g.Towns(victim)&board.HexVertexSet[r.hex] == 0 {
				continue
			}
			after := *g
			after.Act(me, game.Action{Type: kind, Hex: r.hex, Victim: board.None})
			settle(&after)
			list = append(list, raid{r.hex, victim, i.stolen(&after, me, victim)})
		}
	}
	return best(list, 8)
}

func best(list []raid, n int) []raid {
	slices.SortStableFunc(list, func(a, b raid) int { return cmp.Compare(b.value, a.value) })
	return list[:min(n, len(list))]
}

// stolen returns the mean value after a theft.
func (i *island) stolen(g *game.State, me, victim uint8) float64 {
	if g.Seat == me && g.TrueScore(me) >= game.PointsToWin {
		return won
	}
	all := i.strengths(g)
	var income rates
	income, _ = i.income(g, victim)
	sum, total := 0.0, 0.0
	hands := g.Hands
	for r := range income {
		g.Hands = hands
		g.Hands[me][r]++
		w := income[r] + guess
		all[me] = i.strength(g, me)
		if hands[victim][r] > 0 {
			g.Hands[victim][r]--
		}
		before := all[victim]
		all[victim] -= 0.05
		sum += w * odds(&all, g.Seats, me)
		all[victim] = before
		total += w
	}
	g.Hands = hands
	return sum / total
}

// drop returns the best cards to discard. It does not ask the game which discards are
// legal: if the imagined cards of the seat on turn make it win, the game allows none.
func (i *island) drop(g *game.State, me uint8) game.Action {
	hand := g.Hands[me]
	best, most := game.Cards{}, math.Inf(-1)
	after := *g
	var try func(r, left int, cards game.Cards)
	try = func(r, left int, cards game.Cards) {
		if r == board.Resources {
			if left > 0 {
				return
			}
			after.Hands[me] = hand.Minus(cards)
			if n := i.strength(&after, me); n > most {
				best, most = cards, n
			}
			return
		}
		for n := range min(left, int(hand[r])) + 1 {
			cards[r] = uint16(n)
			try(r+1, left-n, cards)
		}
	}
	try(0, hand.Total()/2, game.Cards{})
	return game.Action{Type: game.Discard, Giving: best}
}
