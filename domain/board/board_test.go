package board_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"hexarena/domain/board"
)

// hexTable is the table in item 5 of "Board constants" in docs/rules.md.
var hexTable = [board.Hexes][6]uint8{
	{0, 4, 8, 12, 7, 3}, {1, 5, 9, 13, 8, 4}, {2, 6, 10, 14, 9, 5},
	{7, 12, 17, 22, 16, 11}, {8, 13, 18, 23, 17, 12}, {9, 14, 19, 24, 18, 13}, {10, 15, 20, 25, 19, 14},
	{16, 22, 28, 33, 27, 21}, {17, 23, 29, 34, 28, 22}, {18, 24, 30, 35, 29, 23},
	{19, 25, 31, 36, 30, 24}, {20, 26, 32, 37, 31, 25},
	{28, 34, 39, 43, 38, 33}, {29, 35, 40, 44, 39, 34}, {30, 36, 41, 45, 40, 35}, {31, 37, 42, 46, 41, 36},
	{39, 44, 48, 51, 47, 43}, {40, 45, 49, 52, 48, 44}, {41, 46, 50, 53, 49, 45},
}

func TestHexVertices(t *testing.T) {
	require.Equal(t, hexTable, board.HexVertices)
}

func TestEdgesAreSortedPairsOfNeighbours(t *testing.T) {
	require.Equal(t, [2]uint8{0, 3}, board.EdgeVertices[0])
	require.Equal(t, [2]uint8{0, 4}, board.EdgeVertices[1])
	require.Equal(t, [2]uint8{50, 53}, board.EdgeVertices[71])

	sides := map[[2]uint8]int{}
	for _, corners := range hexTable {
		for i, v := range corners {
			w := corners[(i+1)%6]
			sides[[2]uint8{min(v, w), max(v, w)}]++
		}
	}
	require.Len(t, sides, board.Edges)
	for e, ends := range board.EdgeVertices {
		require.Contains(t, sides, ends)
		if e > 0 {
			last := board.EdgeVertices[e-1]
			require.True(t, last[0] < ends[0] || last[0] == ends[0] && last[1] < ends[1], "edge %d", e)
		}
	}
}

func TestVertexListsAgreeWithHexesAndEdges(t *testing.T) {
	for v := range uint8(board.Vertices) {
		var hexes, edges, next []uint8
		for h, corners := range hexTable {
			for _, corner := range corners {
				if corner == v {
					hexes = append(hexes, uint8(h))
				}
			}
			require.Equal(t, board.HexVertexSet[h].Has(v), len(hexes) > 0 && hexes[len(hexes)-1] == uint8(h))
		}
		for e, ends := range board.EdgeVertices {
			require.Equal(t, ends[0] == v || ends[1] == v, board.VertexEdgeSet[v].Has(uint8(e)))
			if ends[0] == v || ends[1] == v {
				edges = append(edges, uint8(e))
				next = append(next, ends[0]+ends[1]-v)
				require.True(t, board.NeighbourSet[v].Has(ends[0]+ends[1]-v))
			}
		}
		require.Equal(t, padded(hexes), board.VertexHexes[v], "hexes of vertex %d", v)
		require.Equal(t, padded(edges), board.VertexEdges[v], "edges of vertex %d", v)
		require.Equal(t, padded(next), board.VertexVertices[v], "neighbours of vertex %d", v)
		require.Equal(t, len(next), board.NeighbourSet[v].Len())
	}
}

func padded(ids []uint8) [3]uint8 {
	list := [3]uint8{board.None, board.None, board.None}
	copy(list[:], ids)
	return list
}

// TestPortsAreOnTheCoast walks the coast as item 6 of "Board constants"
// describes.
func TestPortsAreOnTheCoast(t *testing.T) {
	ring := coast(t)
	require.Len(t, ring, 30)
	for i, position := range []int{0, 3, 7, 10, 13, 17, 20, 23, 27} {
		require.Equal(t, ring[position], board.Ports[i].Vertices, "port %d", i)
	}
}

// coast returns the edges that belong to only one hex, each as its lower and its
// higher vertex. It starts at the lowest edge and walks toward that edge's higher
// vertex.
func coast(t *testing.T) (ring [][2]uint8) {
	t.Helper()
	coastal := map[[2]uint8]int{}
	for _, corners := range hexTable {
		for i, v := range corners {
			w := corners[(i+1)%6]
			coastal[[2]uint8{min(v, w), max(v, w)}]++
		}
	}
	from, at := uint8(0), uint8(3)
	ring = append(ring, [2]uint8{from, at})
	for at != 0 {
		for _, next := range board.VertexVertices[at] {
			if next != from && next != board.None && coastal[[2]uint8{min(at, next), max(at, next)}] == 1 {
				ring = append(ring, [2]uint8{min(at, next), max(at, next)})
				from, at = at, next
				break
			}
		}
		require.LessOrEqual(t, len(ring), 30)
	}
	return ring
}

func TestPortKinds(t *testing.T) {
	kinds := map[board.Resource]int{}
	var all board.VertexSet
	for _, p := range board.Ports {
		kinds[p.Resource]++
		require.Equal(t, p.Resource == board.Desert, p.Rate == 3)
		for _, v := range p.Vertices {
			require.True(t, board.PortVertexSet[p.Resource].Has(v))
			all = all.With(v)
		}
	}
	require.Equal(t, map[board.Resource]int{
		board.Brick: 1, board.Lumber: 1, board.Wool: 1, board.Grain: 1, board.Ore: 1, board.Desert: 4,
	}, kinds)
	require.Equal(t, 18, all.Len())
}

func TestResourceNames(t *testing.T) {
	for r := board.Brick; r < board.Desert; r++ {
		parsed, ok := board.ParseResource(r.String())
		require.True(t, ok)
		require.Equal(t, r, parsed)
	}
	for _, name := range []string{"desert", "Brick", "", "gold"} {
		_, ok := board.ParseResource(name)
		require.False(t, ok, name)
	}
	require.Equal(t, "unknown", board.Resource(200).String())
}

func TestDesert(t *testing.T) {
	var l board.Layout
	require.Equal(t, uint8(board.None), l.Desert())
	l.Resources[7] = board.Desert
	require.Equal(t, uint8(7), l.Desert())
}
