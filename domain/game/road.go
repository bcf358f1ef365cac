package game

import "hexarena/domain/board"

// minRoad is the road length that the longest road award needs. minArmy is the
// number of knights that the largest army award needs.
const (
	minRoad = 5
	minArmy = 3
)

// longestRoad returns the length of the longest trail over roads. A trail uses each
// edge at most once and may visit a vertex many times. It may end at a vertex of the
// set stops, but not pass through one.
func longestRoad(roads board.EdgeSet, stops board.VertexSet) uint8 {
	longest := uint8(0)
	var laid board.EdgeSet
	for rest := roads; !rest.Empty(); rest = rest.Rest() {
		laid = laid.With(rest.First())
		longest = max(longest, longestThrough(laid, stops, rest.First()))
	}
	return longest
}

// longestThrough returns the length of the longest trail over roads that uses
// edge e.
func longestThrough(roads board.EdgeSet, stops board.VertexSet, e uint8) uint8 {
	ends := board.EdgeVertices[e]
	return 1 + bothWays(roads.Without(e), stops, ends[0], ends[1])
}

// bothWays returns the largest number of edges of roads that can be added to a trail
// at its two ends, head and tail.
func bothWays(roads board.EdgeSet, stops board.VertexSet, head, tail uint8) uint8 {
	longest := oneWay(roads, stops, tail)
	if stops.Has(head) {
		return longest
	}
	for next := roads.Intersect(board.VertexEdgeSet[head]); !next.Empty(); next = next.Rest() {
		e := next.First()
		longest = max(longest, 1+bothWays(roads.Without(e), stops, otherEnd(e, head), tail))
	}
	return longest
}

// oneWay returns the length of the longest trail over roads from a vertex.
func oneWay(roads board.EdgeSet, stops board.VertexSet, from uint8) uint8 {
	if stops.Has(from) {
		return 0
	}
	longest := uint8(0)
	for next := roads.Intersect(board.VertexEdgeSet[from]); !next.Empty(); next = next.Rest() {
		e := next.First()
		longest = max(longest, 1+oneWay(roads.Without(e), stops, otherEnd(e, from)))
	}
	return longest
}

// otherEnd returns the vertex at the other end of an edge.
func otherEnd(e, vertex uint8) uint8 {
	ends := &board.EdgeVertices[e]
	return ends[0] ^ ends[1] ^ vertex
}

// The method rightful() returns the seat that should hold an award, or board.None. The
// result depends on the current holder, and is stable: once the returned seat holds the
// award, rightful returns the same seat.
func (p *Public) rightful(a Award) uint8 {
	if a == LargestArmy {
		return strongest(&p.Knights, minArmy, p.Holders[a])
	}
	return strongest(&p.net.trails, minRoad, p.Holders[a])
}

// The function strongest() returns the holder if no other seat is stronger. Otherwise
// it returns the strongest seat, or board.None on a tie. It never returns a seat whose
// strength is below the parameter least.
func strongest(strength *[MaxSeats]uint8, least, holder uint8) uint8 {
	most, first, tied := uint8(0), uint8(board.None), false
	for seat, n := range strength {
		if n > most {
			most, first, tied = n, uint8(seat), false
		} else if n == most {
			tied = true
		}
	}
	switch {
	case most < least:
		return board.None
	case holder != board.None && strength[holder] == most:
		return holder
	case tied:
		return board.None
	default:
		return first
	}
}
