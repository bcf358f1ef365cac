package housebot

import (
	"math/rand/v2"

	"hexarena/domain/board"
	"hexarena/domain/game"
	"hexarena/domain/match"
)

// The type random is a strategy that plays random legal actions, sometimes talks, and
// trades without a plan.
type random struct {
	rng *rand.Rand
	now thisTurn
}

func (b *random) answer(r *match.Request) (a game.Action, talk string) {
	t := read(&r.View)
	b.now.at(t.View)
	switch r.Kind {
	case "setup":
		v := pick(b.rng, t.settlementSpots(true))
		return game.Action{Type: game.Setup, Vertex: v, Edges: [2]uint8{pick(b.rng, around(v))}}, ""
	case "discard":
		return game.Action{Type: game.Discard, Giving: b.discard(t)}, ""
	case "bandit":
		hex := uint8((t.Board.Bandit + 1 + b.rng.IntN(board.Hexes-1)) % board.Hexes)
		_, victim := t.harm(hex)
		return game.Action{Type: game.MoveBandit, Hex: hex, Victim: victim}, b.chat("Boo.")
	case "trade":
		able := game.Cards(t.Hand).Covers(game.Cards(t.OpenTrade.Get))
		return game.Action{Type: game.Respond, Accept: able && b.rng.IntN(2) == 0}, b.chat("Hm.")
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

func (b *random) turn(t *table) (a game.Action, talk string) {
	options := append(b.builds(t), b.cards(t)...)
	for r := board.Brick; r < board.Desert; r++ {
		if int(t.Hand[r]) >= t.rate(r) {
			get := (r + 1 + board.Resource(b.rng.IntN(board.Resources-1))) % board.Resources
			options = append(options, game.Action{Type: game.BankTrade, Give: r, Get: get})
		}
	}
	if len(options) == 0 || b.rng.IntN(8) == 0 {
		if offer, ok := b.offer(t); ok {
			return offer, b.now.talk("Anyone?")
		}
	}
	if len(options) == 0 || b.rng.IntN(10) == 0 {
		return game.Action{Type: game.EndTurn}, b.chat("Your turn.")
	}
	return pick(b.rng, options), ""
}

func (b *random) builds(t *table) (options []game.Action) {
	if t.affords(game.BuildCity) {
		for _, v := range t.citySpots() {
			options = append(options, game.Action{Type: game.BuildCity, Vertex: v})
		}
	}
	if t.affords(game.BuildSettlement) {
		for _, v := range t.settlementSpots(false) {
			options = append(options, game.Action{Type: game.BuildSettlement, Vertex: v})
		}
	}
	if t.affords(game.BuildRoad) {
		for _, e := range t.roadSpots() {
			options = append(options, game.Action{Type: game.BuildRoad, Edges: [2]uint8{e}})
		}
	}
	if t.affords(game.BuyDev) && t.DeckRemaining > 0 {
		options = append(options, game.Action{Type: game.BuyDev})
	}
	return options
}

// The method cards() returns either one action that plays a dev card, or no action.
func (b *random) cards(t *table) []game.Action {
	if b.now.played || b.rng.IntN(2) == 0 {
		return nil
	}
	for _, card := range []game.DevCard{game.Knight, game.Roadworks, game.Windfall, game.Embargo} {
		if a, ok := t.play(card, anyResource(b.rng), anyResource(b.rng)); ok {
			b.now.played = true
			return []game.Action{a}
		}
	}
	return nil
}

func anyResource(rng *rand.Rand) board.Resource { return board.Resource(rng.IntN(board.Resources)) }

func (b *random) offer(t *table) (game.Action, bool) {
	give := anyResource(b.rng)
	if t.Hand[give] == 0 || b.now.offers == game.MaxOffers {
		return game.Action{}, false
	}
	b.now.offers++
	return offerTrade(give, anyResource(b.rng)), true
}

func (b *random) discard(t *table) (drop game.Cards) {
	for left := t.HandCounts[t.Seat] / 2; left > 0; {
		if r := anyResource(b.rng); drop[r] < t.Hand[r] {
			drop[r]++
			left--
		}
	}
	return drop
}

func pick[T any](rng *rand.Rand, options []T) T { return options[rng.IntN(len(options))] }
