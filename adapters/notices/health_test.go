package notices_test

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"hexarena/domain/health"
	"hexarena/domain/owner"
)

// withOwners runs a test in an arena whose bots play no matches of their own.
func withOwners(t *testing.T, test func(t *testing.T, f *fixture)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t)
		defer func() { f.stop() }()
		test(t, f)
	})
}

// An owner gets one email when a bot fails, one when it is unreachable, and one when it
// recovers, however often the arena restarts.
func TestOwnerGetsOneMailForEachChangeOfHealth(t *testing.T) {
	for name, restarts := range map[string]bool{"one process": false, "restarted": true} {
		t.Run(name, func(t *testing.T) {
			withOwners(t, func(t *testing.T, f *fixture) {
				settle := func() []string {
					pass(2 * time.Minute)
					if restarts {
						f.restart()
					}
					pass(2 * time.Minute)
					return f.sentAbout()
				}
				f.becomes("bot-bob", health.OK)
				f.becomes("bot-ada", health.Failing)
				require.Equal(t, []string{"bot-ada failing"}, settle())
				f.becomes("bot-ada", health.Unreachable)
				f.becomes("bot-eve", health.Unreachable)
				require.ElementsMatch(t, []string{"bot-ada unreachable", "bot-eve unreachable"}, settle())
				f.becomes("bot-ada", health.OK)
				require.Equal(t, []string{"bot-ada ok"}, settle())
				require.Empty(t, settle())
				require.Equal(t, 3, f.stored("ada", "BotMailDecided"))
				require.Equal(t, 3, f.stored("ada", "OwnerNotified"))
				require.Empty(t, f.mailed(), "no email about a pause")
			})
		})
	}
}

// Within 24 hours, an owner gets one email of each kind about a bot. If the state still
// holds after that time, the owner gets the email then. A recovery causes no email if the
// owner got none about the trouble.
func TestOwnerGetsOneMailOfAKindWithinADay(t *testing.T) {
	withOwners(t, func(t *testing.T, f *fixture) {
		f.becomes("bot-ada", health.Failing)
		pass(time.Minute)
		f.set(func() { require.Len(t, f.aboutBots, 1) })
		first := f.aboutBots[0].at
		require.Equal(t, []string{"bot-ada failing"}, f.sentAbout())

		pass(time.Hour)
		f.becomes("bot-ada", health.OK)
		pass(time.Hour)
		require.Equal(t, []string{"bot-ada ok"}, f.sentAbout())
		f.becomes("bot-ada", health.Failing)
		pass(time.Hour)
		f.becomes("bot-ada", health.OK)
		pass(time.Hour)
		require.Empty(t, f.sentAbout())

		f.becomes("bot-ada", health.Failing)
		again := f.health["bot-ada"].Since
		pass(time.Until(first.Add(day)) - time.Second)
		require.Empty(t, f.sentAbout(), "the day is not over yet")
		pass(2 * time.Minute)
		f.set(func() {
			require.Len(t, f.aboutBots, 1)
			require.True(t, again.Equal(f.aboutBots[0].since))
			require.True(t, again.Equal(f.aboutBots[0].trouble))
		})
		require.Equal(t, []string{"bot-ada failing"}, f.sentAbout())
		pass(2 * day)
		require.Empty(t, f.sentAbout())
	})
}

// No owner gets an email about an old state, for example after an upgrade.
func TestOldStatesCauseNoMail(t *testing.T) {
	withOwners(t, func(t *testing.T, f *fixture) {
		f.stop()
		f.becomes("bot-ada", health.Failing)
		f.becomes("bot-bob", health.Unreachable)
		pass(day / 2)
		f.becomes("bot-bob", health.OK)
		f.becomes("bot-eve", health.Unreachable)
		pass(day/2 + time.Second)
		f.start()
		pass(day)
		require.Equal(t, []string{"bot-eve unreachable"}, f.sentAbout())
	})
}

// An owner can switch each kind off. While an account or a bot is suspended, removed or
// deleted, it causes no email.
func TestUnwantedMailAboutHealthIsNotSent(t *testing.T) {
	for name, c := range map[string]struct {
		given owner.Event
		sent  []string
	}{
		"failing is off":     {owner.MailSwitched{About: owner.AboutFailing}, []string{"bot-ada unreachable", "bot-ada ok"}},
		"unreachable is off": {owner.MailSwitched{About: owner.AboutUnreachable}, []string{"bot-ada failing", "bot-ada ok"}},
		"recovered is off":   {owner.MailSwitched{About: owner.AboutRecovered}, []string{"bot-ada failing", "bot-ada unreachable"}},
		"paused":             {owner.BotPaused{BotID: "bot-ada", By: owner.ByOwner}, []string{"bot-ada failing", "bot-ada unreachable", "bot-ada ok"}},
		"bot suspended":      {owner.BotPaused{BotID: "bot-ada", By: owner.ByOperator}, nil},
		"account suspended":  {owner.Suspended{Reason: "abuse"}, nil},
		"removed":            {owner.BotRemoved{BotID: "bot-ada"}, nil},
		"deleted":            {owner.Deleted{}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			withOwners(t, func(t *testing.T, f *fixture) {
				f.own("ada", c.given)
				for _, state := range []health.State{health.Failing, health.Unreachable, health.OK} {
					f.becomes("bot-ada", state)
					pass(2 * time.Minute)
				}
				require.Equal(t, c.sent, f.sentAbout())
				require.Equal(t, len(c.sent), f.stored("ada", "BotMailDecided"))
			})
		})
	}
}

