package game

import (
	"fmt"
	"math/bits"
	"testing"

	"github.com/stretchr/testify/require"

	"hexarena/domain/board"
)

// TestLongestRoadAgainstAnOracle compares longestRoad with a search of all subsets of
// edges, on random road graphs with random rival towns.
func TestLongestRoadAgainstAnOracle(t *testing.T) {
	rng := NewRand(20)
	for i := range 2000 {
		roads, towns := randomRoads(&rng, 1+rng.below(MaxRoads)), randomTowns(&rng, rng.below(7))
		require.Equal(t, longestByEuler(roads, towns), int(longestRoad(roads, towns)),
			"graph %d: roads %v, towns %b", i, edgesOf(roads), towns)
	}
}

// TestLongestRoadInAnyOrder builds the same roads one by one in different
// orders.
func TestLongestRoadInAnyOrder(t *testing.T) {
	rng := NewRand(21)
	for range 200 {
		roads, towns := randomRoads(&rng, MaxRoads), randomTowns(&rng, rng.below(5))
		want := longestRoad(roads, towns)
		left, laid, longest := edgesOf(roads), board.EdgeSet{}, uint8(0)
		for len(left) > 0 {
			i := rng.below(len(left))
			laid = laid.With(left[i])
			longest = max(longest, longestThrough(laid, towns, left[i]))
			left = append(left[:i], left[i+1:]...)
		}
		require.Equal(t, want, longest, "roads %v", edgesOf(roads))
	}
}

func TestLongestRoadOfKnownShapes(t *testing.T) {
	ring := edgesAlong(8, 13, 18, 23, 17, 12, 8)
	for _, c := range []struct {
		name  string
		roads board.EdgeSet
		towns []uint8
		want  int
	}{
		{"nothing", board.EdgeSet{}, nil, 0},
		{"one", edgesAlong(0, 3), nil, 1},
		{"a line", edgesAlong(0, 3, 7, 11, 16, 21), nil, 5},
		{"a fork counts its longer arm", edgesAlong(0, 3, 7, 11).Union(edgesAlong(7, 12)), nil, 3},
		{"a ring counts completely", ring, nil, 6},
		{"a ring with a tail", ring.Union(edgesAlong(8, 4, 0)), nil, 8},
		{"a ring with two tails at one vertex is entered once", ring.Union(edgesAlong(8, 4)).Union(edgesAlong(13, 9)), nil, 7},
		{"two rings that share an edge", ring.Union(edgesAlong(13, 9, 14, 19, 24, 18)), nil, 11},
		{"two separate lines", edgesAlong(0, 3, 7).Union(edgesAlong(50, 53, 49, 52)), nil, 3},
		{"a rival's town in the middle", edgesAlong(0, 3, 7, 11, 16, 21), []uint8{7}, 3},
		{"a rival's town at the end", edgesAlong(0, 3, 7, 11, 16, 21), []uint8{21}, 5},
		{"a ring from a rival's town back to it", ring, []uint8{8}, 6},
		{"a ring with a tail behind a rival's town", ring.Union(edgesAlong(8, 4, 0)), []uint8{8}, 6},
		{"a ring cut twice", ring, []uint8{8, 18}, 4},
	} {
		t.Run(c.name, func(t *testing.T) {
			var towns board.VertexSet
			for _, v := range c.towns {
				towns = towns.With(v)
			}
			require.Equal(t, c.want, int(longestRoad(c.roads, towns)))
			require.Equal(t, c.want, longestByEuler(c.roads, towns), "the oracle")
		})
	}
}

