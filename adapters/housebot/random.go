package housebot

import (
	"math/rand/v2"

	"hexarena/domain/board"
	"hexarena/domain/game"
	"hexarena/domain/match"
)

// random plays any legal action, talks at times and trades blindly.
type random struct {
	rng *rand.Rand
	now thisTurn
}

func (b *random) answer(r *match.Request) any {
	t := read(&r.View)
	b.now.at(t.Turn)
	switch r.Kind {
	case "setup":
		v := pick(b.rng, t.settlementSpots(true))
		return setupAction{v, pick(b.rng, around(v))}
	case "discard":
		return discardAction{b.discard(t)}
	case "bandit":
		hex := (t.Board.Bandit + 1 + b.rng.IntN(board.Hexes-1)) % board.Hexes
		_, victim := t.harm(hex)
		return banditAction{hex, victim, b.chat("Boo.")}
	case "trade":
		able := game.Cards(t.Hand).Covers(game.Cards(t.OpenTrade.Get))
		return tradeAction{able && b.rng.IntN(2) == 0, b.chat("Hm.")}
	default:
		return b.turn(t)
	}
}

func (b *random) chat(message string) string {
	if b.rng.IntN(12) > 0 {
		return ""
	}
	return b.now.talk(message)
}

func (b *random) turn(t *table) any {
	options := append(b.builds(t), b.devs(t)...)
	for r := board.Brick; r < board.Desert; r++ {
		if int(t.Hand[r]) >= t.rate(r) {
			get := (r + 1 + board.Resource(b.rng.IntN(board.Resources-1))) % board.Resources
			options = append(options, turnAction{Type: "bank_trade", Give: r.String(), Get: get.String()})
		}
	}
	if len(options) == 0 || b.rng.IntN(8) == 0 {
		if offer, ok := b.offer(t); ok {
			return offer
		}
	}
	if len(options) == 0 || b.rng.IntN(10) == 0 {
		return endTurn(b.chat("Your turn."))
	}
	return pick(b.rng, options)
}

func (b *random) builds(t *table) (options []turnAction) {
	if t.affords(cityCost) {
		for _, v := range t.citySpots() {
			options = append(options, turnAction{Type: "build_city", Vertex: &v})
		}
	}
	if t.affords(settlementCost) {
		for _, v := range t.settlementSpots(false) {
			options = append(options, turnAction{Type: "build_settlement", Vertex: &v})
		}
	}
	if t.affords(roadCost) {
		for _, e := range t.roadSpots() {
			options = append(options, turnAction{Type: "build_road", Edge: &e})
		}
	}
	if t.affords(devCost) && t.DeckRemaining > 0 {
		options = append(options, turnAction{Type: "buy_dev"})
	}
	return options
}

func (b *random) devs(t *table) []turnAction {
	if b.now.played || b.rng.IntN(2) == 0 {
		return nil
	}
	for _, card := range []game.DevCard{game.Knight, game.Roadworks, game.Windfall, game.Embargo} {
		if a, ok := devAction(t, card, anyResource(b.rng), anyResource(b.rng)); ok {
			b.now.played = true
			return []turnAction{a}
		}
	}
	return nil
}

func anyResource(rng *rand.Rand) board.Resource { return board.Resource(rng.IntN(board.Resources)) }

func (b *random) offer(t *table) (turnAction, bool) {
	give := anyResource(b.rng)
	if t.Hand[give] == 0 || b.now.offers == game.MaxOffers {
		return turnAction{}, false
	}
	b.now.offers++
	return turnAction{
		Type: "offer_trade", Give: counts{give.String(): 1}, Get: counts{anyResource(b.rng).String(): 1},
		Talk: b.now.talk("Anyone?"),
	}, true
}

func (b *random) discard(t *table) (drop match.Counts) {
	for left := t.HandCounts[t.Seat] / 2; left > 0; {
		if r := anyResource(b.rng); drop[r] < t.Hand[r] {
			drop[r]++
			left--
		}
	}
	return drop
}

// devAction plays a card if the viewer holds it and can play it. A windfall takes
// one and two; an embargo names one.
func devAction(t *table, card game.DevCard, one, two board.Resource) (turnAction, bool) {
	if !t.holds(card) {
		return turnAction{}, false
	}
	switch card {
	case game.Knight:
		hex, victim := t.banditMove()
		return turnAction{Type: "play_knight", Hex: &hex, Victim: victim}, true
	case game.Roadworks:
		spots := t.roadSpots()
		if len(spots) == 0 {
			return turnAction{}, false
		}
		return turnAction{Type: "play_roadworks", Edges: []int{int(spots[0])}}, true
	case game.Windfall:
		take := counts{one.String(): 1}
		take[two.String()]++
		return turnAction{Type: "play_windfall", Take: take}, true
	default:
		return turnAction{Type: "play_embargo", Resource: one.String()}, true
	}
}

func pick[T any](rng *rand.Rand, options []T) T { return options[rng.IntN(len(options))] }

// around lists the edges that end at a vertex.
func around(v uint8) []uint8 {
	var edges []uint8
	for _, e := range board.VertexEdges[v] {
		if e != board.None {
			edges = append(edges, e)
		}
	}
	return edges
}
