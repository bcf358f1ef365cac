package owner

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"hexarena/domain/ladder"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func bots(mode string, n int) []happened {
	var list []happened
	for i := range n {
		list = append(list, given(BotRegistered{BotID: fmt.Sprint(mode, i), Name: "bot", Mode: mode, URL: "https://a.example"})...)
	}
	return list
}

func TestRegisterBot(t *testing.T) {
	bot := NewBot{Name: "bot", Mode: ladder.Standard, URL: "https://a.example", Status: Active}
	registered := []Event{BotRegistered{BotID: "new", Name: "bot", Mode: ladder.Standard, URL: "https://a.example"}}
	for name, c := range map[string]struct {
		given   []happened
		then    []Event
		refusal error
	}{
		"the first":                               {nil, registered, nil},
		"the fifth":                               {bots(ladder.Standard, 4), registered, nil},
		"the sixth":                               {bots(ladder.Standard, 5), nil, ErrBotLimit},
		"with five bots in the other mode":        {bots(ladder.Parley, 5), registered, nil},
		"the sixth, with one paused":              {append(bots(ladder.Standard, 5), given(BotPaused{BotID: "standard0", By: ByOwner})...), registered, nil},
		"the sixth, with one removed":             {append(bots(ladder.Standard, 5), given(BotRemoved{BotID: "standard0"})...), registered, nil},
		"the sixth, with one paused and unpaused": {append(bots(ladder.Standard, 5), given(BotPaused{BotID: "standard0"}, BotUnpaused{BotID: "standard0"})...), nil, ErrBotLimit},
	} {
		t.Run(name, func(t *testing.T) {
			events, err := account(c.given).RegisterBot("new", bot)
			then(t, c.then, c.refusal, events, err)
		})
	}
}

func TestChangeBot(t *testing.T) {
	const id = "standard0"
	one := bots(ladder.Standard, 1)
	paused := append(bots(ladder.Standard, 1), given(BotPaused{BotID: id, By: ByMisses})...)
	full := append(append(bots(ladder.Standard, 5), given(BotPaused{BotID: id, By: ByOwner})...), given(BotRegistered{BotID: "more", Mode: ladder.Standard})...)
	for name, c := range map[string]struct {
		given   []happened
		change  BotChange
		then    []Event
		refusal error
	}{
		"nothing":                        {one, BotChange{}, nil, nil},
		"rename":                         {one, BotChange{Name: pointer("ada")}, []Event{BotRenamed{BotID: id, Name: "ada"}}, nil},
		"the same name":                  {one, BotChange{Name: pointer("bot")}, nil, nil},
		"move":                           {one, BotChange{URL: pointer("https://b.example")}, []Event{BotURLChanged{BotID: id, URL: "https://b.example"}}, nil},
		"the same url":                   {one, BotChange{URL: pointer("https://a.example")}, nil, nil},
		"pause":                          {one, BotChange{Status: pointer(Paused)}, []Event{BotPaused{BotID: id, By: ByOwner}}, nil},
		"pause, paused":                  {paused, BotChange{Status: pointer(Paused)}, nil, nil},
		"unpause":                        {paused, BotChange{Status: pointer(Active)}, []Event{BotUnpaused{BotID: id}}, nil},
		"unpause, active":                {one, BotChange{Status: pointer(Active)}, nil, nil},
		"unpause, with five active bots": {full, BotChange{Status: pointer(Active)}, nil, ErrBotLimit},
		"rename and unpause with five active bots": {full, BotChange{Name: pointer("ada"), Status: pointer(Active)}, nil, ErrBotLimit},
		"all at once": {
			paused, BotChange{Name: pointer("ada"), URL: pointer("https://b.example"), Status: pointer(Active)},
			[]Event{BotRenamed{BotID: id, Name: "ada"}, BotURLChanged{BotID: id, URL: "https://b.example"}, BotUnpaused{BotID: id}}, nil,
		},
		"an unknown bot":         {nil, BotChange{}, nil, ErrBotUnknown},
		"a bot that was removed": {append(bots(ladder.Standard, 1), given(BotRemoved{BotID: id})...), BotChange{}, nil, ErrBotUnknown},
	} {
		t.Run(name, func(t *testing.T) {
			events, err := account(c.given).ChangeBot(id, c.change)
			then(t, c.then, c.refusal, events, err)
		})
	}
}

func TestRemoveBot(t *testing.T) {
	paused := account(bots(ladder.Standard, 1), given(BotPaused{BotID: "standard0"}))
	events, err := paused.RemoveBot("standard0")
	then(t, []Event{BotRemoved{BotID: "standard0"}}, nil, events, err)
	events, err = paused.RemoveBot("none")
	then(t, nil, ErrBotUnknown, events, err)
}

