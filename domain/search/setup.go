package search

import (
	"cmp"
	"slices"

	"hexarena/domain/board"
	"hexarena/domain/game"
)

// maxPlaces is the number of vertices that the search for a placement examines.
const maxPlaces = 14

// placement is a settlement and a road during setup.
type placement struct {
	action game.Action
	value  float64
}

// placements lists placements, the best one first. For each of them, it completes the
// setup: the other seats choose quickly, and the seat itself looks for its best second
// placement.
func (i *island) placements(g *game.State, me uint8) []placement {
	var list []placement
	for _, v := range i.places(g, me, maxPlaces) {
		for _, e := range board.VertexEdges[v] {
			if e == board.None {
				continue
			}
			after := *g
			a := game.Action{Type: game.Setup, Vertex: v, Edges: [2]uint8{e, board.None}}
			after.Act(me, a)
			list = append(list, placement{a, i.complete(&after, me)})
		}
	}
	slices.SortStableFunc(list, func(a, b placement) int { return cmp.Compare(b.value, a.value) })
	return list
}

// complete plays the setup to its end and returns the value of the result.
func (i *island) complete(g *game.State, me uint8) float64 {
	for g.Phase == game.PhaseSetup {
		if g.Seat != me {
			g.Act(g.Seat, i.place(g, g.Seat))
			continue
		}
		most := -1e9
		for _, v := range i.places(g, me, 6) {
			after := *g
			after.Act(me, game.Action{Type: game.Setup, Vertex: v, Edges: [2]uint8{i.wayOut(g, v), board.None}})
			most = max(most, i.complete(&after, me))
		}
		return most
	}
	return i.value(g, me)
}

// places lists the n open vertices that look best for a seat.
func (i *island) places(g *game.State, seat uint8, n int) []uint8 {
	var have rates
	if towns := g.Towns(seat); towns != 0 {
		have = i.yields[towns.First()]
	}
	var spots []uint8
	var score [board.Vertices]float64
	for open := g.OpenVertices(); open != 0; open = open.Rest() {
		v := open.First()
		spots = append(spots, v)
		score[v] = i.worth[v]
		for r, x := range i.yields[v] {
			if x > 0 && have[r] == 0 {
				score[v] += 0.04
			}
		}
	}
	slices.SortStableFunc(spots, func(a, b uint8) int { return cmp.Compare(score[b], score[a]) })
	return spots[:min(n, len(spots))]
}

// place chooses a placement without a search.
func (i *island) place(g *game.State, seat uint8) game.Action {
	v := i.places(g, seat, 1)[0]
	return game.Action{Type: game.Setup, Vertex: v, Edges: [2]uint8{i.wayOut(g, v), board.None}}
}

// wayOut returns the edge at v that leads to the best open vertex two edges away.
func (i *island) wayOut(g *game.State, v uint8) (edge uint8) {
	open := g.OpenVertices() &^ board.NeighbourSet[v].With(v)
	most := -1.0
	for k, e := range board.VertexEdges[v] {
		if e == board.None {
			continue
		}
		if n := i.best(board.NeighbourSet[board.VertexVertices[v][k]] & open); n > most {
			most, edge = n, e
		}
	}
	return edge
}
