package health_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	domain "hexarena/domain/health"
	"hexarena/domain/ladder"
	"hexarena/domain/match"
	"hexarena/domain/owner"
	"hexarena/eventstore"
	"hexarena/eventstore/logtest"
	"hexarena/eventstore/memory"
	"hexarena/projections"
	"hexarena/projections/arenatest"
	"hexarena/projections/frames"
	"hexarena/projections/health"
)

// fixture is an arena and the health of its bots.
type fixture struct {
	*arenatest.Arena
	t      *testing.T
	log    *memory.Log
	health *health.Health
	sync   *projections.Runner
	bots   []string
}

func newFixture(t *testing.T) *fixture {
	t.Helper()
	log, h := memory.New(), health.New()
	f := &fixture{arenatest.New(t, log, 7), t, log, h, arenatest.Follow(t, log, h), nil}
	f.Dead = map[string]bool{}
	f.bots = f.Register("ada", ladder.Standard, "Ann", "Bea", "Cat", "Dot")
	return f
}

func (f *fixture) of(bot string) domain.Bot {
	f.t.Helper()
	require.NoError(f.t, f.sync.Sync(f.t.Context()))
	b, err := f.health.Of(bot)
	require.NoError(f.t, err)
	return b
}

// explain appends a detail for each timeout of a match.
func (f *fixture) explain(g *arenatest.Game) {
	f.t.Helper()
	var details []match.Event
	for _, e := range g.Events {
		if e, ok := e.(match.DecisionTimedOut); ok {
			details = append(details, match.TimeoutExplained{Seat: e.Seat, Decision: e.Decision, Fault: match.Fault{Code: e.Cause, Message: fmt.Sprint("decision ", e.Decision)}})
		}
	}
	encoded, err := eventstore.EncodeAll(details, eventstore.Metadata{Correlation: g.MatchID})
	require.NoError(f.t, err)
	_, err = f.log.Append(f.t.Context(), eventstore.StreamID(match.DetailsStream(g.MatchID)), eventstore.Any, encoded...)
	require.NoError(f.t, err)
}

// lastStrike returns the last strike of a bot in a match, as the decision log shows it.
func (f *fixture) lastStrike(g *arenatest.Game, bot string) frames.Decision {
	f.t.Helper()
	h, err := frames.Read(f.t.Context(), f.log, g.MatchID)
	require.NoError(f.t, err)
	details, err := frames.ReadDetails(f.t.Context(), f.log, g.MatchID)
	require.NoError(f.t, err)
	seat, ok := h.SeatOf(bot)
	require.True(f.t, ok)
	list := h.Decisions(seat, nil, details)
	list = slices.DeleteFunc(list, func(d frames.Decision) bool { return d.Outcome == frames.Played })
	require.NotEmpty(f.t, list)
	return list[len(list)-1]
}

func TestDeadBotIsUnreachableAndRecovers(t *testing.T) {
	f := newFixture(t)
	dead := f.bots[2]
	require.Equal(t, domain.Bot{State: domain.Untested}, f.of(dead))

	f.Dead[dead] = true
	g := f.Seat(ladder.Standard, f.bots...)[0]
	g.Start()
	g.Claim() // has no seq
	g.Play(6)
	require.Equal(t, domain.Unreachable, f.of(dead).State, "before the match has ended")
	g.PlayOut()
	b := f.of(dead)
	require.Equal(t, domain.Recent{}, b.Recent())
	g.Conclude()
	first := f.of(dead)
	require.Equal(t, b.Since, first.Since)
	require.Equal(t, domain.Recent{Matches: 1, Strikes: 3, Resigned: 1, Missed: 1, Timeouts: 3}, first.Recent())
	strike := f.lastStrike(g, dead)
	require.Equal(t, strike.Seq, first.LastError.Seq)
	require.Equal(t, strike.At, first.LastError.At.Format(match.TimeFormat))
	require.Equal(t, g.MatchID, first.LastError.MatchID)

	f.explain(g)
	require.Equal(t, fmt.Sprint("decision ", strike.ID), f.of(dead).LastError.Message)
	f.explain(g)
	require.Equal(t, fmt.Sprint("decision ", strike.ID), f.of(dead).LastError.Message)

	f.Dead[dead] = false
	var next *arenatest.Game
	for f.of(dead).State != domain.OK {
		require.Less(t, f.of(dead).Recent().Matches, 4)
		next = f.Complete(ladder.Standard, f.bots...)
	}
	require.True(t, f.of(dead).Since.After(next.Times[len(next.Times)-1]))
}

