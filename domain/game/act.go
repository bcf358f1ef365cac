package game

import (
	"hexarena/domain/board"
	"hexarena/domain/seed"
)

// Act plays an action that Check allows, and returns how many cards each seat lost to
// a PlayEmbargo. If several seats owe a decision at the same time, wait until all
// have answered, and then call Act for each of them in seat order.
func (s *State) Act(seat uint8, a Action) (collected [MaxSeats]uint16) { return s.act(seat, &a) }

func (s *State) act(seat uint8, a *Action) (collected [MaxSeats]uint16) {
	hand := &s.Hands[seat]
	switch a.Type {
	case Setup:
		if s.Settlements[seat] != 0 {
			*hand = hand.Plus(s.firstYield(a.Vertex))
		}
	case BuildRoad:
		*hand = hand.Minus(roadCost)
	case BuildSettlement:
		*hand = hand.Minus(settlementCost)
		s.scored = s.Turn
	case BuildCity:
		*hand = hand.Minus(cityCost)
		s.scored = s.Turn
	case BuyDev:
		*hand = hand.Minus(devCost)
		s.drawDev(seat)
	case PlayKnight:
		s.spend(seat, Knight)
		s.rob(seat, a.Victim)
	case PlayRoadworks:
		s.spend(seat, Roadworks)
	case PlayWindfall:
		s.spend(seat, Windfall)
		*hand = hand.Plus(a.Taking)
	case PlayEmbargo:
		s.spend(seat, Embargo)
		collected = s.embargo(seat, a.Get)
	case BankTrade:
		hand[a.Give] -= s.Rate(seat, a.Give)
		hand[a.Get]++
	case OfferTrade:
		s.offers++
	case EndTurn:
		s.step = stepRoll
	case Discard:
		*hand = hand.Minus(a.Giving)
		s.discarded(seat)
	case MoveBandit:
		s.step = stepTurn
		s.rob(seat, a.Victim)
	case Respond:
		s.respond(seat, a.Accept)
	}
	s.Public.act(seat, a, &collected)
	switch a.Type {
	case Setup:
		if s.Phase == PhaseMain {
			s.step = stepRoll
		}
	case BuildRoad, BuildSettlement, PlayKnight, PlayRoadworks:
		s.contest()
	}
	return collected
}

func (s *State) drawDev(seat uint8) {
	card := DevCard(s.deck[DeckSize-s.Deck])
	s.Bought[seat][card]++
	if card == VictoryPoint {
		s.scored = s.Turn
	}
}

func (s *State) spend(seat uint8, card DevCard) {
	s.Devs[seat][card]--
	s.devPlayed = true
}

// rob makes a robbery the next consequence, if there is a victim and the victim has a
// card.
func (s *State) rob(thief, victim uint8) {
	if victim != board.None && s.HandCounts[victim] > 0 {
		s.due, s.isDue = Consequence{Kind: Stole, Seat: thief, To: victim}, true
	}
}

func (s *State) embargo(seat uint8, r board.Resource) (collected [MaxSeats]uint16) {
	for other := range s.Seats {
		if other != seat {
			collected[other] = s.Hands[other][r]
			s.Hands[seat][r] += s.Hands[other][r]
			s.Hands[other][r] = 0
		}
	}
	return collected
}

func (s *State) discarded(seat uint8) {
	s.discarding &^= 1 << seat
	if s.discarding == 0 {
		s.step = stepBandit
	}
}

// respond records a seat's answer to the offer. After the last answer, the trade
// becomes the next consequence. The offerer trades with the first accepting seat
// after its own, if both seats still have the cards.
func (s *State) respond(seat uint8, accept bool) {
	o := s.Offer
	o.Answered |= 1 << seat
	if accept {
		o.Accepted |= 1 << seat
	}
	if o.Answered&o.Asked != o.Asked || !s.Hands[o.From].Covers(o.Give) {
		return
	}
	for i := range s.Seats - 1 {
		to := (o.From + 1 + i) % s.Seats
		if o.Accepted>>to&1 != 0 && s.Hands[to].Covers(o.Get) {
			s.due, s.isDue = Consequence{Kind: Traded, From: o.From, To: to, Give: o.Give, Get: o.Get}, true
			return
		}
	}
}

