package referee

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"hexarena/domain/match"
)

// badTurn is what a bot does with one turn decision, and what the log must say
// about it.
type badTurn struct {
	name   string
	does   func(w *world, c call)
	cause  string // of a timeout; "" for an illegal answer
	reason string // of an illegal answer
	raw    string // the answer that is kept
	took   int64  // elapsed ms
	dials  int    // of the bot in the whole match
}

var badTurns = []badTurn{
	{name: "late", cause: match.CauseDeadline, took: 5000, dials: 1,
		does: func(w *world, c call) { c.answer(6*time.Second, w.oracle.lawful(c.ID)) }},
	{name: "silent", cause: match.CauseDeadline, took: 5000, dials: 1,
		does: func(*world, call) {}},
	{name: "malformed", cause: match.CauseMalformed, raw: "what?", took: 7, dials: 1,
		does: func(_ *world, c call) { c.answer(7*time.Millisecond, "what?") }},
	{name: "binary", cause: match.CauseMalformed, raw: "\x00\uFFFD", took: 7, dials: 1,
		does: func(_ *world, c call) { c.line.says(7*time.Millisecond, "\x00\xff", match.CauseMalformed) }},
	{name: "an id never asked", cause: match.CauseMalformed, raw: `{"id":99999,"action":{}}`, took: 7, dials: 1,
		does: func(_ *world, c call) { c.answer(7*time.Millisecond, `{"id":99999,"action":{}}`) }},
	{name: "oversized", cause: match.CauseOversized, took: 7, dials: 2,
		does: func(_ *world, c call) {
			c.line.says(7*time.Millisecond, "", match.CauseOversized)
			c.line.says(8*time.Millisecond, "", match.CauseDropped)
		}},
	{name: "dropped", cause: match.CauseDropped, took: 7, dials: 2,
		does: func(_ *world, c call) { c.line.says(7*time.Millisecond, "", match.CauseDropped) }},
	{name: "illegal", reason: "unknown_type", raw: `{"id":%d,"action":{"type":"fly"}}`, took: 7, dials: 1,
		does: func(_ *world, c call) {
			c.answer(7*time.Millisecond, fmt.Sprintf(`{"id":%d,"action":{"type":"fly"}}`, c.ID))
		}},
}

func TestBadAnswers(t *testing.T) {
	for _, test := range badTurns {
		t.Run(test.name, func(t *testing.T) {
			inWorld(t, 4, func(w *world) {
				bot, decision := w.bots[2], 0
				bot.script = func(c call) bool {
					if c.Kind != "turn" || c.kth != 2 {
						return false
					}
					decision = c.ID
					test.does(w, c)
					return true
				}
				events := w.run()
				requireStrike(t, events, test, w.seatOf(bot), decision)
				require.Equal(t, test.dials, bot.dials)
				for seat, strikes := range w.strikes() {
					require.Equal(t, seat == w.seatOf(bot), strikes == 1, "seat %d has %d strikes", seat, strikes)
				}
				for _, r := range w.ladder.finished[0] {
					require.False(t, r.Missed)
				}
			})
		})
	}
}

// requireStrike finds the one strike of a match, and the default behind it.
func requireStrike(t *testing.T, events []match.Event, want badTurn, seat, decision int) {
	t.Helper()
	at := -1
	for i, e := range events {
		switch e := e.(type) {
		case match.DecisionTimedOut:
			require.Equal(t, match.DecisionTimedOut{
				Seat: seat, Heard: e.Heard,
				TimeoutData: match.TimeoutData{Decision: decision, Kind: "turn", Cause: want.cause, ElapsedMs: want.took, Answer: e.Answer, Strikes: 1},
			}, e)
			if want.raw != "" {
				require.Equal(t, want.raw, *e.Answer)
			}
			at = i
		case match.AnswerRejected:
			require.Equal(t, match.AnswerRejected{Seat: seat, IllegalData: match.IllegalData{
				Decision: decision, Kind: "turn", Reason: want.reason, Message: e.Message,
				Answer: fmt.Sprintf(want.raw, decision), ElapsedMs: want.took, Strikes: 1,
			}}, e)
			at = i
		}
	}
	require.Positive(t, at, "no strike")
	played := events[at+1].(match.ActionPlayed)
	require.True(t, played.Default)
	require.Equal(t, decision, played.Decision)
	require.JSONEq(t, `{"type":"end_turn"}`, string(played.Action))
}

