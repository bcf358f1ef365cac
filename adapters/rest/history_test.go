package rest_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"hexarena/adapters/rest"
	"hexarena/domain/ladder"
	"hexarena/domain/match"
	"hexarena/eventstore/memory"
	"hexarena/projections/arenatest"
	"hexarena/projections/frames"
	"hexarena/projections/matches"
	"hexarena/projections/seats"
)

// The record of a match has the same frames as its stream.
func TestTheHistoryOfARecordHasTheSameFrames(t *testing.T) {
	log := memory.New()
	a := arenatest.New(t, log, 3)
	bots := a.Register("ada", ladder.Standard, "Ann", "Bea", "Cat", "Dot")
	aborted := a.Seat(ladder.Standard, bots...)[0]
	aborted.Start()
	aborted.Play(9)
	aborted.Abort(match.WallClock)
	aborted.Conclude()
	for _, g := range []*arenatest.Game{aborted, a.Complete(ladder.Standard, bots...), a.Complete(ladder.Standard, bots[:3]...)} {
		want, err := frames.Read(t.Context(), log, g.MatchID)
		require.NoError(t, err)
		back, err := record(t, g, &want).History()
		require.NoError(t, err)
		require.Equal(t, want.Frames(true, frames.Window{}), back.Frames(true, frames.Window{}))
		require.Equal(t, want.OpenFrames(match.AllHands, frames.Window{}), back.OpenFrames(match.AllHands, frames.Window{}))
		require.Equal(t, want.Replay(), back.Replay())
		require.Equal(t, want.ThinkingMs(), back.ThinkingMs())
		require.Equal(t, want.Board(), back.Board())
		require.Equal(t, want.Seed, back.Seed)
		require.Equal(t, want.Times, back.Times)
	}
}

// record returns the record of a match as a reader gets it.
func record(t *testing.T, g *arenatest.Game, h *frames.History) *rest.Match {
	t.Helper()
	ended := rest.FormatTime(g.Times[len(g.Times)-1])
	summary := matches.Summary{ID: g.MatchID, Mode: g.Mode, Status: matches.Completed, StartedAt: rest.FormatTime(g.Times[0]), EndedAt: &ended, Seats: seats.Begin(h.Started)}
	if g.State.Abort != nil {
		summary.Status, summary.Reason = matches.Aborted, g.State.Abort.Why
	}
	for i, s := range h.Started.Seats {
		summary.Players = append(summary.Players, matches.Player{Seat: i, BotID: s.BotID, BotName: s.BotName})
	}
	text, err := json.Marshal(rest.NewMatch(summary, h))
	require.NoError(t, err)
	m := new(rest.Match)
	require.NoError(t, json.Unmarshal(text, m))
	return m
}

func TestRecordsWithoutAHistory(t *testing.T) {
	for want, m := range map[string]rest.Match{
		"still running": {MatchSummary: rest.MatchSummary{Status: matches.Running}},
		"no proof":      {MatchSummary: rest.MatchSummary{Status: matches.Completed}},
		"2 players":     {MatchSummary: rest.MatchSummary{Status: matches.Completed, Players: make([]rest.MatchPlayer, 2)}, Proof: new(match.Proof), Replay: make([]match.PublicEvent, 1)},
	} {
		_, err := m.History()
		require.ErrorContains(t, err, want)
	}
}
