package web

import (
	"fmt"
	"html/template"
	"math"
	"strings"
)

// The rating curve is drawn on a canvas of curveW by curveH units, of which the
// left and lower margins hold the labels.
const (
	curveW, curveH         = 720, 240
	curveLeft, curveBottom = 36, 22
	curvePoints            = 240 // at most; longer histories are thinned
)

// curve draws a bot's rating after each match, with the band in which the
// ladder thinks its skill to be: mu ± 3 sigma. The rating is the band's lower
// edge. Below two matches there is nothing to draw.
func curve(points []point) template.HTML {
	if len(points) < 2 {
		return ""
	}
	points = thinned(points)
	low, high := math.Inf(1), math.Inf(-1)
	for _, p := range points {
		low, high = min(low, p.Mu-3*p.Sigma), max(high, p.Mu+3*p.Sigma)
	}
	step := niceStep((high - low) / 4)
	low, high = math.Floor(low/step)*step, math.Ceil(high/step)*step
	x := func(i int) float64 {
		return curveLeft + float64(i)*(curveW-curveLeft-4)/float64(len(points)-1)
	}
	y := func(value float64) float64 {
		return 6 + (high-value)*(curveH-curveBottom-6)/(high-low)
	}
	var b, upper, middle, lower strings.Builder
	last := points[len(points)-1]
	fmt.Fprintf(&b, `<svg class="curve" viewBox="0 0 %d %d" role="img" aria-label="Rating over %d matches: now %.1f; the skill is estimated at %.1f, give or take %.1f">`,
		curveW, curveH, len(points), last.Rating, last.Mu, 3*last.Sigma)
	for value := low; value <= high+step/2; value += step {
		fmt.Fprintf(&b, `<path class="grid" d="M%d %.1fH%d"/><text x="%d" y="%.1f" text-anchor="end">%g</text>`, curveLeft, y(value), curveW, curveLeft-6, y(value)+4, value)
	}
	for i, p := range points {
		fmt.Fprintf(&upper, " %.1f,%.1f", x(i), y(p.Mu+3*p.Sigma))
		fmt.Fprintf(&middle, " %.1f,%.1f", x(i), y(p.Mu))
		fmt.Fprintf(&lower, " %.1f,%.1f", x(i), y(p.Mu-3*p.Sigma))
	}
	fmt.Fprintf(&b, `<path class="band" d="M%s L%s Z"/>`, strings.TrimSpace(upper.String()), reversed(points, x, y))
	fmt.Fprintf(&b, `<polyline class="mu" points="%s"/><polyline class="rating" points="%s"/>`, strings.TrimSpace(middle.String()), strings.TrimSpace(lower.String()))
	date := day
	if day(points[0].EndedAt) == day(last.EndedAt) {
		date = when
	}
	fmt.Fprintf(&b, `<text x="%d" y="%d">%s</text><text x="%d" y="%d" text-anchor="end">%s</text></svg>`,
		curveLeft, curveH-4, date(points[0].EndedAt), curveW-4, curveH-4, date(last.EndedAt))
	return template.HTML(b.String()) // numbers and dates of our own alone
}

// reversed walks the band's lower edge back.
func reversed(points []point, x func(int) float64, y func(float64) float64) string {
	var b strings.Builder
	for i := len(points) - 1; i >= 0; i-- {
		fmt.Fprintf(&b, " %.1f,%.1f", x(i), y(points[i].Mu-3*points[i].Sigma))
	}
	return strings.TrimSpace(b.String())
}

// thinned keeps at most curvePoints points, the first and the last among them.
func thinned(points []point) []point {
	if len(points) <= curvePoints {
		return points
	}
	kept := make([]point, curvePoints)
	for i := range kept {
		kept[i] = points[i*(len(points)-1)/(curvePoints-1)]
	}
	return kept
}

// niceStep is a round distance between lines, at least d.
func niceStep(d float64) float64 {
	unit := math.Pow(10, math.Floor(math.Log10(max(d, 0.01))))
	for _, n := range []float64{1, 2, 5} {
		if unit*n >= d {
			return unit * n
		}
	}
	return unit * 10
}

// day is a time's date.
func day(text string) string {
	t := parseTime(text)
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format("2 Jan 2006")
}
