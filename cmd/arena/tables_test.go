package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"hexarena/adapters/rest"
	"hexarena/domain/match"
	"hexarena/projections/frames"
	"hexarena/projections/matches"
)

// faultyDecision is the time for one decision at the tables of the faulty bots. It is
// long enough for the good bots, even on a busy machine.
const faultyDecision = 10 * time.Second

// One arena plays a table for every fault, and one table of three good bots. At the
// table for a fault, one bot is faulty and the others are good. All tables play at
// the same time, over real sockets.
func TestFaultyBotsHarmOnlyThemselves(t *testing.T) {
	t.Parallel()
	s := newTestArena(t, "--tick", "10s", "--rest-standard", "1h", "--decision-standard", faultyDecision.String())
	s.start("--no-play")
	faults := allFaults()
	bad := make([]*testBot, len(faults))
	spied := make(chan struct{}) // closed when the spies have read the match of the first table
	for i, f := range faults {
		bad[i] = newTestBot(t, f.name)
		bad[i].conduct, bad[i].instead = f.conduct, f.instead
		s.join(bad[i])
		for n := range 3 {
			neighbour := newTestBot(t, fmt.Sprintf("%s's neighbour %d", f.name, n+1))
			if i == 0 {
				neighbour.hold = untilSpied(spied, faultyDecision/5)
			}
			s.join(neighbour)
		}
	}
	for n := range 3 {
		s.join(newTestBot(t, fmt.Sprintf("one of three, %d", n+1)))
	}
	s.stop()
	s.start() // the first tick fills tables in the order of registration

	spies := spyOn(s, faults[0].name)
	close(spied)
	s.finish(len(faults) + 1)
	table := map[string]record{} // by the name of the table's first bot
	var records []record
	for _, m := range s.list(matches.Completed) {
		r := s.record(m.ID)
		records = append(records, r)
		spies.requireSecrecy(t, s, r)
		for _, p := range r.Players {
			table[p.BotName] = r
		}
	}
	logs := make([][]rest.Decision, len(faults))
	for i, f := range faults {
		eventually(t, f.name+": the log explains all timeouts", func() bool { // a match may end before the details of its last timeout are stored
			logs[i] = s.decisions(4*i, table[f.name], f.name)
			return !slices.ContainsFunc(logs[i], func(d rest.Decision) bool { return d.Outcome == frames.Timeout && d.Fault == nil })
		})
	}
	s.stop()
	c := readHistory(t, s.data)

	for i, f := range faults {
		t.Run(f.name, func(t *testing.T) {
			r := table[f.name]
			require.Len(t, r.Players, 4)
			r.requireWhole(t, r.seatOf(f.name))
			f.requirePenalties(t, r)
			f.requireDetails(t, logs[i])
			for _, seat := range c.rated[r.ID].Seats {
				require.Equal(t, f.missed && seat.BotID == r.Players[r.seatOf(f.name)].BotID, seat.Missed)
			}
			if f.sockets > 0 {
				require.Equal(t, f.sockets, bad[i].sit(r.ID).sockets)
			}
		})
	}
	t.Run("three seats", func(t *testing.T) {
		r := table["one of three, 1"]
		require.Len(t, r.Players, 3)
		r.requireWhole(t)
		for _, f := range r.frames {
			require.Equal(t, 3, f.SeatCount)
			require.Len(t, f.HandCounts, 3)
			require.Len(t, f.Scores, 3)
		}
	})
	t.Run("everything occurs", func(t *testing.T) { requireEverything(t, records) })
	t.Run("placements", func(t *testing.T) {
		for _, r := range records {
			r.requirePlaced(t)
		}
	})
}

