package referee

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"hexarena/domain/match"
)

// badTurn is a bot's bad reaction to one turn decision, and the strike that should
// follow.
type badTurn struct {
	name   string
	does   func(f *fixture, c call)
	cause  string // cause of the timeout; "" for an illegal answer
	reason string // why the answer is illegal
	raw    string // the stored answer
	took   int64  // elapsed ms
	dials  int    // number of times the referee dials the bot in the whole match
}

var badTurns = []badTurn{
	{name: "late", cause: match.CauseDeadline, took: 5000, dials: 1,
		does: func(f *fixture, c call) { c.answer(6*time.Second, f.legal.answer(c.ID)) }},
	{name: "silent", cause: match.CauseDeadline, took: 5000, dials: 1,
		does: func(*fixture, call) {}},
	{name: "malformed", cause: match.CauseMalformed, raw: "what?", took: 7, dials: 1,
		does: func(_ *fixture, c call) { c.answer(7*time.Millisecond, "what?") }},
	{name: "binary", cause: match.CauseMalformed, raw: "\x00\uFFFD", took: 7, dials: 1,
		does: func(_ *fixture, c call) { c.line.sends(7*time.Millisecond, "\x00\xff", match.CauseMalformed) }},
	{name: "an id that was never used", cause: match.CauseMalformed, raw: `{"id":99999,"action":{}}`, took: 7, dials: 1,
		does: func(_ *fixture, c call) { c.answer(7*time.Millisecond, `{"id":99999,"action":{}}`) }},
	{name: "oversized", cause: match.CauseOversized, took: 7, dials: 2,
		does: func(_ *fixture, c call) {
			c.line.sends(7*time.Millisecond, "", match.CauseOversized)
			c.line.sends(8*time.Millisecond, "", match.CauseDropped)
		}},
	{name: "dropped", cause: match.CauseDropped, took: 7, dials: 2,
		does: func(_ *fixture, c call) { c.line.sends(7*time.Millisecond, "", match.CauseDropped) }},
	{name: "illegal", reason: "unknown_type", raw: `{"id":%d,"action":{"type":"fly"}}`, took: 7, dials: 1,
		does: func(_ *fixture, c call) {
			c.answer(7*time.Millisecond, fmt.Sprintf(`{"id":%d,"action":{"type":"fly"}}`, c.ID))
		}},
}

func TestBadAnswerCostsOneStrike(t *testing.T) {
	for _, test := range badTurns {
		t.Run(test.name, func(t *testing.T) {
			withFixture(t, 4, func(f *fixture) {
				bot, decision := f.bots[2], 0
				bot.script = func(c call) bool {
					if c.Kind != "turn" || c.kth != 2 {
						return false
					}
					decision = c.ID
					test.does(f, c)
					return true
				}
				events := f.run()
				requireStrike(t, events, test, f.seatOf(bot), decision)
				require.Equal(t, test.dials, bot.dials)
				for seat, strikes := range f.strikes() {
					require.Equal(t, seat == f.seatOf(bot), strikes == 1, "seat %d has %d strikes", seat, strikes)
				}
				for _, r := range f.ladder.finished[0] {
					require.False(t, r.Missed)
				}
			})
		})
	}
}

// requireStrike checks that a match has exactly one strike, followed by the default
// action.
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

func TestGoodAnswerCostsNoStrike(t *testing.T) {
	tests := []struct {
		name string
		does func(f *fixture, c call)
		took int64
	}{
		{"at the last moment", func(f *fixture, c call) { c.answer(4999*time.Millisecond, f.legal.answer(c.ID)) }, 4999},
		{"received in time, read late", func(f *fixture, c call) { c.line.buffers(f.legal.answer(c.ID)) }, 5000},
		{"after answers to old decisions", func(f *fixture, c call) {
			for id := range c.ID - 1 {
				if id+1 == f.bots[2].requests[0].ID {
					c.answer(time.Millisecond, fmt.Sprintf(`{"id":%d,"action":{}}`, id+1))
				}
			}
			c.answer(2*time.Millisecond, f.legal.answer(c.ID))
		}, 2},
		{"before a second answer", func(f *fixture, c call) {
			c.answer(time.Millisecond, f.legal.answer(c.ID))
			c.answer(time.Millisecond+time.Microsecond, fmt.Sprintf(`{"id":%d,"action":{"type":"fly"}}`, c.ID))
		}, 1},
		{"with noise while no decision is open", func(f *fixture, c call) {
			frame := f.legal.answer(c.ID)
			c.answer(time.Millisecond, frame)
			for range 100 {
				c.answer(time.Millisecond+time.Microsecond, "noise")
			}
		}, 1},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			withFixture(t, 3, func(f *fixture) {
				bot, decision := f.bots[2], 0
				bot.script = func(c call) bool {
					if c.Kind != "setup" || c.kth != 2 {
						return false
					}
					decision = c.ID
					test.does(f, c)
					return true
				}
				events := f.run()
				require.Equal(t, []int{0, 0, 0}, f.strikes())
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

func TestThreeStrikesResignTheSeat(t *testing.T) {
	withFixture(t, 4, func(f *fixture) {
		bot := f.bots[1]
		bot.script = func(call) bool { return true }
		events := f.run()
		seat := f.seatOf(bot)
		require.Len(t, bot.requests, 3)
		require.Len(t, only[match.DecisionTimedOut](events), 3)
		require.Equal(t, []match.SeatResigned{{Seat: seat, ResignData: match.ResignData{Strikes: 3}}}, only[match.SeatResigned](events))
		for _, e := range only[match.ActionPlayed](events) {
			require.Equal(t, e.Seat == seat, e.Default)
		}
		for _, r := range f.ladder.finished[0] {
			require.Equal(t, r.BotID == bot.id, r.Missed)
		}
	})
}

// If a bot sends any frame while a decision is open, the match does not count as
// missed.
func TestStaleAnswerIsNoMiss(t *testing.T) {
	withFixture(t, 3, func(f *fixture) {
		bot := f.bots[0]
		bot.script = func(c call) bool {
			if c.nth == 3 { // an answer to the first decision, which is already closed
				c.answer(time.Second, fmt.Sprintf(`{"id":%d,"action":{}}`, bot.requests[0].ID))
			}
			return true
		}
		events := f.run()
		missed := only[match.DecisionTimedOut](events)
		require.Len(t, missed, 3)
		for i, e := range missed {
			require.Equal(t, match.CauseDeadline, e.Cause)
			require.Equal(t, i == 2, e.Heard)
		}
		for _, r := range f.ladder.finished[0] {
			require.False(t, r.Missed)
		}
	})
}

func TestGameEndsIfAllSeatsResign(t *testing.T) {
	withFixture(t, 3, func(f *fixture) {
		for _, b := range f.bots {
			b.script = func(call) bool { return true }
		}
		began := time.Now()
		events := f.run()
		require.Equal(t, 9*5*time.Second, time.Since(began))
		require.Len(t, only[match.SeatResigned](events), 3)
		require.Len(t, only[match.GameEnded](events), 1)
		require.Equal(t, "stalemate", only[match.GameEnded](events)[0].Reason)
	})
}
