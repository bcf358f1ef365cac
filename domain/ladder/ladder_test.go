package ladder

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"hexarena/domain/rating"
)

const restOfTests = 5 * time.Minute

// noon is the time at which these tests begin.
var noon = time.Date(2026, 10, 1, 12, 0, 0, 0, time.UTC)

// The function given() returns a new ladder after the given events, which occur one
// minute apart, starting at noon.
func given(events ...Event) Ladder {
	l := New(Standard)
	for i, e := range events {
		l = Evolve(l, e, noon.Add(time.Duration(i)*time.Minute))
	}
	return l
}

func tick(now time.Time) Tick {
	return Tick{Now: now, Rest: restOfTests, PlatformKey: "cGxhdGZvcm0=", SeedKeyID: "k1", SeedKey: []byte("seed key of tests")}
}

// The function registered() makes candidates, each registered one second after the
// previous one.
func registered(ids ...string) []Candidate {
	all := make([]Candidate, len(ids))
	for i, id := range ids {
		all[i] = Candidate{BotID: id, Registered: noon.Add(time.Duration(i)*time.Second - time.Hour)}
	}
	return all
}

func numbered(n int) []string {
	ids := make([]string, n)
	for i := range ids {
		ids[i] = fmt.Sprintf("bot-%04d", i)
	}
	return ids
}

func seated(id string, bots ...string) TablesSeated {
	return TablesSeated{Tick: noon, SeedKey: "k1", Tables: []Table{{MatchID: id, Bots: bots}}}
}

// The function rated() returns the event that rates the bots of a match, best first.
func rated(id string, bots ...string) RatingsChanged {
	e := RatingsChanged{MatchID: id}
	for i, bot := range bots {
		e.Seats = append(e.Seats, RatedSeat{
			BotID: bot, Placement: i + 1, Before: rating.New(),
			After: rating.Rating{Mu: float64(30 - 2*i), Sigma: 5},
		})
	}
	return e
}

func missed(e RatingsChanged, bot string) RatingsChanged {
	for i := range e.Seats {
		e.Seats[i].Missed = e.Seats[i].BotID == bot
	}
	return e
}

func TestStreamNames(t *testing.T) {
	require.Equal(t, "ladder-standard", Stream(Standard))
	require.Equal(t, "ladder-parley", Stream(Parley))
	mode, ok := ModeOf("ladder-parley")
	require.True(t, ok)
	require.Equal(t, Parley, mode)
	for _, other := range []string{"ladder-", "match-1", "snapshot-standard", ""} {
		_, ok := ModeOf(other)
		require.False(t, ok, other)
	}
}

func TestANewLadderKnowsNobody(t *testing.T) {
	l := New(Parley)
	require.Equal(t, Parley, l.Mode())
	require.Zero(t, l.Version())
	require.Equal(t, Bot{Rating: rating.New()}, l.Bot("a"))
	require.Empty(t, l.Unfinished())
	_, ok := l.Seating("m")
	require.False(t, ok)
}

func TestTheVersionIsTheNextRevision(t *testing.T) {
	l := given(seated("m0", "a", "b", "c"), rated("m0", "a", "b", "c"), seated("m2", "a", "b", "c"))
	require.EqualValues(t, 3, l.Version())
	s, ok := l.Seating("m2")
	require.True(t, ok)
	require.EqualValues(t, 2, s.Revision)
}

func TestASeatingHoldsTheInputsOfAMatch(t *testing.T) {
	l := given(seated("m0", "a", "b", "c"), rated("m0", "c", "b", "a"))
	events, err := l.Seat(registered("a", "b", "c", "d", "e", "f", "g"), tick(noon.Add(time.Hour)))
	require.NoError(t, err)
	at := noon.Add(time.Hour + time.Second)
	l = Evolve(l, events[0], at)
	all := l.Unfinished()
	require.Len(t, all, 2)
	tables := events[0].(TablesSeated).Tables
	require.Equal(t, Seating{
		MatchID: tables[0].MatchID, Mode: Standard,
		Bots: []Entrant{
			{"c", rating.Rating{Mu: 30, Sigma: 5}}, {"b", rating.Rating{Mu: 28, Sigma: 5}},
			{"a", rating.Rating{Mu: 26, Sigma: 5}}, {"d", rating.New()},
		},
		Revision: 2, Index: 0, SeedKey: "k1", Commitment: tables[0].Commitment, SeatedAt: at,
	}, all[0])
	require.Equal(t, 1, all[1].Index)
	require.Equal(t, tables[1].MatchID, all[1].MatchID)
	one, ok := l.Seating(tables[1].MatchID)
	require.True(t, ok)
	require.Equal(t, all[1], one)
}

