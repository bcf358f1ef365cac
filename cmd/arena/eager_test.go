package main

import (
	"hash/fnv"
	"math/rand/v2"

	"hexarena/domain/board"
	"hexarena/domain/game"
	"hexarena/domain/match"
)

type action = map[string]any

// The type eager is a bot that plays well enough for matches to end. It uses every
// feature: all dev cards, trades and talk. Its answer depends only on the requests up
// to the decision. It therefore answers a repeated request in the same way, and a test
// can play a match again without the arena.
type eager struct{ deeds map[int]deed } // by decision id

// deed records those effects of one decision that are missing in later views.
type deed struct {
	turn               int
	dev, offer, talked bool
}

func newEager() *eager { return &eager{deeds: map[int]deed{}} }

// The method today() returns what the bot has already done in the current turn, before
// the decision in r.
func (e *eager) today(r *match.Request) (dev, talked bool, offers int) {
	for id, d := range e.deeds {
		if id < r.ID && d.turn == r.View.Turn {
			dev, talked = dev || d.dev, talked || d.talked
			if d.offer {
				offers++
			}
		}
	}
	return dev, talked, offers
}

func (e *eager) answer(r *match.Request) action {
	rng := chance(r)
	s := surveyOf(&r.View)
	played, talked, offers := e.today(r)
	var a action
	done := deed{turn: r.View.Turn}
	switch r.Kind {
	case "setup":
		a = s.settle(rng)
	case "discard":
		a = action{"cards": s.drop()}
	case "bandit":
		a = s.move(rng)
	case "trade":
		a = action{"accept": s.hand.Covers(game.Cards(s.OpenTrade.Get)) && rng.IntN(3) > 0}
	default:
		a = s.build(rng)
		if a == nil && !played {
			a = s.playCard(rng)
			done.dev = a != nil
		}
		if a == nil {
			a = s.swap()
		}
		if a == nil && offers < 2 && rng.IntN(3) == 0 {
			a = s.offer(rng)
			done.offer = a != nil
		}
		if a == nil {
			a = action{"type": "end_turn"}
		}
	}
	if t := a["type"]; !talked && r.Kind != "setup" && r.Kind != "discard" && (t == nil || t == "offer_trade" || t == "end_turn") && rng.IntN(6) == 0 {
		a["talk"] = "Wer hat Holz für Schafe? 🐑"
		done.talked = true
	}
	e.deeds[r.ID] = done
	return a
}

// chance returns the random source of one decision.
func chance(r *match.Request) *rand.Rand {
	h := fnv.New64a()
	_, _ = h.Write([]byte(r.MatchID))
	return rand.New(rand.NewPCG(h.Sum64(), uint64(r.ID)))
}

func one(rng *rand.Rand, of []int) int { return of[rng.IntN(len(of))] }

func (s *survey) settle(rng *rand.Rand) action {
	best := -1
	for _, v := range s.open() {
		if best < 0 || s.yield(v) > s.yield(best) {
			best = v
		}
	}
	return action{"settlement": best, "road": one(rng, around(best))}
}

// drop chooses the cards to discard one by one, each from the largest pile.
func (s *survey) drop() match.Counts {
	hand, drop := s.hand, match.Counts{}
	for range hand.Total() / 2 {
		top := 0
		for r := range hand {
			if hand[r] > hand[top] {
				top = r
			}
		}
		hand[top]--
		drop[top]++
	}
	return drop
}

func (s *survey) move(rng *rand.Rand) action {
	hex := rng.IntN(board.Hexes - 1)
	if hex >= s.Board.Bandit {
		hex++
	}
	a := action{"hex": hex}
	if v := s.victims(hex); len(v) > 0 {
		a["victim"] = one(rng, v)
	}
	return a
}

// build returns an action that builds or buys the best item that the seat can pay
// for. If the seat cannot pay for any item, build returns nil.
func (s *survey) build(rng *rand.Rand) action {
	if at := s.cities(); len(at) > 0 {
		return action{"type": "build_city", "vertex": one(rng, at)}
	}
	if at := s.settlements(); len(at) > 0 {
		return action{"type": "build_settlement", "vertex": one(rng, at)}
	}
	if s.DeckRemaining > 0 && s.hand.Covers(devPrice) {
		return action{"type": "buy_dev"}
	}
	if at := s.edges(); len(at) > 0 && s.hand.Covers(roadPrice) {
		return action{"type": "build_road", "edge": one(rng, at)}
	}
	return nil
}

// playCard returns an action that plays a development card. It tries the rarer cards
// first.
func (s *survey) playCard(rng *rand.Rand) action {
	has := map[string]bool{}
	for _, card := range s.DevCards {
		has[card] = true
	}
	edges := s.edges()
	r := board.Resource(rng.IntN(board.Resources)).String()
	switch {
	case has["embargo"]:
		return action{"type": "play_embargo", "resource": r}
	case has["windfall"]:
		return action{"type": "play_windfall", "take": map[string]int{r: 2}}
	case has["roadworks"] && len(edges) > 0:
		if len(edges) > 1 && s.mine.roads+2 <= game.MaxRoads {
			return action{"type": "play_roadworks", "edges": edges[:2]}
		}
		return action{"type": "play_roadworks", "edges": edges[:1]}
	case has["knight"]:
		a := s.move(rng)
		a["type"] = "play_knight"
		return a
	}
	return nil
}

// swap returns an action that trades surplus cards with the bank.
func (s *survey) swap() action {
	most, least := 0, 0
	for r := range s.hand {
		if s.hand[r] > s.hand[most] {
			most = r
		}
		if s.hand[r] < s.hand[least] {
			least = r
		}
	}
	if rate := s.rate(board.Resource(most)); s.hand[most] < rate+s.hand[least] {
		return nil
	}
	return action{"type": "bank_trade", "give": board.Resource(most).String(), "get": board.Resource(least).String()}
}

func (s *survey) offer(rng *rand.Rand) action {
	give := rng.IntN(board.Resources)
	if s.hand[give] == 0 {
		return nil
	}
	get := (give + 1 + rng.IntN(board.Resources-1)) % board.Resources
	a := action{"type": "offer_trade", "give": map[string]int{board.Resource(give).String(): 1}, "get": map[string]int{board.Resource(get).String(): 1}}
	if rng.IntN(3) == 0 {
		a["to"] = (s.Seat + 1 + rng.IntN(s.SeatCount-1)) % s.SeatCount
	}
	return a
}