// Only bots that have been in trouble have a change, from the time of its event until
// their account is deleted.
func TestChanges(t *testing.T) {
	f := newFixture(t)
	eve := f.Register("eve", ladder.Standard, "Eve")[0]
	table := append(f.bots[:3:3], eve)
	changes := func(since time.Time) (list []string) {
		t.Helper()
		require.NoError(t, f.sync.Sync(t.Context()))
		all, err := f.health.Changes(since)
		require.NoError(t, err)
		for _, c := range all {
			h := f.of(c.BotID)
			require.Equal(t, []any{h.State, h.Since.UTC(), h.Trouble.UTC()}, []any{c.State, c.Since, c.Trouble})
			if c.BotID == eve {
				list = append(list, fmt.Sprint(c.OwnerID, " ", c.State))
			}
		}
		return list
	}
	f.Complete(ladder.Standard, table...)
	require.Empty(t, changes(time.Time{}))
	f.Dead[eve] = true
	f.Complete(ladder.Standard, table...)
	require.Equal(t, []string{"eve unreachable"}, changes(f.of(eve).Since))
	require.Empty(t, changes(f.of(eve).Since.Add(time.Millisecond)))
	f.Dead[eve] = false
	for f.of(eve).State != domain.OK {
		f.Complete(ladder.Standard, table...)
	}
	require.Equal(t, []string{"eve ok"}, changes(f.of(eve).Since))
	f.Own("eve", owner.Deleted{})
	require.Empty(t, changes(time.Time{}))
}

// Every error of every bot equals the latest strike in the decision log.
func TestErrorsEqualTheDecisionLog(t *testing.T) {
	f := newFixture(t)
	compared := 0
	for range 10 {
		g := f.Seat(ladder.Standard, f.bots...)[0]
		g.Start()
		g.Play(1)
		g.Claim()
		g.PlayOut()
		g.Conclude()
		for _, bot := range f.bots {
			if e := f.of(bot).LastError; e != nil && e.MatchID == g.MatchID {
				d := f.lastStrike(g, bot)
				require.Equal(t, []any{d.ID, d.Seq, d.At}, []any{e.Decision, e.Seq, e.At.Format(match.TimeFormat)})
				switch {
				case d.Reason != nil:
					require.Equal(t, []string{*d.Reason, *d.Message}, []string{e.Code, e.Message})
				case d.Malformed != nil:
					require.Equal(t, []string{d.Malformed.Code, d.Malformed.Message}, []string{e.Code, e.Message})
				default:
					require.Equal(t, *d.Cause, e.Code)
				}
				compared++
			}
		}
	}
	require.Greater(t, compared, 5)
}

func TestMatchThatNeverStartedChangesNothing(t *testing.T) {
	f := newFixture(t)
	f.Seat(ladder.Standard, f.bots...)[0].Void(ladder.WhyBeacon)
	require.Equal(t, domain.Bot{State: domain.Untested}, f.of(f.bots[0]))
}

func TestAbortedMatchIsCounted(t *testing.T) {
	f := newFixture(t)
	g := f.Seat(ladder.Standard, f.bots...)[0]
	g.Start()
	g.Play(2)
	g.Abort(match.Operator)
	g.Conclude()
	b := f.of(g.State.Started.Seats[0].BotID)
	require.Equal(t, []any{domain.Untested, time.Time{}, 1}, []any{b.State, b.Since, b.Recent().Matches})
}

// The live model folds the events in many steps, while the matches run. A rebuild
// produces the same bytes.
func TestRebuildEqualsTheLiveModel(t *testing.T) {
	f := newFixture(t)
	for i := range 8 {
		f.Dead[f.bots[0]] = i%4 == 1
		g := f.Seat(ladder.Standard, f.bots...)[0]
		g.Start()
		for !g.State.Over() {
			if g.Step(); i == 5 && g.State.Game.Turn > 3 {
				g.Abort(match.WallClock)
			}
			if len(g.Events)%9 == 0 {
				f.of(f.bots[0])
			}
		}
		f.explain(g)
		g.Conclude()
	}
	open := f.Seat(ladder.Standard, f.bots...)[0]
	open.Start()
	open.Play(5)
	require.NoError(t, f.sync.Sync(t.Context()))

	rebuilt := arenatest.Follow(t, f.log, health.New())
	require.NoError(t, rebuilt.Sync(t.Context()))
	want := arenatest.Dump(t, f.sync)
	require.Contains(t, want, "lastError")
	logtest.RequireSameText(t, want, arenatest.Dump(t, rebuilt))
}

func TestInvalidEventStopsTheModel(t *testing.T) {
	for name, c := range map[string]struct {
		stream string
		event  eventstore.Typed
		want   string
	}{
		"a strike before the start": {"match-x", match.SeatResigned{}, "match x: the match never started"},
		"ratings before the start":  {"ladder-standard", ladder.RatingsChanged{MatchID: "x"}, "match x: the match never started"},
		"no such seat":              {"", match.SeatResigned{Seat: 4}, "no seat 4"},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t)
			g := f.Seat(ladder.Standard, f.bots...)[0]
			g.Start()
			if c.stream == "" {
				c.stream = match.Stream(g.MatchID)
			}
			encoded, err := eventstore.Encode(c.event, eventstore.Metadata{})
			require.NoError(t, err)
			_, err = f.log.Append(t.Context(), eventstore.StreamID(c.stream), eventstore.Any, encoded)
			require.NoError(t, err)
			require.ErrorContains(t, f.sync.Sync(t.Context()), c.want)
		})
	}
}
