package owner

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"hexarena/domain/ladder"
)

const trialBot = "standard0"

func pausedBot() []happened {
	return append(bots(ladder.Standard, 1), given(BotPaused{BotID: trialBot, By: ByOwner})...)
}

func trialsOf(bot string, n int, after time.Duration) (all []happened) {
	for range n {
		all = append(all, at(after, TrialOrdered{BotID: bot, TrialID: "t"}, TrialEnded{BotID: bot, TrialID: "t", Outcome: TrialCompleted})...)
	}
	return all
}

func TestOrderTrial(t *testing.T) {
	ordered := []Event{TrialOrdered{BotID: trialBot, TrialID: "new"}}
	other := []happened{{0, BotRegistered{BotID: "other", Mode: ladder.Parley}}, {0, BotPaused{BotID: "other", By: ByOwner}}}
	for name, c := range map[string]struct {
		given   []happened
		then    []Event
		refusal error
	}{
		"an unknown bot":        {nil, nil, ErrBotUnknown},
		"an active bot":         {bots(ladder.Standard, 1), nil, ErrBotNotPaused},
		"a paused bot":          {pausedBot(), ordered, nil},
		"paused for misses":     {append(bots(ladder.Standard, 1), given(BotPaused{BotID: trialBot, By: ByMisses})...), ordered, nil},
		"a suspended bot":       {append(pausedBot(), given(BotPaused{BotID: trialBot, By: ByOperator})...), nil, ErrBotSuspended},
		"suspended, not paused": {append(bots(ladder.Standard, 1), given(BotPaused{BotID: trialBot, By: ByOperator})...), nil, ErrBotSuspended},
		"a suspended account":   {append(pausedBot(), given(Suspended{})...), nil, ErrBotSuspended},
		"a bot in a trial":      {append(pausedBot(), given(TrialOrdered{BotID: trialBot, TrialID: "old"})...), nil, ErrBotInTrial},
		"after a trial":         {append(pausedBot(), trialsOf(trialBot, 1, 0)...), ordered, nil},
		"another bot in a trial": {
			append(append(pausedBot(), other...), given(TrialOrdered{BotID: "other", TrialID: "old"})...), ordered, nil,
		},
		"the tenth within an hour":    {append(append(pausedBot(), other...), trialsOf("other", 9, 0)...), ordered, nil},
		"the eleventh after one hour": {append(append(pausedBot(), trialsOf(trialBot, 1, -time.Minute)...), trialsOf(trialBot, 9, 0)...), ordered, nil},
	} {
		t.Run(name, func(t *testing.T) {
			events, err := account(c.given).OrderTrial(trialBot, "new", noon.Add(time.Hour-time.Second))
			then(t, c.then, c.refusal, events, err)
		})
	}
}

func TestEleventhTrialWithinAnHourWaits(t *testing.T) {
	a := account(pausedBot(), trialsOf(trialBot, 4, 0), trialsOf(trialBot, 6, 20*time.Minute))
	var limit *TrialLimitError
	_, err := a.OrderTrial(trialBot, "new", noon.Add(50*time.Minute))
	require.ErrorAs(t, err, &limit)
	require.Equal(t, 10*time.Minute, limit.Wait)
	_, err = a.OrderTrial(trialBot, "new", noon.Add(50*time.Minute+limit.Wait))
	require.NoError(t, err)
}

// A bot in a trial stays paused, no matter who paused it. So no tick can seat the bot.
func TestBotInTrialStaysPaused(t *testing.T) {
	unpause := BotChange{Status: pointer(Active)}
	during := append(pausedBot(), given(TrialOrdered{BotID: trialBot, TrialID: "t1"})...)
	_, err := account(during).ChangeBot(trialBot, unpause)
	require.ErrorIs(t, err, ErrBotInTrial)

	events, err := account(during).ChangeBot(trialBot, BotChange{Name: pointer("ada")})
	then(t, []Event{BotRenamed{BotID: trialBot, Name: "ada"}}, nil, events, err)

	restored := append(during, given(BotPaused{BotID: trialBot, By: ByOperator}, BotUnpaused{BotID: trialBot, By: ByOperator})...)
	b, _ := account(restored).Bot(trialBot)
	require.Equal(t, Paused, b.Status)

	after := append(during, given(TrialEnded{BotID: trialBot, TrialID: "t1", Outcome: TrialInMatch})...)
	events, err = account(after).ChangeBot(trialBot, unpause)
	then(t, []Event{BotUnpaused{BotID: trialBot}}, nil, events, err)
}

func TestEndTrial(t *testing.T) {
	during := append(pausedBot(), given(TrialOrdered{BotID: trialBot, TrialID: "t1"})...)
	ended := []Event{TrialEnded{BotID: trialBot, TrialID: "t1", Outcome: TrialCompleted}}
	require.Equal(t, ended, account(during).EndTrial(trialBot, "t1", TrialCompleted))
	require.Empty(t, account(during).EndTrial(trialBot, "t0", TrialCompleted), "another trial")
	require.Empty(t, account(during, given(ended...)).EndTrial(trialBot, "t1", TrialExpired), "ended already")
	require.Empty(t, account(during, given(BotRemoved{BotID: trialBot})).EndTrial(trialBot, "t1", TrialCompleted))

	b, _ := account(during, at(time.Minute, ended...)).Bot(trialBot)
	require.Equal(t, Trial{ID: "t1", OrderedAt: noon, EndedAt: noon.Add(time.Minute), Outcome: TrialCompleted}, b.Trial)
}

func TestPausedBotsHaveNoLimit(t *testing.T) {
	bot, err := ParseBot("ada", ladder.Standard, "https://a.example", pointer("paused"))
	require.NoError(t, err)
	events, err := account(bots(ladder.Standard, BotLimit)).RegisterBot("new", bot)
	then(t, []Event{BotRegistered{BotID: "new", Name: "ada", Mode: ladder.Standard, URL: "https://a.example"}, BotPaused{BotID: "new", By: ByOwner}}, nil, events, err)
	_, err = ParseBot("ada", ladder.Standard, "https://a.example", pointer("resting"))
	require.EqualError(t, err, "invalid: status must be active or paused")
}
