package game

import (
	"cmp"

	"hexarena/domain/board"
)

func (s *State) checkBankTrade(seat uint8, give, get board.Resource) *Illegal {
	if broken := cmp.Or(checkResource(give), checkResource(get)); broken != nil {
		return broken
	}
	if give == get {
		return illegal(ReasonSameResource, "the bank does not trade %v for %v", give, get)
	}
	return s.checkHand(seat, "the trade", Cards{}.with(give, s.Rate(seat, give)))
}

func (s *State) checkOffer(seat uint8, a Action) *Illegal {
	if s.offers >= MaxOffers {
		return illegal(ReasonTooManyOffers, "seat %d has made %d offers this turn", seat, MaxOffers)
	}
	if a.Giving.Total() == 0 || a.Taking.Total() == 0 {
		return illegal(ReasonEmptySide, "both sides of an offer move at least one card")
	}
	if a.To != board.None {
		if broken := s.checkTo(seat, a.To); broken != nil {
			return broken
		}
	}
	return s.checkHand(seat, "the offer", a.Giving)
}

func (s *State) checkTo(seat, to uint8) *Illegal {
	if broken := checkID("seat", to, MaxSeats); broken != nil {
		return broken
	}
	switch {
	case to >= s.Seats:
		return illegal(ReasonToNotPlaying, "nobody plays at seat %d in a game of %d", to, s.Seats)
	case to == seat:
		return illegal(ReasonOfferToSelf, "seat %d cannot trade with itself", seat)
	}
	return nil
}

func (s *State) checkResponse(seat uint8, accept bool) *Illegal {
	if !accept {
		return nil
	}
	return s.checkHand(seat, "accepting", s.Offer.Get)
}
