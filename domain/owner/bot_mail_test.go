package owner

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"hexarena/domain/ladder"
)

const ailing = "standard0"

// since returns a condition that began some time after noon. Its trouble began at noon.
func since(about string, after time.Duration) Condition {
	return Condition{BotID: ailing, About: about, Since: noon.Add(after), Trouble: noon}
}

// The function told returns the history of an email about a condition that was sent an
// hour after the condition began.
func told(c Condition) []happened {
	after := c.Since.Sub(noon)
	decided := BotMailDecided(c)
	return append(at(after, decided), at(after+time.Hour, Notified{BotID: c.BotID, About: c.About})...)
}

func TestDecideMail(t *testing.T) {
	const hour = time.Hour
	failing, unreachable, recovered := since(AboutFailing, 0), since(AboutUnreachable, 2*hour), since(AboutRecovered, 3*hour)
	again := since(AboutFailing, 5*hour)
	again.Trouble = again.Since
	healed := since(AboutRecovered, 6*hour)
	healed.Trouble = again.Trouble
	unsent := at(0, BotMailDecided{BotID: ailing, About: AboutFailing, Since: noon, Trouble: noon})
	for name, c := range map[string]struct {
		given []happened
		when  Condition
		now   time.Duration
		then  bool
	}{
		"failing":                           {nil, failing, 0, true},
		"unreachable":                       {nil, unreachable, 2 * hour, true},
		"failing for almost a day":          {nil, failing, MailWindow - 1, true},
		"failing for a day":                 {nil, failing, MailWindow, false},
		"decided, not sent":                 {unsent, failing, hour, false},
		"sent":                              {told(failing), failing, 2 * hour, false},
		"another kind":                      {told(failing), unreachable, 2 * hour, true},
		"the same kind within a day":        {told(failing), again, 25*hour - 1, false},
		"the same kind after a day":         {told(failing), again, 25 * hour, true},
		"failing again, the first unsent":   {unsent, again, 5 * hour, true},
		"recovered":                         {told(failing), recovered, 3 * hour, true},
		"recovered from unreachable":        {told(unreachable), recovered, 3 * hour, true},
		"recovered, without an email":       {nil, recovered, 3 * hour, false},
		"recovered, the email was not sent": {unsent, recovered, 3 * hour, false},
		"recovered from another trouble":    {told(failing), healed, 6 * hour, false},
		"recovered twice":                   {append(told(failing), told(recovered)...), recovered, 4 * hour, false},
		"switched off":                      {given(MailSwitched{About: AboutFailing}), failing, 0, false},
		"another kind is switched off":      {given(MailSwitched{About: AboutRecovered}), failing, 0, true},
		"switched on again":                 {given(MailSwitched{About: AboutFailing}, MailSwitched{About: AboutFailing, On: true}), failing, 0, true},
		"recovered, failing switched off":   {append(told(failing), at(2*hour, MailSwitched{About: AboutFailing})...), recovered, 3 * hour, true},
		"the owner paused the bot":          {given(BotPaused{BotID: ailing, By: ByOwner}), failing, 0, true},
		"the operator suspended the bot":    {given(BotPaused{BotID: ailing, By: ByOperator}), failing, 0, false},
		"the account is suspended":          {given(Suspended{}), failing, 0, false},
		"the account is restored":           {given(Suspended{}, Restored{}), failing, 0, true},
		"the bot was removed":               {given(BotRemoved{BotID: ailing}), failing, 0, false},
		"the account was deleted":           {given(Deleted{}), failing, 0, false},
	} {
		t.Run(name, func(t *testing.T) {
			a := account(bots(ladder.Standard, 1), c.given)
			var want []Event
			if c.then {
				want = []Event{BotMailDecided{BotID: ailing, About: c.when.About, Since: c.when.Since, Trouble: c.when.Trouble}}
			}
			now := noon.Add(c.now)
			require.Equal(t, want, a.DecideMail(c.when, now))
			if c.then {
				require.False(t, a.MailOwed(c.when, now), "not decided yet")
				decided := Evolve(a, want[0], now)
				require.True(t, decided.MailOwed(c.when, now))
				require.Empty(t, decided.DecideMail(c.when, now))
			}
		})
	}
}