// Next returns the next consequence, if any. It does not change s.
func (s *State) Next() (c Consequence, more bool) {
	switch {
	case s.Over:
		return c, false
	case s.isDue:
		return s.due, true
	}
	if s.contested {
		return s.nextAward(), true
	}
	switch {
	case s.Turn > 0 && s.TrueScore(s.Seat) >= PointsToWin:
		return Consequence{Kind: Ended, Reason: Win}, true
	case s.step != stepRoll:
		return c, false
	case s.Turn >= s.scored+StalemateTurns:
		return Consequence{Kind: Ended, Reason: Stalemate}, true
	case s.Turn >= MaxTurns:
		return Consequence{Kind: Ended, Reason: TurnCap}, true
	default:
		return s.nextRoll(), true
	}
}

func (s *State) nextAward() Consequence {
	a := LongestRoad
	if s.rightful(a) == s.Holders[a] {
		a = LargestArmy
	}
	return Consequence{Kind: AwardMoved, Award: a, From: s.Holders[a], To: s.rightful(a)}
}

// contest records whether an award must change its holder.
func (s *State) contest() {
	s.contested = s.rightful(LongestRoad) != s.Holders[LongestRoad] ||
		s.rightful(LargestArmy) != s.Holders[LargestArmy]
}

func (s *State) nextRoll() Consequence {
	next := uint8(0)
	if s.Turn > 0 && s.Seat+1 < s.Seats {
		next = s.Seat + 1
	}
	return Consequence{Kind: Rolled, Seat: next, Turn: s.Turn + 1, Dice: s.ahead}
}

// Apply folds a consequence that Next returned or that the log recorded.
func (s *State) Apply(c Consequence) {
	switch c.Kind {
	case Stole:
		s.isDue, s.due = false, Consequence{}
		s.steal(c.Seat, c.To)
	case Traded:
		s.isDue, s.due = false, Consequence{}
		s.Hands[c.From] = s.Hands[c.From].Minus(c.Give).Plus(c.Get)
		s.Hands[c.To] = s.Hands[c.To].Minus(c.Get).Plus(c.Give)
	case AwardMoved:
		s.scored = s.Turn
		s.Public.Apply(c)
		s.contest()
		return
	case Ended:
		s.reason = c.Reason
		s.rolled = false // State pays nothing for a winning roll, so Public must not take anything back
	case Rolled:
		s.beginTurn(&c)
		return
	}
	s.Public.Apply(c)
}

// receive gives each seat the cards that the hexes pay at the roll of this turn.
func (s *State) receive() {
	s.yield(s.paying(s.Dice[0]+s.Dice[1]), &s.Hands)
	for seat := range s.Seats {
		s.HandCounts[seat] = uint16(s.Hands[seat].Total())
	}
}

// steal moves a random card from the victim's hand to the thief's.
func (s *State) steal(thief, victim uint8) {
	hand := &s.Hands[victim]
	r := hand.draw(s.steals.Uniform(&s.seed, seed.Steal, uint32(hand.Total())))
	hand[r]--
	s.Hands[thief][r]++
}

func (s *State) beginTurn(c *Consequence) {
	if bought := &s.Bought[s.Seat]; *bought != (DevCards{}) {
		s.Devs[s.Seat] = s.Devs[s.Seat].plus(*bought)
		*bought = DevCards{}
	}
	s.devPlayed, s.offers = false, 0
	s.Public.beginTurn(c)
	if s.TrueScore(c.Seat) < PointsToWin {
		s.receive()
	}
	s.rollAhead()
	s.step = stepTurn
	if c.Dice[0]+c.Dice[1] == 7 {
		s.beginSeven()
	}
}

func (s *State) beginSeven() {
	s.discarding, s.step = s.overLimit(), stepBandit
	if s.discarding != 0 {
		s.step = stepDiscard
	}
}
