package game

import "hexarena/domain/board"

// Check returns nil if seat may take the action now. Otherwise it returns an
// *Illegal with the first rule that the action breaks. It accepts any Action,
// even with ids out of range.
func (s *State) Check(seat uint8, a Action) error {
	if broken := s.check(seat, a); broken != nil {
		return broken
	}
	return nil
}

func (s *State) check(seat uint8, a Action) *Illegal {
	if a.Type > Respond {
		return illegal(ReasonUnknownType, "there is no action of type %d", a.Type)
	}
	kind, seats := s.Owed()
	if seat >= MaxSeats || seats>>seat&1 == 0 || a.Type.Kind() != kind {
		return illegal(ReasonNotOwed, "seat %d owes no %v decision now", seat, a.Type.Kind())
	}
	switch a.Type {
	case Setup:
		return s.checkSetup(a)
	case BuildRoad:
		return s.checkRoad(seat, a.Edges[0])
	case BuildSettlement:
		return s.checkSettlement(seat, a.Vertex)
	case BuildCity:
		return s.checkCity(seat, a.Vertex)
	case BuyDev:
		return s.checkBuyDev(seat)
	case PlayKnight, PlayRoadworks, PlayWindfall, PlayEmbargo:
		return s.checkPlay(seat, a)
	case BankTrade:
		return s.checkBankTrade(seat, a.Give, a.Get)
	case OfferTrade:
		return s.checkOffer(seat, a)
	case Discard:
		return s.checkDiscard(seat, a.Giving)
	case MoveBandit:
		return s.checkBandit(seat, a.Hex, a.Victim)
	case Respond:
		return s.checkResponse(seat, a.Accept)
	default:
		return nil
	}
}

// checkID checks that an id is in 0..n-1. The parameter what names the kind of id,
// such as "vertex".
func checkID(what string, id uint8, n int) *Illegal {
	if int(id) < n {
		return nil
	}
	if id == board.None {
		return illegal(ReasonOutOfRange, "the %s is missing", what)
	}
	return illegal(ReasonOutOfRange, "there is no %s %d: the ids run from 0 to %d", what, id, n-1)
}

func checkResource(r board.Resource) *Illegal {
	if r < board.Desert {
		return nil
	}
	return illegal(ReasonUnknownResource, "%v is not one of brick, lumber, wool, grain and ore", r)
}

// checkHand checks that a seat's hand covers a cost.
func (s *State) checkHand(seat uint8, purpose string, cost Cards) *Illegal {
	if s.Hands[seat].Covers(cost) {
		return nil
	}
	return illegal(ReasonNotEnoughCards, "%s takes %v; the hand holds %v", purpose, cost, s.Hands[seat])
}

func (s *State) checkBuyDev(seat uint8) *Illegal {
	if s.Deck == 0 {
		return illegal(ReasonDeckEmpty, "all %d development cards have been bought", DeckSize)
	}
	return s.checkHand(seat, "a development card", devCost)
}

// checkBandit checks a move of the bandit, whether after a 7 or by a knight.
func (s *State) checkBandit(seat, hex, victim uint8) *Illegal {
	if broken := checkID("hex", hex, board.Hexes); broken != nil {
		return broken
	}
	if hex == s.Bandit {
		return illegal(ReasonBanditMustMove, "the bandit is on hex %d and must move to another", hex)
	}
	if victim == board.None {
		return nil
	}
	if broken := checkID("seat", victim, MaxSeats); broken != nil {
		return broken
	}
	switch {
	case victim >= s.Seats:
		return illegal(ReasonVictimNotPlaying, "nobody plays at seat %d in a game of %d", victim, s.Seats)
	case victim == seat:
		return illegal(ReasonVictimSelf, "seat %d cannot rob itself", seat)
	case !s.net.hexes[victim].has(hex):
		return illegal(ReasonVictimNotOnHex, "seat %d has no town on hex %d", victim, hex)
	}
	return nil
}

func (s *State) checkDiscard(seat uint8, cards Cards) *Illegal {
	if n := s.surplus(seat); cards.Total() != n {
		return illegal(ReasonDiscardCount, "%d of %d cards must be discarded, not %d",
			n, s.HandCounts[seat], cards.Total())
	}
	return s.checkHand(seat, "the discard", cards)
}
