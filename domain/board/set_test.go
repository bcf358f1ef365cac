package board_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"hexarena/domain/board"
)

// TestEdgeSetIsASet compares EdgeSet with a map, for edges in Low and in High.
func TestEdgeSetIsASet(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ids := rapid.SliceOf(rapid.Uint8Range(0, board.Edges-1))
		a, b := ids.Draw(t, "a"), ids.Draw(t, "b")
		s, in := edgeSet(a)
		u, other := edgeSet(b)

		require.Equal(t, len(in), s.Len())
		require.Equal(t, len(in) == 0, s.Empty())
		for e := range uint8(board.Edges) {
			require.Equal(t, in[e], s.Has(e))
			require.Equal(t, in[e] || other[e], s.Union(u).Has(e))
			require.Equal(t, in[e] && other[e], s.Intersect(u).Has(e))
			require.Equal(t, in[e] && !other[e], s.Minus(u).Has(e))
			require.False(t, s.Without(e).Has(e))
		}
		requireAscending(t, in, func() (uint8, bool) {
			if s.Empty() {
				return 0, false
			}
			first := s.First()
			s = s.Rest()
			return first, true
		})
	})
}

func TestVertexSetIsASet(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in := map[uint8]bool{}
		var s board.VertexSet
		for _, v := range rapid.SliceOf(rapid.Uint8Range(0, board.Vertices-1)).Draw(t, "vertices") {
			in[v] = true
			s = s.With(v)
		}
		require.Equal(t, len(in), s.Len())
		for v := range uint8(board.Vertices) {
			require.Equal(t, in[v], s.Has(v))
			require.False(t, s.Without(v).Has(v))
		}
		requireAscending(t, in, func() (uint8, bool) {
			if s == 0 {
				return 0, false
			}
			first := s.First()
			s = s.Rest()
			return first, true
		})
	})
}

func TestAllVertices(t *testing.T) {
	require.Equal(t, board.Vertices, board.AllVertices.Len())
}

func edgeSet(ids []uint8) (s board.EdgeSet, in map[uint8]bool) {
	in = map[uint8]bool{}
	for _, e := range ids {
		s = s.With(e)
		in[e] = true
	}
	return s, in
}

// requireAscending requires that next() yields each id of the given set once, in
// ascending order.
func requireAscending(t *rapid.T, in map[uint8]bool, next func() (uint8, bool)) {
	last, n := -1, 0
	for id, more := next(); more; id, more = next() {
		require.Greater(t, int(id), last)
		require.True(t, in[id])
		last = int(id)
		n++
	}
	require.Len(t, in, n)
}
