package board

import "math/bits"

// VertexSet is a set of vertices, one bit each.
type VertexSet uint64

// AllVertices is the set of all vertices.
const AllVertices VertexSet = 1<<Vertices - 1

// Has reports whether v is in s.
func (s VertexSet) Has(v uint8) bool { return s>>v&1 != 0 }

// With returns s with v added.
func (s VertexSet) With(v uint8) VertexSet { return s | 1<<v }

// Without returns s without v.
func (s VertexSet) Without(v uint8) VertexSet { return s &^ (1 << v) }

// Len counts the vertices of s.
func (s VertexSet) Len() int { return bits.OnesCount64(uint64(s)) }

// First returns the lowest vertex of s, which must not be empty.
func (s VertexSet) First() uint8 { return uint8(bits.TrailingZeros64(uint64(s))) }

// Rest returns s without its lowest vertex.
func (s VertexSet) Rest() VertexSet { return s & (s - 1) }

// EdgeSet is a set of edges, one bit each: 0..63 in Low, 64..71 in High.
type EdgeSet struct {
	Low  uint64
	High uint8
}

// Has reports whether e is in s.
func (s EdgeSet) Has(e uint8) bool {
	if e < 64 {
		return s.Low>>e&1 != 0
	}
	return s.High>>(e-64)&1 != 0
}

// With returns s with e added.
func (s EdgeSet) With(e uint8) EdgeSet {
	if e < 64 {
		s.Low |= 1 << e
	} else {
		s.High |= 1 << (e - 64)
	}
	return s
}

// Without returns s without e.
func (s EdgeSet) Without(e uint8) EdgeSet { return s.Minus(EdgeSet{}.With(e)) }

// Union returns the edges in s or t.
func (s EdgeSet) Union(t EdgeSet) EdgeSet { return EdgeSet{s.Low | t.Low, s.High | t.High} }

// Intersect returns the edges in both s and t.
func (s EdgeSet) Intersect(t EdgeSet) EdgeSet { return EdgeSet{s.Low & t.Low, s.High & t.High} }

// Minus returns the edges in s that are not in t.
func (s EdgeSet) Minus(t EdgeSet) EdgeSet { return EdgeSet{s.Low &^ t.Low, s.High &^ t.High} }

// Empty reports whether s has no edge.
func (s EdgeSet) Empty() bool { return s.Low == 0 && s.High == 0 }

// Len counts the edges of s.
func (s EdgeSet) Len() int { return bits.OnesCount64(s.Low) + bits.OnesCount8(s.High) }

// First returns the lowest edge of s, which must not be empty.
func (s EdgeSet) First() uint8 {
	if s.Low != 0 {
		return uint8(bits.TrailingZeros64(s.Low))
	}
	return 64 + uint8(bits.TrailingZeros8(s.High))
}

// Rest returns s without its lowest edge.
func (s EdgeSet) Rest() EdgeSet {
	if s.Low != 0 {
		s.Low &= s.Low - 1
	} else {
		s.High &= s.High - 1
	}
	return s
}
