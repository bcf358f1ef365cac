package search

import (
	"cmp"
	"slices"

	"hexarena/domain/board"
	"hexarena/domain/game"
	"hexarena/domain/match"
)

// The limits of trades with other seats, as logarithms of odds.
const (
	offerGain  = 0.06 // the smallest gain for which the seat offers a trade
	acceptGain = 0.02
	maxOffers  = 3 // in one turn
	maxScore   = 8 // a seat with so many points gets no help
)

// offer returns an offer of one card for another one, if the best plan after the trade is
// much better than the best plan without it.
func (m *Mind) offer(s *scene, now *plan) (game.Action, bool) {
	if m.turn.offers >= maxOffers || now.frugal() {
		return game.Action{}, false
	}
	most, a, found := now.value+offerGain, game.Action{}, false
	for _, o := range m.swaps(s) {
		after := s.g
		after.Hands[s.me] = after.Hands[s.me].Minus(o.Giving).Plus(o.Taking)
		p := s.newPlanner(s.me, s.sight.unseen)
		p.nodes = maxNodes - 60 // most plans have one step
		if n := p.plans(&after)[0].value; n > most {
			most, a, found = n, o, true
		}
	}
	return a, found
}

// maxSwaps is the number of trades that the search for an offer examines.
const maxSwaps = 5

// swaps lists the trades of one card for another one that make the hand stronger.
func (m *Mind) swaps(s *scene) (list []game.Action) {
	var gains []float64
	for give := range board.Resources {
		for get := range board.Resources {
			if give == get || s.g.Hands[s.me][give] == 0 || m.turn.refused[give][get] {
				continue
			}
			after := s.g
			after.Hands[s.me][give]--
			after.Hands[s.me][get]++
			gain := s.strength(&after, s.me)
			at, _ := slices.BinarySearchFunc(gains, gain, func(a, b float64) int { return cmp.Compare(b, a) })
			o := game.Action{Type: game.OfferTrade, To: board.None}
			o.Giving[give], o.Taking[get] = 1, 1
			gains, list = slices.Insert(gains, at, gain), slices.Insert(list, at, o)
		}
	}
	return list[:min(maxSwaps, len(list))]
}

// frugal reports whether a plan buys something without the bank's trades. Then trades
// can wait until it is done.
func (p *plan) frugal() bool {
	for _, a := range p.actions {
		if a.Type == game.BankTrade {
			return false
		}
	}
	return len(p.actions) > 0
}

// accepts reports whether a trade improves the seat's odds, even though it also helps the
// offerer.
func (s *scene) accepts(o *match.OpenTrade) bool {
	g, from := s.g, uint8(o.From)
	give, get := game.Cards(o.Give), game.Cards(o.Get)
	if !g.Hands[s.me].Covers(get) || g.Score(from) >= maxScore {
		return false
	}
	before := s.value(&g, s.me)
	g.Hands[s.me] = g.Hands[s.me].Minus(get).Plus(give)
	g.Hands[from] = g.Hands[from].Minus(give).Plus(get)
	return s.value(&g, s.me) > before+acceptGain
}
