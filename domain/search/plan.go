package search

import (
	"cmp"
	"slices"

	"hexarena/domain/board"
	"hexarena/domain/game"
)

// plan is a sequence of actions for the rest of a turn, without the end of the turn.
type plan struct {
	actions []game.Action
	value   float64
}

// The limits of the search for a plan.
const (
	maxPurchases = 4
	maxNodes     = 1500
	maxRoads     = 4 // roads that a plan may continue with, at each step
)

// planner looks for the best plan of a seat on its turn.
type planner struct {
	*island
	me     uint8
	unseen game.DevCards
	nodes  int
	seen   map[holding]bool
}

// holding is everything that a plan can change.
type holding struct {
	hand               game.Cards
	roads              board.EdgeSet
	settlements, towns board.VertexSet
	devs               game.DevCards
	bought             uint8
}

func (p *planner) holding(g *game.State) holding {
	return holding{g.Hands[p.me], g.Roads[p.me], g.Settlements[p.me], g.Towns(p.me), g.Devs[p.me], uint8(g.Bought[p.me].Total())}
}

func (i *island) newPlanner(me uint8, unseen game.DevCards) *planner {
	return &planner{island: i, me: me, unseen: unseen, seen: map[holding]bool{}}
}

// plans returns the best plan for each first purchase, the best one first. One of the
// plans is empty.
func (p *planner) plans(g *game.State) []plan {
	now := step{after: *g, all: p.strengths(g)}
	list := []plan{{value: p.judge(&now)}}
	p.seen[p.holding(g)] = true
	for _, s := range p.steps(&now) {
		list = append(list, p.follow(s, maxPurchases-1))
	}
	slices.SortStableFunc(list, func(a, b plan) int { return cmp.Compare(b.value, a.value) })
	return list
}

// step is one purchase or card, with the bank trades that pay for it.
type step struct {
	plan
	after game.State
	all   [game.MaxSeats]float64 // the strengths of the seats after the step
	leaf  bool                   // whether chance decides what the seat has afterwards
}

// follow returns the best plan that begins with a step.
func (p *planner) follow(s step, more int) plan {
	best := s.plan
	if s.leaf || more == 0 || s.value >= won || p.nodes > maxNodes {
		return best
	}
	h := p.holding(&s.after)
	if p.seen[h] {
		return best
	}
	p.seen[h] = true
	for _, next := range p.steps(&s) {
		if n := p.follow(next, more-1); n.value > best.value {
			best.value = n.value
			best.actions = append(slices.Clone(s.actions), n.actions...)
		}
	}
	return best
}

func (p *planner) steps(now *step) (list []step) {
	if now.after.Hands[p.me].Total() > 1 {
		list = p.builds(now, list)
	}
	if !now.after.DevPlayed() {
		list = p.cards(now, list)
	}
	return list
}

func (p *planner) builds(now *step, list []step) []step {
	g := &now.after
	if trades, ok := p.pay(g, &costs[buildCity]); ok && g.Cities[p.me].Len() < game.MaxCities {
		for towns := g.Settlements[p.me]; towns != 0; towns = towns.Rest() {
			list = append(list, p.try(now, trades, game.Action{Type: game.BuildCity, Vertex: towns.First()}))
		}
	}
	if trades, ok := p.pay(g, &costs[buildTown]); ok && g.Settlements[p.me].Len() < game.MaxSettlements {
		for spots := g.SettlementSpots(p.me); spots != 0; spots = spots.Rest() {
			list = append(list, p.try(now, trades, game.Action{Type: game.BuildSettlement, Vertex: spots.First()}))
		}
	}
	if trades, ok := p.pay(g, &costs[buildRoad]); ok && g.Roads[p.me].Len() < game.MaxRoads {
		first := len(list)
		for spots := g.RoadSpots(p.me); !spots.Empty(); spots = spots.Rest() {
			list = append(list, p.try(now, trades, game.Action{Type: game.BuildRoad, Edges: [2]uint8{spots.First(), board.None}}))
		}
		list = keep(list, first, maxRoads)
	}
	if trades, ok := p.pay(g, &costs[buyDev]); ok && g.Deck > 0 {
		list = append(list, p.tryDev(now, trades))
	}
	return list
}

// keep keeps only the n best steps from the index first on.
func keep(list []step, first, n int) []step {
	rest := list[first:]
	slices.SortStableFunc(rest, func(a, b step) int { return cmp.Compare(b.value, a.value) })
	return list[:first+min(n, len(rest))]
}

