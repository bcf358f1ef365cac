package owner

import (
	"slices"
	"testing"
	"time"

	"hexarena/domain/ladder"

	"github.com/stretchr/testify/require"
)

const suspect = "standard0"

func active() []happened {
	return append(given(SignedUp{OwnerID: "o1"}), bots(ladder.Standard, 1)...)
}

func TestSuspendAndRestore(t *testing.T) {
	suspended := slices.Clip(append(active(), given(Suspended{Reason: "abuse"})...))
	for name, c := range map[string]struct {
		given   []happened
		order   func(Account) ([]Event, error)
		then    []Event
		refusal error
	}{
		"suspend":                                {active(), func(a Account) ([]Event, error) { return a.Suspend(" abuse\n") }, []Event{Suspended{Reason: "abuse"}}, nil},
		"suspend a suspended account":            {suspended, func(a Account) ([]Event, error) { return a.Suspend("more") }, nil, nil},
		"suspend without a reason":               {active(), func(a Account) ([]Event, error) { return a.Suspend(" ") }, nil, ErrNoReason},
		"suspend an account that does not exist": {nil, func(a Account) ([]Event, error) { return a.Suspend("abuse") }, nil, ErrOwnerGone},
		"suspend a deleted account":              {append(active(), given(Deleted{})...), func(a Account) ([]Event, error) { return a.Suspend("abuse") }, nil, ErrOwnerGone},
		"restore":                                {suspended, func(a Account) ([]Event, error) { return a.Restore("fine") }, []Event{Restored{Reason: "fine"}}, nil},
		"restore, not suspended":                 {active(), func(a Account) ([]Event, error) { return a.Restore("fine") }, nil, nil},
		"restore without a reason":               {suspended, func(a Account) ([]Event, error) { return a.Restore("") }, nil, ErrNoReason},
		"a bot":                                  {active(), func(a Account) ([]Event, error) { return a.SuspendBot(suspect, "floods") }, []Event{BotPaused{BotID: suspect, By: ByOperator, Reason: "floods"}}, nil},
		"a suspended bot": {
			append(active(), given(BotPaused{BotID: suspect, By: ByOperator})...),
			func(a Account) ([]Event, error) { return a.SuspendBot(suspect, "more") }, nil, nil,
		},
		"a bot that its owner has paused": {
			append(active(), given(BotPaused{BotID: suspect, By: ByOwner})...),
			func(a Account) ([]Event, error) { return a.SuspendBot(suspect, "floods") }, []Event{BotPaused{BotID: suspect, By: ByOperator, Reason: "floods"}}, nil,
		},
		"a bot without a reason": {active(), func(a Account) ([]Event, error) { return a.SuspendBot(suspect, "") }, nil, ErrNoReason},
		"an unknown bot":         {active(), func(a Account) ([]Event, error) { return a.SuspendBot("none", "floods") }, nil, ErrBotUnknown},
		"restore a bot": {
			append(active(), given(BotPaused{BotID: suspect, By: ByOperator})...),
			func(a Account) ([]Event, error) { return a.RestoreBot(suspect, "fixed") }, []Event{BotUnpaused{BotID: suspect, By: ByOperator, Reason: "fixed"}}, nil,
		},
		"restore a bot that is only paused": {
			append(active(), given(BotPaused{BotID: suspect, By: ByOwner})...),
			func(a Account) ([]Event, error) { return a.RestoreBot(suspect, "fixed") }, nil, nil,
		},
		"restore an unknown bot": {active(), func(a Account) ([]Event, error) { return a.RestoreBot("none", "fixed") }, nil, ErrBotUnknown},
	} {
		t.Run(name, func(t *testing.T) {
			events, err := c.order(account(c.given))
			then(t, c.then, c.refusal, events, err)
		})
	}
}

