package web

import (
	"image"
	"image/color"
	"image/draw"
	"math"
	"unicode"

	"golang.org/x/image/font"
	"golang.org/x/image/font/gofont/gomedium"
	"golang.org/x/image/font/opentype"
	"golang.org/x/image/font/sfnt"
	"golang.org/x/image/math/fixed"
	"golang.org/x/image/vector"
)

// drawing is a picture with shapes and text. The same calls always produce the
// same bytes.
type drawing struct {
	picture *image.RGBA
	shape   *vector.Rasterizer
}

func newDrawing(width, height int, ground color.RGBA) *drawing {
	c := &drawing{image.NewRGBA(image.Rect(0, 0, width, height)), vector.NewRasterizer(width, height)}
	draw.Draw(c.picture, c.picture.Bounds(), image.NewUniform(ground), image.Point{}, draw.Src)
	return c
}

// polygon fills the area within the points.
func (c *drawing) polygon(fill color.RGBA, points ...spot) {
	least, most := points[0], points[0]
	for _, p := range points {
		least, most = spot{min(least.x, p.x), min(least.y, p.y)}, spot{max(most.x, p.x), max(most.y, p.y)}
	}
	// The rasterizer processes its whole area, so limit the area to the shape.
	area := image.Rect(int(least.x)-1, int(least.y)-1, int(most.x)+2, int(most.y)+2).Intersect(c.picture.Bounds())
	if area.Empty() {
		return
	}
	c.shape.Reset(area.Dx(), area.Dy())
	for i, p := range points {
		x, y := float32(p.x-float64(area.Min.X)), float32(p.y-float64(area.Min.Y))
		if i == 0 {
			c.shape.MoveTo(x, y)
		} else {
			c.shape.LineTo(x, y)
		}
	}
	c.shape.ClosePath()
	c.shape.Draw(c.picture, area, image.NewUniform(fill), image.Point{})
}

func (c *drawing) disc(at spot, radius float64, fill color.RGBA) {
	c.polygon(fill, ring(at, radius, 96)...)
}

// ring returns the corners of a regular polygon, starting at the top.
func ring(at spot, radius float64, corners int) []spot {
	points := make([]spot, corners)
	for i := range points {
		sin, cos := math.Sincos(2*math.Pi*float64(i)/float64(corners) - math.Pi/2)
		points[i] = at.Plus(radius*cos, radius*sin)
	}
	return points
}

// line draws a stroke with round ends.
func (c *drawing) line(a, b spot, width float64, fill color.RGBA) {
	length := math.Hypot(b.x-a.x, b.y-a.y)
	dx, dy := -(b.y-a.y)/length*width/2, (b.x-a.x)/length*width/2
	c.polygon(fill, a.Plus(dx, dy), b.Plus(dx, dy), b.Plus(-dx, -dy), a.Plus(-dx, -dy))
	c.disc(a, width/2, fill)
	c.disc(b, width/2, fill)
}

var typeface = must(opentype.Parse(gomedium.TTF))

// face returns the typeface at a size in pixels. It is not safe for
// concurrent use.
func face(size float64) font.Face {
	return must(opentype.NewFace(typeface, &opentype.FaceOptions{Size: size, DPI: 72, Hinting: font.HintingNone}))
}

// The method text() writes a line of text. The parameter at is the start of its
// baseline. The text is shortened so that it ends before the x coordinate right.
func (c *drawing) text(at spot, size float64, line string, ink color.RGBA, right float64) {
	f := face(size)
	line = fitted(f, legible(line), fixed.Int26_6((right-at.x)*64))
	d := font.Drawer{Dst: c.picture, Src: image.NewUniform(ink), Face: f, Dot: dot(at)}
	d.DrawString(line)
}

// The method centred() writes a line of text. The parameter at is the middle of its
// baseline.
func (c *drawing) centred(at spot, size float64, line string, ink color.RGBA) {
	f := face(size)
	d := font.Drawer{Dst: c.picture, Src: image.NewUniform(ink), Face: f}
	d.Dot = dot(at.Plus(-float64(d.MeasureString(line))/128, 0))
	d.DrawString(line)
}

func dot(at spot) fixed.Point26_6 {
	return fixed.Point26_6{X: fixed.Int26_6(at.x * 64), Y: fixed.Int26_6(at.y * 64)}
}

// The function legible() removes invisible characters, and characters that the typeface
// cannot draw.
func legible(line string) string {
	var kept []rune
	var b sfnt.Buffer
	for _, r := range line {
		i, err := typeface.GlyphIndex(&b, r)
		if err == nil && i != 0 && unicode.IsPrint(r) {
			kept = append(kept, r)
		}
	}
	return string(kept)
}

// The function fitted() shortens a line if it is wider than width.
func fitted(f font.Face, line string, width fixed.Int26_6) string {
	if font.MeasureString(f, line) <= width {
		return line
	}
	runes := []rune(line)
	for len(runes) > 0 && font.MeasureString(f, string(runes)+"…") > width {
		runes = runes[:len(runes)-1]
	}
	return string(runes) + "…"
}
