// Package board defines the fixed geometry of the board: hexes, vertices, edges
// and ports, numbered as in docs/rules.md. It knows nothing about matches,
// randomness or rules.
package board

import (
	"cmp"
	"slices"
)

// The numbers of hexes, vertices and edges. Their ids start at 0.
const (
	Hexes    = 19
	Vertices = 54
	Edges    = 72
)

// None stands for a missing vertex, edge, hex or seat.
const None = 0xff

// Resource is the kind of card that a hex yields.
type Resource uint8

// The resources in their canonical order. Shuffles, defaults and steals use this
// order. The desert yields nothing.
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

// ParseResource returns the resource with the given name. It does not accept
// the desert.
func ParseResource(name string) (Resource, bool) {
	i := slices.Index(resourceNames[:Desert], name)
	return Resource(max(i, 0)), i >= 0
}

// Layout is the part of the board that each match shuffles: a resource and a
// token for each hex. The desert's token is 0.
type Layout struct {
	Resources [Hexes]Resource
	Tokens    [Hexes]uint8
}

// Desert returns the desert's hex, where the bandit starts.
func (l *Layout) Desert() uint8 {
	if h := slices.Index(l.Resources[:], Desert); h >= 0 {
		return uint8(h)
	}
	return None
}

// Pips returns how many of the 36 results of two dice pay at a vertex, added up over its
// hexes.
func (l *Layout) Pips(vertex uint8) (n int) {
	for _, h := range VertexHexes[vertex] {
		if h != None && l.Tokens[h] != 0 {
			token := int(l.Tokens[h])
			n += 6 - max(token-7, 7-token)
		}
	}
	return n
}

// Port is a port of the board. A seat with a town on either vertex may trade Rate
// cards of one resource to the bank for one card. If Rate is 3, the port accepts any
// resource. If Rate is 2, it accepts only Resource.
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

// Point is a point of the lattice that docs/rules.md uses for the board.
type Point struct{ X, Y int }

// The geometry, which init derives from the lattice of hexes. Unused entries of an
// array are None.
var (
	HexPoints    [Hexes]Point    // centers, row by row
	VertexPoints [Vertices]Point // ascending by Y, then X

	HexVertices    [Hexes][6]uint8    // corners, clockwise from the top
	EdgeVertices   [Edges][2]uint8    // low vertex, high vertex
	VertexHexes    [Vertices][3]uint8 // hexes that meet here, ascending
	VertexEdges    [Vertices][3]uint8 // edges that end here, ascending
	VertexVertices [Vertices][3]uint8 // the vertex at the other end of each edge in VertexEdges

	HexVertexSet  [Hexes]VertexSet
	NeighbourSet  [Vertices]VertexSet // adjacent vertices, without the vertex itself
	VertexEdgeSet [Vertices]EdgeSet

	// PortVertexSet holds the vertices of the 2:1 port of each resource. Index
	// Desert holds the vertices of all 3:1 ports.
	PortVertexSet [Resources + 1]VertexSet
)

func init() {
	for v := range Vertices {
		none := [3]uint8{None, None, None}
		VertexHexes[v], VertexEdges[v], VertexVertices[v] = none, none, none
	}
	layHexes()
	layEdges()
	for _, p := range Ports {
		PortVertexSet[p.Resource] = PortVertexSet[p.Resource].With(p.Vertices[0]).With(p.Vertices[1])
	}
}

// layHexes numbers the hexes row by row. It numbers their corners, which are
// the vertices, in the order of (Y, X).
func layHexes() {
	corners := [6]Point{{0, -2}, {1, -1}, {1, 1}, {0, 2}, {-1, 1}, {-1, -1}}
	var centers, vertices []Point
	for row, width := range [5]int{3, 4, 5, 4, 3} {
		for column := range width {
			center := Point{2*column + 5 - width, 3 * row}
			centers = append(centers, center)
			for _, c := range corners {
				vertices = append(vertices, Point{center.X + c.X, center.Y + c.Y})
			}
		}
	}
	copy(HexPoints[:], centers)
	slices.SortFunc(vertices, comparePoints)
	copy(VertexPoints[:], slices.Compact(vertices))
	for h, center := range HexPoints {
		for i, c := range corners {
			found, _ := slices.BinarySearchFunc(VertexPoints[:], Point{center.X + c.X, center.Y + c.Y}, comparePoints)
			v := uint8(found)
			HexVertices[h][i] = v
			HexVertexSet[h] = HexVertexSet[h].With(v)
			put(&VertexHexes[v], uint8(h))
		}
	}
}

func comparePoints(a, b Point) int { return cmp.Or(cmp.Compare(a.Y, b.Y), cmp.Compare(a.X, b.X)) }

// layEdges numbers the edges, which are the sides of all hexes. It sorts them by
// their lower vertex, and then by their higher vertex.
func layEdges() {
	var side [Vertices][Vertices]bool
	for _, vs := range HexVertices {
		for i, v := range vs {
			w := vs[(i+1)%6]
			side[min(v, w)][max(v, w)] = true
		}
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

// put stores id in a list, in place of the first None.
func put(list *[3]uint8, id uint8) { list[slices.Index(list[:], None)] = id }
