package bench

import (
	"cmp"
	"math"
	"net/http"
	"regexp"
	"slices"
	"strconv"
)

// The type quotas tracks the RateLimit headers of responses.
type quotas struct {
	limits map[string]int
	left   map[string]int // of the current caller
	used   map[string]int // by all callers
	calls  int            // how many calls used counts
	late   bool           // whether callers may have made calls before; then used does not count the first call of each
}

var (
	policyPattern = regexp.MustCompile(`"([a-z-]+)";q=(\d+)`)
	leftPattern   = regexp.MustCompile(`"([a-z-]+)";r=(\d+)`)
)

func (q *quotas) add(h http.Header) {
	if q.limits == nil {
		q.limits, q.used = map[string]int{}, map[string]int{}
	}
	counts := !q.late || q.left != nil
	if counts {
		q.calls++
	}
	for _, m := range policyPattern.FindAllStringSubmatch(h.Get("RateLimit-Policy"), -1) {
		q.limits[m[1]], _ = strconv.Atoi(m[2])
	}
	before := q.left
	q.left = map[string]int{}
	for _, m := range leftPattern.FindAllStringSubmatch(h.Get("RateLimit"), -1) {
		name := m[1]
		q.left[name], _ = strconv.Atoi(m[2])
		had, known := before[name]
		if !known {
			had = q.limits[name]
		}
		if counts {
			q.used[name] += had - q.left[name]
		}
	}
}

// The method spent() reports whether the next call of the address may exceed a limit.
func (q *quotas) spent() bool {
	for name, left := range q.left {
		if left < q.limits[name]/2 {
			return true
		}
	}
	return false
}

// price returns the average price of a call for each limit. A price of 3 means that the
// call counts as three calls.
func (q *quotas) price() map[string]float64 {
	price := map[string]float64{}
	for name, n := range q.used {
		price[name] = float64(n) / float64(q.calls)
	}
	return price
}

// callsPerMinute returns how many such calls one address may make in a minute.
func (r *callReport) callsPerMinute() float64 {
	n := math.Inf(1)
	for name, price := range r.Price {
		n = min(n, float64(r.Limits[name])/price)
	}
	if math.IsInf(n, 0) {
		return 0
	}
	return n
}

// share says how many calls of one kind an address makes per minute.
type share struct {
	row int // index of the row
	n   float64
}

// worstMix returns the most expensive mix of calls that one address may make in a
// minute without credentials. It ranks the kinds of calls by their CPU time, divided by
// their price for the limit on all calls. Starting with the most expensive kind, it then
// takes as many calls of each kind as the limits allow.
func worstMix(rows []callReport) (mix []share) {
	left := map[string]float64{}
	var costly []int
	for i, r := range rows {
		for name, limit := range r.Limits {
			left[name] = float64(limit)
		}
		if r.PerMin > 0 && !r.Owner {
			costly = append(costly, i)
		}
	}
	perUnit := func(i int) float64 { return rows[i].CPUMs / cmp.Or(rows[i].Price["all"], 1) }
	slices.SortFunc(costly, func(a, b int) int { return cmp.Compare(perUnit(b), perUnit(a)) })
	for _, i := range costly {
		n := math.Inf(1)
		for name, price := range rows[i].Price {
			n = min(n, left[name]/price)
		}
		for name, price := range rows[i].Price {
			left[name] -= n * price
		}
		if n >= 1 {
			mix = append(mix, share{i, n})
		}
	}
	return mix
}

// percentOf returns the percentage of a core that a mix of calls uses.
func (r *callsReport) percentOf(mix []share) (percent float64) {
	for _, s := range mix {
		percent += r.Rows[s.row].CPUMs * s.n / 600
	}
	return percent
}
