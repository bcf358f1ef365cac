package web

import (
	"fmt"
	"html/template"
	"math"

	"hexarena/domain/board"
)

// The board is drawn on the lattice of "The board" in docs/rules.md. A unit of x
// is islandX wide and a unit of y is islandY high, which makes the hexes regular.
const (
	islandX, islandY = 26.0, 15.0
	islandPad        = 46.0
)

// spot is a point of a picture. Its methods are for templates.
type spot struct{ x, y float64 }

func spotOf(p board.Point) spot {
	return spot{islandPad + islandX*float64(p.X+1), islandPad + islandY*float64(p.Y+2)}
}

// Plus returns the point that is right of p by dx and below it by dy.
func (p spot) Plus(dx, dy float64) spot { return spot{p.x + dx, p.y + dy} }

// String returns the coordinates in the format of an SVG path.
func (p spot) String() string { return fmt.Sprintf("%.1f %.1f", p.x, p.y) }

// XY returns the coordinates as the attributes of an SVG rectangle or text.
func (p spot) XY() template.HTMLAttr {
	return template.HTMLAttr(fmt.Sprintf(`x="%.1f" y="%.1f"`, p.x, p.y))
}

// Center returns the coordinates as the attributes of an SVG circle.
func (p spot) Center() template.HTMLAttr {
	return template.HTMLAttr(fmt.Sprintf(`cx="%.1f" cy="%.1f"`, p.x, p.y))
}

func hexSpot(hex int) spot       { return spotOf(board.HexPoints[hex]) }
func vertexSpot(vertex int) spot { return spotOf(board.VertexPoints[vertex]) }

func edgeEnds(edge int) [2]spot {
	ends := board.EdgeVertices[edge]
	return [2]spot{vertexSpot(int(ends[0])), vertexSpot(int(ends[1]))}
}

func middle(ends [2]spot) spot { return spot{(ends[0].x + ends[1].x) / 2, (ends[0].y + ends[1].y) / 2} }

// outline returns the SVG path along the corners of a hex.
func outline(hex int) string {
	path := ""
	for _, v := range board.HexVertices[hex] {
		path += " L" + vertexSpot(int(v)).String()
	}
	return "M" + path[len(" L"):] + "Z"
}

// The function often() reports whether a token's number is 6 or 8, the most frequent
// rolls after 7.
func often(token int) bool { return token == 6 || token == 8 }

// portView is a port with the position of its label, next to the port's edge.
type portView struct {
	Ends   [2]spot
	At     spot
	Label  string
	Corner spot // top left corner of the frame around the label
	Width  int
}

func ports() []portView {
	center := spotOf(board.Point{X: 4, Y: 6})
	views := make([]portView, len(board.Ports))
	for i, p := range board.Ports {
		ends := [2]spot{vertexSpot(int(p.Vertices[0])), vertexSpot(int(p.Vertices[1]))}
		m := middle(ends)
		dx, dy := m.x-center.x, m.y-center.y
		far := 26 / math.Hypot(dx, dy)
		at := m.Plus(dx*far*1.3, dy*far)
		label := "3:1"
		if p.Rate == 2 {
			label = "2:1 " + p.Resource.String()
		}
		width := len(label)*5 + 12
		views[i] = portView{ends, at, label, at.Plus(-float64(width/2), -7.5), width}
	}
	return views
}

// boardFuncs contains the functions for templates/shared/board.html.
var boardFuncs = template.FuncMap{
	"hexes":      func() int { return board.Hexes },
	"vertices":   func() int { return board.Vertices },
	"edges":      func() int { return board.Edges },
	"ports":      ports,
	"hexSpot":    hexSpot,
	"vertexSpot": vertexSpot,
	"edgeEnds":   edgeEnds,
	"edgeMiddle": func(edge int) spot { return middle(edgeEnds(edge)) },
	"outline":    outline,
	"often":      often,
	"viewBox": func(marginX, marginY float64) string { // with margins around the board
		return fmt.Sprint(islandPad-marginX, islandPad-marginY, 2*marginX+10*islandX, 2*marginY+16*islandY)
	},
}
