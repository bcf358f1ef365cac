package web

import (
	"image"
	"image/color"
	"strconv"

	"hexarena/adapters/rest"
	"hexarena/domain/board"
	"hexarena/domain/match"
)

// The colors of a preview are those of the light board in board.css.
var (
	pageColour  = color.RGBA{0xf6, 0xf5, 0xf2, 0xff}
	seaColour   = color.RGBA{0xcf, 0xe2, 0xec, 0xff}
	beachColour = color.RGBA{0xf3, 0xe8, 0xcb, 0xff}
	caseColour  = color.RGBA{0xff, 0xff, 0xff, 0xff}
	tokenColour = color.RGBA{0xfb, 0xf6, 0xe9, 0xff}
	inkColour   = color.RGBA{0x26, 0x23, 0x1f, 0xff}
	quietColour = color.RGBA{0x66, 0x61, 0x5a, 0xff}
	oftenColour = color.RGBA{0xb0, 0x1e, 0x1e, 0xff}
	hexColours  = map[string]color.RGBA{
		"brick": {0xc8, 0x6f, 0x4e, 0xff}, "lumber": {0x5c, 0x93, 0x57, 0xff}, "wool": {0xb3, 0xd0, 0x7f, 0xff},
		"grain": {0xea, 0xc4, 0x5c, 0xff}, "ore": {0x98, 0xa3, 0xb3, 0xff}, "desert": {0xdf, 0xd2, 0xae, 0xff},
	}
	seatColours = [4]color.RGBA{{0x00, 0x65, 0xa8, 0xff}, {0xc7, 0x4a, 0x00, 0xff}, {0x00, 0x80, 0x5c, 0xff}, {0xa8, 0x44, 0x7f, 0xff}}
)

// islandMiddle is the center of the island in a preview.
var islandMiddle = spot{320, 315}

const side = 57.0 // length of a hex's side, in pixels

// previewSpot returns the position of a lattice point in the picture. The middle of the
// lattice is (4, 6).
func previewSpot(p board.Point) spot {
	const scale = side / (2 * islandY)
	return islandMiddle.Plus(float64(p.X-4)*islandX*scale, float64(p.Y-6)*islandY*scale)
}

func hexAt(hex int) spot { return previewSpot(board.HexPoints[hex]) }

func cornerAt(vertex int) spot { return previewSpot(board.VertexPoints[vertex]) }

// drawPreview draws the island and the names of the bots. The picture does not
// reveal the result of the match.
func drawPreview(m matchRecord, b rest.BoardLayout, f match.Frame) *image.RGBA {
	c := newDrawing(previewWidth, previewHeight, pageColour)
	c.disc(islandMiddle, 306, seaColour)
	for _, hex := range b.Hexes {
		c.polygon(beachColour, ring(hexAt(hex.ID), side*1.12, 6)...)
	}
	for _, p := range b.Ports {
		c.port(p.Vertices, p.Rate, p.Resource)
	}
	for _, hex := range b.Hexes {
		c.polygon(hexColours[hex.Resource], ring(hexAt(hex.ID), side*0.96, 6)...)
		if hex.Token != nil {
			c.token(hexAt(hex.ID), *hex.Token)
		}
	}
	for _, r := range f.Roads {
		c.road(r.Edge, seatColours[r.Seat])
	}
	for _, t := range f.Towns {
		c.town(cornerAt(t.Vertex), t.City, t.Seat)
	}
	c.bandit(hexAt(f.Board.Bandit))
	c.legend(m)
	return c.picture
}

func (c *drawing) token(at spot, n int) {
	c.disc(at, 24, tokenColour)
	ink := inkColour
	if often(n) {
		ink = oftenColour
	}
	c.centred(at.Plus(0, 10), 29, strconv.Itoa(n), ink)
}

