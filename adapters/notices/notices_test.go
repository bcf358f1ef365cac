package notices_test

import (
	"bytes"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"hexarena/domain/ladder"
	"hexarena/domain/owner"
)

// The function gaps() returns the durations between consecutive seatings.
func gaps(seats []time.Time) []time.Duration {
	var all []time.Duration
	for i := 1; i < len(seats); i++ {
		all = append(all, seats[i].Sub(seats[i-1]))
	}
	return all
}

// A bot that never answers is seated ten times at the usual pace, and after that every
// three hours. After a week, the arena pauses the bot and sends one email, no matter
// how often the arena was restarted.
func TestBotThatMissesForAWeekIsPausedWithOneMail(t *testing.T) {
	for name, restarts := range map[string]bool{"one process": false, "restarted every day": true} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := newFixture(t, "bot-ada")
				defer func() { f.stop() }()
				began := time.Now()
				for range 13 {
					pass(day / 2)
					if restarts {
						f.restart()
					}
				}
				pass(day/2 - time.Minute)
				require.Equal(t, owner.Active, f.bot("ada").Status, "the week is not over yet")
				pass(time.Hour)
				seats := f.seatTimes()
				for i, gap := range gaps(seats) {
					want := rest
					if i >= 9 {
						want = 3 * time.Hour
					}
					require.GreaterOrEqual(t, gap, want, "seat %d", i+2)
					require.LessOrEqual(t, gap, want+2*tick, "seat %d", i+2)
				}
				first := seats[0]
				require.Less(t, first.Sub(began), tick)
				paused := f.bot("ada")
				require.Equal(t, owner.Paused, paused.Status)
				require.Equal(t, owner.ByMisses, paused.PausedBy)
				require.WithinRange(t, paused.StatusSince, first.Add(7*day), first.Add(7*day+tick+time.Second))

				for range 10 {
					pass(day)
					if restarts {
						f.restart()
					}
				}
				require.Empty(t, f.seatTimes(), "a paused bot is not seated")
				mails := f.mailed()
				require.Len(t, mails, 1)
				require.Equal(t, "bot-ada", mails[0].ID)
				require.Equal(t, []string{"https://arena.example/dashboard"}, f.pages)
				require.True(t, paused.StatusSince.Equal(mails[0].StatusSince))
				require.Equal(t, 1, f.stored("ada", "BotPaused"))
				require.Equal(t, 1, f.stored("ada", "OwnerNotified"))
				for _, id := range []string{"bob", "eve", "mia"} {
					require.Equal(t, owner.Active, f.bot(id).Status)
				}
			})
		})
	}
}

// As soon as a bot is unpaused, it is seated at the usual pace again, and its misses
// are counted from zero.
func TestStatusChangeResetsMisses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, "bot-ada")
		defer func() { f.stop() }()
		pass(5 * time.Hour)
		before := gaps(f.seatTimes())
		require.GreaterOrEqual(t, before[len(before)-1], 3*time.Hour)

		f.own("ada", owner.BotPaused{BotID: "bot-ada", By: owner.ByOwner}, owner.BotUnpaused{BotID: "bot-ada"})
		changed := time.Now()
		pass(3 * time.Hour)
		seats := f.seatTimes()
		require.Less(t, seats[0].Sub(changed), rest+2*tick)
		for _, gap := range gaps(seats[:10]) {
			require.Less(t, gap, rest+2*tick)
		}
		require.LessOrEqual(t, len(seats), 11)

		pass(7*day - 4*time.Hour)
		require.Equal(t, owner.Active, f.bot("ada").Status, "the week counts from the first miss, not from the change")
		pass(4*time.Hour + time.Minute)
		require.Equal(t, owner.Paused, f.bot("ada").Status)

		f.own("ada", owner.BotUnpaused{BotID: "bot-ada"})
		pass(7*day + time.Hour)
		require.Equal(t, owner.Paused, f.bot("ada").Status, "paused a second time")
		require.Len(t, f.mailed(), 2, "one mail for each pause")
	})
}

func TestAnswerResetsMisses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, "bot-ada")
		defer func() { f.stop() }()
		pass(6 * day)
		f.set(func() { delete(f.down, "bot-ada") })
		pass(4 * time.Hour)
		f.seatTimes()
		pass(4 * time.Hour)
		for _, gap := range gaps(f.seatTimes()) {
			require.Less(t, gap, rest+2*tick)
		}
		f.set(func() { f.down["bot-ada"] = true })
		pass(6 * day)
		require.Equal(t, owner.Active, f.bot("ada").Status)
		require.Empty(t, f.mailed())
	})
}

