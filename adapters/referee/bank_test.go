package referee

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"hexarena/domain/board"
	"hexarena/domain/game"
	"hexarena/domain/ladder"
	"hexarena/domain/match"
	"hexarena/eventstore"
)

// The variable limits contains the time limits that the command `arena serve` uses for
// each mode by default.
var limits = map[string]Mode{
	ladder.Standard: {Decision: 5 * time.Second, Wall: 10 * time.Minute},
	ladder.Parley:   {Decision: time.Minute, Wall: 180 * time.Minute},
}

// withTable runs a test with a table of four bots in a mode. Each value of nth gives a
// different game.
func withTable(t *testing.T, mode string, bank bool, nth int, test func(f *fixture)) {
	t.Helper()
	withFixture(t, 4, func(f *fixture) {
		f.ofMode, f.mode = mode, limits[mode]
		f.mode.TimeBank = bank
		f.bots[0].nonce = fmt.Sprint("table-", nth)
		test(f)
	})
}

// stall makes a bot answer after 90 % of each deadline. On its turn, the bot makes as
// many trade offers as the rules allow, and nobody can accept them.
func stall(b *fakeBot) {
	b.script = func(c call) bool {
		m := b.fixture.legal.now()
		frame := b.fixture.legal.answer(c.ID)
		if c.Kind == "turn" {
			frame = answerFrame(c.ID, impossibleOffer(&m.Game, c.Seat))
		}
		c.answer(time.Duration(c.DeadlineMs)*time.Millisecond*9/10, frame)
		return true
	}
}

// impossibleOffer offers one card for more cards than exist. If the rules do not allow
// an offer, it ends the turn.
func impossibleOffer(g *game.State, seat int) game.Action {
	for give := range board.Resources {
		a := game.Action{Type: game.OfferTrade, To: board.None}
		a.Giving[give], a.Taking[(give+1)%board.Resources] = 1, 60
		if g.Check(uint8(seat), a) == nil {
			return a
		}
	}
	return game.Action{Type: game.EndTurn}
}

// With a time bank, stalling bots cannot make the wall clock run out. Instead, they run
// out of their own time and get strikes, and the other bots do not. Some games end
// before that, so the test plays tables until it has seen enough matches in which every
// stalling bot has strikes.
func TestStallingBotsAreStruckWithATimeBank(t *testing.T) {
	want := 20
	if raceDetector {
		want = 1
	}
	for _, mode := range ladder.Modes {
		for stallers := 1; stallers <= 3; stallers++ {
			t.Run(fmt.Sprintf("%s, %d stalling", mode, stallers), func(t *testing.T) {
				struck, tables, longest := 0, 0, int64(0)
				for ; struck < want; tables++ {
					require.Less(t, tables, 3*want, "too few games are long enough")
					withTable(t, mode, true, tables, func(f *fixture) {
						if f.playStalled(stallers) {
							struck++
						}
						longest = max(longest, f.playedMs())
					})
				}
				t.Logf("%d matches: 0 aborted, the longest took %v of %v; in %d of them, every stalling bot got strikes, and the others ended before that",
					tables, time.Duration(longest)*time.Millisecond, limits[mode].Wall, struck)
			})
		}
	}
}

// playStalled plays a match in which the first bots stall. It requires that the match
// is not aborted, and that a bot has strikes if and only if its time has run out. It
// reports whether all stalling bots have strikes.
func (f *fixture) playStalled(stallers int) (allStruck bool) {
	f.t.Helper()
	for _, b := range f.bots[:stallers] {
		stall(b)
	}
	f.play()
	require.Empty(f.t, f.ladder.voided)
	require.Len(f.t, f.ladder.finished, 1)
	f.requireClocks()
	m, used, allStruck := f.legal.now(), f.clocks(), true
	for i, b := range f.bots {
		seat := f.seatOf(b)
		exhausted := m.Allow(used, seat).DeadlineMs == 0
		require.Equal(f.t, exhausted, m.Strikes[seat] > 0, "%s: strikes %v, clocks %v", b.id, m.Strikes, used)
		require.False(f.t, i >= stallers && exhausted, "%s does not stall", b.id)
		allStruck = allStruck && (i >= stallers || exhausted)
	}
	return allStruck
}

