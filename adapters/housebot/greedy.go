package housebot

import (
	"math/rand/v2"

	"hexarena/domain/board"
	"hexarena/domain/game"
	"hexarena/domain/match"
)

// greedy builds the best thing that it can reach, trades towards it, and robs
// the leader.
type greedy struct {
	rng *rand.Rand
	now thisTurn
}

func (b *greedy) answer(r *match.Request) any {
	t := read(&r.View)
	b.now.at(t.Turn)
	switch r.Kind {
	case "setup":
		return b.setup(t)
	case "discard":
		return discardAction{b.discard(t)}
	case "bandit":
		hex, victim := t.banditMove()
		return banditAction{hex, victim, b.now.talk("Nothing personal.")}
	case "trade":
		return b.respond(t)
	default:
		return b.turn(t)
	}
}

// setup takes the vertex with the most pips, with a bonus for new resources, and
// the road towards the next best vertex.
func (b *greedy) setup(t *table) any {
	var have [board.Resources]int
	for v, town := range t.towns {
		if town != nil && town.Seat == t.Seat {
			_, by := t.pips(uint8(v))
			for r, n := range by {
				have[r] += n
			}
		}
	}
	best, where := -1, uint8(0)
	for _, v := range t.settlementSpots(true) {
		score, by := t.pips(v)
		for r, n := range by {
			if n > 0 && have[r] == 0 {
				score += 2
			}
		}
		if score > best {
			best, where = score, v
		}
	}
	return setupAction{where, b.towards(t, where, around(where))}
}

// towards picks the edge whose far side leads to the best open vertex.
func (b *greedy) towards(t *table, from uint8, edges []uint8) uint8 {
	best, choice := -1, edges[0]
	for _, e := range edges {
		for _, v := range board.EdgeVertices[e] {
			if v == from {
				continue
			}
			if score := b.prospect(t, v); score > best {
				best, choice = score, e
			}
		}
	}
	return choice
}

