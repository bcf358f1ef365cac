package game

import (
	"fmt"

	"hexarena/domain/board"
)

// The function broken() describes what is wrong with a state. It returns "" for a valid
// state.
func broken(s *State) string {
	devs := int(s.Deck)
	for seat := range uint8(MaxSeats) {
		if fault := brokenSeat(s, seat); fault != "" {
			return fmt.Sprintf("seat %d: %s", seat, fault)
		}
		devs += int(s.DevCounts[seat]) + int(s.Knights[seat])
	}
	switch {
	case devs > DeckSize:
		return fmt.Sprintf("%d development cards", devs)
	case s.net != recount(&s.Public):
		return fmt.Sprintf("network\n%+v\nrecounted\n%+v", s.net, recount(&s.Public))
	case s.Bandit >= board.Hexes:
		return "the bandit is off the board"
	case s.Turn > MaxTurns || s.offers > MaxOffers:
		return "a counter is past its limit"
	case s.Turn > s.scored+StalemateTurns:
		return "the game should have ended in a stalemate"
	}
	return brokenPieces(s)
}

func brokenSeat(s *State, seat uint8) string {
	score := s.Settlements[seat].Len() + 2*s.Cities[seat].Len() + int(s.Devs[seat][VictoryPoint]+s.Bought[seat][VictoryPoint])
	for _, holder := range s.Holders {
		if holder == seat {
			score += 2
		}
	}
	switch {
	case int(s.HandCounts[seat]) != s.Hands[seat].Total():
		return fmt.Sprintf("%d cards counted, %v held", s.HandCounts[seat], s.Hands[seat])
	case int(s.DevCounts[seat]) != s.Devs[seat].Total()+s.Bought[seat].Total():
		return "development cards miscounted"
	case score != s.TrueScore(seat):
		return fmt.Sprintf("true score %d, recounted %d", s.TrueScore(seat), score)
	case s.Roads[seat].Len() > MaxRoads || s.Settlements[seat].Len() > MaxSettlements || s.Cities[seat].Len() > MaxCities:
		return "too many pieces"
	case seat >= s.Seats && (s.Roads[seat].Len() > 0 || s.Towns(seat) != 0 || s.HandCounts[seat] > 0 || s.DevCounts[seat] > 0):
		return "has pieces or cards but does not play"
	case seat != s.Seat && s.Bought[seat].Total() > 0:
		return "holds cards bought this turn, but another seat is on turn"
	}
	return ""
}

// brokenPieces looks for pieces that share a place and for towns that are too
// close together.
func brokenPieces(s *State) string {
	var edges board.EdgeSet
	var towns board.VertexSet
	roads, count := 0, 0
	for seat := range s.Seats {
		roads += s.Roads[seat].Len()
		count += s.Settlements[seat].Len() + s.Cities[seat].Len()
		edges = edges.Union(s.Roads[seat])
		towns |= s.Towns(seat)
	}
	if roads != edges.Len() || count != towns.Len() {
		return "two pieces on one place"
	}
	for rest := towns; rest != 0; rest = rest.Rest() {
		if board.NeighbourSet[rest.First()]&towns != 0 {
			return fmt.Sprintf("the town on %d has a neighbour", rest.First())
		}
	}
	return ""
}

// recount recomputes the network from the pieces.
func recount(p *Public) (n network) {
	for h, token := range p.Layout.Tokens {
		if token != 0 {
			n.paying[token] |= 1 << h
		}
	}
	for seat := range uint8(MaxSeats) {
		recountSeat(p, &n, seat)
	}
	return n
}

func recountSeat(p *Public, n *network, seat uint8) {
	towns, rivals := p.Settlements[seat]|p.Cities[seat], p.rivals(seat)
	for e, ends := range board.EdgeVertices {
		if p.Roads[seat].Has(uint8(e)) {
			n.taken = n.taken.With(uint8(e))
			n.touched[seat] = n.touched[seat].With(ends[0]).With(ends[1])
		}
	}
	for e, ends := range board.EdgeVertices {
		for _, v := range ends {
			if !rivals.Has(v) && (towns.Has(v) || n.touched[seat].Has(v)) {
				n.reach[seat] = n.reach[seat].With(uint8(e))
			}
		}
	}
	for v := range uint8(board.Vertices) {
		if towns.Has(v) || towns&board.NeighbourSet[v] != 0 {
			n.closed = n.closed.With(v)
		}
	}
	for h, corners := range board.HexVertices {
		for _, v := range corners {
			if towns.Has(v) {
				n.hexes[seat] |= 1 << h
			}
		}
	}
	n.trails[seat] = longestRoad(p.Roads[seat], rivals)
	n.rates[seat] = recountRates(towns)
}

func recountRates(towns board.VertexSet) (rates [board.Resources]uint8) {
	for r := range rates {
		rates[r] = 4
		for _, port := range board.Ports {
			for _, v := range port.Vertices {
				if towns.Has(v) && (port.Rate == 3 || port.Resource == board.Resource(r)) {
					rates[r] = min(rates[r], port.Rate)
				}
			}
		}
	}
	return rates
}

// walk plays a game and checks each step against an independent implementation
// of some rules.
type walk struct {
	State
	spectator Public // folded from public facts only
}

func newWalk(s State) *walk { return &walk{State: s, spectator: s.Public} }