// The arena retries an email that could not be sent, even after a restart.
func TestFailedMailIsRetriedAndSentOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, "bot-ada")
		defer func() { f.stop() }()
		f.set(func() { f.mailFails = true })
		pass(7*day + time.Hour)
		require.Equal(t, owner.Paused, f.bot("ada").Status)
		require.Contains(t, f.lines.String(), "could not send an email to an owner")
		require.NotContains(t, f.lines.String(), "ada@example.org")
		require.Zero(t, f.stored("ada", "OwnerNotified"))
		f.restart()
		pass(time.Hour)
		f.set(func() { f.mailFails = false })
		pass(time.Hour)
		require.Len(t, f.mailed(), 1)
		require.Equal(t, 1, f.stored("ada", "OwnerNotified"))
		f.restart()
		pass(day)
		require.Len(t, f.mailed(), 1)
	})
}

func TestMailThatCouldNotBeRecordedIsNotSentAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t)
		defer func() { f.stop() }()
		f.set(func() { f.logFails = true })
		f.own("ada", owner.BotPaused{BotID: "bot-ada", By: owner.ByMisses})
		pass(5 * time.Hour)
		require.Len(t, f.mailed(), 1)
		require.Zero(t, f.stored("ada", "OwnerNotified"))
		f.set(func() { f.logFails = false })
		pass(2 * time.Hour)
		require.Len(t, f.mailed(), 1)
		require.Equal(t, 1, f.stored("ada", "OwnerNotified"))
	})
}

// The arena retries a pause that could not be stored. In the meantime, the bot is
// not seated.
func TestFailedPauseIsRetried(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, "bot-ada")
		defer func() { f.stop() }()
		pass(7*day - time.Hour)
		f.set(func() { f.logFails = true })
		pass(2 * time.Hour)
		f.seatTimes()
		pass(day)
		require.Empty(t, f.seatTimes())
		require.Equal(t, owner.Active, f.bot("ada").Status)
		require.Contains(t, f.lines.String(), "could not pause a bot")
		f.set(func() { f.logFails = false })
		pass(tick)
		require.Equal(t, owner.Paused, f.bot("ada").Status)
		pass(time.Hour)
		require.Len(t, f.mailed(), 1)
	})
}

// The arena drops an email if the bot is unpaused or removed, if the account is
// deleted, or if a week has passed.
func TestUselessMailIsNotSent(t *testing.T) {
	for name, after := range map[string]owner.Event{
		"unpaused": owner.BotUnpaused{BotID: "bot-ada"},
		"removed":  owner.BotRemoved{BotID: "bot-ada"},
		"deleted":  owner.Deleted{},
		"too late": owner.BotRenamed{BotID: "bot-ada", Name: "late"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := newFixture(t)
				defer func() { f.stop() }()
				f.set(func() { f.mailFails = true })
				f.own("ada", owner.BotPaused{BotID: "bot-ada", By: owner.ByMisses})
				pass(time.Hour)
				f.own("ada", after)
				pass(7 * day)
				f.set(func() { f.mailFails = false })
				pass(day)
				require.Empty(t, f.mailed())
			})
		})
	}
}

// The owner of a key that moved to another account gets one email, even if the mail
// server or the log fails, or the process restarts.
func TestOwnerOfAMovedKeyGetsOneMail(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t)
		defer func() { f.stop() }()
		f.set(func() { f.mailFails = true })
		for _, id := range []string{"k1", "k2"} {
			f.own("ada", owner.APIKeyRegistered{KeyID: id, Name: "ada", PublicKey: bytes.Repeat([]byte{7}, 32)})
		}
		f.own("ada", owner.APIKeyRevoked{KeyID: "k1", By: owner.ByOtherAccount}, owner.APIKeyRevoked{KeyID: "k2"})
		pass(time.Hour)
		require.NotContains(t, f.lines.String(), "ada@example.org")
		f.restart()
		f.set(func() { f.mailFails, f.logFails = false, true })
		pass(5 * time.Hour)
		f.set(func() { f.logFails = false })
		pass(2 * time.Hour)
		f.restart()
		pass(day)
		f.set(func() {
			require.Len(t, f.moved, 1)
			require.Equal(t, "k1", f.moved[0].ID)
			require.Equal(t, []string{"https://arena.example/dashboard/keys"}, f.pages)
		})
		require.Equal(t, 1, f.stored("ada", "OwnerNotified"))
	})
}

func TestOwnerReceivesAtMostFiveMailsPerHour(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t)
		defer func() { f.stop() }()
		for _, id := range []string{"1", "2", "3", "4", "5", "6", "7", "8"} {
			f.own("ada", owner.BotRegistered{BotID: id, Name: "ada", Mode: ladder.Parley}, owner.BotPaused{BotID: id, By: owner.ByMisses})
		}
		pass(50 * time.Minute)
		require.Len(t, f.mailed(), 5)
		pass(2 * time.Hour)
		require.Len(t, f.mailed(), 8)
		require.Equal(t, 8, f.stored("ada", "OwnerNotified"))
	})
}
