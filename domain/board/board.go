// Package board holds the geometry that never changes: hexes, vertices, edges
// and ports, numbered as in docs/rules.md. It knows no match, no chance and no
// rule.
package board

// How many of each there are. Ids run from 0.
const (
	Hexes    = 19
	Vertices = 54
	Edges    = 72
)

// None is the absent id of a vertex, edge, hex or seat.
const None = 0xff

// Resource names what a hex yields.
type Resource uint8

// The resources in their canonical order, which shuffles, defaults and steals
// follow. Desert yields nothing.
const (
	Brick Resource = iota
	Lumber
	Wool
	Grain
	Ore
	Desert
)

// Resources is the number of resources, without the desert.
const Resources = 5

var resourceNames = [...]string{"brick", "lumber", "wool", "grain", "ore", "desert"}

// String returns the resource's name on the wire.
func (r Resource) String() string {
	if int(r) >= len(resourceNames) {
		return "unknown"
	}
	return resourceNames[r]
}

// ParseResource returns the resource with a name. The desert is not one.
func ParseResource(name string) (Resource, bool) {
	for r := Brick; r < Desert; r++ {
		if resourceNames[r] == name {
			return r, true
		}
	}
	return 0, false
}

// Layout is the board that each match shuffles: a resource and a token for each
// hex. The desert's token is 0.
type Layout struct {
	Resources [Hexes]Resource
	Tokens    [Hexes]uint8
}

// Desert returns the hex that the bandit starts on.
func (l *Layout) Desert() uint8 {
	for h, r := range l.Resources {
		if r == Desert {
			return uint8(h)
		}
	}
	return None
}

// Port lets the owner of a town on either vertex trade with the bank at Rate
// to 1: any resource if Rate is 3, only Resource if it is 2.
type Port struct {
	Vertices [2]uint8
	Rate     uint8
	Resource Resource // Desert if Rate is 3
}

// Ports lists the ports in the order of docs/rules.md. They never move.
var Ports = [9]Port{
	{[2]uint8{0, 3}, 3, Desert},
	{[2]uint8{11, 16}, 2, Brick},
	{[2]uint8{33, 38}, 3, Desert},
	{[2]uint8{47, 51}, 2, Lumber},
	{[2]uint8{49, 52}, 3, Desert},
	{[2]uint8{42, 46}, 2, Wool},
	{[2]uint8{26, 32}, 2, Grain},
	{[2]uint8{10, 15}, 3, Desert},
	{[2]uint8{1, 5}, 2, Ore},
}

// Geometry, derived once from the lattice of hexes. Lists are padded with None.
var (
	HexVertices    [Hexes][6]uint8    // corners, clockwise from the top
	EdgeVertices   [Edges][2]uint8    // low vertex, high vertex
	VertexHexes    [Vertices][3]uint8 // hexes that meet here, ascending
	VertexEdges    [Vertices][3]uint8 // edges that end here, ascending
	VertexVertices [Vertices][3]uint8 // the other end of each of VertexEdges

	HexVertexSet  [Hexes]VertexSet
	NeighbourSet  [Vertices]VertexSet // adjacent vertices, without the vertex itself
	VertexEdgeSet [Vertices]EdgeSet

	// PortVertexSet holds the vertices of the 2:1 port of each resource, and,
	// at Desert, those of all generic ports.
	PortVertexSet [Resources + 1]VertexSet
)

func init() {
	layRows()
	layEdges()
	for _, p := range Ports {
		PortVertexSet[p.Resource] = PortVertexSet[p.Resource].With(p.Vertices[0]).With(p.Vertices[1])
	}
}

type point struct{ x, y int }

// layRows numbers the corners of all hexes by (y, x).
func layRows() {
	corner := [6]point{{0, -2}, {1, -1}, {1, 1}, {0, 2}, {-1, 1}, {-1, -1}}
	rows, indent := [5]int{3, 4, 5, 4, 3}, [5]int{2, 1, 0, 1, 2}
	var corners [Hexes][6]point
	distinct := map[point]bool{}
	hex := 0
	for r, n := range rows {
		for c := range n {
			for i, d := range corner {
				p := point{2*c + indent[r] + d.x, 3*r + d.y}
				corners[hex][i] = p
				distinct[p] = true
			}
			hex++
		}
	}
	number := numberPoints(distinct)
	for v := range VertexHexes {
		VertexHexes[v] = [3]uint8{None, None, None}
	}
	for h := range corners {
		for i, p := range corners[h] {
			v := number[p]
			HexVertices[h][i] = v
			HexVertexSet[h] = HexVertexSet[h].With(v)
			put(&VertexHexes[v], uint8(h))
		}
	}
}

func numberPoints(points map[point]bool) map[point]uint8 {
	number := make(map[point]uint8, len(points))
	for y := -2; y <= 14; y++ {
		for x := -1; x <= 11; x++ {
			if p := (point{x, y}); points[p] {
				number[p] = uint8(len(number))
			}
		}
	}
	return number
}

// layEdges numbers the sides of all hexes by (low, high).
func layEdges() {
	var side [Vertices][Vertices]bool
	for _, vs := range HexVertices {
		for i, v := range vs {
			w := vs[(i+1)%6]
			side[min(v, w)][max(v, w)] = true
		}
	}
	for v := range VertexEdges {
		VertexEdges[v] = [3]uint8{None, None, None}
		VertexVertices[v] = [3]uint8{None, None, None}
	}
	edge := uint8(0)
	for low := range uint8(Vertices) {
		for high := range uint8(Vertices) {
			if !side[low][high] {
				continue
			}
			EdgeVertices[edge] = [2]uint8{low, high}
			for _, end := range [2][2]uint8{{low, high}, {high, low}} {
				put(&VertexEdges[end[0]], edge)
				put(&VertexVertices[end[0]], end[1])
				VertexEdgeSet[end[0]] = VertexEdgeSet[end[0]].With(edge)
				NeighbourSet[end[0]] = NeighbourSet[end[0]].With(end[1])
			}
			edge++
		}
	}
}

func put(list *[3]uint8, id uint8) {
	for i := range list {
		if list[i] == None {
			list[i] = id
			return
		}
	}
}
