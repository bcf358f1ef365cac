package match

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"

	"github.com/stretchr/testify/require"

	"hexarena/domain/game"
	"hexarena/domain/seed"
)

// tester has the methods that testing.T and rapid.T share.
type tester interface {
	require.TestingT
	Helper()
}

// bot returns the outcome of one decision: a frame, or a cause of failure.
type bot func(m *Match, d Decision) Outcome

// seating returns a seating of n bots.
func seating(server seed.Seed, n int) Seating {
	s := Seating{
		MatchID: "5b1c0e0a-8f0e-5e0f-9d5b-0a0b0c0d0e0f", Mode: "standard", Commitment: seed.Commitment(server),
		Table:     Table{Revision: 7, Index: 1, SeedKey: "k1"},
		Deadlines: Deadlines{DecisionMs: 5000, WallMs: 600_000},
	}
	for i := range n {
		id := fmt.Sprintf("bot-%d", i)
		s.Bots = append(s.Bots, Seat{BotID: id, BotName: "Bot " + id, OwnerID: "owner", Mu: 25, Sigma: 25.0 / 3})
		s.Table.Bots = append(s.Table.Bots, id)
		s.Nonces = append(s.Nonces, "")
	}
	return s
}

// begin starts a match of n seats and returns it with its first events.
func begin(t tester, server seed.Seed, n int) (Match, []Event) {
	t.Helper()
	m := New(server)
	events, err := m.Start(seating(server, n))
	require.NoError(t, err)
	return EvolveAll(m, events), events
}

// step settles the decisions owed now with the bots' answers.
func step(t tester, m Match, bots bot) (Match, []Event) {
	t.Helper()
	var outcomes []Outcome
	for _, d := range m.Asks() {
		o := bots(&m, d)
		o.Decision = d.ID
		outcomes = append(outcomes, o)
	}
	after, events, err := m.Advance(outcomes)
	require.NoError(t, err)
	require.Equal(t, EvolveAll(m, events), after)
	return after, events
}

// answerWith returns a frame with an action as the answer to a decision.
func answerWith(d Decision, a game.Action, talk string) Outcome {
	action := ActionJSON(a)
	if talk != "" {
		var fields map[string]any
		_ = json.Unmarshal(action, &fields)
		fields["talk"] = talk
		action, _ = json.Marshal(fields)
	}
	return answerJSON(d, string(action))
}

func answerJSON(d Decision, action string) Outcome {
	return Outcome{Frame: fmt.Appendf(nil, `{"id":%d,"action":%s}`, d.ID, action), ElapsedMs: 3}
}

func missed(cause string) Outcome { return Outcome{Cause: cause, ElapsedMs: 5000} }

// The function lawful() returns a bot that answers with any legal action, and
// occasionally with an offer or talk.
func lawful(rng *rand.Rand) bot {
	var actions []game.Action
	return func(m *Match, d Decision) Outcome {
		if d.Kind == game.KindTurn && rng.IntN(6) == 0 {
			if o, ok := someOffer(m, d, rng); ok {
				return o
			}
		}
		actions = m.Game.Legal(actions[:0], uint8(d.Seat))
		talk := ""
		if m.talked>>d.Seat&1 == 0 && rng.IntN(4) == 0 {
			talk = "hello <b> & \u2028 ünïcode"
		}
		a := actions[rng.IntN(len(actions))]
		if !MayTalk(a.Type) {
			talk = ""
		}
		return answerWith(d, a, talk)
	}
}

func someOffer(m *Match, d Decision, rng *rand.Rand) (Outcome, bool) {
	a := game.Action{Type: game.OfferTrade, To: 0xff}
	a.Giving[rng.IntN(5)]++
	a.Taking[rng.IntN(5)]++
	if rng.IntN(2) == 0 {
		a.To = uint8((d.Seat + 1) % int(m.Game.Seats))
	}
	if m.Game.Check(uint8(d.Seat), a) != nil {
		return Outcome{}, false
	}
	return answerWith(d, a, ""), true
}

// The function wild() returns a bot that answers at random: with legal or illegal
// actions, with noise, or not at all.
func wild(rng *rand.Rand, madness int) bot {
	calm := lawful(rng)
	noise := []string{
		``, `{`, `null`, `{"id":1e999}`, `[]`, `{"id":%d}`, `{"id":%d,"action":null}`, `{"id":%d,"action":{"type":"fly"}}`,
		`{"id":%d,"action":{"hex":99}}`, `{"id":%d,"action":{"type":"end_turn","talk":"again"}}`, `{"id":%d,"id":%d}`,
		`{"id":%d,"action":{"cards":{"brick":-1}}}`, `{"id":%d,"action":{"accept":true}}`, "\xff\xfe",
		`{"id":%d,"action":{"type":"play_knight","hex":3,"victim":0}}`, `{"id":%d,"action":{"settlement":7,"road":9}}`,
	}
	return func(m *Match, d Decision) Outcome {
		if rng.IntN(100) >= madness {
			return calm(m, d)
		}
		switch rng.IntN(4) {
		case 0:
			return missed([]string{CauseDeadline, CauseDropped, CauseOversized}[rng.IntN(3)])
		case 1:
			return Outcome{Cause: CauseMalformed, Frame: []byte{0xff, 'x'}}
		default:
			text := noise[rng.IntN(len(noise))]
			for i := 0; i+1 < len(text); i++ {
				if text[i] == '%' {
					text = text[:i] + fmt.Sprint(d.ID) + text[i+2:]
				}
			}
			return Outcome{Frame: []byte(text), ElapsedMs: 1}
		}
	}
}

// playOut plays a match to its end and returns all of its events.
func playOut(t tester, server seed.Seed, seats int, bots bot) (Match, []Event) {
	t.Helper()
	m, events := begin(t, server, seats)
	for !m.Over() {
		var more []Event
		m, more = step(t, m, bots)
		events = append(events, more...)
	}
	return m, events
}

func randomSeed(rng *rand.Rand) (s seed.Seed) {
	for i := range s {
		s[i] = byte(rng.Uint32())
	}
	return s
}
