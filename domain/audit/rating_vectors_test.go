package audit_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"hexarena/domain/rating"
)

// The rating vectors expose a checker that rounds even one step differently from
// docs/audit.md. To choose the vectors, this file implements the steps of that page,
// and a wrong variant of each step.

// step names a step of the definition that a wrong variant changes. The zero value
// means that all steps are correct.
type step int

const (
	asDefined step = iota

	betaSquared
	betaSquaredLow
	tauSquaredHigh
	tauSquaredLow
	noTau
	varianceFused
	totalApart
	totalBackwards
	totalByCount
	log2eHigh
	log2eLow
	halfEven
	kDown
	highPartHigh
	lowPartShort
	oneLn2
	lowFirst
	termsFewer
	termsMore
	seriesFused
	seriesDivided
	seriesInverse
	seriesForward
	libraryExp
	expTimesInverse
	expOfRatio
	strengthBack
	strengthSelf
	expQuotients
	expReversed
	omegaApart
	omegaBackwards
	omegaTimes
	deltaApart
	deltaSquare
	deltaFused
	deltaTimes
	gammaLast
	gammaDelta
	overTwice
	overTotal
	gammaSquared
	gammaRoot
	shrinkFused
	muProduct
	muRatio
	muFused
	sigmaRoot

	steps // the number of steps
)

// changes describes the changed steps.
var changes = [steps]string{
	betaSquared:     "β² is the square of the rounded β",
	betaSquaredLow:  "β² is one unit lower",
	tauSquaredHigh:  "τ² is one unit higher",
	tauSquaredLow:   "τ² is one unit lower",
	noTau:           "τ² is zero",
	varianceFused:   "sigma·sigma + τ² is one operation",
	totalApart:      "t adds vᵢ, then β², instead of their sum",
	totalBackwards:  "t adds the bots in reverse order",
	totalByCount:    "t adds β² once for all bots",
	log2eHigh:       "log₂e is one unit higher",
	log2eLow:        "log₂e is one unit lower",
	halfEven:        "k rounds halves to even",
	kDown:           "k rounds down",
	highPartHigh:    "H is one unit higher",
	lowPartShort:    "L has only 24 bits",
	oneLn2:          "r is x − k·ln 2, in one part",
	lowFirst:        "r is x − (k·H + k·L)",
	termsFewer:      "the series begins at n = 12",
	termsMore:       "the series begins at n = 14",
	seriesFused:     "1 + sum·(r/n) is one operation",
	seriesDivided:   "sum·(r/n) instead of (sum·r)/n",
	seriesInverse:   "(sum·r)·(1/n) instead of (sum·r)/n",
	seriesForward:   "the terms add up from the first",
	libraryExp:      "the exp of the library",
	expTimesInverse: "exp((mu_s − muᵢ)·(1/c))",
	expOfRatio:      "exp(mu_s/c − muᵢ/c)",
	strengthBack:    "the sum of P runs in reverse order",
	strengthSelf:    "the sum of P begins with the bot itself",
	expQuotients:    "P is e/Σe with e = exp(mu/c)",
	expReversed:     "e(i, s) is 1/exp((muᵢ − mu_s)/c)",
	omegaApart:      "Ω adds [q = i]/A, then subtracts P/A",
	omegaBackwards:  "Ω and Δ run in reverse order",
	omegaTimes:      "Ω multiplies by 1/A",
	deltaApart:      "P·((1 − P)/A)",
	deltaSquare:     "P − P·P",
	deltaFused:      "Δ + P·(1 − P)·(1/A) is one operation",
	deltaTimes:      "Δ multiplies by 1/A",
	gammaLast:       "γ·((v/(c·c))·Δ)",
	gammaDelta:      "(γ·Δ)·(v/(c·c))",
	overTwice:       "(v/c)/c instead of v/(c·c)",
	overTotal:       "v/t instead of v/(c·c)",
	gammaSquared:    "γ·γ instead of v/(c·c)",
	gammaRoot:       "γ is √(v/(c·c))",
	shrinkFused:     "1 − γ·(v/(c·c))·Δ is one operation",
	muProduct:       "(v·Ω)/c",
	muRatio:         "v·(Ω/c)",
	muFused:         "muᵢ + (v/c)·Ω is one operation",
	sigmaRoot:       "√(v·h)",
}