// TestGoodAnswers holds what costs nobody a strike.
func TestGoodAnswers(t *testing.T) {
	tests := []struct {
		name string
		does func(w *world, c call)
		took int64
	}{
		{"in the last moment", func(w *world, c call) { c.answer(4999*time.Millisecond, w.oracle.lawful(c.ID)) }, 4999},
		{"received in time, read late", func(w *world, c call) { c.line.holds(w.oracle.lawful(c.ID)) }, 5000},
		{"behind answers to old decisions", func(w *world, c call) {
			for id := range c.ID - 1 {
				if id+1 == w.bots[2].requests[0].ID {
					c.answer(time.Millisecond, fmt.Sprintf(`{"id":%d,"action":{}}`, id+1))
				}
			}
			c.answer(2*time.Millisecond, w.oracle.lawful(c.ID))
		}, 2},
		{"before a second one", func(w *world, c call) {
			c.answer(time.Millisecond, w.oracle.lawful(c.ID))
			c.answer(time.Millisecond+time.Microsecond, fmt.Sprintf(`{"id":%d,"action":{"type":"fly"}}`, c.ID))
		}, 1},
		{"with noise while nothing is owed", func(w *world, c call) {
			frame := w.oracle.lawful(c.ID)
			c.answer(time.Millisecond, frame)
			for range 100 {
				c.answer(time.Millisecond+time.Microsecond, "noise")
			}
		}, 1},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			inWorld(t, 3, func(w *world) {
				bot, decision := w.bots[2], 0
				bot.script = func(c call) bool {
					if c.Kind != "setup" || c.kth != 2 {
						return false
					}
					decision = c.ID
					test.does(w, c)
					return true
				}
				events := w.run()
				require.Equal(t, []int{0, 0, 0}, w.strikes())
				for _, e := range only[match.ActionPlayed](events) {
					require.False(t, e.Default)
					if e.Decision == decision {
						require.Equal(t, test.took, *e.ElapsedMs)
					}
				}
			})
		})
	}
}

// TestThreeStrikes resigns the seat; the others play on.
func TestThreeStrikes(t *testing.T) {
	inWorld(t, 4, func(w *world) {
		bot := w.bots[1]
		bot.script = func(call) bool { return true }
		events := w.run()
		seat := w.seatOf(bot)
		require.Len(t, bot.requests, 3)
		require.Len(t, only[match.DecisionTimedOut](events), 3)
		require.Equal(t, []match.SeatResigned{{Seat: seat, ResignData: match.ResignData{Strikes: 3}}}, only[match.SeatResigned](events))
		for _, e := range only[match.ActionPlayed](events) {
			require.Equal(t, e.Seat == seat, e.Default)
		}
		for _, r := range w.ladder.finished[0] {
			require.Equal(t, r.BotID == bot.id, r.Missed)
		}
	})
}

// TestStaleAnswerIsNoMiss: whoever says anything while it is asked was there.
func TestStaleAnswerIsNoMiss(t *testing.T) {
	inWorld(t, 3, func(w *world) {
		bot := w.bots[0]
		bot.script = func(c call) bool {
			if c.nth == 3 { // an answer to the first decision, which is closed
				c.answer(time.Second, fmt.Sprintf(`{"id":%d,"action":{}}`, bot.requests[0].ID))
			}
			return true
		}
		events := w.run()
		missed := only[match.DecisionTimedOut](events)
		require.Len(t, missed, 3)
		for i, e := range missed {
			require.Equal(t, match.CauseDeadline, e.Cause)
			require.Equal(t, i == 2, e.Heard)
		}
		for _, r := range w.ladder.finished[0] {
			require.False(t, r.Missed)
		}
	})
}

// TestAllResign ends the game at once by defaults.
func TestAllResign(t *testing.T) {
	inWorld(t, 3, func(w *world) {
		for _, b := range w.bots {
			b.script = func(call) bool { return true }
		}
		began := time.Now()
		events := w.run()
		require.Equal(t, 9*5*time.Second, time.Since(began))
		require.Len(t, only[match.SeatResigned](events), 3)
		require.Len(t, only[match.GameEnded](events), 1)
		require.Equal(t, "stalemate", only[match.GameEnded](events)[0].Reason)
	})
}
