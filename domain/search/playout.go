package search

import (
	"math/bits"

	"hexarena/domain/board"
	"hexarena/domain/game"
)

// playOn plays a game for a number of rolls, with cheap rules instead of a search for
// each seat. It stops before the next roll.
func (i *island) playOn(g *game.State, rolls int) {
	for {
		for c, more := g.Next(); more; c, more = g.Next() {
			if c.Kind == game.Rolled {
				if rolls == 0 {
					return
				}
				rolls--
			}
			g.Apply(c)
		}
		if g.Over {
			return
		}
		kind, seats := g.Owed()
		seat := uint8(bits.TrailingZeros8(seats))
		g.Act(seat, i.quick(g, kind, seat))
	}
}

// quick chooses an action without a search.
func (i *island) quick(g *game.State, kind game.Kind, seat uint8) game.Action {
	switch kind {
	case game.KindSetup:
		return i.place(g, seat)
	case game.KindBandit:
		hex, victim := i.quickRaid(g, seat)
		return game.Action{Type: game.MoveBandit, Hex: hex, Victim: victim}
	case game.KindTurn:
		return i.quickTurn(g, seat)
	default:
		return g.Default(seat)
	}
}

// quickTurn buys the first of these that the hand pays for: a city, a settlement, a road
// to a new place, a development card. If the hand pays for none of them, it trades with
// the bank for one of them, in the same order.
func (i *island) quickTurn(g *game.State, seat uint8) game.Action {
	if a, ok := i.quickCard(g, seat); ok {
		return a
	}
	hand := &g.Hands[seat]
	if hand.Total() < 2 {
		return game.Action{Type: game.EndTurn}
	}
	goals, n := i.goals(g, seat)
	for _, goal := range goals[:n] {
		if hand.Covers(*goal.cost) {
			return goal.action
		}
	}
	for _, goal := range goals[:n] {
		if give, get, ok := firstTrade(g, seat, goal.cost); ok {
			return game.Action{Type: game.BankTrade, Give: give, Get: get}
		}
	}
	return game.Action{Type: game.EndTurn}
}

type goal struct {
	action game.Action
	cost   *game.Cards
}

func (i *island) goals(g *game.State, seat uint8) (list [4]goal, n int) {
	if towns := g.Settlements[seat]; towns != 0 && g.Cities[seat].Len() < game.MaxCities {
		list[n] = goal{game.Action{Type: game.BuildCity, Vertex: i.top(towns)}, &costs[buildCity]}
		n++
	}
	if g.Settlements[seat].Len() < game.MaxSettlements {
		if spots := g.SettlementSpots(seat); spots != 0 {
			list[n] = goal{game.Action{Type: game.BuildSettlement, Vertex: i.top(spots)}, &costs[buildTown]}
			n++
		} else if e, ok := i.quickRoad(g, seat); ok {
			list[n] = goal{game.Action{Type: game.BuildRoad, Edges: [2]uint8{e, board.None}}, &costs[buildRoad]}
			n++
		}
	}
	if g.Deck > 0 {
		list[n] = goal{game.Action{Type: game.BuyDev}, &costs[buyDev]}
		n++
	}
	return list, n
}

// top returns the vertex with the highest worth.
func (i *island) top(set board.VertexSet) (v uint8) {
	most := -1.0
	for ; set != 0; set = set.Rest() {
		if n := i.worth[set.First()]; n > most {
			most, v = n, set.First()
		}
	}
	return v
}

// quickRoad returns the road that leads to the best open vertex at most two roads away.
func (i *island) quickRoad(g *game.State, seat uint8) (edge uint8, ok bool) {
	if g.Roads[seat].Len() >= game.MaxRoads {
		return 0, false
	}
	open, most := g.OpenVertices(), 0.0
	blocked := rivals(g, seat)
	for spots := g.RoadSpots(seat); !spots.Empty(); spots = spots.Rest() {
		e := spots.First()
		for _, v := range board.EdgeVertices[e] {
			n := 0.0
			if open.Has(v) {
				n = i.worth[v]
			} else if !blocked.Has(v) {
				n = 0.6 * i.best(board.NeighbourSet[v]&open)
			}
			if n > most {
				most, edge, ok = n, e, true
			}
		}
	}
	return edge, ok
}

// firstTrade returns the first bank trade on the way to a cost, if trades are enough.
func firstTrade(g *game.State, seat uint8, cost *game.Cards) (give, get board.Resource, ok bool) {
	lack, gain := 0, 0
	for r, n := range g.Hands[seat] {
		if n < cost[r] {
			lack += int(cost[r] - n)
			get = board.Resource(r)
		} else if k := (n - cost[r]) / g.Rate(seat, board.Resource(r)); k > 0 {
			gain += int(k)
			give = board.Resource(r)
		}
	}
	return give, get, lack > 0 && gain >= lack
}

// quickCard plays a development card.
func (i *island) quickCard(g *game.State, seat uint8) (a game.Action, ok bool) {
	devs := &g.Devs[seat]
	if g.DevPlayed() || devs.Total() == int(devs[game.VictoryPoint]) {
		return a, false
	}
	switch {
	case devs[game.Knight] > 0:
		a.Type = game.PlayKnight
		a.Hex, a.Victim = i.quickRaid(g, seat)
		return a, true
	case devs[game.Windfall] > 0:
		a.Type = game.PlayWindfall
		a.Taking[board.Ore]++
		a.Taking[board.Grain]++
		return a, true
	case devs[game.Embargo] > 0:
		return game.Action{Type: game.PlayEmbargo, Get: board.Grain}, true
	case devs[game.Roadworks] > 0:
		if e, ok := i.quickRoad(g, seat); ok {
			return game.Action{Type: game.PlayRoadworks, Edges: [2]uint8{e, board.None}}, true
		}
	}
	return a, false
}

// quickRaid moves the bandit to the hex at which it harms rivals most. Rivals with more
// points count more.
func (i *island) quickRaid(g *game.State, seat uint8) (hex, victim uint8) {
	var weight [game.MaxSeats]float64
	for other := range g.Seats {
		weight[other] = float64(1 + g.Score(other))
	}
	weight[seat] = -20
	most := -1e9
	for h := range uint8(board.Hexes) {
		if h == g.Bandit {
			continue
		}
		harm, around := 0.0, board.HexVertexSet[h]
		for other := range g.Seats {
			if g.Towns(other)&around != 0 {
				harm += weight[other] * float64((g.Settlements[other]&around).Len()+2*(g.Cities[other]&around).Len())
			}
		}
		if harm *= i.chance[h]; harm > most {
			most, hex = harm, h
		}
	}
	victim = board.None
	cards := uint16(0)
	for other := range g.Seats {
		if other != seat && g.HandCounts[other] > cards && g.Towns(other)&board.HexVertexSet[hex] != 0 {
			cards, victim = g.HandCounts[other], other
		}
	}
	return hex, victim
}