func (s step) rate(before []rating.Rating, placements []int) []rating.Rating {
	m := newStepwise(s, before, placements)
	after := make([]rating.Rating, len(before))
	for i := range before {
		after[i] = m.rate(i)
	}
	return after
}

// stepwise implements the definition in docs/audit.md, with one step changed.
type stepwise struct {
	step
	mu         []float64
	v          []float64
	placements []int
	t, c       float64
}

// The method pick() returns the parameter "with" if s and changed are the same step.
// Otherwise it returns value.
func (s step) pick(changed step, with, value float64) float64 {
	if s == changed {
		return with
	}
	return value
}

// The method order() returns 0 … n−1, in reverse order if s and changed are the same
// step.
func (s step) order(changed step, n int) []int {
	order := make([]int, n)
	for i := range order {
		order[i] = i
	}
	if s == changed {
		slices.Reverse(order)
	}
	return order
}

func above(x float64) float64 { return math.Nextafter(x, math.Inf(1)) }
func below(x float64) float64 { return math.Nextafter(x, math.Inf(-1)) }

func newStepwise(s step, before []rating.Rating, placements []int) stepwise {
	beta, betaSquare, tauSquare := 25.0/6, 0x1.15c71c71c71c7p+4, 0x1.c71c71c71c71cp-8
	switch s {
	case betaSquared:
		betaSquare = float64(beta * beta)
	case betaSquaredLow:
		betaSquare = below(betaSquare)
	case tauSquaredHigh:
		tauSquare = above(tauSquare)
	case tauSquaredLow:
		tauSquare = below(tauSquare)
	case noTau:
		tauSquare = 0
	}
	m := stepwise{step: s, placements: placements, mu: make([]float64, len(before)), v: make([]float64, len(before))}
	for i, r := range before {
		m.mu[i] = r.Mu
		m.v[i] = s.pick(varianceFused, math.FMA(r.Sigma, r.Sigma, tauSquare), float64(r.Sigma*r.Sigma)+tauSquare)
	}
	for _, i := range s.order(totalBackwards, len(before)) {
		switch s {
		case totalApart:
			m.t = float64(m.t+m.v[i]) + betaSquare
		case totalByCount:
			m.t += m.v[i]
		default:
			m.t += float64(m.v[i] + betaSquare)
		}
	}
	if s == totalByCount {
		m.t += float64(float64(len(before)) * betaSquare)
	}
	m.c = math.Sqrt(m.t)
	return m
}

func (m stepwise) exp(x float64) float64 {
	if m.step == libraryExp {
		return math.Exp(x)
	}
	log2e := m.pick(log2eHigh, above(math.Log2E), m.pick(log2eLow, below(math.Log2E), math.Log2E))
	high := m.pick(highPartHigh, above(0x1.62e42feep-1), 0x1.62e42feep-1)
	low := m.pick(lowPartShort, 0x1.a39ef4p-33, 0x1.a39ef35793c76p-33)
	product := float64(x * log2e)
	k := m.pick(halfEven, math.RoundToEven(product), m.pick(kDown, math.Floor(product), math.Round(product)))
	r := (x - float64(k*high)) - float64(k*low)
	switch m.step {
	case oneLn2:
		r = x - float64(k*math.Ln2)
	case lowFirst:
		r = x - float64(float64(k*high)+float64(k*low))
	}
	terms := m.pick(termsFewer, 12, m.pick(termsMore, 14, 13))
	sum := 1.0
	for n := terms; n >= 1; n-- {
		switch m.step {
		case seriesFused:
			sum = math.FMA(sum, r/n, 1)
		case seriesDivided:
			sum = 1 + float64(sum*(r/n))
		case seriesInverse:
			sum = 1 + float64(float64(sum*r)*(1/n))
		default:
			sum = 1 + float64(sum*r)/n
		}
	}
	if m.step == seriesForward {
		term := 1.0
		sum = 1
		for n := 1.0; n <= terms; n++ {
			term = float64(term*r) / n
			sum += term
		}
	}
	return math.Ldexp(sum, int(k))
}