// A bot that is paused while it fails has not recovered.
func TestPauseIsNoRecovery(t *testing.T) {
	withOwners(t, func(t *testing.T, f *fixture) {
		f.becomes("bot-ada", health.Failing)
		pass(time.Minute)
		f.own("ada", owner.BotPaused{BotID: "bot-ada", By: owner.ByOwner}, owner.BotUnpaused{BotID: "bot-ada"})
		pass(time.Hour)
		require.Equal(t, []string{"bot-ada failing"}, f.sentAbout())
		f.becomes("bot-ada", health.OK)
		pass(time.Minute)
		require.Equal(t, []string{"bot-ada ok"}, f.sentAbout())
	})
}

// An email that was decided and could not be sent is sent later, also by another
// process, unless the state has changed by then.
func TestDecidedMailIsSentLater(t *testing.T) {
	withOwners(t, func(t *testing.T, f *fixture) {
		f.set(func() { f.mailFails = true })
		f.becomes("bot-ada", health.Failing)
		f.becomes("bot-bob", health.Failing)
		pass(time.Hour)
		require.Equal(t, 1, f.stored("ada", "BotMailDecided"))
		require.Zero(t, f.stored("ada", "OwnerNotified"))
		require.Contains(t, f.lines.String(), "could not send an email to an owner")
		require.NotContains(t, f.lines.String(), "@example.org")
		f.becomes("bot-bob", health.OK)
		f.restart()
		pass(time.Minute)
		f.set(func() { f.mailFails = false })
		pass(2 * time.Hour)
		require.Equal(t, []string{"bot-ada failing"}, f.sentAbout(), "the owner of bot-bob was told nothing, so there is nothing to revoke")
		require.Equal(t, 1, f.stored("ada", "BotMailDecided"))
		require.Equal(t, 1, f.stored("ada", "OwnerNotified"))
		require.Zero(t, f.stored("bob", "OwnerNotified"))
	})
}

// If a bot recovers while the mail server takes its time with another email, its owner
// gets no email about the state that is over.
func TestStateThatIsOverCausesNoMail(t *testing.T) {
	withOwners(t, func(t *testing.T, f *fixture) {
		f.set(func() { f.mailTakes = 20 * time.Second })
		f.becomes("bot-ada", health.Failing)
		f.becomes("bot-bob", health.Failing)
		for len(f.sentAbout()) == 0 {
			pass(time.Second)
		}
		f.becomes("bot-bob", health.OK)
		pass(time.Hour)
		require.Empty(t, f.sentAbout())
		require.Zero(t, f.stored("bob", "BotMailDecided"))
	})
}

// Without the log, no email is decided or sent. If only the record fails, the email is
// not sent again.
func TestMailAboutHealthWaitsForTheLog(t *testing.T) {
	withOwners(t, func(t *testing.T, f *fixture) {
		f.set(func() { f.logFails = true })
		f.becomes("bot-ada", health.Failing)
		pass(time.Hour)
		require.Empty(t, f.sentAbout())
		f.set(func() { f.logFails = false })
		pass(2 * time.Hour)
		require.Equal(t, []string{"bot-ada failing"}, f.sentAbout())

		f.own("bob", owner.BotMailDecided{BotID: "bot-bob", About: owner.AboutFailing, Since: time.Now(), Trouble: time.Now()})
		f.becomes("bot-bob", health.Failing)
		f.set(func() { f.logFails = true })
		pass(time.Hour)
		f.set(func() { f.logFails = false })
		pass(2 * time.Hour)
		require.Equal(t, []string{"bot-bob failing"}, f.sentAbout())
		require.Equal(t, 1, f.stored("bob", "OwnerNotified"))
	})
}

// A process that stops while it sends an email records it, so the next process does not
// send it again.
func TestStoppingProcessRecordsItsMail(t *testing.T) {
	withOwners(t, func(t *testing.T, f *fixture) {
		f.set(func() { f.mailTakes = time.Second })
		f.becomes("bot-ada", health.Failing)
		for len(f.sentAbout()) == 0 {
			pass(time.Second / 2)
		}
		f.restart()
		pass(time.Hour)
		require.Empty(t, f.sentAbout())
		require.Equal(t, 1, f.stored("ada", "OwnerNotified"))
	})
}

// If the health of the bots is unknown, the other emails are sent.
func TestUnknownHealthDelaysNoOtherMail(t *testing.T) {
	withOwners(t, func(t *testing.T, f *fixture) {
		f.set(func() { f.healthErr = errors.New("the read model has stopped") })
		f.own("ada", owner.BotPaused{BotID: "bot-ada", By: owner.ByMisses})
		pass(2 * tick) // the directory follows the log at each tick
		require.Len(t, f.mailed(), 1)
		require.Contains(t, f.lines.String(), "the read model has stopped")
	})
}
