package pausemail_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"hexarena/domain/ladder"
	"hexarena/domain/owner"
)

// gaps are the times between seats.
func gaps(seats []time.Time) []time.Duration {
	var all []time.Duration
	for i := 1; i < len(seats); i++ {
		all = append(all, seats[i].Sub(seats[i-1]))
	}
	return all
}

// A bot that is gone for good: ten matches at the usual pace, then one every
// three hours, after a week the pause and one mail, whatever restarts.
func TestAWeekOfMisses(t *testing.T) {
	for name, restarts := range map[string]bool{"one process": false, "restarted every day": true} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t, "bot-ada")
				defer func() { w.stop() }()
				began := time.Now()
				for range 13 {
					pass(day / 2)
					if restarts {
						w.restart()
					}
				}
				pass(day/2 - time.Minute)
				require.Equal(t, owner.Active, w.bot("ada").Status, "the week is not over")
				pass(time.Hour)
				seats := w.taken()
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
				paused := w.bot("ada")
				require.Equal(t, owner.Paused, paused.Status)
				require.Equal(t, owner.ByMisses, paused.PausedBy)
				require.WithinRange(t, paused.StatusSince, first.Add(7*day), first.Add(7*day+tick+time.Second))

				for range 10 {
					pass(day)
					if restarts {
						w.restart()
					}
				}
				require.Empty(t, w.taken(), "it is not seated any more")
				mails := w.mailed()
				require.Len(t, mails, 1)
				require.Equal(t, "bot-ada", mails[0].BotID)
				require.Equal(t, "https://arena.example/dashboard", mails[0].Page)
				require.True(t, paused.StatusSince.Equal(mails[0].At))
				require.Equal(t, 1, w.stored("ada", "BotPaused"))
				require.Equal(t, 1, w.stored("ada", "OwnerNotified"))
				for _, id := range []string{"bob", "eve", "mia"} {
					require.Equal(t, owner.Active, w.bot(id).Status)
				}
			})
		})
	}
}

// Unpaused it is seated at the usual pace at once, and its count begins anew.
func TestAChangeOfStatusResets(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, "bot-ada")
		defer func() { w.stop() }()
		pass(5 * time.Hour)
		before := gaps(w.taken())
		require.GreaterOrEqual(t, before[len(before)-1], 3*time.Hour)

		w.own("ada", owner.BotPaused{BotID: "bot-ada", By: owner.ByOwner}, owner.BotUnpaused{BotID: "bot-ada"})
		changed := time.Now()
		pass(3 * time.Hour)
		seats := w.taken()
		require.Less(t, seats[0].Sub(changed), rest+2*tick)
		for _, gap := range gaps(seats[:10]) {
			require.Less(t, gap, rest+2*tick)
		}
		require.LessOrEqual(t, len(seats), 11)

		pass(7*day - 4*time.Hour)
		require.Equal(t, owner.Active, w.bot("ada").Status, "a week since the first miss, not since the change")
		pass(4*time.Hour + time.Minute)
		require.Equal(t, owner.Paused, w.bot("ada").Status)

		w.own("ada", owner.BotUnpaused{BotID: "bot-ada"})
		pass(7*day + time.Hour)
		require.Equal(t, owner.Paused, w.bot("ada").Status, "and once more")
		require.Len(t, w.mailed(), 2, "one mail for each pause")
	})
}

func TestAnAnswerResets(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, "bot-ada")
		defer func() { w.stop() }()
		pass(6 * day)
		w.set(func() { delete(w.down, "bot-ada") })
		pass(4 * time.Hour)
		w.taken()
		pass(4 * time.Hour)
		for _, gap := range gaps(w.taken()) {
			require.Less(t, gap, rest+2*tick)
		}
		w.set(func() { w.down["bot-ada"] = true })
		pass(6 * day)
		require.Equal(t, owner.Active, w.bot("ada").Status)
		require.Empty(t, w.mailed())
	})
}

// While mail cannot be sent it is tried again, also after a restart; a mail is
// not sent twice because it could not be noted.
func TestOneMailWhateverFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, "bot-ada")
		defer func() { w.stop() }()
		w.set(func() { w.broke = true })
		pass(7*day + time.Hour)
		require.Equal(t, owner.Paused, w.bot("ada").Status)
		require.Contains(t, w.lines.String(), "was not told")
		require.NotContains(t, w.lines.String(), "ada@example.org")
		require.Zero(t, w.stored("ada", "OwnerNotified"))
		w.restart()
		pass(time.Hour)
		w.set(func() { w.broke = false })
		pass(time.Hour)
		require.Len(t, w.mailed(), 1)
		require.Equal(t, 1, w.stored("ada", "OwnerNotified"))
		w.restart()
		pass(day)
		require.Len(t, w.mailed(), 1)
	})
}

func TestAMailThatCouldNotBeNotedIsNotSentAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		defer func() { w.stop() }()
		w.set(func() { w.away = true })
		w.own("ada", owner.BotPaused{BotID: "bot-ada", By: owner.ByMisses})
		pass(5 * time.Hour)
		require.Len(t, w.mailed(), 1)
		require.Zero(t, w.stored("ada", "OwnerNotified"))
		w.set(func() { w.away = false })
		pass(2 * time.Hour)
		require.Len(t, w.mailed(), 1)
		require.Equal(t, 1, w.stored("ada", "OwnerNotified"))
	})
}

// A pause that cannot be stored is tried again, and the bot is not seated
// meanwhile.
func TestAPauseThatFailsIsTriedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, "bot-ada")
		defer func() { w.stop() }()
		pass(7*day - time.Hour)
		w.set(func() { w.away = true })
		pass(2 * time.Hour)
		w.taken()
		pass(day)
		require.Empty(t, w.taken())
		require.Equal(t, owner.Active, w.bot("ada").Status)
		require.Contains(t, w.lines.String(), "was not paused")
		w.set(func() { w.away = false })
		pass(tick)
		require.Equal(t, owner.Paused, w.bot("ada").Status)
		pass(time.Hour)
		require.Len(t, w.mailed(), 1)
	})
}

// An owner who unpaused the bot before the mail went needs none; nor does one
// who is gone; and after a week nobody does.
func TestNoMailThatIsOfNoMoreUse(t *testing.T) {
	for name, after := range map[string]owner.Event{
		"unpaused": owner.BotUnpaused{BotID: "bot-ada"},
		"removed":  owner.BotRemoved{BotID: "bot-ada"},
		"deleted":  owner.Deleted{},
		"too late": owner.BotRenamed{BotID: "bot-ada", Name: "late"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t)
				defer func() { w.stop() }()
				w.set(func() { w.broke = true })
				w.own("ada", owner.BotPaused{BotID: "bot-ada", By: owner.ByMisses})
				pass(time.Hour)
				w.own("ada", after)
				pass(7 * day)
				w.set(func() { w.broke = false })
				pass(day)
				require.Empty(t, w.mailed())
			})
		})
	}
}

func TestFiveNoticesAnHour(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		defer func() { w.stop() }()
		for _, id := range []string{"1", "2", "3", "4", "5", "6", "7", "8"} {
			w.own("ada", owner.BotRegistered{BotID: id, Name: "ada", Mode: ladder.Parley}, owner.BotPaused{BotID: id, By: owner.ByMisses})
		}
		pass(50 * time.Minute)
		require.Len(t, w.mailed(), 5)
		pass(2 * time.Hour)
		require.Len(t, w.mailed(), 8)
		require.Equal(t, 8, w.stored("ada", "OwnerNotified"))
	})
}
