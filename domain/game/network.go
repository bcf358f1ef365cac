package game

import (
	"math/bits"

	"hexarena/domain/board"
)

// hexSet is a set of hexes, one bit each.
type hexSet uint32

const allHexes hexSet = 1<<board.Hexes - 1

func (s hexSet) has(h uint8) bool { return s>>h&1 != 0 }
func (s hexSet) len() int         { return bits.OnesCount32(uint32(s)) }
func (s hexSet) first() uint8     { return uint8(bits.TrailingZeros32(uint32(s))) }
func (s hexSet) rest() hexSet     { return s & (s - 1) }

// network caches facts derived from the pieces on the board. Every step of a game
// needs these facts. Each new piece updates the cache, so that no step has to recount
// the board.
type network struct {
	paying  [13]hexSet                // hexes by token
	closed  board.VertexSet           // towns and the vertices next to them, where no settlement may be built
	taken   board.EdgeSet             // edges with a road
	touched [MaxSeats]board.VertexSet // ends of the seat's roads
	reach   [MaxSeats]board.EdgeSet   // edges that the seat's network reaches, taken or not
	hexes   [MaxSeats]hexSet          // hexes that have a town of the seat
	trails  [MaxSeats]uint8           // length of the seat's longest road

	rates [MaxSeats][board.Resources]uint8 // how many cards of a resource the bank takes for one card
}

func newNetwork(layout *board.Layout) network {
	var n network
	for h, token := range layout.Tokens {
		if token != 0 {
			n.paying[token] |= 1 << h
		}
	}
	for seat := range n.rates {
		n.rates[seat] = [board.Resources]uint8{4, 4, 4, 4, 4}
	}
	return n
}

// roadSpots returns the edges on which a seat's network allows a road.
func (p *Public) roadSpots(seat uint8) board.EdgeSet {
	return p.net.reach[seat].Minus(p.net.taken)
}

// roadSpotsAfter returns the edges on which a seat's network would allow a road
// if the seat also had a road on edge e.
func (p *Public) roadSpotsAfter(seat, e uint8) board.EdgeSet {
	spots, rivals := p.net.reach[seat], p.rivals(seat)
	for _, v := range board.EdgeVertices[e] {
		if !rivals.Has(v) {
			spots = spots.Union(board.VertexEdgeSet[v])
		}
	}
	return spots.Minus(p.net.taken).Without(e)
}

// settlementSpots returns the vertices on which a seat may build a settlement
// in the main phase: at one of its roads, but not on or next to a town.
func (p *Public) settlementSpots(seat uint8) board.VertexSet {
	return p.net.touched[seat] &^ p.net.closed
}

// openVertices returns the vertices that the distance rule leaves free.
func (p *Public) openVertices() board.VertexSet {
	return board.AllVertices &^ p.net.closed
}

func (p *Public) addRoad(seat, e uint8) {
	p.Roads[seat] = p.Roads[seat].With(e)
	p.net.taken = p.net.taken.With(e)
	rivals := p.rivals(seat)
	for _, v := range board.EdgeVertices[e] {
		p.net.touched[seat] = p.net.touched[seat].With(v)
		if !rivals.Has(v) {
			p.net.reach[seat] = p.net.reach[seat].Union(board.VertexEdgeSet[v])
		}
	}
	p.net.trails[seat] = max(p.net.trails[seat], longestThrough(p.Roads[seat], rivals, e))
}

func (p *Public) addSettlement(seat, v uint8) {
	p.Settlements[seat] = p.Settlements[seat].With(v)
	p.net.closed |= board.NeighbourSet[v].With(v)
	p.net.reach[seat] = p.net.reach[seat].Union(board.VertexEdgeSet[v])
	for _, h := range board.VertexHexes[v] {
		if h != board.None {
			p.net.hexes[seat] |= 1 << h
		}
	}
	p.usePorts(seat, v)
	for other := range p.Seats {
		if other != seat && p.net.touched[other].Has(v) {
			p.sever(other)
		}
	}
}

// usePorts lowers a seat's trade rates to the rate of the port at a vertex, if there
// is one.
func (p *Public) usePorts(seat, v uint8) {
	generic := board.PortVertexSet[board.Desert].Has(v)
	for r := range p.net.rates[seat] {
		rate := &p.net.rates[seat][r]
		if generic {
			*rate = min(*rate, 3)
		}
		if board.PortVertexSet[r].Has(v) {
			*rate = 2
		}
	}
}

// sever recomputes a seat's network after a rival has built a settlement at one of
// the seat's roads.
func (p *Public) sever(seat uint8) {
	rivals := p.rivals(seat)
	var reach board.EdgeSet
	for open := (p.net.touched[seat] | p.Towns(seat)) &^ rivals; open != 0; open = open.Rest() {
		reach = reach.Union(board.VertexEdgeSet[open.First()])
	}
	p.net.reach[seat] = reach
	p.net.trails[seat] = longestRoad(p.Roads[seat], rivals)
}

func (p *Public) addCity(seat, v uint8) {
	p.Settlements[seat] = p.Settlements[seat].Without(v)
	p.Cities[seat] = p.Cities[seat].With(v)
}
