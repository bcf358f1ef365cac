package game

// card returns the development card that an action of this type plays.
func (t Type) card() DevCard {
	switch t {
	case PlayKnight:
		return Knight
	case PlayRoadworks:
		return Roadworks
	case PlayWindfall:
		return Windfall
	default:
		return Embargo
	}
}

// checkPlay checks the rules that apply to every development card, then the
// card's own rules.
func (s *State) checkPlay(seat uint8, a Action) *Illegal {
	card := a.Type.card()
	if broken := s.checkHolds(seat, card); broken != nil {
		return broken
	}
	switch card {
	case Knight:
		return s.checkBandit(seat, a.Hex, a.Victim)
	case Roadworks:
		return s.checkRoadworks(seat, a.Edges)
	case Windfall:
		return checkWindfall(a.Taking)
	default:
		return checkResource(a.Get)
	}
}

func (s *State) checkHolds(seat uint8, card DevCard) *Illegal {
	switch {
	case s.Devs[seat][card] == 0 && s.Bought[seat][card] > 0:
		return illegal(ReasonDevBoughtThisTurn, "the %v was bought this turn and can be played from the next turn on", card)
	case s.Devs[seat][card] == 0:
		return illegal(ReasonNoDevCard, "seat %d holds no %v", seat, card)
	case s.devPlayed:
		return illegal(ReasonDevAlreadyPlayed, "seat %d has played a development card this turn", seat)
	}
	return nil
}

func checkWindfall(take Cards) *Illegal {
	if take.Total() != 2 {
		return illegal(ReasonWindfallCount, "windfall takes exactly 2 cards, not %d", take.Total())
	}
	return nil
}
