package housebot

import (
	"slices"

	"hexarena/domain/board"
	"hexarena/domain/game"
	"hexarena/domain/match"
)

// The variable costs maps each purchase to its cost (docs/rules.md).
var costs = map[game.Type]game.Cards{
	game.BuildRoad:       {board.Brick: 1, board.Lumber: 1},
	game.BuildSettlement: {board.Brick: 1, board.Lumber: 1, board.Wool: 1, board.Grain: 1},
	game.BuildCity:       {board.Grain: 2, board.Ore: 3},
	game.BuyDev:          {board.Wool: 1, board.Grain: 1, board.Ore: 1},
}

// table is a player's view of a game, with indexes of the hexes, towns and roads.
type table struct {
	*match.View
	yields  [board.Hexes]yield
	towns   [board.Vertices]*match.Town
	roads   [board.Edges]*match.Road
	mine    struct{ roads, settlements, cities int }
	blocked board.VertexSet // vertices on or next to a town
}

// yield says which cards a hex produces. The desert has no pips.
type yield struct {
	resource board.Resource
	pips     int // of 36 rolls, how many produce
}

func read(v *match.View) *table {
	t := &table{View: v}
	for i, h := range v.Board.Hexes {
		if h.Token != nil {
			t.yields[i].resource, _ = board.ParseResource(h.Resource)
			t.yields[i].pips = 6 - abs(7-*h.Token)
		}
	}
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

// The method touches() reports whether one of the viewer's roads ends at a vertex.
func (t *table) touches(v uint8) bool {
	for _, e := range board.VertexEdges[v] {
		if e != board.None && t.roads[e] != nil && t.roads[e].Seat == t.Seat {
			return true
		}
	}
	return false
}

// settlementSpots lists the vertices where the viewer may build a settlement. During
// setup, it lists all open vertices.
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

// citySpots lists the viewer's settlements. It lists none if the viewer has no city
// pieces left.
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

// The method reaches() reports whether the viewer may build a road that starts at a
// vertex.
func (t *table) reaches(v uint8) bool {
	if town := t.towns[v]; town != nil {
		return town.Seat == t.Seat
	}
	return t.touches(v)
}

// The method pips() returns how many of the 36 possible rolls produce a card at a
// vertex, both in total and for each resource.
func (t *table) pips(v uint8) (total int, by [board.Resources]int) {
	for _, h := range board.VertexHexes[v] {
		if h != board.None {
			by[t.yields[h].resource] += t.yields[h].pips
			total += t.yields[h].pips
		}
	}
	return total, by
}

// rate returns how many cards of a resource the viewer pays the bank for one card.
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

// The method affords() reports whether the hand covers the cost of a purchase.
func (t *table) affords(purchase game.Type) bool {
	return game.Cards(t.Hand).Covers(costs[purchase])
}

// prospect returns the highest number of pips among v and its neighbors, counting only
// open vertices. The vertex v gets a bonus of 3.
func (t *table) prospect(v uint8) int {
	best := 0
	if !t.blocked.Has(v) {
		best, _ = t.pips(v)
		best += 3
	}
	for _, w := range board.VertexVertices[v] {
		if w != board.None && !t.blocked.Has(w) {
			n, _ := t.pips(w)
			best = max(best, n)
		}
	}
	return best
}

// roadProspect returns the best prospect of the vertices that a road makes
// reachable, or -1 if the road makes no vertex reachable.
func (t *table) roadProspect(edge uint8) int {
	best := -1
	for _, v := range board.EdgeVertices[edge] {
		if !t.reaches(v) {
			best = max(best, t.prospect(v))
		}
	}
	return best
}

// banditMove picks the hex with the highest harm score, and the victim there.
func (t *table) banditMove() (hex, victim uint8) {
	var others []uint8
	for h := range uint8(board.Hexes) {
		if int(h) != t.Board.Bandit {
			others = append(others, h)
		}
	}
	hex = highest(others, func(h uint8) int { score, _ := t.harm(h); return score })
	_, victim = t.harm(hex)
	return hex, victim
}

// harm returns a score for moving the bandit to a hex. Harm to rivals raises the score,
// and harm to the viewer lowers it. The result victim is one of the rivals at
// the hex: the one with the most cards. If there are none, it is board.None.
func (t *table) harm(h uint8) (score int, victim uint8) {
	pips := t.yields[h].pips
	if pips == 0 {
		return 0, board.None
	}
	most, victim := -1, board.None
	for _, v := range board.HexVertices[h] {
		town := t.towns[v]
		switch {
		case town == nil:
		case town.Seat == t.Seat:
			score -= 40
		default:
			score += pips * (1 + t.Scores[town.Seat])
			if cards := t.HandCounts[town.Seat]; cards > most {
				most, victim = cards, uint8(town.Seat)
			}
		}
	}
	return score, victim
}

// play returns the action that plays a dev card, if the viewer has the card and can
// play it. A windfall uses both given resources, and an embargo uses only the first.
func (t *table) play(card game.DevCard, one, two board.Resource) (a game.Action, ok bool) {
	if !slices.Contains(t.DevCards, card.String()) {
		return game.Action{}, false
	}
	switch card {
	case game.Knight:
		a.Type = game.PlayKnight
		a.Hex, a.Victim = t.banditMove()
	case game.Roadworks:
		spots := t.roadSpots()
		if len(spots) == 0 {
			return game.Action{}, false
		}
		a.Type, a.Edges = game.PlayRoadworks, [2]uint8{spots[0], board.None}
	case game.Windfall:
		a.Type = game.PlayWindfall
		a.Taking[one]++
		a.Taking[two]++
	default:
		a.Type, a.Get = game.PlayEmbargo, one
	}
	return a, true
}

// offerTrade returns an action that offers one card to all seats in exchange for
// another card.
func offerTrade(give, get board.Resource) game.Action {
	a := game.Action{Type: game.OfferTrade, To: board.None}
	a.Giving[give], a.Taking[get] = 1, 1
	return a
}

// The function around() lists the edges that end at a vertex.
func around(v uint8) []uint8 {
	return slices.DeleteFunc(slices.Clone(board.VertexEdges[v][:]), func(e uint8) bool { return e == board.None })
}

// The function highest() returns the option with the highest score. If several options
// have that score, it returns the first of them.
func highest(options []uint8, score func(uint8) int) uint8 {
	best, most := options[0], score(options[0])
	for _, o := range options[1:] {
		if n := score(o); n > most {
			best, most = o, n
		}
	}
	return best
}

func abs(n int) int { return max(n, -n) }