// strength returns e(i, s).
func (m stepwise) strength(i, s int) float64 {
	switch d := m.mu[s] - m.mu[i]; m.step {
	case expTimesInverse:
		return m.exp(float64(d * (1 / m.c)))
	case expOfRatio:
		return m.exp(m.mu[s]/m.c - m.mu[i]/m.c)
	case expReversed:
		return 1 / m.exp((m.mu[i]-m.mu[s])/m.c)
	case expQuotients:
		return m.exp(m.mu[s] / m.c)
	default:
		return m.exp(d / m.c)
	}
}

// chance returns P(i, q).
func (m stepwise) chance(i, q int) float64 {
	sum, own := 0.0, 1.0
	if m.step == expQuotients {
		own = m.strength(i, i)
	}
	if m.step == strengthSelf {
		sum = m.strength(i, i)
	}
	for _, s := range m.order(strengthBack, len(m.mu)) {
		if m.placements[s] >= m.placements[q] && (m.step != strengthSelf || s != i) {
			sum += m.strength(i, s)
		}
	}
	return own / sum
}

func (m stepwise) sums(i int) (omega, delta float64) {
	for _, q := range m.order(omegaBackwards, len(m.mu)) {
		if m.placements[q] > m.placements[i] {
			continue
		}
		a, p, won := 0.0, m.chance(i, q), 0.0
		for _, placed := range m.placements {
			if placed == m.placements[q] {
				a++
			}
		}
		if q == i {
			won = 1
		}
		switch m.step {
		case omegaApart:
			omega = float64(omega+won/a) - p/a
		case omegaTimes:
			omega += float64((won - p) * (1 / a))
		default:
			omega += (won - p) / a
		}
		switch m.step {
		case deltaApart:
			delta += float64(p * ((1 - p) / a))
		case deltaSquare:
			delta += (p - float64(p*p)) / a
		case deltaFused:
			delta = math.FMA(p, (1-p)/a, delta)
		case deltaTimes:
			delta += float64(float64(p*(1-p)) * (1 / a))
		default:
			delta += float64(p*(1-p)) / a
		}
	}
	return omega, delta
}

func (m stepwise) rate(i int) rating.Rating {
	omega, delta := m.sums(i)
	v, square := m.v[i], float64(m.c*m.c)
	sigma := math.Sqrt(v)
	gamma := m.pick(gammaRoot, math.Sqrt(v/square), sigma/m.c)
	share := v / square
	switch m.step {
	case overTwice:
		share = v / m.c / m.c
	case overTotal:
		share = v / m.t
	case gammaSquared:
		share = float64(gamma * gamma)
	}
	product := float64(gamma*share) * delta
	switch m.step {
	case gammaLast:
		product = gamma * float64(share*delta)
	case gammaDelta:
		product = float64(gamma*delta) * share
	}
	h := m.pick(shrinkFused, math.FMA(-float64(gamma*share), delta, 1), 1-float64(product))
	h = max(h, 0.0001)
	r := rating.Rating{Mu: m.mu[i] + float64(v/m.c*omega), Sigma: float64(sigma * math.Sqrt(h))}
	switch m.step {
	case muProduct:
		r.Mu = m.mu[i] + float64(v*omega)/m.c
	case muRatio:
		r.Mu = m.mu[i] + float64(v*(omega/m.c))
	case muFused:
		r.Mu = math.FMA(v/m.c, omega, m.mu[i])
	case sigmaRoot:
		r.Sigma = math.Sqrt(float64(v * h))
	}
	return r
}

// ratingSeed is the random seed for the rating vectors. Published vectors never change,
// so neither may this seed.
const ratingSeed = 16

const (
	ratingVectors = 440 // number of vectors drawn at random, without selection
	caughtBy      = 10  // minimum number of vectors in which each changed step gives a different result
)

