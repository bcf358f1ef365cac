package game

import (
	"cmp"

	"hexarena/domain/board"
)

// checkSetup does not check whether the edge is free, because it always is. During setup,
// both ends of every road are on or next to a town. The distance rule forbids other
// settlements there, so no other road touches the new settlement.
func (s *State) checkSetup(a Action) *Illegal {
	if broken := cmp.Or(checkID("vertex", a.Vertex, board.Vertices), checkID("edge", a.Edges[0], board.Edges)); broken != nil {
		return broken
	}
	if !s.openVertices().Has(a.Vertex) {
		return s.crowded(a.Vertex)
	}
	if !board.VertexEdgeSet[a.Vertex].Has(a.Edges[0]) {
		ends := board.EdgeVertices[a.Edges[0]]
		return illegal(ReasonRoadNotAtSettlement, "edge %d runs from vertex %d to %d and does not touch vertex %d",
			a.Edges[0], ends[0], ends[1], a.Vertex)
	}
	return nil
}

// The method crowded() returns the rule that forbids a settlement on a vertex.
func (p *Public) crowded(v uint8) *Illegal {
	if owner := p.townAt(v); owner != board.None {
		return illegal(ReasonVertexTaken, "a town of seat %d stands on vertex %d", owner, v)
	}
	for _, next := range board.VertexVertices[v] {
		if next != board.None && p.townAt(next) != board.None {
			return illegal(ReasonDistanceRule, "vertex %d is next to the town on %d", v, next)
		}
	}
	panic("game: an open vertex is not crowded")
}

func (s *State) checkSettlement(seat, v uint8) *Illegal {
	if broken := checkID("vertex", v, board.Vertices); broken != nil {
		return broken
	}
	if s.Settlements[seat].Len() >= MaxSettlements {
		return illegal(ReasonNoSettlementsLeft, "all %d settlements of seat %d stand on the board", MaxSettlements, seat)
	}
	if !s.settlementSpots(seat).Has(v) {
		if s.openVertices().Has(v) {
			return illegal(ReasonSettlementNotConnected, "no road of seat %d touches vertex %d", seat, v)
		}
		return s.crowded(v)
	}
	return s.checkHand(seat, "a settlement", settlementCost)
}

func (s *State) checkCity(seat, v uint8) *Illegal {
	if broken := checkID("vertex", v, board.Vertices); broken != nil {
		return broken
	}
	if s.Cities[seat].Len() >= MaxCities {
		return illegal(ReasonNoCitiesLeft, "all %d cities of seat %d stand on the board", MaxCities, seat)
	}
	if !s.Settlements[seat].Has(v) {
		return illegal(ReasonNotYourSettlement, "no settlement of seat %d stands on vertex %d", seat, v)
	}
	return s.checkHand(seat, "a city", cityCost)
}

func (s *State) checkRoad(seat, e uint8) *Illegal {
	if broken := checkID("edge", e, board.Edges); broken != nil {
		return broken
	}
	if broken := s.checkFree(seat, e); broken != nil {
		return broken
	}
	return s.checkHand(seat, "a road", roadCost)
}

func (p *Public) roadsLeft(seat uint8) int { return MaxRoads - p.Roads[seat].Len() }

func (p *Public) checkRoadsLeft(seat uint8, n int) *Illegal {
	if left := p.roadsLeft(seat); left < n {
		return illegal(ReasonNoRoadsLeft, "seat %d has %d of %d roads left", seat, left, MaxRoads)
	}
	return nil
}

// The method unreachable() returns the rule that forbids a seat from building a road on
// an edge.
func (p *Public) unreachable(seat, e uint8) *Illegal {
	if owner := p.roadAt(e); owner != board.None {
		return illegal(ReasonEdgeTaken, "a road of seat %d lies on edge %d", owner, e)
	}
	for _, v := range board.EdgeVertices[e] {
		if p.net.touched[seat].Has(v) {
			return illegal(ReasonRoadBlocked, "the town of seat %d on vertex %d blocks the way to edge %d", p.townAt(v), v, e)
		}
	}
	return illegal(ReasonRoadNotConnected, "edge %d touches no road or town of seat %d", e, seat)
}

// checkRoadworks checks the edges in order, because the second may continue the
// first.
func (s *State) checkRoadworks(seat uint8, edges [2]uint8) *Illegal {
	first, second := edges[0], edges[1]
	if first == board.None {
		return illegal(ReasonEdgeCount, "roadworks takes one or two edges")
	}
	if broken := checkID("edge", first, board.Edges); broken != nil {
		return broken
	}
	if second == board.None {
		return s.checkFree(seat, first)
	}
	if broken := checkID("edge", second, board.Edges); broken != nil {
		return broken
	}
	if first == second {
		return illegal(ReasonDuplicateEdge, "edge %d is named twice", first)
	}
	if broken := s.checkRoadsLeft(seat, 2); broken != nil {
		return broken
	}
	if broken := s.checkFree(seat, first); broken != nil {
		return broken
	}
	if !s.roadSpotsAfter(seat, first).Has(second) {
		after := s.Public
		after.addRoad(seat, first)
		return after.unreachable(seat, second)
	}
	return nil
}

// checkFree checks everything about a road except its cost.
func (s *State) checkFree(seat, e uint8) *Illegal {
	if broken := s.checkRoadsLeft(seat, 1); broken != nil {
		return broken
	}
	if !s.roadSpots(seat).Has(e) {
		return s.unreachable(seat, e)
	}
	return nil
}
