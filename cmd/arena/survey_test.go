package main

import (
	"hexarena/domain/board"
	"hexarena/domain/game"
	"hexarena/domain/match"
)

// These are the costs in "Costs, build limits and dev deck", by resource.
var (
	roadPrice       = game.Cards{1, 1, 0, 0, 0}
	settlementPrice = game.Cards{1, 1, 1, 1, 0}
	cityPrice       = game.Cards{0, 0, 0, 2, 3}
	devPrice        = game.Cards{0, 0, 1, 1, 1}
)

// survey holds facts about the board that determine what a seat can do. It is derived
// from the seat's view.
type survey struct {
	*match.View
	hand    game.Cards
	towns   [board.Vertices]*match.Town
	roads   [board.Edges]*match.Road
	blocked board.VertexSet // vertices on or next to a town
	mine    struct{ roads, settlements, cities int }
}

func surveyOf(v *match.View) *survey {
	s := &survey{View: v, hand: game.Cards(v.Hand)}
	for i, town := range v.Towns {
		s.towns[town.Vertex] = &v.Towns[i]
		s.blocked = s.blocked.With(uint8(town.Vertex)) | board.NeighbourSet[town.Vertex]
		switch {
		case town.Seat != v.Seat:
		case town.City:
			s.mine.cities++
		default:
			s.mine.settlements++
		}
	}
	for i, road := range v.Roads {
		s.roads[road.Edge] = &v.Roads[i]
		if road.Seat == v.Seat {
			s.mine.roads++
		}
	}
	return s
}

// The method open() lists the vertices where the distance rule allows a settlement.
func (s *survey) open() (list []int) {
	for free := board.AllVertices &^ s.blocked; free != 0; free = free.Rest() {
		list = append(list, int(free.First()))
	}
	return list
}

func (s *survey) settlements() (list []int) {
	if s.mine.settlements == game.MaxSettlements || !s.hand.Covers(settlementPrice) {
		return nil
	}
	for _, v := range s.open() {
		if s.touches(v) {
			list = append(list, v)
		}
	}
	return list
}

func (s *survey) cities() (list []int) {
	if s.mine.cities == game.MaxCities || !s.hand.Covers(cityPrice) {
		return nil
	}
	for v, town := range s.towns {
		if town != nil && town.Seat == s.Seat && !town.City {
			list = append(list, v)
		}
	}
	return list
}

// The method edges() lists the edges where a road may be built. It ignores the road's
// cost.
func (s *survey) edges() (list []int) {
	if s.mine.roads == game.MaxRoads {
		return nil
	}
	for e, ends := range board.EdgeVertices {
		if s.roads[e] == nil && (s.reaches(int(ends[0])) || s.reaches(int(ends[1]))) {
			list = append(list, e)
		}
	}
	return list
}

func (s *survey) touches(v int) bool {
	for _, e := range board.VertexEdges[v] {
		if e != board.None && s.roads[e] != nil && s.roads[e].Seat == s.Seat {
			return true
		}
	}
	return false
}

func (s *survey) reaches(v int) bool {
	if town := s.towns[v]; town != nil {
		return town.Seat == s.Seat
	}
	return s.touches(v)
}

// rate returns how many cards of a resource the seat pays the bank for one card.
func (s *survey) rate(r board.Resource) uint16 {
	rate := 4
	for _, p := range s.Board.Ports {
		for _, v := range p.Vertices {
			if town := s.towns[v]; town != nil && town.Seat == s.Seat && (p.Resource == "" || p.Resource == r.String()) {
				rate = min(rate, p.Rate)
			}
		}
	}
	return uint16(rate)
}

// The method victims() lists the rivals with a town on a hex.
func (s *survey) victims(hex int) (list []int) {
	for _, v := range board.HexVertices[hex] {
		if town := s.towns[v]; town != nil && town.Seat != s.Seat {
			list = append(list, town.Seat)
		}
	}
	return list
}

// The method yield() returns how many of the 36 possible rolls produce cards at a
// vertex.
func (s *survey) yield(v int) (pips int) {
	for _, h := range board.VertexHexes[v] {
		if h != board.None && s.Board.Hexes[h].Token != nil {
			pips += 6 - max(7-*s.Board.Hexes[h].Token, *s.Board.Hexes[h].Token-7)
		}
	}
	return pips
}

func around(v int) (list []int) {
	for _, e := range board.VertexEdges[v] {
		if e != board.None {
			list = append(list, int(e))
		}
	}
	return list
}
