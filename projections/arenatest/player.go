package arenatest

import (
	"strings"

	"hexarena/domain/game"
	"hexarena/domain/match"
	"hexarena/domain/match/matchtest"
)

// player is a matchtest.Player. A clumsy player fails some decisions, until its seat
// resigns because of the strikes.
type player struct {
	matchtest.Player
	clumsy bool
}

func (p *player) answer(m *match.Match, d match.Decision) match.Outcome {
	if p.clumsy && p.Below(12) == 0 {
		return p.mishap(d)
	}
	o := p.Answer(m, d)
	if p.clumsy {
		o.RedialMs = 250 * (o.ElapsedMs % 2)
	}
	return o
}

// mishap returns a failed outcome: a timeout, a lost connection, or a malformed or
// illegal answer.
func (p *player) mishap(d match.Decision) match.Outcome {
	switch p.Below(4) {
	case 0:
		return match.Outcome{Cause: match.CauseDeadline, ElapsedMs: 5000}
	case 1:
		return match.Outcome{Cause: match.CauseDropped, ElapsedMs: 2}
	case 2:
		return match.Outcome{Frame: matchtest.Frame(d.ID, []byte(`"what?"`)), ElapsedMs: 3}
	default:
		illegal := map[game.Kind]string{
			game.KindSetup: `{"settlement":99,"road":0}`, game.KindTurn: `{"type":"build_road","edge":99}`, game.KindDiscard: `{"cards":{"gold":1}}`,
			game.KindBandit: `{"hex":99}`, game.KindTrade: `{"accept":false,"talk":"` + strings.Repeat("x", match.MaxTalk+1) + `"}`,
		}
		return match.Outcome{Frame: matchtest.Frame(d.ID, []byte(illegal[d.Kind])), ElapsedMs: 4}
	}
}