// This test checks a bot's status, and whether its owner may change it, during
// and after a suspension of the bot or its account.
func TestStatusDuringASuspension(t *testing.T) {
	suspend, restore := Event(BotPaused{BotID: suspect, By: ByOperator}), Event(BotUnpaused{BotID: suspect, By: ByOperator})
	pause, unpause := Event(BotPaused{BotID: suspect, By: ByOwner}), Event(BotUnpaused{BotID: suspect})
	for name, c := range map[string]struct {
		given  []Event
		status Status
		since  int   // index of the event that last changed the status; 0 is the registration
		active error // the error when the owner sets the bot to active
	}{
		"not suspended":                          {nil, Active, 0, nil},
		"paused":                                 {[]Event{pause}, Paused, 1, nil},
		"suspended":                              {[]Event{suspend}, Paused, 1, ErrBotSuspended},
		"restored":                               {[]Event{suspend, restore}, Active, 2, nil},
		"paused, then suspended":                 {[]Event{pause, suspend}, Paused, 1, ErrBotSuspended},
		"paused, suspended, restored":            {[]Event{pause, suspend, restore}, Paused, 1, nil},
		"suspended, then paused, restored":       {[]Event{suspend, pause, restore}, Paused, 1, nil},
		"paused, suspended, unpaused, restored":  {[]Event{pause, suspend, unpause, restore}, Active, 4, nil},
		"its account is suspended":               {[]Event{Suspended{}}, Paused, 1, ErrBotSuspended},
		"its account was suspended and restored": {[]Event{Suspended{}, Restored{}}, Active, 2, nil},
		"both":                                   {[]Event{Suspended{}, suspend}, Paused, 1, ErrBotSuspended},
		"both suspended, its account restored":   {[]Event{Suspended{}, suspend, Restored{}}, Paused, 1, ErrBotSuspended},
		"both suspended, the bot restored":       {[]Event{Suspended{}, suspend, restore}, Paused, 1, ErrBotSuspended},
		"both restored":                          {[]Event{Suspended{}, suspend, restore, Restored{}}, Active, 4, nil},
		"paused by misses, and restored":         {[]Event{BotPaused{BotID: suspect, By: ByMisses}, suspend, restore}, Paused, 1, nil},
	} {
		t.Run(name, func(t *testing.T) {
			history := active()
			for i, e := range c.given {
				history = append(history, at(time.Duration(i+1)*time.Minute, e)...)
			}
			a := account(history)
			b, ok := a.Bot(suspect)
			require.True(t, ok)
			require.Equal(t, c.status, b.Status)
			require.Equal(t, noon.Add(time.Duration(c.since)*time.Minute), b.StatusSince)
			_, err := a.ChangeBot(suspect, BotChange{Status: pointer(Active)})
			require.ErrorIs(t, err, c.active)
			_, err = a.ChangeBot(suspect, BotChange{Name: pointer("x"), Status: pointer(Paused)})
			require.NoError(t, err, "the owner may always pause it")
		})
	}
}

// A suspended bot counts toward the limit of five, unless its owner pauses it.
func TestASuspendedBotCountsTowardTheLimit(t *testing.T) {
	five := account(bots(ladder.Standard, 5), given(BotPaused{BotID: suspect, By: ByOperator}))
	_, err := five.RegisterBot("new", NewBot{Mode: ladder.Standard})
	require.ErrorIs(t, err, ErrBotLimit)
	events, err := five.ChangeBot(suspect, BotChange{Status: pointer(Paused)})
	then(t, []Event{BotPaused{BotID: suspect, By: ByOwner}}, nil, events, err)
	_, err = Evolve(five, events[0], noon).RegisterBot("new", NewBot{Mode: ladder.Standard})
	require.NoError(t, err)
}

func TestNotices(t *testing.T) {
	notified := Notified{BotID: suspect, About: AboutMisses}
	paused := slices.Clip(append(active(), given(BotPaused{BotID: suspect, By: ByMisses})...))
	for name, c := range map[string]struct {
		given []happened
		then  []Event
	}{
		"paused by misses":             {paused, []Event{notified}},
		"already notified":             {append(paused, given(notified)...), nil},
		"unpaused meanwhile":           {append(paused, given(BotUnpaused{BotID: suspect})...), nil},
		"removed meanwhile":            {append(paused, given(BotRemoved{BotID: suspect})...), nil},
		"suspended meanwhile":          {append(paused, given(BotPaused{BotID: suspect, By: ByOperator})...), []Event{notified}},
		"paused again, after a notice": {append(paused, given(notified, BotUnpaused{BotID: suspect}, BotPaused{BotID: suspect, By: ByMisses})...), []Event{notified}},
		"paused by its owner":          {append(active(), given(BotPaused{BotID: suspect, By: ByOwner})...), nil},
		"active":                       {active(), nil},
	} {
		t.Run(name, func(t *testing.T) { require.Equal(t, c.then, account(c.given).NotifyOfMisses(suspect)) })
	}
}

func TestFiveNoticesAnHour(t *testing.T) {
	var history []happened
	for i := range 40 {
		history = append(history, at(time.Duration(i)*10*time.Minute, Notified{BotID: suspect})...)
	}
	for n, refusal := range map[int]error{0: nil, 4: nil, 5: ErrNoticeLimit, 40: ErrNoticeLimit} {
		now := noon.Add(time.Duration(max(0, n-1)) * 10 * time.Minute)
		require.ErrorIs(t, account(history[:n]).MayNotify(now), refusal, "after %d", n)
	}
	a := account(history)
	last := noon.Add(39 * 10 * time.Minute)
	require.LessOrEqual(t, len(a.notices), 6, "old ones are forgotten")
	require.ErrorIs(t, a.MayNotify(last.Add(19*time.Minute)), ErrNoticeLimit)
	require.NoError(t, a.MayNotify(last.Add(20*time.Minute)))
}