// Without a time bank, the wall clock aborts the match, as docs/rules.md says.
func TestStallingBotsReachTheWallClockWithoutATimeBank(t *testing.T) {
	for _, mode := range ladder.Modes {
		for stallers := 1; stallers <= 3; stallers++ {
			t.Run(fmt.Sprintf("%s, %d stalling", mode, stallers), func(t *testing.T) {
				withTable(t, mode, false, 0, func(f *fixture) {
					for _, b := range f.bots[:stallers] {
						stall(b)
					}
					f.play()
					require.Equal(t, []string{match.WallClock}, f.ladder.voided)
					require.Equal(t, []int{0, 0, 0, 0}, f.strikes())
					started := f.events()[0].(match.Started)
					require.Zero(t, started.Deadlines.BankMs)
					require.Nil(t, f.bots[0].requests[0].BankMs)
					f.requireClocks()
				})
			})
		}
	}
}

// The method clocks() returns the time that each seat has used, from the last event's
// metadata.
func (f *fixture) clocks() match.Clocks { return f.lastMetadata().UsedMs }

// requireClocks checks that the seats together have used at least the time played. This
// must hold, because each seat in a batch is charged for at least the time that it
// used.
func (f *fixture) requireClocks() {
	f.t.Helper()
	sum := int64(0)
	for _, used := range f.clocks() {
		sum += used
	}
	require.Len(f.t, f.clocks(), len(f.bots))
	require.LessOrEqual(f.t, f.playedMs(), sum)
}

// The function patiently() makes a bot answer legally after 90 % of each deadline.
func patiently(b *fakeBot) {
	b.script = func(c call) bool {
		c.answer(time.Duration(c.DeadlineMs)*time.Millisecond*9/10, b.fixture.legal.answer(c.ID))
		return true
	}
}

// If the other bots are fast, a bot that uses 90 % of each deadline can make 140
// decisions without a strike. The test skips tables whose game is shorter.
func TestSlowBotFinishesAnAverageMatch(t *testing.T) {
	for _, mode := range ladder.Modes {
		t.Run(mode, func(t *testing.T) {
			for nth, long := 0, false; !long; nth++ {
				require.Less(t, nth, 20, "no game is long enough")
				withTable(t, mode, true, nth, func(f *fixture) {
					slow := f.bots[1]
					patiently(slow)
					f.run()
					decisions, struck := f.beforeStrike(f.seatOf(slow))
					long = struck || decisions >= 140
					if long {
						t.Logf("table %d: %d decisions without a strike", nth, decisions)
						require.GreaterOrEqual(t, decisions, 140)
					}
				})
			}
		})
	}
}

// beforeStrike returns the number of decisions that a seat made before its first
// strike, and whether the seat has a strike.
func (f *fixture) beforeStrike(seat int) (decisions int, struck bool) {
	for _, e := range f.events() {
		switch e := e.(type) {
		case match.DecisionTimedOut:
			if e.Seat == seat {
				return decisions, true
			}
		case match.ActionPlayed:
			if e.Seat == seat {
				decisions++
			}
		}
	}
	return decisions, false
}

// Each request contains the time that the seat has left. When no time is left, the
// seat's decisions time out immediately, without a request.
func TestEmptyBankTimesOutAtOnce(t *testing.T) {
	withTable(t, ladder.Standard, true, 0, func(f *fixture) {
		bot := f.bots[2]
		stall(bot)
		f.play()
		seat := f.seatOf(bot)
		var timeouts []match.DecisionTimedOut
		closed := 0
		for _, e := range f.events() {
			switch e := e.(type) {
			case match.DecisionTimedOut:
				timeouts = append(timeouts, e)
			case match.ActionPlayed:
				if e.Seat == seat && !e.Default {
					closed++
				}
			}
		}
		require.Len(t, timeouts, match.MaxStrikes)
		for i, e := range timeouts {
			require.Equal(t, seat, e.Seat)
			require.Equal(t, match.CauseDeadline, e.Cause)
			require.Zero(t, e.ElapsedMs)
			require.Equal(t, i+1, e.Strikes)
		}
		require.Len(t, bot.requests, closed)
		left := int64(390_000)
		for _, r := range bot.requests {
			require.LessOrEqual(t, *r.BankMs, left)
			require.LessOrEqual(t, r.DeadlineMs, *r.BankMs)
			left = *r.BankMs
		}
	})
}