func (c *drawing) port(vertices [2]int, rate int, resource string) {
	v, w := cornerAt(vertices[0]), cornerAt(vertices[1])
	middle := spot{(v.x + w.x) / 2, (v.y + w.y) / 2}
	dx, dy := (w.y-v.y)/side, (v.x-w.x)/side
	if dx*(middle.x-islandMiddle.x)+dy*(middle.y-islandMiddle.y) < 0 {
		dx, dy = -dx, -dy
	}
	at := middle.Plus(dx*35, dy*35)
	c.line(v, at, 4, beachColour)
	c.line(w, at, 4, beachColour)
	fill := tokenColour
	if resource != "" {
		fill = hexColours[resource]
	}
	c.disc(at, 19, caseColour)
	c.disc(at, 17, fill)
	c.centred(at.Plus(0, 5), 15, strconv.Itoa(rate)+":1", inkColour)
}

func (c *drawing) road(edge int, colour color.RGBA) {
	ends := board.EdgeVertices[edge]
	v, w := cornerAt(int(ends[0])), cornerAt(int(ends[1]))
	a, b := v.Plus((w.x-v.x)*.17, (w.y-v.y)*.17), w.Plus((v.x-w.x)*.17, (v.y-w.y)*.17)
	c.line(a, b, 13, caseColour)
	c.line(a, b, 8, colour)
}

// town draws a settlement or a city with the mark of its seat: a disc, a triangle, a
// square or a diamond.
func (c *drawing) town(at spot, city bool, seat int) {
	shape := []spot{{-11, 12}, {-11, -3}, {0, -14}, {11, -3}, {11, 12}}
	if city {
		shape = []spot{{-18, 13}, {-18, -2}, {-10, -2}, {-10, -11}, {-2, -19}, {6, -11}, {6, 2}, {18, 2}, {18, 13}}
	}
	walls := moved(shape, at)
	for i, p := range walls {
		c.line(p, walls[(i+1)%len(walls)], 6, caseColour)
	}
	c.polygon(seatColours[seat], walls...)
	at = at.Plus(0, 3)
	switch seat {
	case 0:
		c.disc(at, 5, caseColour)
	case 1:
		c.polygon(caseColour, moved([]spot{{0, -6}, {6, 5}, {-6, 5}}, at)...)
	case 2:
		c.polygon(caseColour, moved([]spot{{-4.6, -4.6}, {4.6, -4.6}, {4.6, 4.6}, {-4.6, 4.6}}, at)...)
	case 3:
		c.polygon(caseColour, moved([]spot{{0, -6.4}, {6.4, 0}, {0, 6.4}, {-6.4, 0}}, at)...)
	}
}

func moved(shape []spot, by spot) []spot {
	at := make([]spot, len(shape))
	for i, p := range shape {
		at[i] = by.Plus(p.x, p.y)
	}
	return at
}

func (c *drawing) bandit(at spot) {
	at = at.Plus(33, 0)
	c.disc(at.Plus(0, -10), 11, caseColour)
	c.polygon(caseColour, at.Plus(-14, 21), at.Plus(-7, -6), at.Plus(7, -6), at.Plus(14, 21))
	c.disc(at.Plus(0, -10), 8, inkColour)
	c.polygon(inkColour, at.Plus(-11, 18), at.Plus(-5, -6), at.Plus(5, -6), at.Plus(11, 18))
}

// legend writes the mode and the names of the bots.
func (c *drawing) legend(m matchRecord) {
	const left, right = 690, 1150
	c.text(spot{left, 120}, 54, "Hex Arena", inkColour, right)
	about := m.Mode + " match"
	if m.Running() {
		about += ", running"
	}
	c.text(spot{left, 168}, 28, about, quietColour, right)
	for i, p := range m.Players {
		y := 268 + 78*float64(i)
		c.town(spot{left + 18, y - 10}, false, p.Seat)
		c.text(spot{left + 58, y}, 38, p.BotName, inkColour, right)
	}
}
