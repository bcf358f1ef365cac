package game

import "hexarena/domain/board"

// minRoad is how long a road must be to hold the award, minArmy how many
// knights an army must count.
const (
	minRoad = 5
	minArmy = 3
)

// longestRoad returns the length of the longest trail over roads: no edge
// twice, a vertex as often as one likes, and no way through a vertex of stops,
// at which a trail may end ("Game flow" 9).
func longestRoad(roads board.EdgeSet, stops board.VertexSet) uint8 {
	longest := uint8(0)
	var laid board.EdgeSet
	for rest := roads; !rest.Empty(); rest = rest.Rest() {
		laid = laid.With(rest.First())
		longest = max(longest, longestThrough(laid, stops, rest.First()))
	}
	return longest
}

// longestThrough returns the length of the longest trail over roads that has
// edge e in it.
func longestThrough(roads board.EdgeSet, stops board.VertexSet, e uint8) uint8 {
	ends := board.EdgeVertices[e]
	return 1 + bothWays(roads.Without(e), stops, ends[0], ends[1])
}

// bothWays returns how many edges of roads a trail from head to tail can gain,
// going on at either end.
func bothWays(roads board.EdgeSet, stops board.VertexSet, head, tail uint8) uint8 {
	longest := oneWay(roads, stops, tail)
	if stops.Has(head) {
		return longest
	}
	for i, e := range board.VertexEdges[head] {
		if e != board.None && roads.Has(e) {
			longest = max(longest, 1+bothWays(roads.Without(e), stops, board.VertexVertices[head][i], tail))
		}
	}
	return longest
}

// oneWay returns the length of the longest trail over roads from a vertex.
func oneWay(roads board.EdgeSet, stops board.VertexSet, from uint8) uint8 {
	if stops.Has(from) {
		return 0
	}
	longest := uint8(0)
	for i, e := range board.VertexEdges[from] {
		if e != board.None && roads.Has(e) {
			longest = max(longest, 1+oneWay(roads.Without(e), stops, board.VertexVertices[from][i]))
		}
	}
	return longest
}

// rightful returns who holds an award by rights, or board.None ("Game flow" 8
// and 9). It depends on who holds it now, and is stable once that one does.
func (p *Public) rightful(a Award) uint8 {
	if a == LargestArmy {
		return strongest(&p.Knights, minArmy, p.Holders[a])
	}
	return strongest(&p.net.trails, minRoad, p.Holders[a])
}

// strongest returns the holder where nobody exceeds it, else the sole seat with
// the most; neither with less than is asked for.
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