func TestUnfinishedIsInTheOrderOfSeating(t *testing.T) {
	l := given(seated("z", "a", "b", "c"), seated("y", "d", "e", "f"), seated("x", "g", "h", "i"))
	var ids []string
	for _, s := range l.Unfinished() {
		ids = append(ids, s.MatchID)
	}
	require.Equal(t, []string{"z", "y", "x"}, ids)
}

// Writers fold repeatedly from the same new ladder, so one fold must not affect
// another.
func TestFoldsFromOneNewLadderAreIndependent(t *testing.T) {
	zero := New(Standard)
	one := Evolve(zero, seated("m", "a", "b", "c"), noon)
	require.Equal(t, New(Standard), zero)
	two := Evolve(zero, seated("n", "d", "e", "f"), noon)
	require.Equal(t, "m", one.Bot("a").Match)
	require.Empty(t, two.Bot("a").Match)
	require.Len(t, one.Unfinished(), 1)
}

func TestBotsAreFreeAndRestWhenTheirMatchEnds(t *testing.T) {
	for name, end := range map[string]Event{
		"rated":  rated("m", "a", "b", "c"),
		"voided": MatchVoided{MatchID: "m", Why: WhyWallClock},
	} {
		t.Run(name, func(t *testing.T) {
			l := given(seated("m", "a", "b", "c"), end)
			require.Empty(t, l.Unfinished())
			for _, bot := range []string{"a", "b", "c"} {
				require.Empty(t, l.Bot(bot).Match)
				require.Equal(t, noon.Add(time.Minute), l.Bot(bot).Ended)
			}
			require.True(t, l.Bot("d").Ended.IsZero())
		})
	}
}

// If a match's beacon round did not appear, the match never started, so its
// bots need no rest from it. They still rest from their earlier match.
func TestBotsDoNotRestAfterAMissingRound(t *testing.T) {
	l := given(seated("m", "a", "b", "c"), rated("m", "a", "b", "c"), seated("n", "a", "b", "d"), MatchVoided{MatchID: "n", Why: WhyBeacon})
	require.Empty(t, l.Unfinished())
	for _, bot := range []string{"a", "b", "d"} {
		require.Empty(t, l.Bot(bot).Match)
	}
	require.Equal(t, noon.Add(time.Minute), l.Bot("a").Ended)
	require.Zero(t, l.Bot("d").Ended)
}

func TestOnlyRatedMatchesCount(t *testing.T) {
	l := given(
		seated("m", "a", "b", "c"), MatchVoided{MatchID: "m", Why: WhyOperator},
		seated("n", "a", "b", "c"), rated("n", "a", "b", "c"),
	)
	require.Equal(t, 1, l.Bot("a").Games)
	require.Equal(t, rating.Rating{Mu: 30, Sigma: 5}, l.Bot("a").Rating)
}

func TestMissStreaks(t *testing.T) {
	play := func(id string) []Event {
		return []Event{seated(id, "a", "b", "c"), rated(id, "a", "b", "c")}
	}
	miss := func(id string) []Event {
		return []Event{seated(id, "a", "b", "c"), missed(rated(id, "a", "b", "c"), "a")}
	}
	void := func(id string) []Event {
		return []Event{seated(id, "a", "b", "c"), MatchVoided{MatchID: id, Why: WhyOperator}}
	}
	for name, c := range map[string]struct {
		given []([]Event)
		count int
		since time.Duration // after noon
	}{
		"none":                              {[][]Event{play("1")}, 0, 0},
		"one":                               {[][]Event{miss("1")}, 1, time.Minute},
		"two":                               {[][]Event{miss("1"), miss("2")}, 2, time.Minute},
		"a match ends the streak":           {[][]Event{miss("1"), play("2")}, 0, 0},
		"the next miss begins a new streak": {[][]Event{miss("1"), play("2"), miss("3")}, 1, 5 * time.Minute},
		"a voided match does not count":     {[][]Event{miss("1"), void("2"), miss("3")}, 2, time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			var events []Event
			for _, m := range c.given {
				events = append(events, m...)
			}
			b := given(events...).Bot("a")
			require.Equal(t, c.count, b.Misses)
			if c.count == 0 {
				require.True(t, b.MissedSince.IsZero())
				return
			}
			require.Equal(t, noon.Add(c.since), b.MissedSince)
			require.Zero(t, given(events...).Bot("b").Misses, "b missed nothing")
		})
	}
}