func TestWhoHoldsAnAward(t *testing.T) {
	const nobody = board.None
	for _, c := range []struct {
		name     string
		strength [MaxSeats]uint8
		holder   uint8
		want     uint8
	}{
		{"nobody has enough", [4]uint8{4, 4, 0, 0}, nobody, nobody},
		{"the first with enough", [4]uint8{4, 5, 0, 0}, nobody, 1},
		{"two reach it at once and get nothing", [4]uint8{5, 5, 0, 0}, nobody, nobody},
		{"a holder that is equalled keeps it", [4]uint8{5, 5, 0, 0}, 1, 1},
		{"a holder that is exceeded loses it", [4]uint8{6, 5, 0, 0}, 1, 0},
		{"a holder that two exceed loses it to nobody", [4]uint8{6, 5, 6, 0}, 1, nobody},
		{"a severed holder that still leads keeps it", [4]uint8{4, 5, 0, 0}, 1, 1},
		{"a severed holder loses it to the only seat with more", [4]uint8{5, 4, 0, 0}, 1, 0},
		{"a severed holder loses it to nobody if others tie", [4]uint8{5, 4, 0, 5}, 1, nobody},
		{"a severed holder loses it to nobody if nobody has enough", [4]uint8{4, 3, 0, 0}, 1, nobody},
		{"of three, the longest", [4]uint8{5, 6, 7, 0}, nobody, 2},
		{"seat 3 holds it like any other", [4]uint8{5, 5, 5, 5}, 3, 3},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := strongest(&c.strength, minRoad, c.holder)
			require.Equal(t, c.want, got)
			if got != nobody {
				require.Equal(t, got, strongest(&c.strength, minRoad, got), "stable once it has moved")
			}
		})
	}
}

// longestByEuler is the oracle. By Euler's theorem, a set of edges is a trail
// if it is connected and at most two vertices have an odd degree. A rival's
// town is split into one vertex for each edge that ends there, because no trail
// may pass through the town.
func longestByEuler(roads board.EdgeSet, towns board.VertexSet) int {
	edges := edgesOf(roads)
	ends := make([][2]int, len(edges))
	for i, e := range edges {
		for side, v := range board.EdgeVertices[e] {
			ends[i][side] = int(v)
			if towns.Has(v) {
				ends[i][side] = board.Vertices + 2*i + side
			}
		}
	}
	longest := 0
	for subset := 1; subset < 1<<len(edges); subset++ {
		if n := bits.OnesCount(uint(subset)); n > longest && isTrail(ends, subset) {
			longest = n
		}
	}
	return longest
}

func isTrail(ends [][2]int, subset int) bool {
	var degree, parent [board.Vertices + 2*MaxRoads]int
	for v := range parent {
		parent[v] = v
	}
	root := func(v int) int {
		for parent[v] != v {
			v = parent[v]
		}
		return v
	}
	for i, e := range ends {
		if subset>>i&1 != 0 {
			degree[e[0]]++
			degree[e[1]]++
			parent[root(e[0])] = root(e[1])
		}
	}
	odd, roots := 0, 0
	for v, d := range degree {
		odd += d % 2
		if d > 0 && root(v) == v {
			roots++
		}
	}
	return roots == 1 && odd <= 2
}

// randomRoads returns n edges. Most of them are next to earlier ones, so that rings
// and forks are common.
func randomRoads(rng *Rand, n int) (roads board.EdgeSet) {
	for roads.Len() < n {
		e := uint8(rng.below(board.Edges))
		near := roads.Intersect(board.VertexEdgeSet[board.EdgeVertices[e][0]].Union(board.VertexEdgeSet[board.EdgeVertices[e][1]]))
		if !near.Empty() || rng.below(60) == 0 {
			roads = roads.With(e)
		}
	}
	return roads
}

func randomTowns(rng *Rand, n int) (towns board.VertexSet) {
	for range n {
		towns = towns.With(uint8(rng.below(board.Vertices)))
	}
	return towns
}

func edgesOf(set board.EdgeSet) (edges []uint8) {
	for ; !set.Empty(); set = set.Rest() {
		edges = append(edges, set.First())
	}
	return edges
}

// edgesAlong returns the edges of a walk over vertices.
func edgesAlong(walk ...uint8) (set board.EdgeSet) {
	for i := range len(walk) - 1 {
		set = set.With(edgeBetween(walk[i], walk[i+1]))
	}
	return set
}

func edgeBetween(v, w uint8) uint8 {
	for e, ends := range board.EdgeVertices {
		if ends == [2]uint8{min(v, w), max(v, w)} {
			return uint8(e)
		}
	}
	panic(fmt.Sprintf("no edge joins %d and %d", v, w))
}
