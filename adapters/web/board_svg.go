package web

import (
	"fmt"
	"html/template"
	"math"
	"strings"

	"hexarena/domain/board"
)

// The board is drawn on the lattice of docs/rules.md, "The board". A unit of x is
// islandX wide and a unit of y is islandY high, which makes the hexes regular.
const (
	islandX, islandY = 26.0, 15.0
	islandPad        = 46.0
)

// position holds the parts of a bot's view that are drawn.
type position struct {
	Board struct {
		Hexes []struct {
			ID       int    `json:"id"`
			Resource string `json:"resource"`
			Token    *int   `json:"token"`
		} `json:"hexes"`
		Bandit int `json:"bandit"`
	} `json:"board"`
	Roads []struct {
		Edge int `json:"edge"`
		Seat int `json:"seat"`
	} `json:"roads"`
	Towns []struct {
		Vertex int  `json:"vertex"`
		Seat   int  `json:"seat"`
		City   bool `json:"city"`
	} `json:"towns"`
}

// spot is a point of a picture.
type spot struct{ x, y float64 }

// centre returns the center of a hex. Hexes are numbered row by row.
func centre(hex int) spot {
	rows, indent := [5]int{3, 4, 5, 4, 3}, [5]int{2, 1, 0, 1, 2}
	r := 0
	for hex >= rows[r] {
		hex -= rows[r]
		r++
	}
	return spot{islandPad + islandX*float64(2*hex+indent[r]+1), islandPad + islandY*float64(3*r+2)}
}

var cornerOffsets = [6]spot{{0, -2}, {1, -1}, {1, 1}, {0, 2}, {-1, 1}, {-1, -1}}

// vertexSpots holds the vertices of the board.
var vertexSpots = func() (all [board.Vertices]spot) {
	for h, corners := range board.HexVertices {
		c := centre(h)
		for i, v := range corners {
			all[v] = spot{c.x + islandX*cornerOffsets[i].x, c.y + islandY*cornerOffsets[i].y}
		}
	}
	return all
}()

func edgeMiddle(e int) spot {
	a, b := vertexSpots[board.EdgeVertices[e][0]], vertexSpots[board.EdgeVertices[e][1]]
	return spot{(a.x + b.x) / 2, (a.y + b.y) / 2}
}

// canvas builds an SVG. It escapes nothing: pass it only numbers and fixed names.
type canvas struct{ strings.Builder }

func (c *canvas) add(format string, args ...any) { fmt.Fprintf(&c.Builder, format, args...) }

// openBoard begins a picture of the board with margins around it.
func openBoard(label string, marginX, marginY float64) *canvas {
	c := &canvas{}
	c.add(`<svg class="island" viewBox="%.0f %.0f %.0f %.0f" role="img" aria-label="%s">`,
		islandPad-marginX, islandPad-marginY, 2*marginX+10*islandX, 2*marginY+16*islandY, template.HTMLEscapeString(label))
	return c
}

func (c *canvas) close() template.HTML {
	c.add("</svg>")
	return template.HTML(c.String())
}

func (c *canvas) hex(h int, class string) {
	c.add(`<path class="%s" d="M`, class)
	for i, v := range board.HexVertices[h] {
		if i > 0 {
			c.add(" L")
		}
		c.add("%.1f %.1f", vertexSpots[v].x, vertexSpots[v].y)
	}
	c.add(`Z"/>`)
}

func (c *canvas) text(at spot, class, text string) {
	c.add(`<text class="%s" x="%.1f" y="%.1f" text-anchor="middle" dominant-baseline="central">%s</text>`, class, at.x, at.y, text)
}

// ports draws each port next to its edge.
func (c *canvas) ports() {
	middle := spot{islandPad + 5*islandX, islandPad + 8*islandY}
	for _, p := range board.Ports {
		a, b := vertexSpots[p.Vertices[0]], vertexSpots[p.Vertices[1]]
		m := spot{(a.x + b.x) / 2, (a.y + b.y) / 2}
		dx, dy := m.x-middle.x, m.y-middle.y
		far := 26 / math.Hypot(dx, dy)
		out := spot{m.x + dx*far*1.3, m.y + dy*far}
		c.add(`<path class="pier" d="M%.1f %.1fL%.1f %.1fL%.1f %.1f"/>`, a.x, a.y, out.x, out.y, b.x, b.y)
		label := "3:1"
		if p.Rate == 2 {
			label = "2:1 " + p.Resource.String()
		}
		c.add(`<rect class="port" x="%.1f" y="%.1f" width="%d" height="15" rx="7"/>`, out.x-float64(4+len(label)*5/2+2), out.y-7.5, len(label)*5+12)
		c.text(out, "port-label", label)
	}
}