// prospect returns the most pips of an open vertex, among v (with a bonus of 3) and
// its neighbours.
func (b *greedy) prospect(t *table, v uint8) int {
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

func (b *greedy) turn(t *table) any {
	goal, act := b.goal(t)
	if t.affords(goal) && act != nil {
		return act()
	}
	if a, ok := b.dev(t, goal); ok {
		return a
	}
	if a, ok := b.trade(t, goal); ok {
		return a
	}
	if t.affords(devCost) && t.DeckRemaining > 0 && game.Cards(t.Hand).Total() > 5 {
		return turnAction{Type: "buy_dev"}
	}
	if a, ok := b.offer(t, goal); ok {
		return a
	}
	return endTurn(b.farewell(t))
}

func (b *greedy) farewell(t *table) string {
	if t.MyScore >= game.PointsToWin-2 && b.rng.IntN(2) == 0 {
		return b.now.talk("Nearly there.")
	}
	return ""
}

// goal returns the cost of the next purchase, and the action that makes it.
func (b *greedy) goal(t *table) (match.Counts, func() turnAction) {
	if spots := t.settlementSpots(false); len(spots) > 0 {
		v := b.richest(t, spots)
		return settlementCost, func() turnAction { return turnAction{Type: "build_settlement", Vertex: &v} }
	}
	if spots := t.citySpots(); len(spots) > 0 && t.mine.settlements+t.mine.cities >= 3 {
		v := b.richest(t, spots)
		return cityCost, func() turnAction { return turnAction{Type: "build_city", Vertex: &v} }
	}
	if spots := t.roadSpots(); len(spots) > 0 && t.mine.settlements < game.MaxSettlements {
		e := b.bestRoad(t, spots)
		return roadCost, func() turnAction { return turnAction{Type: "build_road", Edge: &e} }
	}
	if spots := t.citySpots(); len(spots) > 0 {
		v := b.richest(t, spots)
		return cityCost, func() turnAction { return turnAction{Type: "build_city", Vertex: &v} }
	}
	if t.DeckRemaining > 0 {
		return devCost, func() turnAction { return turnAction{Type: "buy_dev"} }
	}
	return match.Counts{}, nil
}

func (b *greedy) richest(t *table, spots []uint8) uint8 {
	best, where := -1, spots[0]
	for _, v := range spots {
		if n, _ := t.pips(v); n > best {
			best, where = n, v
		}
	}
	return where
}

func (b *greedy) bestRoad(t *table, spots []uint8) uint8 {
	best, choice := -1, spots[0]
	for _, e := range spots {
		for _, v := range board.EdgeVertices[e] {
			if t.reaches(v) {
				continue
			}
			if n := b.prospect(t, v); n > best {
				best, choice = n, e
			}
		}
	}
	return choice
}

// missing returns the cards that the hand lacks for a cost, and its spare cards.
func missing(hand, cost match.Counts) (lack, spare match.Counts) {
	for r := range hand {
		if cost[r] > hand[r] {
			lack[r] = cost[r] - hand[r]
		} else {
			spare[r] = hand[r] - cost[r]
		}
	}
	return lack, spare
}

// first returns the most frequent resource. It returns false if c is empty.
func first(c match.Counts) (board.Resource, bool) {
	best := board.Resource(0)
	for r := range c {
		if c[r] > c[best] {
			best = board.Resource(r)
		}
	}
	return best, c[best] > 0
}

// dev plays a card, at most one a turn.
func (b *greedy) dev(t *table, goal match.Counts) (turnAction, bool) {
	if b.now.played {
		return turnAction{}, false
	}
	lack, _ := missing(t.Hand, goal)
	one, wanting := first(lack)
	if wanting {
		lack[one]--
	}
	two, more := first(lack)
	if !more {
		two = one
	}
	for _, card := range []game.DevCard{game.Knight, game.Roadworks, game.Windfall, game.Embargo} {
		if !wanting && (card == game.Windfall || card == game.Embargo) {
			continue
		}
		if a, ok := devAction(t, card, one, two); ok {
			b.now.played = true
			return a, true
		}
	}
	return turnAction{}, false
}

// trade swaps spare cards with the bank for one that is missing.
func (b *greedy) trade(t *table, goal match.Counts) (turnAction, bool) {
	lack, spare := missing(t.Hand, goal)
	get, wanting := first(lack)
	if !wanting {
		return turnAction{}, false
	}
	for r := board.Brick; r < board.Desert; r++ {
		if r != get && int(spare[r]) >= t.rate(r) {
			return turnAction{Type: "bank_trade", Give: r.String(), Get: get.String()}, true
		}
	}
	return turnAction{}, false
}

// offer asks the table for a missing card, twice a turn at most.
func (b *greedy) offer(t *table, goal match.Counts) (turnAction, bool) {
	lack, spare := missing(t.Hand, goal)
	get, wanting := first(lack)
	give, having := first(spare)
	if !wanting || !having || b.now.offers >= 2 {
		return turnAction{}, false
	}
	b.now.offers++
	return turnAction{
		Type: "offer_trade", Give: counts{give.String(): 1}, Get: counts{get.String(): 1},
		Talk: b.now.talk("I need " + get.String() + "."),
	}, true
}

// respond accepts offers that help the goal, unless the other player is about to
// win.
func (b *greedy) respond(t *table) any {
	o := t.OpenTrade
	goal, _ := b.goal(t)
	lack, spare := missing(t.Hand, goal)
	helps, pays := false, true
	for r := range o.Give {
		helps = helps || o.Give[r] > 0 && lack[r] > 0
		pays = pays && o.Get[r] <= spare[r]
	}
	return tradeAction{Accept: helps && pays && t.Scores[o.From] < game.PointsToWin-2}
}

// discard drops spare cards first, and cards that the goal needs last.
func (b *greedy) discard(t *table) (drop match.Counts) {
	goal, _ := b.goal(t)
	hand := t.Hand
	for range t.HandCounts[t.Seat] / 2 {
		_, spare := missing(hand, goal)
		r, ok := first(spare)
		if !ok {
			r, _ = first(hand)
		}
		hand[r]--
		drop[r]++
	}
	return drop
}
