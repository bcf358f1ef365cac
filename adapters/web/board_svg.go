package web

import (
	"fmt"
	"html/template"
	"math"
	"strings"

	"hexarena/domain/board"
)

// An island is drawn on the lattice of docs/rules.md, "The board": a unit of x
// is islandX wide, one of y islandY high, so that hexes are regular.
const (
	islandX, islandY = 26.0, 15.0
	islandPad        = 46.0
)

// position is a game as a view or a frame shows it, as far as it is drawn.
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

// spot is a place on the canvas.
type spot struct{ x, y float64 }

// centre is that of a hex; its row and column follow from its number.
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

// vertexSpots are where the vertices lie.
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

// canvas collects what an island is drawn with. All that it is given is of our
// own: numbers, and names from fixed lists.
type canvas struct{ strings.Builder }

func (c *canvas) add(format string, args ...any) { fmt.Fprintf(&c.Builder, format, args...) }

// openIsland begins a picture with so much room around the island.
func openIsland(label string, roomX, roomY float64) *canvas {
	c := &canvas{}
	c.add(`<svg class="island" viewBox="%.0f %.0f %.0f %.0f" role="img" aria-label="%s">`,
		islandPad-roomX, islandPad-roomY, 2*roomX+10*islandX, 2*roomY+16*islandY, template.HTMLEscapeString(label))
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

// ports draws a port beside each of its edges.
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

// island draws a position: hexes with their resource and token, roads, towns,
// the bandit. Resources have their letter, seats their number beside the hue.
func island(p position) template.HTML {
	c := openIsland("The board as the bot saw it", 12, 12)
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

// The figures of docs/rules.md: the board with its numbers. A page names one by
// a comment, <!-- figure: vertices -->.
var figures = map[string]func() template.HTML{
	"hexes": func() template.HTML {
		c := openIsland("The hexes 0 to 18, row by row from the top, and the nine ports", 66, 38)
		for h := range board.Hexes {
			c.hex(h, "hex plain")
			c.text(centre(h), "number", fmt.Sprint(h))
		}
		c.ports()
		return c.close()
	},
	"vertices": func() template.HTML {
		c := openIsland("The vertices 0 to 53, from the top, each row from left to right", 14, 14)
		for h := range board.Hexes {
			c.hex(h, "hex plain")
			c.text(centre(h), "faint", fmt.Sprint(h))
		}
		for v, at := range vertexSpots {
			c.add(`<circle class="dot" cx="%.1f" cy="%.1f" r="8.5"/>`, at.x, at.y)
			c.text(at, "dot-number", fmt.Sprint(v))
		}
		return c.close()
	},
	"edges": func() template.HTML {
		c := openIsland("The edges 0 to 71, sorted by their vertices", 14, 14)
		for h := range board.Hexes {
			c.hex(h, "hex plain")
			c.text(centre(h), "faint", fmt.Sprint(h))
		}
		for e := range board.Edges {
			at := edgeMiddle(e)
			c.add(`<rect class="dot" x="%.1f" y="%.1f" width="17" height="12" rx="3"/>`, at.x-8.5, at.y-6)
			c.text(at, "dot-number", fmt.Sprint(e))
		}
		return c.close()
	},
}
