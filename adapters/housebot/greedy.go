package housebot

import (
	"math/rand/v2"
	"slices"

	"hexarena/domain/board"
	"hexarena/domain/game"
	"hexarena/domain/match"
)

// The type greedy is a strategy that works toward the best possible purchase, trades
// for the missing cards, and robs the leader.
type greedy struct {
	rng *rand.Rand
	now thisTurn
}

func (b *greedy) answer(r *match.Request) (a game.Action, talk string) {
	t := read(&r.View)
	b.now.at(t.View)
	switch r.Kind {
	case "setup":
		return b.setup(t), ""
	case "discard":
		return game.Action{Type: game.Discard, Giving: b.discard(t)}, ""
	case "bandit":
		hex, victim := t.banditMove()
		return game.Action{Type: game.MoveBandit, Hex: hex, Victim: victim}, b.now.talk("Nothing personal.")
	case "trade":
		return game.Action{Type: game.Respond, Accept: b.accepts(t)}, ""
	default:
		return b.turn(t)
	}
}

// setup chooses the vertex with the most pips, plus a bonus for new resources. It
// chooses the road that leads toward the next best vertex.
func (b *greedy) setup(t *table) game.Action {
	var have [board.Resources]int
	for v, town := range t.towns {
		if town != nil && town.Seat == t.Seat {
			_, by := t.pips(uint8(v))
			for r, n := range by {
				have[r] += n
			}
		}
	}
	vertex := highest(t.settlementSpots(true), func(v uint8) int {
		score, by := t.pips(v)
		for r, n := range by {
			if n > 0 && have[r] == 0 {
				score += 2
			}
		}
		return score
	})
	edge := highest(around(vertex), func(e uint8) int {
		ends := board.EdgeVertices[e]
		if ends[0] == vertex {
			return t.prospect(ends[1])
		}
		return t.prospect(ends[0])
	})
	return game.Action{Type: game.Setup, Vertex: vertex, Edges: [2]uint8{edge}}
}

func (b *greedy) turn(t *table) (a game.Action, talk string) {
	goal, found := b.goal(t)
	if found && t.affords(goal.Type) {
		return goal, ""
	}
	cost := costs[goal.Type]
	if a, ok := b.playCard(t, cost); ok {
		return a, ""
	}
	if a, ok := b.bankTrade(t, cost); ok {
		return a, ""
	}
	if t.affords(game.BuyDev) && t.DeckRemaining > 0 && game.Cards(t.Hand).Total() > 5 {
		return game.Action{Type: game.BuyDev}, ""
	}
	if a, ok := b.offer(t, cost); ok {
		return a, b.now.talk("I need " + mostFrequent(a.Taking).String() + ".")
	}
	if t.MyScore >= game.PointsToWin-2 && b.rng.IntN(2) == 0 {
		talk = b.now.talk("Nearly there.")
	}
	return game.Action{Type: game.EndTurn}, talk
}

// goal returns the next purchase to work toward. If nothing is left to buy, it returns
// false and an action that costs nothing.
func (b *greedy) goal(t *table) (game.Action, bool) {
	settlements, cities, roads := t.settlementSpots(false), t.citySpots(), t.roadSpots()
	pips := func(v uint8) int { n, _ := t.pips(v); return n }
	expands := len(roads) > 0 && t.mine.settlements < game.MaxSettlements
	switch {
	case len(settlements) > 0:
		return game.Action{Type: game.BuildSettlement, Vertex: highest(settlements, pips)}, true
	case len(cities) > 0 && (t.mine.settlements+t.mine.cities >= 3 || !expands):
		return game.Action{Type: game.BuildCity, Vertex: highest(cities, pips)}, true
	case expands:
		return game.Action{Type: game.BuildRoad, Edges: [2]uint8{highest(roads, t.roadProspect)}}, true
	case t.DeckRemaining > 0:
		return game.Action{Type: game.BuyDev}, true
	}
	return game.Action{}, false
}

// The function missing() compares a hand with a cost. It returns the cards that the
// hand still needs, and the spare cards that the cost does not use.
func missing(hand, cost game.Cards) (lack, spare game.Cards) {
	for r := range hand {
		if cost[r] > hand[r] {
			lack[r] = cost[r] - hand[r]
		} else {
			spare[r] = hand[r] - cost[r]
		}
	}
	return lack, spare
}

// mostFrequent returns the most frequent resource. If several are equally frequent, it
// returns the first of them.
func mostFrequent(c game.Cards) board.Resource {
	return board.Resource(slices.Index(c[:], slices.Max(c[:])))
}

// playCard plays at most one dev card in each turn. It plays a windfall or an embargo
// only to get missing cards.
func (b *greedy) playCard(t *table, cost game.Cards) (game.Action, bool) {
	if b.now.played {
		return game.Action{}, false
	}
	playable := []game.DevCard{game.Knight, game.Roadworks}
	lack, _ := missing(game.Cards(t.Hand), cost)
	one := mostFrequent(lack)
	two := one
	if lack[one] > 0 {
		playable = append(playable, game.Windfall, game.Embargo)
		if lack[one]--; lack.Total() > 0 {
			two = mostFrequent(lack)
		}
	}
	for _, card := range playable {
		if a, ok := t.play(card, one, two); ok {
			b.now.played = true
			return a, true
		}
	}
	return game.Action{}, false
}

// bankTrade trades spare cards to the bank for one missing card.
func (b *greedy) bankTrade(t *table, cost game.Cards) (game.Action, bool) {
	lack, spare := missing(game.Cards(t.Hand), cost)
	get := mostFrequent(lack)
	for r := board.Brick; r < board.Desert; r++ {
		if lack[get] > 0 && r != get && int(spare[r]) >= t.rate(r) {
			return game.Action{Type: game.BankTrade, Give: r, Get: get}, true
		}
	}
	return game.Action{}, false
}

// offer asks the other players for a missing card, at most twice in each turn.
func (b *greedy) offer(t *table, cost game.Cards) (game.Action, bool) {
	lack, spare := missing(game.Cards(t.Hand), cost)
	if lack.Total() == 0 || spare.Total() == 0 || b.now.offers >= 2 {
		return game.Action{}, false
	}
	b.now.offers++
	return offerTrade(mostFrequent(spare), mostFrequent(lack)), true
}

// The method accepts() reports whether to accept the open offer. The offer must help
// the goal, and the other player must not be about to win.
func (b *greedy) accepts(t *table) bool {
	o := t.OpenTrade
	goal, _ := b.goal(t)
	lack, spare := missing(game.Cards(t.Hand), costs[goal.Type])
	helps := false
	for r, n := range o.Give {
		helps = helps || n > 0 && lack[r] > 0
	}
	return helps && spare.Covers(game.Cards(o.Get)) && t.Scores[o.From] < game.PointsToWin-2
}

// discard gives up spare cards first, and cards that the goal needs last.
func (b *greedy) discard(t *table) (drop game.Cards) {
	goal, _ := b.goal(t)
	hand := game.Cards(t.Hand)
	for range t.HandCounts[t.Seat] / 2 {
		_, spare := missing(hand, costs[goal.Type])
		if spare.Total() == 0 {
			spare = hand
		}
		r := mostFrequent(spare)
		hand[r]--
		drop[r]++
	}
	return drop
}
