package web

import (
	"fmt"
	"html/template"
	"math"
	"slices"
	"strings"
)

// The rating curve is a picture of curveW by curveH units. The labels are in its
// left and lower margins.
const (
	curveW, curveH         = 720, 240
	curveLeft, curveBottom = 36, 22
	curvePoints            = 240 // maximum number of points; for a longer history, only a sample is drawn
)

// ratingCurve draws a bot's rating after each match. It also draws the band mu ± 3
// sigma, in which the ladder expects the bot's skill. The rating is the lower edge
// of the band. For fewer than two matches, ratingCurve returns "".
func ratingCurve(points []point) template.HTML {
	if len(points) < 2 {
		return ""
	}
	points = sample(points)
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
	line := func(value func(point) float64) []string {
		var corners []string
		for i, p := range points {
			corners = append(corners, fmt.Sprintf("%.1f,%.1f", x(i), y(value(p))))
		}
		return corners
	}
	upper := line(func(p point) float64 { return p.Mu + 3*p.Sigma })
	middle := line(func(p point) float64 { return p.Mu })
	lower := line(func(p point) float64 { return p.Mu - 3*p.Sigma })
	var b strings.Builder
	last := points[len(points)-1]
	fmt.Fprintf(&b, `<svg class="curve" viewBox="0 0 %d %d" role="img" aria-label="Rating over %d matches: now %.1f; the estimated skill is %.1f ± %.1f">`,
		curveW, curveH, len(points), last.Rating, last.Mu, 3*last.Sigma)
	for value := low; value <= high+step/2; value += step {
		fmt.Fprintf(&b, `<path class="grid" d="M%d %.1fH%d"/><text x="%d" y="%.1f" text-anchor="end">%s</text>`,
			curveLeft, y(value), curveW, curveLeft-6, y(value)+4, strings.Replace(fmt.Sprintf("%g", value), "-", "−", 1))
	}
	fmt.Fprintf(&b, `<polyline class="mu" points="%s"/><polyline class="rating" points="%s"/>`, strings.Join(middle, " "), strings.Join(lower, " "))
	slices.Reverse(lower)
	fmt.Fprintf(&b, `<path class="band" d="M%s L%s Z"/>`, strings.Join(upper, " "), strings.Join(lower, " "))
	label := date
	if date(points[0].EndedAt) == date(last.EndedAt) {
		label = shortTime
	}
	first, latest := label(points[0].EndedAt), label(last.EndedAt)
	if first == latest { // all matches ended within a minute
		first = ""
	}
	fmt.Fprintf(&b, `<text x="%d" y="%d">%s</text><text x="%d" y="%d" text-anchor="end">%s</text></svg>`,
		curveLeft, curveH-4, first, curveW-4, curveH-4, latest)
	return template.HTML(b.String()) // safe: it contains only numbers and dates
}

// sample returns at most curvePoints points, including the first and the last.
func sample(points []point) []point {
	if len(points) <= curvePoints {
		return points
	}
	kept := make([]point, curvePoints)
	for i := range kept {
		kept[i] = points[i*(len(points)-1)/(curvePoints-1)]
	}
	return kept
}

// niceStep returns a round number for the distance between grid lines, at least
// d.
func niceStep(d float64) float64 {
	unit := math.Pow(10, math.Floor(math.Log10(max(d, 0.01))))
	for _, n := range []float64{1, 2, 5} {
		if unit*n >= d {
			return unit * n
		}
	}
	return unit * 10
}
