package sample

import (
	"encoding/json"
	"fmt"
	"strings"

	"hexarena/domain/board"
	"hexarena/domain/game"
	"hexarena/domain/match"
)

// bot answers with anything legal, or, where it is mischievous, now and then
// with anything at all.
type bot struct {
	rng      *game.Rand
	mischief int // of a hundred answers
	build    bool
	talked   uint16 // the turn after which it last talked
}

func (b *bot) below(n int) int { return int(b.rng.Uint64() >> 1 % uint64(n)) }

func (b *bot) answer(m *match.Match, d match.Decision) match.Outcome {
	if b.below(100) < b.mischief {
		return b.misbehave(d)
	}
	a, ok := b.offer(m, d)
	if !ok {
		a = b.choose(m.Game.Legal(nil, uint8(d.Seat)))
	}
	action := match.ActionJSON(a)
	social := a.Type == game.OfferTrade || a.Type == game.EndTurn || a.Type == game.MoveBandit || a.Type == game.Respond
	if social && b.talked <= m.Game.Turn && b.below(6) == 0 {
		b.talked = m.Game.Turn + 1
		action = with(action, "talk", fmt.Sprintf("I'm seat %d & <glad>, ünïcode \u2028 too", d.Seat))
	}
	return b.frame(d, string(action))
}

// choose prefers what makes points, where the bot builds.
func (b *bot) choose(legal []game.Action) game.Action {
	a := legal[b.below(len(legal))]
	if b.build {
		for _, other := range legal {
			if other.Type == game.BuildCity || other.Type == game.BuildSettlement || other.Type == game.BuyDev {
				return other
			}
		}
	}
	return a
}

// offer is one card or two for another, to one seat or to all.
func (b *bot) offer(m *match.Match, d match.Decision) (game.Action, bool) {
	if d.Kind != game.KindTurn || b.below(6) > 0 {
		return game.Action{}, false
	}
	a := game.Action{Type: game.OfferTrade, To: board.None}
	a.Giving[b.below(board.Resources)] += uint16(1 + b.below(2))
	a.Taking[b.below(board.Resources)]++
	if b.below(3) == 0 {
		a.To = uint8((d.Seat + 1) % int(m.Game.Seats))
	}
	return a, m.Game.Check(uint8(d.Seat), a) == nil
}

func (b *bot) frame(d match.Decision, action string) match.Outcome {
	return match.Outcome{Frame: fmt.Appendf(nil, `{"id":%d,"action":%s}`, d.ID, action), ElapsedMs: int64(b.below(300))}
}

// misbehave is one of the ways to fail: silence, noise, or an action of the
// kind asked for whose numbers are any.
func (b *bot) misbehave(d match.Decision) match.Outcome {
	switch b.below(6) {
	case 0:
		return match.Outcome{Cause: []string{match.CauseDeadline, match.CauseDropped, match.CauseOversized}[b.below(3)], ElapsedMs: 5000, Heard: true}
	case 1:
		noise := []string{`{`, `null`, "\xff\xfe", `{"id":%d}`, `{"id":%d,"action":{"type":3}}`, `{"id":%d,"id":%d,"action":{}}`}
		text := strings.ReplaceAll(noise[b.below(len(noise))], "%d", fmt.Sprint(d.ID))
		return match.Outcome{Frame: []byte(text), ElapsedMs: 1}
	default:
		return b.frame(d, b.any(d.Kind))
	}
}

// any is an action of a kind, of the right shape and with any values.
func (b *bot) any(kind game.Kind) string {
	n := func(most int) int { return b.below(most+2) - b.below(10)/9 }
	counts := func() string {
		names := []string{"brick", "lumber", "wool", "grain", "ore", "gold"}
		return fmt.Sprintf(`{"%s":%d,"%s":%d}`, names[b.below(3)], n(2), names[3+b.below(3)], n(3))
	}
	switch kind {
	case game.KindSetup:
		return fmt.Sprintf(`{"settlement":%d,"road":%d}`, n(54), n(72))
	case game.KindDiscard:
		return fmt.Sprintf(`{"cards":%s}`, counts())
	case game.KindBandit:
		return fmt.Sprintf(`{"hex":%d,"victim":%d,"talk":%q}`, n(18), n(3), strings.Repeat("x", n(250)+1))
	case game.KindTrade:
		return fmt.Sprintf(`{"accept":%t,"talk":"once","more":null}`, b.below(3) > 0)
	default:
		return b.anyTurn(n, counts)
	}
}

func (b *bot) anyTurn(n func(int) int, counts func() string) string {
	actions := []string{
		fmt.Sprintf(`{"type":"build_road","edge":%d}`, n(71)),
		fmt.Sprintf(`{"type":"build_settlement","vertex":%d}`, n(53)),
		fmt.Sprintf(`{"type":"build_city","vertex":%d}`, n(53)),
		`{"type":"buy_dev"}`,
		fmt.Sprintf(`{"type":"play_knight","hex":%d,"victim":%d}`, n(18), n(3)),
		fmt.Sprintf(`{"type":"play_roadworks","edges":[%d,%d]}`, n(71), n(71)),
		`{"type":"play_roadworks","edges":[]}`,
		fmt.Sprintf(`{"type":"play_windfall","take":%s}`, counts()),
		`{"type":"play_embargo","resource":"gold"}`,
		`{"type":"bank_trade","give":"wool","get":"wool"}`,
		`{"type":"bank_trade","give":"wool","get":"ore"}`,
		fmt.Sprintf(`{"type":"offer_trade","give":%s,"get":%s,"to":%d}`, counts(), counts(), n(3)),
		`{"type":"offer_trade","give":{},"get":{"ore":1},"talk":"again"}`,
		`{"type":"end_turn","talk":"twice?"}`,
		`{"type":"fly"}`,
	}
	return actions[b.below(len(actions))]
}

// with adds a field to an action.
func with(action []byte, name, value string) []byte {
	fields := map[string]any{}
	must(json.Unmarshal(action, &fields))
	fields[name] = value
	b, err := json.Marshal(fields)
	must(err)
	return b
}
