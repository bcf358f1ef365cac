// Package rating rates bots by their placements. It implements Algorithm 4
// (Plackett–Luce, with draws) of Weng and Lin, "A Bayesian Approximation Method
// for Online Ranking", JMLR 12, 2011. Its results are the same to the last bit
// on every machine, so that anyone can recompute a ladder. It knows nothing
// about bots, matches or time.
package rating

import "math"

// The parameters of the model (docs/rules.md).
const (
	initialMu    = 25.0
	initialSigma = initialMu / 3
	beta         = initialMu / 6   // how much performance varies from match to match
	tau          = initialMu / 300 // how much uncertainty grows before each match
	kappa        = 0.0001          // the smallest share of the variance that can remain after a match
)

// Rating is an estimate of a bot's skill: its mean and its standard deviation.
type Rating struct {
	Mu    float64 `json:"mu"`
	Sigma float64 `json:"sigma"`
}

// New returns the rating of a bot that has not played.
func New() Rating { return Rating{Mu: initialMu, Sigma: initialSigma} }

// Ordinal returns mu − 3·sigma, unrounded. Matchmaking sorts bots by this value.
func (r Rating) Ordinal() float64 { return r.Mu - float64(3*r.Sigma) }

// Displayed returns the ordinal rounded to one decimal, halves away from zero.
func (r Rating) Displayed() float64 {
	return math.Round(float64(r.Ordinal()*10))/10 + 0 // + 0: never a negative zero
}

// Rate returns the ratings after a match, in the same order as the earlier ratings
// in before. placements[i] is the placement of before[i]: 1 is the best, and equal
// placements are a draw. Only the order of the placements matters. Both slices must
// have the same length. Rate does not change its arguments.
func Rate(before []Rating, placements []int) []Rating {
	if len(before) != len(placements) {
		panic("rating: the numbers of ratings and placements differ")
	}
	m := newModel(before, placements)
	after := make([]Rating, len(before))
	for i := range before {
		after[i] = m.rate(i)
	}
	return after
}

// model holds the figures of one match. The code converts every product to
// float64 before adding it. According to the Go specification, this prevents
// fused multiply-adds, which would give different bits on some machines.
type model struct {
	mu         []float64
	variance   []float64 // includes tau
	placements []int
	c          float64
	relative   []float64 // strength of each bot relative to the bot being rated
}

func newModel(before []Rating, placements []int) model {
	n := len(before)
	m := model{mu: make([]float64, 0, n), variance: make([]float64, 0, n), relative: make([]float64, n), placements: placements}
	total := 0.0
	for _, r := range before {
		variance := float64(r.Sigma*r.Sigma) + float64(tau*tau)
		m.mu = append(m.mu, r.Mu)
		m.variance = append(m.variance, variance)
		total += variance + float64(beta*beta)
	}
	m.c = math.Sqrt(total)
	return m
}

// rate returns the new rating of bot i. It goes through all bots that placed better
// than i or shared its place, including i. For each such bot q, it compares i with all
// bots that placed worse than q or shared its place, including q.
func (m model) rate(i int) Rating {
	for s := range m.mu {
		m.relative[s] = exp((m.mu[s] - m.mu[i]) / m.c)
	}
	omega, delta := 0.0, 0.0
	for q, placed := range m.placements {
		if placed > m.placements[i] {
			continue
		}
		won := 0.0
		if q == i {
			won = 1
		}
		chance, drawn := m.chance(q), m.drawn(q)
		omega += (won - chance) / drawn
		delta += float64(chance*(1-chance)) / drawn
	}
	variance := m.variance[i]
	sigma := math.Sqrt(variance)
	gamma := sigma / m.c
	shrink := 1 - float64(float64(gamma*(variance/float64(m.c*m.c)))*delta)
	return Rating{
		Mu:    m.mu[i] + float64(variance/m.c*omega),
		Sigma: float64(sigma * math.Sqrt(max(shrink, kappa))),
	}
}

// chance returns the probability that the bot being rated comes first among q and all
// bots that placed worse than q or shared its place. The sum of their relative
// strengths is at least 1, because the bot being rated is one of them.
func (m model) chance(q int) float64 {
	sum := 0.0
	for s, placed := range m.placements {
		if placed >= m.placements[q] {
			sum += m.relative[s]
		}
	}
	return 1 / sum
}

// drawn returns how many bots share q's placement, including q.
func (m model) drawn(q int) float64 {
	n := 0.0
	for _, placed := range m.placements {
		if placed == m.placements[q] {
			n++
		}
	}
	return n
}