// pay returns the bank trades after which a hand covers a cost. It gives the resources
// of which most cards are spare.
func (p *planner) pay(g *game.State, cost *game.Cards) (trades []game.Action, ok bool) {
	hand := g.Hands[p.me]
	if hand.Covers(*cost) {
		return nil, true
	}
	spare := [board.Resources]int{}
	for r := range hand {
		spare[r] = int(hand[r]) - int(cost[r])
	}
	for get, n := range spare {
		for ; n < 0; n++ {
			give, most := -1, 0
			for r, s := range spare {
				if rate := int(g.Rate(p.me, board.Resource(r))); s >= rate && s-rate+8 > most {
					give, most = r, s-rate+8
				}
			}
			if give < 0 {
				return nil, false
			}
			spare[give] -= int(g.Rate(p.me, board.Resource(give)))
			trades = append(trades, game.Action{Type: game.BankTrade, Give: board.Resource(give), Get: board.Resource(get)})
		}
	}
	return trades, true
}

// try plays bank trades and an action.
func (p *planner) try(now *step, trades []game.Action, a game.Action) step {
	s := step{after: now.after, all: now.all}
	for _, trade := range trades {
		s.after.Act(p.me, trade)
	}
	s.after.Act(p.me, a)
	settle(&s.after)
	s.actions = append(trades[:len(trades):len(trades)], a)
	for seat := range now.after.Seats {
		if seat == p.me || p.affects(&now.after, &s.after, seat, a) {
			s.all[seat] = p.strength(&s.after, seat)
		}
	}
	s.value = p.judge(&s)
	return s
}

// affects reports whether an action may have changed the features of a rival.
func (p *planner) affects(before, after *game.State, rival uint8, a game.Action) bool {
	switch a.Type {
	case game.BuildCity, game.BuyDev, game.PlayWindfall:
		return false
	case game.BuildRoad:
		return before.Reach(rival).Has(a.Edges[0]) || before.RoadLength(p.me) != after.RoadLength(p.me)
	default:
		return true
	}
}

// settle applies the awards that follow from an action.
func settle(g *game.State) {
	for {
		c, more := g.Next()
		if !more || c.Kind != game.AwardMoved {
			return
		}
		g.Apply(c)
	}
}

// judge returns the value of a game whose strengths are known.
func (p *planner) judge(s *step) float64 {
	p.nodes++
	if s.after.Turn > 0 && s.after.Seat == p.me && s.after.TrueScore(p.me) >= game.PointsToWin {
		return won
	}
	return odds(&s.all, s.after.Seats, p.me)
}

// tryDev buys a development card. Its value is the mean over the unseen cards.
func (p *planner) tryDev(now *step, trades []game.Action) step {
	s := p.try(now, trades, game.Action{Type: game.BuyDev})
	s.leaf = true
	sum, total := 0.0, 0.0
	bought := now.after.Bought[p.me]
	for card, n := range p.unseen {
		if n == 0 {
			continue
		}
		s.after.Bought[p.me] = bought
		s.after.Bought[p.me][card]++
		s.all[p.me] = p.strength(&s.after, p.me)
		sum += float64(n) * min(p.judge(&s), 8)
		total += float64(n)
	}
	s.value = sum / max(1, total)
	return s
}

// cards tries the development cards, except knights.
func (p *planner) cards(now *step, list []step) []step {
	g := &now.after
	devs := &g.Devs[p.me]
	if devs[game.Windfall] > 0 {
		for a := range board.Resources {
			for b := a; b < board.Resources; b++ {
				play := game.Action{Type: game.PlayWindfall}
				play.Taking[a]++
				play.Taking[b]++
				list = append(list, p.try(now, nil, play))
			}
		}
	}
	if devs[game.Embargo] > 0 {
		for r := range board.Resource(board.Resources) {
			list = append(list, p.try(now, nil, game.Action{Type: game.PlayEmbargo, Get: r}))
		}
	}
	if devs[game.Roadworks] > 0 && g.Roads[p.me].Len() < game.MaxRoads {
		list = p.roadworks(now, list)
	}
	return list
}

func (p *planner) roadworks(now *step, list []step) []step {
	g := &now.after
	first := len(list)
	for spots := g.RoadSpots(p.me); !spots.Empty(); spots = spots.Rest() {
		play := game.Action{Type: game.PlayRoadworks, Edges: [2]uint8{spots.First(), board.None}}
		one := p.try(now, nil, play)
		list = append(list, one)
		if one.after.Roads[p.me].Len() >= game.MaxRoads {
			continue
		}
		for next := one.after.RoadSpots(p.me); !next.Empty(); next = next.Rest() {
			if next.First() > spots.First() || !g.RoadSpots(p.me).Has(next.First()) {
				play.Edges[1] = next.First()
				list = append(list, p.try(now, nil, play))
			}
		}
	}
	return keep(list, first, 3)
}