// Given a decided email, then it is owed until it is sent, useless or unwanted.
func TestMailOwed(t *testing.T) {
	failing := since(AboutFailing, 0)
	decided := at(0, BotMailDecided{BotID: ailing, About: AboutFailing, Since: noon, Trouble: noon})
	notified := Notified{BotID: ailing, About: AboutFailing}
	for name, c := range map[string]struct {
		given []Event
		when  Condition
		now   time.Duration
		owed  bool
	}{
		"decided":                {nil, failing, time.Hour, true},
		"sent":                   {[]Event{notified}, failing, time.Hour, false},
		"too late":               {nil, failing, MailWindow, false},
		"the state has changed":  {nil, since(AboutUnreachable, time.Minute), time.Hour, false},
		"failing again":          {nil, since(AboutFailing, time.Minute), time.Hour, false},
		"switched off":           {[]Event{MailSwitched{About: AboutFailing}}, failing, time.Hour, false},
		"suspended":              {[]Event{BotPaused{BotID: ailing, By: ByOperator}}, failing, time.Hour, false},
		"removed":                {[]Event{BotRemoved{BotID: ailing}}, failing, time.Hour, false},
		"paused by the owner":    {[]Event{BotPaused{BotID: ailing, By: ByOwner}}, failing, time.Hour, true},
		"told of another kind":   {[]Event{Notified{BotID: ailing, About: AboutUnreachable}}, failing, time.Hour, true},
		"told of missed matches": {[]Event{Notified{BotID: ailing, About: AboutMisses}}, failing, time.Hour, true},
	} {
		t.Run(name, func(t *testing.T) {
			a := account(bots(ladder.Standard, 1), decided, at(time.Minute, c.given...))
			require.Equal(t, c.owed, a.MailOwed(c.when, noon.Add(c.now)))
		})
	}
	a := account(bots(ladder.Standard, 1), decided)
	require.Equal(t, []Event{notified}, a.NotifyOfHealth(failing))
	require.Empty(t, Evolve(a, notified, noon).NotifyOfHealth(failing))
	require.Empty(t, Evolve(a, BotRemoved{BotID: ailing}, noon).NotifyOfHealth(failing))
	paused := account(bots(ladder.Standard, 1), decided, given(BotPaused{BotID: ailing, By: ByMisses}, notified))
	require.True(t, paused.Bots[0].NoticeOwed(), "the email about the pause is still owed")
}

func TestSwitchMails(t *testing.T) {
	off := func(kind string) Event { return MailSwitched{About: kind} }
	on := func(kind string) Event { return MailSwitched{About: kind, On: true} }
	for name, c := range map[string]struct {
		given []Event
		when  map[string]bool
		then  []Event
	}{
		"nothing":             {nil, nil, nil},
		"off":                 {nil, map[string]bool{AboutFailing: false}, []Event{off(AboutFailing)}},
		"on by default":       {nil, map[string]bool{AboutFailing: true}, nil},
		"already off":         {[]Event{off(AboutFailing)}, map[string]bool{AboutFailing: false}, nil},
		"on":                  {[]Event{off(AboutFailing)}, map[string]bool{AboutFailing: true}, []Event{on(AboutFailing)}},
		"each":                {[]Event{off(AboutRecovered)}, map[string]bool{AboutFailing: true, AboutUnreachable: false, AboutRecovered: true}, []Event{off(AboutUnreachable), on(AboutRecovered)}},
		"another kind is off": {[]Event{off(AboutRecovered)}, map[string]bool{AboutUnreachable: false}, []Event{off(AboutUnreachable)}},
	} {
		t.Run(name, func(t *testing.T) {
			a := account(given(c.given...))
			require.Equal(t, c.then, a.SwitchMails(c.when))
			for kind, wanted := range c.when {
				require.Equal(t, wanted, account(given(append(c.given, c.then...)...)).WantsMail(kind))
			}
		})
	}
	require.True(t, account(given(off(AboutFailing), Deleted{})).WantsMail(AboutFailing), "nothing remains of a deleted account")
}