// requirePenalties requires that the record contains every expected strike of the
// faulty seat, and that each is of the right kind.
func (f *fault) requirePenalties(t *testing.T, r record) {
	t.Helper()
	strikes := 0
	for _, e := range r.Replay {
		if e.Kind != "timeout" && e.Kind != "illegal" {
			continue
		}
		strikes++
		want := f.want(e.Data.Kind)
		require.Equal(t, want.kind, e.Kind)
		require.Equal(t, want.why, e.Data.Cause+e.Data.Reason)
		require.Equal(t, strikes, e.Data.Strikes)
		require.NotNil(t, e.Data.ElapsedMs)
		require.LessOrEqual(t, *e.Data.ElapsedMs, faultyDecision.Milliseconds())
		require.Equal(t, e.Kind == "illegal" || want.why == match.CauseMalformed, e.Data.Answer != nil)
		require.Equal(t, e.Kind == "illegal", e.Data.Message != "")
		if want.answer != "" {
			require.Equal(t, want.answer, *e.Data.Answer)
		}
	}
	require.Equal(t, f.strikes, strikes)
}

// decisions returns the decision log of the nth bot that joined.
func (s *testArena) decisions(nth int, r record, name string) []rest.Decision {
	s.t.Helper()
	var log rest.Decisions
	path := "/bots/" + r.Players[r.seatOf(name)].BotID + "/matches/" + r.ID + "/decisions"
	s.must(s.owners[nth/5].Call(s.t.Context(), http.MethodGet, path, nil, &log))
	return log.Decisions
}

// requireDetails requires that the decision log explains each strike.
func (f *fault) requireDetails(t *testing.T, log []rest.Decision) {
	t.Helper()
	var details []string
	for _, d := range log {
		if d.Outcome == frames.Played {
			continue
		}
		require.NotNil(t, d.Request)
		require.NotEmpty(t, d.Played)
		details = append(details, "")
		require.Equal(t, len(details), d.Strikes)
		require.Equal(t, d.Strikes == match.MaxStrikes, d.Resigned)
		if d.Fault != nil {
			details[len(details)-1] = d.Fault.Code + ": " + d.Fault.Message
		}
		require.Equal(t, d.Fault != nil && d.Fault.Code == match.CodeLate, d.Late != nil)
	}
	if f.details == nil {
		return
	}
	require.Len(t, details, len(f.details))
	for i, want := range f.details {
		require.Contains(t, details[i], want)
	}
}

// requireEverything requires that the matches contain every public kind of event,
// every type of action, talk, and both answers to an offer.
func requireEverything(t *testing.T, records []record) {
	t.Helper()
	seen := map[string]int{}
	for _, r := range records {
		for _, e := range r.Replay {
			seen[e.Kind]++
			var a struct {
				Type   string
				Accept *bool
				Talk   string
			}
			if e.Kind != "action" {
				continue
			}
			require.NoError(t, json.Unmarshal(e.Data.Action, &a))
			if e.Data.Default {
				continue
			}
			seen[e.Data.Kind+" "+a.Type]++
			if a.Accept != nil {
				seen[fmt.Sprintf("accept %v", *a.Accept)]++
			}
			if a.Talk != "" {
				seen["talk in "+e.Data.Kind]++
			}
		}
	}
	t.Logf("seen: %v", seen)
	for _, what := range []string{
		"board", "roll", "action", "steal", "trade", "award", "timeout", "illegal", "resign", "end",
		"setup ", "discard ", "bandit ", "trade ", "turn build_road", "turn build_settlement", "turn build_city", "turn buy_dev",
		"turn play_knight", "turn play_roadworks", "turn play_windfall", "turn play_embargo", "turn bank_trade", "turn offer_trade", "turn end_turn",
		"accept true", "accept false", "talk in turn", "talk in trade", "talk in bandit",
	} {
		require.Contains(t, slices.Collect(maps.Keys(seen)), what)
	}
}

// requirePlaced requires that the rating changes agree with the placements.
func (r *record) requirePlaced(t *testing.T) {
	t.Helper()
	places := map[int]int{}
	for _, p := range r.Players {
		require.NotNil(t, p.Placement)
		require.NotNil(t, p.RatingDelta)
		places[*p.Placement]++
	}
	require.Positive(t, places[1])
	for placement, n := range places {
		better := 0
		for other, m := range places {
			if other < placement {
				better += m
			}
		}
		require.Equal(t, better+1, placement, "%d of them", n)
	}
	require.NotNil(t, r.EndedAt)
	require.Len(t, r.Seed, 64)
}
