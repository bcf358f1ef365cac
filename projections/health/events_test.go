package health_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"hexarena/domain/ladder"
	"hexarena/domain/match"
	"hexarena/domain/owner"
	"hexarena/projections/arenatest"
	"hexarena/projections/health"
)

// The method all() returns the events that the model keeps for an owner.
func (f *fixture) all(ownerID string) []health.Event {
	f.t.Helper()
	require.NoError(f.t, f.sync.Sync(f.t.Context()))
	n, err := f.health.After(ownerID, health.ID{})
	require.NoError(f.t, err)
	list, err := f.health.Events(ownerID, n, health.KeptEvents+1)
	require.NoError(f.t, err)
	return list
}

// typesOf returns the types of the events of one bot, in order.
func typesOf(bot string, list []health.Event) (types []string) {
	for _, e := range list {
		if e.BotID == bot {
			types = append(types, e.Type)
		}
	}
	return types
}

// If a bot dies and recovers, its owner gets one event for each change.
func TestEventsOfABot(t *testing.T) {
	f := newFixture(t)
	eve := f.Register("eve", ladder.Standard, "Eve")[0]
	table := append(f.bots[:3:3], eve)
	f.Dead[eve] = true
	dead := f.Complete(ladder.Standard, table...)
	list := f.all("eve")
	require.Equal(t, []string{"bot.seated", "bot.unreachable", "match.completed"}, typesOf(eve, list))
	require.Len(t, list, 3, "events of other owners")
	require.Equal(t, health.EventError{MatchID: dead.MatchID, Seq: list[1].Error.Seq, Code: "dropped", Message: "the connection was lost, or did not open in time"}, *list[1].Error)
	require.True(t, list[2].Missed)
	require.Equal(t, []string{"Eve", "standard", dead.MatchID}, []string{list[0].BotName, list[0].Mode, list[0].MatchID})

	f.Dead[eve] = false
	f.Own("eve", owner.BotRenamed{BotID: eve, Name: "Eva"}, owner.BotPaused{BotID: eve, By: owner.ByOperator, Reason: "spam"})
	voided := f.Seat(ladder.Standard, table...)[0]
	voided.Void(ladder.WhyBeacon)
	aborted := f.Seat(ladder.Standard, table...)[0]
	aborted.Start()
	aborted.Play(2)
	aborted.Abort(match.Operator)
	aborted.Conclude()
	list = f.all("eve")[3:]
	require.Equal(t, []string{"bot.paused", "bot.seated", "match.aborted", "bot.seated", "match.aborted"}, typesOf(eve, list))
	require.Equal(t, []string{"operator", "spam", "Eva", ""}, []string{list[0].By, list[0].Reason, list[0].BotName, list[0].MatchID})
	require.Equal(t, []string{"beacon", "operator"}, []string{list[2].Reason, list[4].Reason})

	f.Own("eve", owner.TrialEnded{BotID: eve, TrialID: "t", Outcome: owner.TrialExpired})
	tried := f.all("eve")[8]
	require.Equal(t, []string{"trial.completed", "t", "expired", ""}, []string{tried.Type, tried.TrialID, tried.Outcome, tried.MatchID})

	for range 4 {
		f.Complete(ladder.Standard, table...)
	}
	require.Contains(t, typesOf(eve, f.all("eve")), "bot.recovered")

	f.Own("eve", owner.Deleted{})
	f.Complete(ladder.Standard, table...)
	require.Empty(t, f.all("eve"))
	require.NotEmpty(t, f.all("ada"))
}

// A reader can continue after every event, in the live model and in a rebuild.
func TestEventsContinueAfterEveryID(t *testing.T) {
	f := newFixture(t)
	for i := range 3 {
		f.Dead[f.bots[0]] = i == 1
		f.Complete(ladder.Standard, f.bots...)
	}
	all := f.all("ada")
	require.Greater(t, len(all), 24)
	rebuilt := health.New()
	require.NoError(t, arenatest.Follow(t, f.log, rebuilt).Sync(t.Context()))
	seen := map[health.ID]bool{}
	for i, e := range all {
		id, ok := health.ParseID(e.ID)
		require.True(t, ok, e.ID)
		require.False(t, seen[id], e.ID)
		seen[id] = true
		for _, model := range []*health.Health{f.health, rebuilt} {
			n, err := model.After("ada", id)
			require.NoError(t, err)
			rest, err := model.Events("ada", n, len(all))
			require.NoError(t, err)
			require.Equal(t, all[i+1:], append([]health.Event{}, rest...))
		}
		_, err := f.health.After("bob", id)
		require.ErrorIs(t, err, health.ErrEventUnknown, "an event of another owner")
	}
	newest, _, err := f.health.Newest("ada")
	require.NoError(t, err)
	require.Equal(t, all[len(all)-1].ID, newest.String())
}

func TestOldEventsAreForgotten(t *testing.T) {
	f := newFixture(t)
	pauses := make([]owner.Event, health.KeptEvents+2)
	for i := range pauses {
		pauses[i] = owner.BotPaused{BotID: f.bots[0], By: owner.ByOwner}
	}
	f.Own("ada", pauses[:2]...)
	early := f.all("ada")
	require.Len(t, early, 2)
	for part := range slices.Chunk(pauses[2:], 2500) {
		f.Own("ada", part...)
	}
	kept := f.all("ada")
	require.Len(t, kept, health.KeptEvents)

	id, _ := health.ParseID(early[1].ID)
	_, err := f.health.After("ada", id)
	require.ErrorIs(t, err, health.ErrEventTooOld)
	_, err = f.health.Events("ada", 1, 1)
	require.ErrorIs(t, err, health.ErrEventTooOld, "a slow reader must not skip events")
	id, _ = health.ParseID(kept[0].ID)
	_, err = f.health.After("ada", id)
	require.NoError(t, err)
	id.Part += 7
	_, err = f.health.After("ada", id)
	require.ErrorIs(t, err, health.ErrEventUnknown)
}

func TestParseID(t *testing.T) {
	for _, text := range []string{"0", "1.1", "9223372036854775807.2147483647"} {
		id, ok := health.ParseID(text)
		require.True(t, ok, text)
		require.Equal(t, text, id.String())
	}
	for _, text := range []string{"", "1", "1.", ".1", "0.0", "01.1", "1.01", "-1.1", "+1.1", "1.1.1", "a.b", "9223372036854775808.1", " 1.1"} {
		_, ok := health.ParseID(text)
		require.False(t, ok, text)
	}
}