// A seat is charged for the time of redialing. The request contains the time that is
// left after redialing.
func TestRedialingIsChargedToTheSeat(t *testing.T) {
	withTable(t, ladder.Standard, true, 0, func(f *fixture) {
		bot := f.bots[0]
		f.stopAfter(match.DiceRolled{})
		bot.refuse = func(_ context.Context, nth int) error {
			if nth > 1 && nth < 4 {
				return errRefused
			}
			return nil
		}
		bot.script = func(c call) bool {
			if c.nth == 1 {
				c.line.sends(think+time.Millisecond, "", match.CauseDropped)
			}
			return false
		}
		f.play()
		seat := f.seatOf(bot)
		request := bot.requests[1]
		require.Equal(t, int64(4500), request.DeadlineMs)
		require.Equal(t, int64(390_000-100-500), *request.BankMs)
		require.Equal(t, int64(100+500+100), f.clocks()[seat])
		for s, used := range f.clocks() {
			if s != seat {
				require.Equal(t, int64(200), used)
			}
		}
		var redials [][]int64
		for r := range f.recorded() {
			m, err := eventstore.DecodeMetadata(r)
			require.NoError(t, err)
			if m.RedialMs != nil && r.Type == (match.ActionPlayed{}).EventType() {
				redials = append(redials, m.RedialMs)
			}
		}
		want := make([]int64, 4)
		want[seat] = 500
		require.Equal(t, [][]int64{want}, redials)
		require.Equal(t, int64(8*100+500), f.playedMs())
	})
}

// A seat is never charged for delays that the arena causes: outages of the log, and
// dials at the start of a match and after a restart.
func TestDelaysOfTheArenaAreNotCharged(t *testing.T) {
	withTable(t, ladder.Standard, true, 0, func(f *fixture) {
		slow, stops := outage(6, true), 0
		f.log.fault = func(a attempted) (eventstore.Appended, error) {
			stored, err := slow(a)
			if err == nil && (a.has(match.DiceRolled{}) || stops == 0 && a.has(match.ActionPlayed{})) {
				stops++
				f.abandon()
			}
			return stored, err
		}
		for _, b := range f.bots {
			b.refuse = func(context.Context, int) error {
				<-time.After(4 * time.Second)
				return nil
			}
		}
		f.play()
		f.play()
		require.Equal(t, 2, stops)
		require.Len(t, only[match.Claimed](f.events()), 1)
		require.Equal(t, match.Clocks{200, 200, 200, 200}, f.clocks())
		require.Equal(t, int64(8*100), f.playedMs())
	})
}

// Whether a match has a time bank depends on its MatchStarted event, and not on the
// flag of the process that resumes it. If an older arena started the match, its clocks
// are unknown.
func TestRunningMatchKeepsItsRule(t *testing.T) {
	for _, test := range []struct {
		name     string
		started  match.Deadlines
		measured bool // whether the first events have clocks
		flag     bool // the flag of the process that resumes the match
	}{
		{"an older arena started it", match.Deadlines{DecisionMs: 5000, WallMs: 600_000}, false, true},
		{"without a time bank", match.Deadlines{DecisionMs: 5000, WallMs: 600_000}, true, true},
		{"with a time bank", match.Deadlines{DecisionMs: 5000, WallMs: 600_000}.WithBank(), true, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			withTable(t, ladder.Standard, test.flag, 0, func(f *fixture) {
				f.storeStart(test.started, test.measured)
				f.run()
				require.Len(t, only[match.Claimed](f.events()), 1)
				for _, r := range f.bots[0].requests {
					require.Equal(t, test.started.BankMs > 0, r.BankMs != nil)
				}
				if test.measured {
					f.requireClocks()
				} else {
					require.Nil(t, f.clocks())
				}
			})
		})
	}
}

// storeStart stores the start of the match, as another process would.
func (f *fixture) storeStart(d match.Deadlines, measured bool) {
	f.t.Helper()
	p := run{seating: f.seating()}
	s := match.Seating{
		MatchID: testMatch, Mode: f.ofMode, Table: p.table(), Commitment: f.seating().Commitment,
		Nonces: make([]string, len(f.bots)), Deadlines: d,
	}
	for _, b := range f.bots {
		s.Bots = append(s.Bots, match.Seat{BotID: b.id})
	}
	events, err := f.legal.now().Start(s)
	require.NoError(f.t, err)
	var played int64
	meta := eventstore.Metadata{At: time.Now(), PlayedMs: &played, Correlation: testMatch}
	if measured {
		meta.UsedMs = match.NewClocks(len(f.bots))
	}
	encoded, err := eventstore.EncodeAll(events, meta)
	require.NoError(f.t, err)
	_, err = f.log.Log.Append(context.Background(), match.StreamPrefix+testMatch, eventstore.NoStream, encoded...)
	require.NoError(f.t, err)
}
