package search

import (
	"cmp"
	"math"
	"slices"

	"hexarena/domain/board"
	"hexarena/domain/game"
)

// The limits of the Monte Carlo search.
const (
	maxCandidates = 6
	rollsAhead    = 8 // in each playout
)

// candidate is a choice of actions that the Monte Carlo search compares with others.
type candidate struct {
	actions []game.Action // the seat's actions from now on; then cheap rules decide
	prior   float64       // the logarithm of the odds after the actions, as the search sees it
	sum     float64
	wins    float64 // mean probability of a win, plus the one that the prior gives
}

// compare returns the first action of the best candidate. It plays each candidate in the
// same imagined games, so that luck is the same for all. After each round, it drops the
// worse half. The rules of the playouts are crude, so the judgement of the search counts
// as much as the playouts. The search's best candidate is the first one.
func (m *Mind) compare(s *scene, list []candidate) candidate {
	if len(list) == 1 {
		return list[0]
	}
	rounds := int(math.Ceil(math.Log2(float64(len(list)))))
	incomes, games := s.incomes(), 0
	for range rounds {
		for range max(1, m.iterations/rounds/len(list)) {
			hidden := s.sight.imagine(&m.rng, [game.MaxSeats]game.Cards{}, incomes)
			games++
			g := s.g
			g.Hide(&hidden)
			for k := range list {
				list[k].sum += s.playout(g, list[k].actions)
			}
		}
		for k := range list {
			list[k].wins = list[k].sum/float64(games) + chanceOf(list[k].prior)
		}
		slices.SortStableFunc(list, func(a, b candidate) int { return cmp.Compare(b.wins, a.wins) })
		list = list[:(len(list)+1)/2]
	}
	return list[0]
}

// playout plays the actions, and then a number of rolls. It returns the probability that
// the seat wins.
func (s *scene) playout(g game.State, actions []game.Action) float64 {
	for _, a := range actions {
		g.Act(s.me, a)
		for c, more := g.Next(); more && c.Kind != game.Rolled; c, more = g.Next() {
			g.Apply(c)
		}
		if g.Over {
			break
		}
	}
	s.playOn(&g, rollsAhead)
	if g.Over {
		if g.Placements()[s.me] == 1 {
			return 1
		}
		return 0
	}
	all := s.strengths(&g)
	return chanceOf(odds(&all, g.Seats, s.me))
}

// chanceOf turns the logarithm of odds into a probability.
func chanceOf(odds float64) float64 { return 1 / (1 + math.Exp(-odds)) }

// turns lists candidates for the rest of the seat's turn. The first one is the choice of
// the search.
func (s *scene) turns(plans []plan, raids []raid) (list []candidate) {
	end := game.Action{Type: game.EndTurn}
	for _, p := range plans[:min(maxCandidates, len(plans))] {
		list = append(list, candidate{actions: append(slices.Clone(p.actions), end), prior: p.value})
	}
	var knights []candidate
	for _, r := range raids[:min(2, len(raids))] {
		a := game.Action{Type: game.PlayKnight, Hex: r.hex, Victim: r.victim}
		after := s.g
		after.Act(s.me, game.Action{Type: game.PlayKnight, Hex: r.hex, Victim: board.None})
		settle(&after)
		then := s.newPlanner(s.me, s.sight.unseen).plans(&after)[0]
		knights = append(knights, candidate{actions: append(append([]game.Action{a}, then.actions...), end), prior: max(r.value, then.value)})
	}
	if len(raids) > 0 && raids[0].value > s.value(&s.g, s.me) {
		return append(knights, list...)
	}
	return append(list, knights...)
}

// add appends a candidate that is a single action.
func add(list []candidate, a game.Action, prior float64) []candidate {
	if len(list) == maxCandidates {
		return list
	}
	return append(list, candidate{actions: []game.Action{a}, prior: prior})
}