// positionSVG draws a position: hexes with resource and token, roads, towns and the
// bandit. Resources also have their name and seats their number, because some readers
// cannot tell the colors apart.
func positionSVG(p position) template.HTML {
	c := openBoard("The board as the bot saw it", 12, 12)
	for _, h := range p.Board.Hexes {
		r, known := board.ParseResource(h.Resource)
		name := "desert"
		if known {
			name = r.String()
		}
		if h.ID < 0 || h.ID >= board.Hexes {
			continue
		}
		c.hex(h.ID, "hex "+name)
		at := centre(h.ID)
		c.text(spot{at.x, at.y - 13}, "resource", name)
		if h.Token != nil {
			class := "token"
			if *h.Token == 6 || *h.Token == 8 {
				class = "token hot"
			}
			c.text(spot{at.x, at.y + 5}, class, fmt.Sprint(*h.Token))
		}
		if h.ID == p.Board.Bandit {
			c.add(`<circle class="bandit" cx="%.1f" cy="%.1f" r="6"/>`, at.x-15, at.y+6)
		}
	}
	for _, r := range p.Roads {
		if r.Edge >= 0 && r.Edge < board.Edges {
			a, b := vertexSpots[board.EdgeVertices[r.Edge][0]], vertexSpots[board.EdgeVertices[r.Edge][1]]
			c.add(`<path class="road seat-%d" d="M%.1f %.1fL%.1f %.1f"/>`, r.Seat, a.x, a.y, b.x, b.y)
		}
	}
	for _, t := range p.Towns {
		if t.Vertex >= 0 && t.Vertex < board.Vertices {
			c.town(vertexSpots[t.Vertex], t.Seat, t.City)
		}
	}
	return c.close()
}

// town draws a settlement as a circle, a city as a square.
func (c *canvas) town(at spot, seat int, city bool) {
	if city {
		c.add(`<rect class="town seat-%d" x="%.1f" y="%.1f" width="17" height="17" rx="2"/>`, seat, at.x-8.5, at.y-8.5)
	} else {
		c.add(`<circle class="town seat-%d" cx="%.1f" cy="%.1f" r="7.5"/>`, seat, at.x, at.y)
	}
	c.text(at, "town-seat", fmt.Sprint(seat))
}

// numberedBoard begins a picture of the board with hex numbers of a class.
func numberedBoard(label string, marginX, marginY float64, class string) *canvas {
	c := openBoard(label, marginX, marginY)
	for h := range board.Hexes {
		c.hex(h, "hex plain")
		c.text(centre(h), class, fmt.Sprint(h))
	}
	return c
}

// figures draws the figures of docs/rules.md: the board with its numbers. A page
// includes one by a comment, such as <!-- figure: vertices -->.
var figures = map[string]func() template.HTML{
	"hexes": func() template.HTML {
		c := numberedBoard("The hexes 0 to 18, row by row from the top, and the nine ports", 66, 38, "number")
		c.ports()
		return c.close()
	},
	"vertices": func() template.HTML {
		c := numberedBoard("The vertices 0 to 53, from the top, each row from left to right", 14, 14, "faint")
		for v, at := range vertexSpots {
			c.add(`<circle class="dot" cx="%.1f" cy="%.1f" r="8.5"/>`, at.x, at.y)
			c.text(at, "dot-number", fmt.Sprint(v))
		}
		return c.close()
	},
	"edges": func() template.HTML {
		c := numberedBoard("The edges 0 to 71, sorted by their vertices", 14, 14, "faint")
		for e := range board.Edges {
			at := edgeMiddle(e)
			c.add(`<rect class="dot" x="%.1f" y="%.1f" width="17" height="12" rx="3"/>`, at.x-8.5, at.y-6)
			c.text(at, "dot-number", fmt.Sprint(e))
		}
		return c.close()
	},
}
