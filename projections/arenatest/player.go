package arenatest

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"

	"hexarena/domain/board"
	"hexarena/domain/game"
	"hexarena/domain/match"
)

// player answers the decisions of one seat with anything legal, building when
// it can, and offers trades and talks now and then.
type player struct {
	rng    *rand.Rand
	clumsy bool   // fails now and then, until it has resigned
	talked uint16 // the turn after which it last talked
}

func (p *player) answer(m *match.Match, d match.Decision) match.Outcome {
	if p.clumsy && p.rng.IntN(12) == 0 {
		return p.mishap(d)
	}
	if d.Kind == game.KindTurn && p.rng.IntN(5) == 0 {
		if a, ok := p.offer(m, d); ok {
			return p.say(m, d, a)
		}
	}
	legal := m.Game.Legal(nil, uint8(d.Seat))
	a := legal[p.rng.IntN(len(legal))]
	for _, b := range legal {
		if b.Type == game.BuildCity || b.Type == game.BuildSettlement || b.Type == game.BuyDev {
			a = b
		}
	}
	return p.say(m, d, a)
}

// mishap is one of the ways to fail.
func (p *player) mishap(d match.Decision) match.Outcome {
	switch p.rng.IntN(4) {
	case 0:
		return match.Outcome{Cause: match.CauseDeadline, ElapsedMs: 5000}
	case 1:
		return match.Outcome{Cause: match.CauseDropped, ElapsedMs: 2}
	case 2:
		return match.Outcome{Frame: fmt.Appendf(nil, `{"id":%d,"action":"what?"}`, d.ID), ElapsedMs: 3}
	default:
		illegal := map[game.Kind]string{
			game.KindSetup: `{"settlement":99,"road":0}`, game.KindTurn: `{"type":"build_road","edge":99}`, game.KindDiscard: `{"cards":{"gold":1}}`,
			game.KindBandit: `{"hex":99}`, game.KindTrade: `{"accept":false,"talk":"` + strings.Repeat("x", match.MaxTalk+1) + `"}`,
		}
		return match.Outcome{Frame: fmt.Appendf(nil, `{"id":%d,"action":%s}`, d.ID, illegal[d.Kind]), ElapsedMs: 4}
	}
}

// offer is one card for another, to one seat or to all.
func (p *player) offer(m *match.Match, d match.Decision) (game.Action, bool) {
	a := game.Action{Type: game.OfferTrade, To: board.None}
	a.Giving[p.rng.IntN(board.Resources)]++
	a.Taking[p.rng.IntN(board.Resources)]++
	if p.rng.IntN(3) == 0 {
		a.To = uint8((d.Seat + 1) % int(m.Game.Seats))
	}
	return a, m.Game.Check(uint8(d.Seat), a) == nil
}

// say frames an action as an answer, with talk where it may have some.
func (p *player) say(m *match.Match, d match.Decision, a game.Action) match.Outcome {
	fields := fieldsOf(a)
	social := a.Type == game.OfferTrade || a.Type == game.EndTurn || a.Type == game.MoveBandit || a.Type == game.Respond
	if social && p.talked <= m.Game.Turn && p.rng.IntN(6) == 0 {
		p.talked = m.Game.Turn + 1
		fields["talk"] = fmt.Sprintf("seat %d & <friends>, turn %d", d.Seat, m.Game.Turn)
	}
	action, err := json.Marshal(fields)
	if err != nil {
		panic(err) // numbers and strings always encode
	}
	return match.Outcome{Frame: fmt.Appendf(nil, `{"id":%d,"action":%s}`, d.ID, action), ElapsedMs: int64(p.rng.IntN(300))}
}

// fieldsOf are the fields of an action as a bot sends it.
func fieldsOf(a game.Action) map[string]any {
	f := map[string]any{}
	if a.Type.Kind() == game.KindTurn {
		f["type"] = a.Type.String()
	}
	switch a.Type {
	case game.Setup:
		f["settlement"], f["road"] = a.Vertex, a.Edges[0]
	case game.BuildRoad:
		f["edge"] = a.Edges[0]
	case game.BuildSettlement, game.BuildCity:
		f["vertex"] = a.Vertex
	case game.PlayKnight, game.MoveBandit:
		f["hex"] = a.Hex
		if a.Victim != board.None {
			f["victim"] = a.Victim
		}
	case game.PlayRoadworks:
		f["edges"] = []int{int(a.Edges[0])}
		if a.Edges[1] != board.None {
			f["edges"] = []int{int(a.Edges[0]), int(a.Edges[1])}
		}
	case game.PlayWindfall:
		f["take"] = match.Counts(a.Taking)
	case game.PlayEmbargo:
		f["resource"] = a.Get.String()
	case game.BankTrade:
		f["give"], f["get"] = a.Give.String(), a.Get.String()
	case game.OfferTrade:
		f["give"], f["get"] = match.Counts(a.Giving), match.Counts(a.Taking)
		if a.To != board.None {
			f["to"] = a.To
		}
	case game.Discard:
		f["cards"] = match.Counts(a.Giving)
	case game.Respond:
		f["accept"] = a.Accept
	}
	return f
}
