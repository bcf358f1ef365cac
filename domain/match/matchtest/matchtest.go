// Package matchtest plays matches for tests, benchmarks and samples. A Player
// makes legal moves, and Start begins a match without an arena. All random
// numbers come from the caller, so the same numbers give the same match.
package matchtest

import (
	"fmt"

	"hexarena/domain/board"
	"hexarena/domain/game"
	"hexarena/domain/ladder"
	"hexarena/domain/match"
	"hexarena/domain/seed"
)

// Start begins a match of bots that send no nonces, and returns it with its
// first events.
func Start(server seed.Seed, seats int) (match.Match, []match.Event) {
	s := match.Seating{MatchID: "example", Mode: ladder.Standard, Commitment: seed.Commitment(server), Nonces: make([]string, seats)}
	for i := range seats {
		id := string(rune('a' + i))
		s.Bots = append(s.Bots, match.Seat{BotID: id, BotName: id})
		s.Table.Bots = append(s.Table.Bots, id)
	}
	m := match.New(server)
	events, err := m.Start(s)
	if err != nil {
		panic(err) // the commitment matches the seed
	}
	return match.EvolveAll(m, events), events
}

// Frame returns a frame that answers the decision with the given id.
func Frame(id int, action []byte) []byte {
	return fmt.Appendf(nil, `{"id":%d,"action":%s}`, id, action)
}

// Player answers the decisions of one seat with legal actions. Occasionally it also
// offers a trade or talks.
type Player struct {
	Below func(n int) int // draws a number from 0 to n-1
	Build bool            // prefers actions that score points

	talked uint16 // the first turn in which it may talk again
}

// Answer returns the player's answer to an open decision. The answer uses less than
// 300 ms of the match's time.
func (p *Player) Answer(m *match.Match, d match.Decision) match.Outcome {
	a := p.Choose(&m.Game, d)
	action := match.ActionJSON(a)
	if match.MayTalk(a.Type) && p.talked <= m.Game.Turn && p.Below(6) == 0 {
		p.talked = m.Game.Turn + 1
		action = match.WithTalk(action, fmt.Sprintf("I'm seat %d & <glad>, ünïcode \u2028 too", d.Seat))
	}
	return match.Outcome{Decision: d.ID, Frame: Frame(d.ID, action), ElapsedMs: int64(p.Below(300))}
}

// Choose picks a legal action.
func (p *Player) Choose(g *game.State, d match.Decision) game.Action {
	if a, ok := p.offer(g, d); ok {
		return a
	}
	legal := g.Legal(nil, uint8(d.Seat))
	a := legal[p.Below(len(legal))]
	if p.Build {
		for _, other := range legal {
			if other.Type == game.BuildCity || other.Type == game.BuildSettlement || other.Type == game.BuyDev {
				return other
			}
		}
	}
	return a
}

// offer returns an offer of one or two cards for another card, to one seat or to all.
// It returns an offer on only a few turns, and only if the seat has the cards.
// Otherwise, ok is false.
func (p *Player) offer(g *game.State, d match.Decision) (a game.Action, ok bool) {
	if d.Kind != game.KindTurn || p.Below(6) > 0 {
		return game.Action{}, false
	}
	a = game.Action{Type: game.OfferTrade, To: board.None}
	a.Giving[p.Below(board.Resources)] += uint16(1 + p.Below(2))
	a.Taking[p.Below(board.Resources)]++
	if p.Below(3) == 0 {
		a.To = uint8((d.Seat + 1) % int(g.Seats))
	}
	return a, g.Check(uint8(d.Seat), a) == nil
}
