package game

import (
	"math/bits"

	"hexarena/domain/board"
)

// Legal appends to dst every action that seat may take now, without duplicates.
// It leaves out trade offers to other seats.
func (s *State) Legal(dst []Action, seat uint8) []Action {
	kind, seats := s.Owed()
	if seats>>seat&1 == 0 {
		return dst
	}
	switch kind {
	case KindDiscard:
		return appendDiscards(dst, Action{Type: Discard}, s.Hands[seat], s.surplus(seat), 0)
	case KindTrade:
		dst = append(dst, Action{Type: Respond})
		if s.Hands[seat].Covers(s.Offer.Get) {
			dst = append(dst, Action{Type: Respond, Accept: true})
		}
		return dst
	}
	var m menu
	s.list(&m, kind, seat)
	for i := range m.total {
		dst = append(dst, Action{})
		s.pick(&m, i, &dst[len(dst)-1])
	}
	return dst
}

// appendDiscards appends a copy of a for each way to discard n cards from the r-th
// and later resources.
func appendDiscards(dst []Action, a Action, hand Cards, n, r int) []Action {
	if r == board.Resources-1 {
		if n <= int(hand[r]) {
			a.Giving[r] = uint16(n)
			dst = append(dst, a)
		}
		return dst
	}
	for take := range min(n, int(hand[r])) + 1 {
		a.Giving[r] = uint16(take)
		dst = appendDiscards(dst, a, hand, n-take, r+1)
	}
	return dst
}

// menu counts the actions that a seat may take in a setup, bandit or turn
// decision. It numbers the actions from 0 to total-1, type by type, so that
// RandomLegal can pick one without a list.
type menu struct {
	seat  uint8
	total int
	count [EndTurn + 1]uint16 // by type; PlayKnight also counts the moves of the bandit

	settlements board.VertexSet
	robbable    [MaxSeats]hexSet // hexes on which a seat may be robbed
	giving      uint8            // one bit for each resource that the seat can trade with the bank
}

// list fills an empty menu.
func (s *State) list(m *menu, kind Kind, seat uint8) {
	m.seat = seat
	switch kind {
	case KindSetup:
		s.listPlacements(m)
	case KindBandit:
		s.listRobberies(m)
	case KindTurn:
		if s.HandCounts[seat] >= 2 { // a seat with fewer cards cannot pay for anything
			s.listBuilding(m)
			s.listBankTrades(m)
		}
		if s.DevCounts[seat] > 0 && !s.devPlayed {
			s.listDevCards(m)
		}
		m.add(EndTurn, 1)
	}
}

func (m *menu) add(t Type, n int) {
	m.count[t] = uint16(n)
	m.total += n
}

// The variable coastal holds the vertices at which only two edges meet.
var coastal = func() (set board.VertexSet) {
	for v := range uint8(board.Vertices) {
		if board.VertexEdges[v][2] == board.None {
			set = set.With(v)
		}
	}
	return set
}()

func (s *State) listPlacements(m *menu) {
	m.settlements = s.openVertices()
	m.add(Setup, 3*m.settlements.Len()-(m.settlements&coastal).Len())
}

func (s *State) listBuilding(m *menu) {
	hand, seat := &s.Hands[m.seat], m.seat
	if hand.covers(&roadCost) && s.roadsLeft(seat) > 0 {
		m.add(BuildRoad, s.roadSpots(seat).Len())
	}
	if hand.covers(&settlementCost) && s.Settlements[seat].Len() < MaxSettlements {
		m.settlements = s.settlementSpots(seat)
		m.add(BuildSettlement, m.settlements.Len())
	}
	if hand.covers(&cityCost) && s.Cities[seat].Len() < MaxCities {
		m.add(BuildCity, s.Settlements[seat].Len())
	}
	if hand.covers(&devCost) && s.Deck > 0 {
		m.add(BuyDev, 1)
	}
}

func (s *State) listDevCards(m *menu) {
	devs := &s.Devs[m.seat]
	if devs[Knight] > 0 {
		s.listRobberies(m)
	}
	if devs[Roadworks] > 0 {
		m.add(PlayRoadworks, s.countRoadworks(m.seat))
	}
	if devs[Windfall] > 0 {
		m.add(PlayWindfall, len(windfalls))
	}
	if devs[Embargo] > 0 {
		m.add(PlayEmbargo, board.Resources)
	}
}

