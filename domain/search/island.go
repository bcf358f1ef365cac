package search

import (
	"hexarena/domain/board"
	"hexarena/domain/game"
)

// rates counts cards of each resource per roll of the dice.
type rates [board.Resources]float64

// island holds facts about a layout that never change during a match.
type island struct {
	layout  board.Layout
	weights *features
	chance  [board.Hexes]float64  // of a roll that pays for the hex
	yields  [board.Vertices]rates // of a settlement
	worth   [board.Vertices]float64
	cache   [1 << 10]speedEntry // by hash
}

// prices weigh resources for quick comparisons: cities and development cards need ore
// and grain, and only few hexes have brick and ore.
var prices = rates{board.Brick: 1, board.Lumber: 0.95, board.Wool: 0.9, board.Grain: 1.15, board.Ore: 1.15}

func newIsland(l board.Layout) *island {
	i := &island{layout: l, weights: &weights}
	for h, token := range l.Tokens {
		if token == 0 {
			continue
		}
		i.chance[h] = float64(6-max(int(token)-7, 7-int(token))) / 36
		for _, v := range board.HexVertices[h] {
			i.yields[v][l.Resources[h]] += i.chance[h]
		}
	}
	for v, y := range i.yields {
		for r, n := range y {
			i.worth[v] += n * prices[r]
		}
	}
	return i
}

// income returns a seat's cards per roll without the bandit, and the part that the
// bandit takes away.
func (i *island) income(g *game.State, seat uint8) (all, lost rates) {
	for towns := g.Settlements[seat]; towns != 0; towns = towns.Rest() {
		for r, n := range i.yields[towns.First()] {
			all[r] += n
		}
	}
	for towns := g.Cities[seat]; towns != 0; towns = towns.Rest() {
		for r, n := range i.yields[towns.First()] {
			all[r] += 2 * n
		}
	}
	if r := i.layout.Resources[g.Bandit]; r != board.Desert {
		around := board.HexVertexSet[g.Bandit]
		n := (g.Settlements[seat] & around).Len() + 2*(g.Cities[seat]&around).Len()
		lost[r] = float64(n) * i.chance[g.Bandit]
	}
	return all, lost
}