func TestPauseForMisses(t *testing.T) {
	const id = "standard0"
	paused := []Event{BotPaused{BotID: id, By: ByMisses}}
	one := slices.Clip(bots(ladder.Standard, 1))
	for name, c := range map[string]struct {
		given   []happened
		since   time.Duration
		then    []Event
		refusal error
	}{
		"active":                              {one, time.Hour, paused, nil},
		"paused already":                      {append(one, given(BotPaused{BotID: id, By: ByOwner})...), time.Hour, nil, nil},
		"suspended":                           {append(one, given(BotPaused{BotID: id, By: ByOperator})...), time.Hour, nil, nil},
		"of a suspended account":              {append(one, given(Suspended{})...), time.Hour, nil, nil},
		"paused and unpaused earlier":         {append(one, at(time.Minute, BotPaused{BotID: id}, BotUnpaused{BotID: id})...), time.Hour, paused, nil},
		"paused and unpaused since":           {append(one, at(2*time.Hour, BotPaused{BotID: id}, BotUnpaused{BotID: id})...), time.Hour, nil, nil},
		"paused and unpaused at that instant": {append(one, at(time.Hour, BotPaused{BotID: id}, BotUnpaused{BotID: id})...), time.Hour, nil, nil},
		"suspended and restored since":        {append(one, at(2*time.Hour, Suspended{}, Restored{})...), time.Hour, nil, nil},
		"renamed since":                       {append(one, at(2*time.Hour, BotRenamed{BotID: id, Name: "x"})...), time.Hour, paused, nil},
		"unknown":                             {nil, 0, nil, ErrBotUnknown},
	} {
		t.Run(name, func(t *testing.T) {
			events, err := account(c.given).PauseForMisses(id, noon.Add(c.since))
			then(t, c.then, c.refusal, events, err)
		})
	}
}

func TestParseBot(t *testing.T) {
	bot, err := ParseBot("  Ada ", ladder.Parley, "http://a.example/x?y=1", nil)
	require.NoError(t, err)
	require.Equal(t, NewBot{Name: "Ada", Mode: ladder.Parley, URL: "http://a.example/x?y=1", Status: Active}, bot)

	_, err = ParseBot("", "blitz", "ftp://a.example", nil)
	var invalid *InvalidError
	require.ErrorAs(t, err, &invalid)
	require.Equal(t, CodeInvalid, invalid.Code)
	require.Len(t, invalid.Faults, 3, "each fault is named")

	_, err = ParseBot("Ada", ladder.Parley, "ftp://a.example", nil)
	require.ErrorAs(t, err, &invalid)
	require.Equal(t, CodeURLNotAllowed, invalid.Code)
}

func TestParseBotChange(t *testing.T) {
	change, err := ParseBotChange(pointer(" Ada "), pointer("http://a.example"), pointer("paused"))
	require.NoError(t, err)
	require.Equal(t, BotChange{Name: pointer("Ada"), URL: pointer("http://a.example"), Status: pointer(Paused)}, change)

	change, err = ParseBotChange(nil, nil, nil)
	require.NoError(t, err)
	require.Equal(t, BotChange{}, change)

	_, err = ParseBotChange(pointer(""), pointer(""), pointer("Active"))
	var invalid *InvalidError
	require.ErrorAs(t, err, &invalid)
	require.Len(t, invalid.Faults, 3)
}

// The limits hold after any sequence of calls by an owner, and no decision or fold
// changes its input state.
func TestLimitsHold(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a := Account{}
		for range rapid.IntRange(1, 80).Draw(t, "steps") {
			events, _ := anyDecision(t, a)
			before := fmt.Sprint(a)
			next := a
			for _, e := range events {
				next = Evolve(next, e, noon)
			}
			require.Equal(t, before, fmt.Sprint(a), "folding does not change the earlier state")
			a = next
			require.LessOrEqual(t, a.activeBots(ladder.Standard), BotLimit)
			require.LessOrEqual(t, a.activeBots(ladder.Parley), BotLimit)
			requireStatuses(t, a)
			require.LessOrEqual(t, len(without(a.Keys, Key.Revoked)), KeyLimit)
		}
	})
}

// requireStatuses requires that a bot's status is active if and only if nobody
// has paused or suspended the bot.
func requireStatuses(t *rapid.T, a Account) {
	playing := map[string]int{}
	for _, b := range a.Bots {
		free := b.PausedBy == "" && !b.Suspended && !a.Suspended
		require.Equal(t, free, b.Status == Active, b)
		if b.Status == Active {
			playing[b.Mode]++
		}
	}
	require.LessOrEqual(t, max(playing[ladder.Standard], playing[ladder.Parley]), BotLimit)
}

func anyDecision(t *rapid.T, a Account) ([]Event, error) {
	number := rapid.IntRange(0, 29)
	id := fmt.Sprint(number.Draw(t, "id"))
	switch rapid.IntRange(0, 11).Draw(t, "decision") {
	case 0:
		if _, ok := a.Bot(id); ok {
			return nil, nil // ids are always new
		}
		mode := rapid.SampledFrom(ladder.Modes).Draw(t, "mode")
		return a.RegisterBot(id, NewBot{Name: id, Mode: mode, URL: "https://a.example"})
	case 1:
		status := rapid.SampledFrom([]Status{Active, Paused}).Draw(t, "status")
		return a.ChangeBot(id, BotChange{Status: &status})
	case 2:
		return a.RemoveBot(id)
	case 3:
		return a.SuspendBot(id, "why")
	case 4:
		if _, ok := a.Key(id); ok {
			return a.RevokeKey(id)
		}
		return a.RegisterKey(id, NewKey{PublicKey: publicKey(byte(number.Draw(t, "public")))}, Caller{})
	case 5:
		return a.RestoreBot(id, "why")
	case 6:
		return a.Suspend("why")
	case 7:
		return a.Restore("why")
	case 8:
		return a.PauseForMisses(id, noon.Add(time.Hour))
	case 9:
		return a.NotifyOfMisses(id), nil
	default:
		return a.UseKey(id, noon), nil
	}
}
