package sample

import (
	"fmt"
	"strings"

	"hexarena/domain/game"
	"hexarena/domain/match"
	"hexarena/domain/match/matchtest"
)

// bot is a player. A mischievous bot sometimes sends an arbitrary answer.
type bot struct {
	matchtest.Player
	mischief int  // percentage of answers that are arbitrary
	absent   bool // never answers
}

func (b *bot) answer(m *match.Match, d match.Decision) match.Outcome {
	if b.absent {
		return match.Outcome{Cause: match.CauseDropped}
	}
	if b.Below(100) < b.mischief {
		return b.misbehave(d)
	}
	return b.Answer(m, d)
}

// misbehave fails in a random way: silence, noise, or an action of the right
// kind with random numbers.
func (b *bot) misbehave(d match.Decision) match.Outcome {
	switch b.Below(6) {
	case 0:
		return match.Outcome{Cause: []string{match.CauseDeadline, match.CauseDropped, match.CauseOversized}[b.Below(3)], ElapsedMs: 5000, Heard: true}
	case 1:
		noise := []string{`{`, `null`, "\xff\xfe", `{"id":%d}`, `{"id":%d,"action":{"type":3}}`, `{"id":%d,"id":%d,"action":{}}`}
		text := strings.ReplaceAll(noise[b.Below(len(noise))], "%d", fmt.Sprint(d.ID))
		return match.Outcome{Frame: []byte(text), ElapsedMs: 1}
	default:
		return match.Outcome{Frame: matchtest.Frame(d.ID, []byte(b.any(d.Kind))), ElapsedMs: int64(b.Below(300))}
	}
}

// The method any() returns an action for a kind of decision, with the right shape and
// random values.
func (b *bot) any(kind game.Kind) string {
	n := func(most int) int { return b.Below(most+2) - b.Below(10)/9 }
	counts := func() string {
		names := []string{"brick", "lumber", "wool", "grain", "ore", "gold"}
		return fmt.Sprintf(`{"%s":%d,"%s":%d}`, names[b.Below(3)], n(2), names[3+b.Below(3)], n(3))
	}
	switch kind {
	case game.KindSetup:
		return fmt.Sprintf(`{"settlement":%d,"road":%d}`, n(54), n(72))
	case game.KindDiscard:
		return fmt.Sprintf(`{"cards":%s}`, counts())
	case game.KindBandit:
		return fmt.Sprintf(`{"hex":%d,"victim":%d,"talk":%q}`, n(18), n(3), strings.Repeat("x", n(250)+1))
	case game.KindTrade:
		return fmt.Sprintf(`{"accept":%t,"talk":"once","more":null}`, b.Below(3) > 0)
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
	return actions[b.Below(len(actions))]
}