// act plays a legal action and its consequences. It returns a description of
// the first fault, or "" if it finds no fault.
func (w *walk) act(seat uint8, a Action) string {
	before := w.State
	collected := w.Act(seat, a)
	w.spectator.Act(seat, a, collected)
	if got, want := w.flow(&before), actionFlow(&before, seat, a); got != want {
		return fmt.Sprintf("%v moved %v cards, not %v", a.Type, got, want)
	}
	if fault := w.audit(&before); fault != "" {
		return fmt.Sprintf("after %+v of seat %d: %s", a, seat, fault)
	}
	return w.follow()
}

func (w *walk) follow() string {
	for {
		before := w.State
		c, more := w.Next()
		again, _ := w.Next()
		if w.State != before || c != again {
			return "Next changed the state, or returned a different result the second time"
		}
		if !more {
			return ""
		}
		w.Apply(c)
		w.spectator.Apply(c)
		fork := before
		if fork.Apply(c); fork != w.State {
			return fmt.Sprintf("%+v applied twice differs", c)
		}
		if got, want := w.flow(&before), consequenceFlow(&before, c); got != want {
			return fmt.Sprintf("%+v moved %v cards, not %v", c, got, want)
		}
		if fault := w.audit(&before); fault != "" {
			return fmt.Sprintf("after %+v: %s", c, fault)
		}
		if c.Kind == Rolled && w.Holders != rightfulHolders(&before.Public) {
			return fmt.Sprintf("turn %d begins while awards are due: %v", c.Turn, w.Holders)
		}
	}
}

// audit checks the last step. before is the state that preceded it.
func (w *walk) audit(before *State) string {
	if hidden := w.rolled && w.Score(w.Seat) < PointsToWin && w.TrueScore(w.Seat) >= PointsToWin; !hidden && w.spectator != w.Public {
		return fmt.Sprintf("a fold of the public facts gives\n%+v\nnot\n%+v", w.spectator, w.Public)
	}
	for seat := range w.Seats {
		if w.TrueScore(seat) != before.TrueScore(seat) && w.scored != w.Turn {
			return "a true score changed, but the stalemate clock did not restart"
		}
	}
	return broken(&w.State)
}

// flow returns, for each resource, how many cards all hands together gained in
// the last step. before is the state that preceded it.
func (w *walk) flow(before *State) (flow [board.Resources]int) {
	for seat := range MaxSeats {
		for r := range flow {
			flow[r] += int(w.Hands[seat][r]) - int(before.Hands[seat][r])
		}
	}
	return flow
}

// actionFlow returns the cards that the bank should give (or take, if negative)
// for an action.
func actionFlow(s *State, seat uint8, a Action) (flow [board.Resources]int) {
	switch a.Type {
	case Setup:
		if s.Settlements[seat] != 0 {
			for h, corners := range board.HexVertices {
				for _, v := range corners {
					if v == a.Vertex && s.Layout.Resources[h] != board.Desert {
						flow[s.Layout.Resources[h]]++
					}
				}
			}
		}
	case BuildRoad:
		return [board.Resources]int{-1, -1, 0, 0, 0}
	case BuildSettlement:
		return [board.Resources]int{-1, -1, -1, -1, 0}
	case BuildCity:
		return [board.Resources]int{0, 0, 0, -2, -3}
	case BuyDev:
		return [board.Resources]int{0, 0, -1, -1, -1}
	case PlayWindfall:
		for r := range flow {
			flow[r] = int(a.Taking[r])
		}
	case BankTrade:
		flow[a.Give] = -int(recountRates(s.Towns(seat))[a.Give])
		flow[a.Get] = 1
	case Discard:
		for r := range flow {
			flow[r] = -int(a.Giving[r])
		}
	}
	return flow
}

// consequenceFlow returns the cards that the bank should pay for a consequence. The
// bank pays only for rolls.
func consequenceFlow(s *State, c Consequence) (flow [board.Resources]int) {
	if c.Kind != Rolled || s.TrueScore(c.Seat) >= PointsToWin {
		return flow
	}
	for h, token := range s.Layout.Tokens {
		if token != c.Dice[0]+c.Dice[1] || uint8(h) == s.Bandit {
			continue
		}
		for _, v := range board.HexVertices[h] {
			for seat := range s.Seats {
				if s.Settlements[seat].Has(v) {
					flow[s.Layout.Resources[h]]++
				}
				if s.Cities[seat].Has(v) {
					flow[s.Layout.Resources[h]] += 2
				}
			}
		}
	}
	return flow
}

// rightfulHolders determines, from the board and the current holders, which seats
// must hold the awards.
func rightfulHolders(p *Public) (holders [2]uint8) {
	var trails [MaxSeats]uint8
	for seat := range p.Seats {
		trails[seat] = longestRoad(p.Roads[seat], p.rivals(seat))
	}
	for award, strength := range [2][MaxSeats]uint8{trails, p.Knights} {
		least, holder := [2]uint8{5, 3}[award], p.Holders[award]
		holders[award] = board.None
		for seat, n := range strength {
			ahead := 0
			for _, other := range strength {
				if other >= n {
					ahead++
				}
			}
			if n >= least && (ahead == 1 || uint8(seat) == holder && n == most(strength)) {
				holders[award] = uint8(seat)
			}
		}
	}
	return holders
}

func most(strength [MaxSeats]uint8) (n uint8) {
	for _, s := range strength {
		n = max(n, s)
	}
	return n
}
