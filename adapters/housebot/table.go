package housebot

import (
	"math"
	"slices"

	"hexarena/domain/board"
	"hexarena/domain/game"
	"hexarena/domain/match"
)

// The costs by resource (docs/rules.md).
var (
	roadCost       = match.Counts{1, 1, 0, 0, 0}
	settlementCost = match.Counts{1, 1, 1, 1, 0}
	cityCost       = match.Counts{0, 0, 0, 2, 3}
	devCost        = match.Counts{0, 0, 1, 1, 1}
)

// table is a view with indexes of its towns and roads.
type table struct {
	*match.View
	towns   [board.Vertices]*match.Town
	roads   [board.Edges]*match.Road
	mine    struct{ roads, settlements, cities int }
	blocked board.VertexSet // vertices on or next to a town
}

func read(v *match.View) *table {
	t := &table{View: v}
	for i, town := range v.Towns {
		t.towns[town.Vertex] = &v.Towns[i]
		t.blocked = t.blocked.With(uint8(town.Vertex)) | board.NeighbourSet[town.Vertex]
		switch {
		case town.Seat != v.Seat:
		case town.City:
			t.mine.cities++
		default:
			t.mine.settlements++
		}
	}
	for i, road := range v.Roads {
		t.roads[road.Edge] = &v.Roads[i]
		if road.Seat == v.Seat {
			t.mine.roads++
		}
	}
	return t
}

// touches reports whether one of the viewer's roads ends at a vertex.
func (t *table) touches(v uint8) bool {
	for _, e := range board.VertexEdges[v] {
		if e != board.None && t.roads[e] != nil && t.roads[e].Seat == t.Seat {
			return true
		}
	}
	return false
}

// settlementSpots lists the vertices for a new settlement. In setup, all open
// vertices are allowed.
func (t *table) settlementSpots(setup bool) []uint8 {
	var spots []uint8
	if !setup && t.mine.settlements >= game.MaxSettlements {
		return nil
	}
	for free := board.AllVertices &^ t.blocked; free != 0; free = free.Rest() {
		if v := free.First(); setup || t.touches(v) {
			spots = append(spots, v)
		}
	}
	return spots
}

// citySpots lists the viewer's settlements, if the viewer has a city left.
func (t *table) citySpots() []uint8 {
	var spots []uint8
	for v, town := range t.towns {
		if town != nil && town.Seat == t.Seat && !town.City && t.mine.cities < game.MaxCities {
			spots = append(spots, uint8(v))
		}
	}
	return spots
}

// roadSpots lists the free edges that the viewer's network reaches.
func (t *table) roadSpots() []uint8 {
	var spots []uint8
	if t.mine.roads >= game.MaxRoads {
		return nil
	}
	for e := range uint8(board.Edges) {
		if t.roads[e] == nil && (t.reaches(board.EdgeVertices[e][0]) || t.reaches(board.EdgeVertices[e][1])) {
			spots = append(spots, e)
		}
	}
	return spots
}

// reaches reports whether the viewer may build a road away from a vertex.
func (t *table) reaches(v uint8) bool {
	if town := t.towns[v]; town != nil {
		return town.Seat == t.Seat
	}
	return t.touches(v)
}

// pips returns how many of 36 rolls pay at a vertex, in total and by resource.
func (t *table) pips(v uint8) (total int, by [board.Resources]int) {
	for _, h := range board.VertexHexes[v] {
		if h == board.None || t.Board.Hexes[h].Token == nil {
			continue
		}
		r, _ := board.ParseResource(t.Board.Hexes[h].Resource)
		n := 6 - abs(7-*t.Board.Hexes[h].Token)
		by[r] += n
		total += n
	}
	return total, by
}

// rate returns the number of cards that the viewer pays the bank for one card.
func (t *table) rate(r board.Resource) int {
	rate := 4
	for _, p := range t.Board.Ports {
		for _, v := range p.Vertices {
			if town := t.towns[v]; town == nil || town.Seat != t.Seat {
				continue
			}
			if p.Resource == "" || p.Resource == r.String() {
				rate = min(rate, p.Rate)
			}
		}
	}
	return rate
}

func (t *table) affords(cost match.Counts) bool { return game.Cards(t.Hand).Covers(game.Cards(cost)) }

// holds reports whether the view lists a dev card as playable.
func (t *table) holds(card game.DevCard) bool {
	return slices.Contains(t.DevCards, card.String())
}

// banditMove picks the hex with the highest harm, and the victim there.
func (t *table) banditMove() (hex int, victim *int) {
	best := math.MinInt
	for h := range board.Hexes {
		if h == t.Board.Bandit {
			continue
		}
		score, who := t.harm(h)
		if score > best {
			best, hex, victim = score, h, who
		}
	}
	return hex, victim
}

// harm scores the bandit on a hex: positive for harm to rivals, negative for harm
// to the viewer. victim is the rival there with the most cards.
func (t *table) harm(h int) (score int, victim *int) {
	token := t.Board.Hexes[h].Token
	if token == nil {
		return 0, nil
	}
	most := -1
	for _, v := range board.HexVertices[h] {
		town := t.towns[v]
		switch {
		case town == nil:
		case town.Seat == t.Seat:
			score -= 40
		default:
			score += (6 - abs(7-*token)) * (1 + t.Scores[town.Seat])
			if cards := t.HandCounts[town.Seat]; cards > most {
				most, victim = cards, &town.Seat
			}
		}
	}
	return score, victim
}

func abs(n int) int { return max(n, -n) }
