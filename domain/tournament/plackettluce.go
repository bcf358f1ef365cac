package tournament

import "math"

// pointsPerNat converts the natural logarithm of a strength to rating points. As with
// Elo, a bot that is 400 points ahead is 10 times as strong.
const pointsPerNat = 400 / math.Ln10

// priorDeviation is the standard deviation of the prior of each rating, in points. The
// prior keeps the rating of a bot finite if it won or lost everything. It is weak: one
// match tells more about a bot than the prior does.
const priorDeviation = 800

// Result is the outcome of one match. Bots[i] finished in place Places[i]: 1 is the
// best, and bots with the same place are tied. Only the order of the places matters.
// Both slices have the same length, 2 or more. A bot may have several seats at a table.
type Result struct {
	Bots   []int // indices from 0 on
	Places []int
}

// Strength is a bot's rating in points and its 95 % interval. The mean over all bots is
// 0. A bot that is d points ahead of another bot places better than it with probability
// 1 / (1 + 10^(−d/400)), as with Elo. The interval is about the distance from the mean.
type Strength struct {
	Rating, Low, High float64
}

// Fit rates bots by all their results together, and returns one strength for each bot,
// from 0 to bots − 1. The order of the results changes only rounding errors.
//
// The model is that of Plackett and Luce. Places are awarded from the best one down, and
// the chance of each remaining seat is proportional to its strength. Each tied seat
// counts as a share of a place, as in the ratings of the ladder (docs/rules.md).
//
// Fit returns the mode of the posterior distribution. The prior of each rating is normal
// with mean 0 and a standard deviation of 800 points. The intervals come from the
// curvature at the mode. So a bot that won or lost every match gets a finite rating, and
// a bot without matches gets 0 with a wide interval.
func Fit(results []Result, bots int) []Strength {
	f := newFit(results, bots)
	// The posterior has a single maximum. Newton's method needs about 5 steps, or about
	// 20 if a bot always wins. The limit only guards against rounding.
	for range 100 {
		if f.step() < 1e-9 {
			break
		}
	}
	return f.strengths()
}

// fit is the state of Newton's method. All values are natural logarithms of strengths.
type fit struct {
	results  []Result
	skill    []float64 // of each bot
	gradient []float64 // of the logarithm of the posterior
	// curvature is the negative Hessian. It is symmetric and positive definite.
	curvature [][]float64
}

func newFit(results []Result, bots int) *fit {
	f := &fit{results: results, skill: make([]float64, bots), gradient: make([]float64, bots), curvature: make([][]float64, bots)}
	for i := range f.curvature {
		f.curvature[i] = make([]float64, bots)
	}
	return f
}

// precision is the inverse of the prior's variance, in nats.
const precision = (pointsPerNat / priorDeviation) * (pointsPerNat / priorDeviation)

// step moves the skills once and returns the largest change.
func (f *fit) step() float64 {
	start := f.derive()
	move := newCholesky(f.curvature).solve(f.gradient)
	slope, largest := 0.0, 0.0
	for i, m := range move {
		slope += m * f.gradient[i]
		largest = max(largest, math.Abs(m))
	}
	from := f.skill
	// A full step can overshoot far from the maximum. Halve it until it improves enough.
	for part := 1.0; ; part /= 2 {
		f.skill = make([]float64, len(from))
		for i := range from {
			f.skill[i] = from[i] + part*move[i]
		}
		if largest*part < 1e-9 || f.posterior() >= start+part*slope/4 {
			return largest * part
		}
	}
}

// posterior returns the logarithm of the posterior density, without its constant.
func (f *fit) posterior() float64 {
	sum := 0.0
	for _, s := range f.skill {
		sum -= precision * s * s / 2
	}
	strength := f.strength()
	for _, r := range f.results {
		for i, bot := range r.Bots {
			share, total := r.stage(i, strength)
			sum += share * (f.skill[bot] - math.Log(total))
		}
	}
	return sum
}

// derive computes the gradient and the curvature, and returns the posterior.
func (f *fit) derive() float64 {
	for i, s := range f.skill {
		f.gradient[i] = -precision * s
		clear(f.curvature[i])
		f.curvature[i][i] = precision
	}
	strength := f.strength()
	for _, r := range f.results {
		for i, bot := range r.Bots {
			share, total := r.stage(i, strength)
			f.gradient[bot] += share
			for j, a := range r.Bots {
				if r.Places[j] < r.Places[i] {
					continue
				}
				chance := strength[a] / total
				f.gradient[a] -= share * chance
				f.curvature[a][a] += share * chance
				for k, b := range r.Bots {
					if r.Places[k] >= r.Places[i] {
						f.curvature[a][b] -= share * chance * strength[b] / total
					}
				}
			}
		}
	}
	return f.posterior()
}

func (f *fit) strength() []float64 {
	strength := make([]float64, len(f.skill))
	for i, s := range f.skill {
		strength[i] = math.Exp(s)
	}
	return strength
}

// stage describes the award of seat i's place. It returns the seat's share of the place
// and the total strength of the seats that compete for it.
func (r Result) stage(i int, strength []float64) (share, total float64) {
	tied := 0.0
	for j, bot := range r.Bots {
		if r.Places[j] >= r.Places[i] {
			total += strength[bot]
		}
		if r.Places[j] == r.Places[i] {
			tied++
		}
	}
	return 1 / tied, total
}

// strengths converts the skills to points, with intervals.
func (f *fit) strengths() []Strength {
	f.derive()
	c := newCholesky(f.curvature)
	out := make([]Strength, len(f.skill))
	for i, s := range f.skill {
		unit := make([]float64, len(f.skill))
		unit[i] = 1
		// Results say nothing about the mean of all skills, so its variance is that of the
		// prior. The interval is about the distance from the mean: leave this part out.
		variance := c.solve(unit)[i] - 1/(precision*float64(len(f.skill)))
		half := z95 * math.Sqrt(max(variance, 0)) * pointsPerNat
		rating := s * pointsPerNat
		out[i] = Strength{Rating: rating, Low: rating - half, High: rating + half}
	}
	return out
}

// cholesky is the lower triangular factor of a symmetric, positive definite matrix.
type cholesky [][]float64

func newCholesky(m [][]float64) cholesky {
	c := make(cholesky, len(m))
	for i := range m {
		c[i] = make([]float64, i+1)
		for j := range i + 1 {
			sum := m[i][j]
			for k := range j {
				sum -= c[i][k] * c[j][k]
			}
			if i == j {
				c[i][i] = math.Sqrt(sum)
			} else {
				c[i][j] = sum / c[j][j]
			}
		}
	}
	return c
}

// solve returns the x for which the matrix times x is b.
func (c cholesky) solve(b []float64) []float64 {
	x := make([]float64, len(b))
	for i := range c {
		x[i] = b[i]
		for k := range i {
			x[i] -= c[i][k] * x[k]
		}
		x[i] /= c[i][i]
	}
	for i := len(c) - 1; i >= 0; i-- {
		for k := i + 1; k < len(c); k++ {
			x[i] -= c[k][i] * x[k]
		}
		x[i] /= c[i][i]
	}
	return x
}
