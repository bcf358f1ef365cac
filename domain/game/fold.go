package game

import "hexarena/domain/board"

// Act folds an action that a seat played. The parameter collected is the number of
// cards that each seat lost to a PlayEmbargo. For other actions, Act ignores collected.
// Act never rejects an action.
func (p *Public) Act(seat uint8, a Action, collected [MaxSeats]uint16) { p.act(seat, &a, &collected) }

func (p *Public) act(seat uint8, a *Action, collected *[MaxSeats]uint16) {
	p.rolled = false
	switch a.Type {
	case Setup:
		p.place(seat, a.Vertex, a.Edges[0])
	case BuildRoad:
		p.pay(seat, roadCost)
		p.addRoad(seat, a.Edges[0])
	case BuildSettlement:
		p.pay(seat, settlementCost)
		p.addSettlement(seat, a.Vertex)
	case BuildCity:
		p.pay(seat, cityCost)
		p.addCity(seat, a.Vertex)
	case BuyDev:
		p.pay(seat, devCost)
		p.DevCounts[seat]++
		p.Deck--
	case PlayKnight:
		p.DevCounts[seat]--
		p.Knights[seat]++
		p.Bandit = a.Hex
	case PlayRoadworks:
		p.DevCounts[seat]--
		p.layFree(seat, a.Edges)
	case PlayWindfall:
		p.DevCounts[seat]--
		p.HandCounts[seat] += uint16(a.Taking.Total())
	case PlayEmbargo:
		p.DevCounts[seat]--
		p.collect(seat, collected)
	case BankTrade:
		p.HandCounts[seat] -= p.Rate(seat, a.Give) - 1
	case OfferTrade:
		p.open(seat, a)
	case Discard:
		p.pay(seat, a.Giving)
	case MoveBandit:
		p.Bandit = a.Hex
	case Respond:
		p.answer(seat, a.Accept)
	case EndTurn:
	}
}

// Apply folds a consequence. It never rejects one.
func (p *Public) Apply(c Consequence) {
	switch c.Kind {
	case Stole:
		p.HandCounts[c.To]--
		p.HandCounts[c.Seat]++
	case Traded:
		give, get := uint16(c.Give.Total()), uint16(c.Get.Total())
		p.HandCounts[c.From] += get - give
		p.HandCounts[c.To] += give - get
	case AwardMoved:
		p.Holders[c.Award] = c.To
	case Ended:
		if p.rolled && c.Reason == Win && p.Score(p.Seat) < PointsToWin {
			p.takeBack(p.production()) // the seat won with hidden points, so its roll paid nothing
		}
		p.rolled, p.Over = false, true
	case Rolled:
		p.beginTurn(&c)
		if p.Score(c.Seat) < PointsToWin {
			p.receive(p.production())
		}
	}
}

func (p *Public) pay(seat uint8, cost Cards) { p.HandCounts[seat] -= uint16(cost.Total()) }

// place folds a placement during setup. With its second placement, a seat also
// receives its first cards. Setup ends after the second placements of all
// seats.
func (p *Public) place(seat, vertex, edge uint8) {
	if p.Settlements[seat] != 0 {
		p.HandCounts[seat] += uint16(p.firstYield(vertex).Total())
	}
	p.addSettlement(seat, vertex)
	p.addRoad(seat, edge)
	placed := uint8(0)
	for s := range p.Seats {
		placed += uint8(p.Settlements[s].Len())
	}
	switch {
	case placed < p.Seats:
		p.Seat = placed
	case placed < 2*p.Seats:
		p.Seat = 2*p.Seats - 1 - placed
	default:
		p.Phase = PhaseMain
	}
}

// firstYield returns one card for each hex around a vertex, except the desert.
func (p *Public) firstYield(vertex uint8) Cards {
	var cards Cards
	for _, h := range board.VertexHexes[vertex] {
		if h != board.None && p.Layout.Resources[h] != board.Desert {
			cards[p.Layout.Resources[h]]++
		}
	}
	return cards
}

func (p *Public) layFree(seat uint8, edges [2]uint8) {
	for _, e := range edges {
		if e != board.None {
			p.addRoad(seat, e)
		}
	}
}

func (p *Public) collect(seat uint8, collected *[MaxSeats]uint16) {
	for other, n := range collected {
		p.HandCounts[other] -= n
		p.HandCounts[seat] += n
	}
}

func (p *Public) open(seat uint8, a *Action) {
	asked := uint8(1)<<p.Seats - 1
	if a.To != board.None {
		asked = 1 << a.To
	}
	p.Offer = Offer{
		Open: true, From: seat, To: a.To, Give: a.Giving, Get: a.Taking,
		Asked: asked &^ (1 << seat),
	}
}

// answer folds a seat's response to the open offer. The last response closes the
// offer.
func (p *Public) answer(seat uint8, accept bool) {
	p.Offer.Answered |= 1 << seat
	if accept {
		p.Offer.Accepted |= 1 << seat
	}
	if p.Offer.Answered&p.Offer.Asked == p.Offer.Asked {
		p.Offer = Offer{}
	}
}

// beginTurn folds a roll, without the cards that it pays.
func (p *Public) beginTurn(c *Consequence) {
	p.Phase, p.Turn, p.Seat, p.Dice, p.rolled = PhaseMain, c.Turn, c.Seat, c.Dice, true
}

// production returns the cards that the roll of this turn pays to each seat. A seat
// that has 10 points at its roll wins before the hexes pay
// (docs/adr/0047-a-win-at-the-roll-comes-before-the-hexes-pay.md). A spectator
// does not know about hidden points, so Apply pays at such a roll and takes the
// cards back at the end of the game.
func (p *Public) production() [MaxSeats]Cards { return p.Production(p.Dice[0] + p.Dice[1]) }

// Production returns the cards that the hexes pay to each seat at a roll of total.
func (p *Public) Production(total uint8) (paid [MaxSeats]Cards) {
	p.yield(p.paying(total), &paid)
	return paid
}

// Blocked returns the cards that the bandit keeps from each seat at a roll of total.
func (p *Public) Blocked(total uint8) (paid [MaxSeats]Cards) {
	p.yield(p.net.paying[total]&(1<<p.Bandit), &paid)
	return paid
}

// The method paying() returns the hexes that pay at a roll of total.
func (p *Public) paying(total uint8) hexSet { return p.net.paying[total] &^ (1 << p.Bandit) }

// yield adds the cards that a set of hexes pays to the cards of each seat.
func (p *Public) yield(paying hexSet, cards *[MaxSeats]Cards) {
	for ; paying != 0; paying = paying.rest() {
		hex := paying.first()
		around, r := board.HexVertexSet[hex], p.Layout.Resources[hex]
		for seat := range p.Seats {
			if p.net.hexes[seat].has(hex) {
				cards[seat][r] += uint16((p.Settlements[seat] & around).Len() + 2*(p.Cities[seat]&around).Len())
			}
		}
	}
}

func (p *Public) receive(paid [MaxSeats]Cards) {
	for seat := range p.Seats {
		p.HandCounts[seat] += uint16(paid[seat].Total())
	}
}

func (p *Public) takeBack(paid [MaxSeats]Cards) {
	for seat := range p.Seats {
		p.HandCounts[seat] -= uint16(paid[seat].Total())
	}
}