// addRatings adds enough matches that each changed step gives a different result in at
// least caughtBy of them. It first draws most of the vectors at random. Then it draws
// more, but keeps a vector only if its result reveals a changed step that too few of the
// earlier vectors reveal.
func (v *vectors) addRatings(t testing.TB) {
	t.Helper()
	rng := rand.New(rand.NewPCG(ratingSeed, ratingSeed))
	t.Logf("the seed of the vectors of ratings: %d", ratingSeed)
	caught := make([]int, steps)
	keep := func(before []rating.Rating, placements []int) {
		after := rating.Rate(before, placements)
		for s := betaSquared; s < steps; s++ {
			if !slices.Equal(s.rate(before, placements), after) {
				caught[s]++
			}
		}
		v.Ratings = append(v.Ratings, ratingVector{before, placements, after})
	}
	for range ratingVectors {
		keep(drawMatch(rng))
	}
	for s := betaSquared; s < steps; s++ {
		draw := drawMatch
		if s == log2eHigh || s == log2eLow || s == halfEven {
			draw = drawHalf
		}
		for draws := 0; caught[s] < caughtBy; draws++ {
			require.Less(t, draws, 1_000_000, changes[s])
			if before, placements := draw(rng); s.shows(before, placements) {
				keep(before, placements)
			}
		}
	}
}

// The method shows() reports whether a changed step changes the result of a match. If
// the step is part of exp, the method first compares only the results of exp, which
// is faster.
func (s step) shows(before []rating.Rating, placements []int) bool {
	if s >= log2eHigh && s <= libraryExp {
		m := newStepwise(s, before, placements)
		same := true
		for i := range m.mu {
			for j := range m.mu {
				x := (m.mu[j] - m.mu[i]) / m.c
				same = same && m.exp(x) == stepwise{}.exp(x)
			}
		}
		if same {
			return false
		}
	}
	return !slices.Equal(s.rate(before, placements), rating.Rate(before, placements))
}

// drawMatch draws the ratings and placements of a match of 3 or 4 bots. Ties
// occur in half of the matches. The ratings have few digits, so that the file
// stays small.
func drawMatch(rng *rand.Rand) (before []rating.Rating, placements []int) {
	n := 3 + rng.IntN(2)
	points, spread := make([]int, n), 1+rng.IntN(6)
	for i := range n {
		r := rating.Rating{Mu: float64(rng.IntN(50_000)) / 1000, Sigma: float64(700+rng.IntN(7600)) / 1000}
		if rng.IntN(8) == 0 {
			r.Sigma = float64(1+rng.IntN(100)) / 1000 // as small as τ
		}
		before = append(before, r)
		points[i] = rng.IntN(spread)
	}
	if rng.IntN(8) == 0 {
		before[rng.IntN(n)] = rating.New()
	}
	for _, own := range points {
		place := 1
		for _, other := range points {
			if other > own {
				place++
			}
		}
		placements = append(placements, place)
	}
	return before, placements
}

// drawHalf draws a match in which x·log₂e is a half, or very close to it, for
// the first two bots. In that case, the rounding of k may decide the last bits.
func drawHalf(rng *rand.Rand) (before []rating.Rating, placements []int) {
	before, placements = drawMatch(rng)
	x := (float64(rng.IntN(12)) + 0.5) * math.Ln2
	for range rng.IntN(3) {
		x = above(x)
	}
	before[0].Mu = 0
	before[1].Mu = x * newStepwise(asDefined, before, placements).c
	return before, placements
}

// The stepwise definition gives the same ratings as the arena. If one of its steps is
// changed, the result differs for at least caughtBy of the vectors, and usually for many
// more.
func TestEveryRoundingStepOfARatingShows(t *testing.T) {
	v := readVectors(t)
	require.GreaterOrEqual(t, len(v.Ratings), 500)
	tied, seats := 0, map[int]int{}
	for _, x := range v.Ratings {
		require.Equal(t, x.After, asDefined.rate(x.Before, x.Placements))
		seats[len(x.Before)]++
		if distinct := slices.Compact(slices.Sorted(slices.Values(x.Placements))); len(distinct) < len(x.Placements) {
			tied++
		}
	}
	require.Greater(t, tied, 200)
	require.Greater(t, seats[3], 200)
	require.Greater(t, seats[4], 200)
	var missed []string
	for s := betaSquared; s < steps; s++ {
		caught := 0
		for _, x := range v.Ratings {
			if !slices.Equal(s.rate(x.Before, x.Placements), x.After) {
				caught++
			}
		}
		t.Logf("%d of %d vectors show: %s", caught, len(v.Ratings), changes[s])
		if caught < caughtBy {
			missed = append(missed, changes[s])
		}
	}
	require.Empty(t, missed, "fewer than %d vectors show these changes", caughtBy)
}