// listRobberies counts the moves of the bandit: first the moves without a victim,
// then the moves for each victim.
func (s *State) listRobberies(m *menu) {
	n := board.Hexes - 1
	for victim := range s.Seats {
		if victim != m.seat {
			m.robbable[victim] = s.net.hexes[victim] &^ (1 << s.Bandit)
			n += m.robbable[victim].len()
		}
	}
	m.add(PlayKnight, n)
}

func (s *State) listBankTrades(m *menu) {
	hand := &s.Hands[m.seat]
	for r, rate := range s.net.rates[m.seat] {
		if hand[r] >= uint16(rate) {
			m.giving |= 1 << r
		}
	}
	m.add(BankTrade, bits.OnesCount8(m.giving)*(board.Resources-1))
}

// countRoadworks counts the ways to play roadworks: single edges, and pairs in
// either order.
func (s *State) countRoadworks(seat uint8) int {
	left := s.roadsLeft(seat)
	if left == 0 {
		return 0
	}
	spots := s.roadSpots(seat)
	n := spots.Len()
	if left > 1 {
		for ; !spots.Empty(); spots = spots.Rest() {
			n += s.roadSpotsAfter(seat, spots.First()).Len()
		}
	}
	return n
}

// noIDs is an action without any id.
var noIDs = Action{Vertex: board.None, Edges: [2]uint8{board.None, board.None}, Hex: board.None, Victim: board.None, To: board.None}

// pick stores the i-th action of a menu in a. It has no result, because copying an
// action that was just written is slow.
func (s *State) pick(m *menu, i int, a *Action) {
	t := Setup
	for i >= int(m.count[t]) {
		i -= int(m.count[t])
		t++
	}
	*a = noIDs
	a.Type = t
	switch t {
	case Setup:
		a.Vertex, a.Edges[0] = nthPlacement(m.settlements, i)
	case BuildRoad:
		a.Edges[0] = nthEdge(s.roadSpots(m.seat), i)
	case BuildSettlement:
		a.Vertex = nthVertex(m.settlements, i)
	case BuildCity:
		a.Vertex = nthVertex(s.Settlements[m.seat], i)
	case PlayKnight:
		a.Hex, a.Victim = s.nthRobbery(m, i)
		if s.step == stepBandit {
			a.Type = MoveBandit
		}
	case PlayRoadworks:
		a.Edges = s.nthRoadworks(m.seat, i)
	case PlayWindfall:
		a.Taking = windfalls[i]
	case PlayEmbargo:
		a.Get = board.Resource(i)
	case BankTrade:
		a.Give, a.Get = nthBankTrade(m.giving, i)
	}
}

// windfalls lists every choice of two cards.
var windfalls = func() (pairs [15]Cards) {
	i := 0
	for a := board.Brick; a <= board.Ore; a++ {
		for b := a; b <= board.Ore; b++ {
			pairs[i] = Cards{}.with(a, 1).with(b, 1)
			i++
		}
	}
	return pairs
}()

func nthVertex(set board.VertexSet, i int) uint8 {
	for range i {
		set = set.Rest()
	}
	return set.First()
}

func nthEdge(set board.EdgeSet, i int) uint8 {
	for range i {
		set = set.Rest()
	}
	return set.First()
}

func nthPlacement(open board.VertexSet, i int) (vertex, edge uint8) {
	for {
		v := open.First()
		edges := board.VertexEdgeSet[v]
		if i < edges.Len() {
			return v, nthEdge(edges, i)
		}
		i -= edges.Len()
		open = open.Rest()
	}
}

func (s *State) nthRobbery(m *menu, i int) (hex, victim uint8) {
	hexes, victim := allHexes&^(1<<s.Bandit), uint8(board.None)
	for i >= hexes.len() {
		i -= hexes.len()
		victim++ // from None to seat 0
		hexes = m.robbable[victim]
	}
	for range i {
		hexes = hexes.rest()
	}
	return hexes.first(), victim
}

func (s *State) nthRoadworks(seat uint8, i int) [2]uint8 {
	spots := s.roadSpots(seat)
	if i < spots.Len() {
		return [2]uint8{nthEdge(spots, i), board.None}
	}
	i -= spots.Len()
	for ; ; spots = spots.Rest() {
		second := s.roadSpotsAfter(seat, spots.First())
		if i < second.Len() {
			return [2]uint8{spots.First(), nthEdge(second, i)}
		}
		i -= second.Len()
	}
}

func nthBankTrade(giving uint8, i int) (give, get board.Resource) {
	for range i / (board.Resources - 1) {
		giving &= giving - 1
	}
	give = board.Resource(bits.TrailingZeros8(giving))
	get = board.Resource(i % (board.Resources - 1))
	if get >= give {
		get++
	}
	return give, get
}
