// Package search chooses actions for the stronger house bots. It sees a game only
// through the views that the arena sends to a bot, and imagines the hidden cards. It
// knows no sockets and no clock. Start with [New], and call Decide for each request.
package search

import (
	"hexarena/domain/board"
	"hexarena/domain/game"
	"hexarena/domain/match"
)

// Mind decides for one seat in one match. It is not safe for concurrent use.
type Mind struct {
	iterations int // playouts of the Monte Carlo search in one decision; 0 without it
	rng        game.Rand
	island     *island
	turn       memory
}

// memory holds what happened in the current turn, because a view does not show it.
type memory struct {
	number  int
	played  bool // whether the seat played a development card
	offers  int
	refused [board.Resources][board.Resources]bool // trades that the seat has offered, by give and get
}

// New returns a mind that draws its random numbers from the seed. If iterations is 0, it
// only searches the current turn.
func New(seed uint64, iterations int) *Mind {
	return &Mind{iterations: iterations, rng: game.NewRand(seed)}
}

// scene is a decision: the game as the seat imagines it.
type scene struct {
	*island
	sight *sight
	me    uint8
	g     game.State
}

// Decide chooses an action. It does not change the request.
func (m *Mind) Decide(r *match.Request) game.Action {
	kind, _ := game.ParseKind(r.Kind)
	if m.turn.number != r.View.Turn {
		m.turn = memory{number: r.View.Turn}
	}
	s := m.scene(&r.View, kind)
	switch kind {
	case game.KindSetup:
		return m.setup(s)
	case game.KindDiscard:
		return s.drop(&s.g, s.me)
	case game.KindBandit:
		return m.bandit(s)
	case game.KindTrade:
		return game.Action{Type: game.Respond, Accept: s.accepts(r.View.OpenTrade)}
	default:
		a := m.act(s)
		m.turn.note(a)
		return a
	}
}

func (t *memory) note(a game.Action) {
	switch a.Type {
	case game.PlayKnight, game.PlayRoadworks, game.PlayWindfall, game.PlayEmbargo:
		t.played = true
	case game.OfferTrade:
		t.offers++
		for give, n := range a.Giving {
			for get, k := range a.Taking {
				if n > 0 && k > 0 {
					t.refused[give][get] = true
				}
			}
		}
	}
}

// scene imagines the game behind a view.
func (m *Mind) scene(v *match.View, kind game.Kind) *scene {
	owed := kind
	if kind == game.KindTrade {
		owed = game.KindTurn
	}
	s := &scene{sight: look(v, owed, m.turn.played), me: uint8(v.Seat)}
	if m.island == nil || m.island.layout != s.sight.position.Layout {
		m.island = newIsland(s.sight.position.Layout)
	}
	s.island = m.island
	s.g = s.sight.position.State()
	var has [game.MaxSeats]game.Cards
	if v.OpenTrade != nil {
		has[v.OpenTrade.From] = game.Cards(v.OpenTrade.Give)
	}
	hidden := s.sight.imagine(&m.rng, has, s.incomes())
	s.g.Hide(&hidden)
	if kind == game.KindDiscard {
		s.sight.position.Hidden = hidden
		s.g = s.sight.position.State() // all seats with too many cards owe a discard
	}
	return s
}

// incomes returns the income of each seat without the bandit.
func (s *scene) incomes() *[game.MaxSeats][board.Resources]float64 {
	var all [game.MaxSeats][board.Resources]float64
	for seat := range s.g.Seats {
		all[seat], _ = s.income(&s.g, seat)
	}
	return &all
}

func (m *Mind) setup(s *scene) game.Action {
	var list []candidate
	for _, p := range s.placements(&s.g, s.me) {
		list = add(list, p.action, p.value)
	}
	return m.choose(s, list)
}

func (m *Mind) bandit(s *scene) game.Action {
	var list []candidate
	for _, r := range s.raids(&s.g, s.me, game.MoveBandit) {
		list = add(list, game.Action{Type: game.MoveBandit, Hex: r.hex, Victim: r.victim}, r.value)
	}
	return m.choose(s, list)
}

// choose returns the first action of the best candidate.
func (m *Mind) choose(s *scene, list []candidate) game.Action {
	if m.iterations == 0 {
		return list[0].actions[0]
	}
	return m.compare(s, list).actions[0]
}

// act chooses the next action of the seat's turn.
func (m *Mind) act(s *scene) game.Action {
	plans := s.newPlanner(s.me, s.sight.unseen).plans(&s.g)
	if plans[0].value >= won {
		return plans[0].actions[0]
	}
	var raids []raid
	if s.g.Devs[s.me][game.Knight] > 0 && !m.turn.played {
		raids = s.raids(&s.g, s.me, game.PlayKnight)
	}
	if m.iterations == 0 && len(raids) > 0 && raids[0].value > s.value(&s.g, s.me) {
		return game.Action{Type: game.PlayKnight, Hex: raids[0].hex, Victim: raids[0].victim}
	}
	if a, ok := m.offer(s, &plans[0]); ok {
		return a
	}
	if m.iterations > 0 {
		return m.compare(s, s.turns(plans, raids)).actions[0]
	}
	if len(plans[0].actions) > 0 {
		return plans[0].actions[0]
	}
	return game.Action{Type: game.EndTurn}
}
