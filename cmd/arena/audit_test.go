package main

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"hexarena/domain/match"
	"hexarena/domain/seed"
)

// The function public() returns the public events of a match as strings. Each string
// contains the event's type and the event's JSON without its times. claims is the
// number of times that a referee claimed the match.
func public(t testing.TB, events []match.Event) (list []string, claims int) {
	t.Helper()
	for _, e := range events {
		switch a := e.(type) {
		case match.Started:
			continue
		case match.Claimed:
			claims++
			continue
		case match.ActionPlayed:
			if a.ElapsedMs != nil {
				a.ElapsedMs = new(int64)
			}
			e = a
		}
		b, err := json.Marshal(e)
		require.NoError(t, err)
		list = append(list, e.EventType()+" "+string(b))
	}
	return list, claims
}

// rehearsal plays a match again, with the same seating and server seed, but with new
// bots and without faults. It returns the events, and a map from decision ids to
// requests.
func rehearsal(t testing.TB, started match.Started, server seed.Seed) ([]match.Event, map[int]string) {
	t.Helper()
	m := match.New(server)
	events, err := m.Start(seating(t, started))
	require.NoError(t, err)
	m = match.EvolveAll(m, events)
	brains := make([]*eager, len(started.Seats))
	for i := range brains {
		brains[i] = newEager()
	}
	requests := map[int]string{}
	for !m.Over() {
		var outcomes []match.Outcome
		for _, d := range m.Asks() {
			r := m.Request(d)
			requests[d.ID] = timeless(r)
			action, err := json.Marshal(brains[d.Seat].answer(&r))
			require.NoError(t, err)
			frame, err := json.Marshal(match.Response{ID: d.ID, Action: action})
			require.NoError(t, err)
			outcomes = append(outcomes, match.Outcome{Decision: d.ID, Frame: frame})
		}
		next, err := m.Settle(outcomes)
		require.NoError(t, err)
		m = match.EvolveAll(m, next)
		events = append(events, next...)
	}
	return events, requests
}

// seating returns the seating of a started match.
func seating(t testing.TB, started match.Started) match.Seating {
	t.Helper()
	s := match.Seating{
		MatchID: started.MatchID, Mode: started.Mode, Table: started.Table,
		Commitment: started.Commitment, Nonces: started.Nonces, Deadlines: started.Deadlines,
	}
	for _, bot := range started.Table.Bots {
		i := slices.IndexFunc(started.Seats, func(s match.Seat) bool { return s.BotID == bot })
		require.NotEqual(t, -1, i)
		s.Bots = append(s.Bots, started.Seats[i])
	}
	return s
}

// audit requires that the arena lost no event of the matches, stored no event twice,
// and gave these good players no strikes. It returns the number of events that it
// compared, and the number of claims.
func (c *matchHistory) audit(t testing.TB, players []*testBot) (compared, claimed int) {
	t.Helper()
	require.Empty(t, c.unfinished)
	byName := map[string]*testBot{}
	for _, p := range players {
		byName[p.name] = p
	}
	for _, id := range c.order {
		events := c.matches[id]
		started, ok := events[0].(match.Started)
		require.True(t, ok)
		end, ok := events[len(events)-1].(match.GameEnded)
		require.True(t, ok, "match %s ends with %#v", id, events[len(events)-1])
		for _, e := range events {
			switch e.(type) {
			case match.DecisionTimedOut, match.AnswerRejected, match.SeatResigned:
				b, _ := json.Marshal(e)
				require.Fail(t, "an undeserved strike", "match %s: %s %s", id, e.EventType(), b)
			}
		}
		stored, claims := public(t, events)
		claimed += claims
		again, requests := rehearsal(t, started, end.Proof.ServerSeed)
		replayed, _ := public(t, again)
		require.Equal(t, replayed, stored, "match %s", id)
		compared += len(stored)
		for seat, s := range started.Seats {
			p := byName[s.BotName]
			require.NotNil(t, p, s.BotName)
			auditMemory(t, p.memory(id), seat, events, requests, c.lossy)
		}
	}
	return compared, claimed
}

// auditMemory compares a bot's memory of a match with the log. All requests for the
// same decision must be equal. A socket must not show an older state than an earlier
// socket did. Each answer that had an effect must be stored exactly as the bot sent
// it. If the log has lost events (lossy), the arena asks again for decisions that the bot
// has already answered.
func auditMemory(t testing.TB, s *botMatch, seat int, events []match.Event, requests map[int]string, lossy bool) {
	t.Helper()
	stored := map[int]match.ActionPlayed{}
	for _, e := range events {
		if a, ok := e.(match.ActionPlayed); ok && a.Seat == seat {
			stored[a.Decision] = a
		}
	}
	slices.SortStableFunc(s.requests, func(a, b request) int { return a.socket - b.socket })
	before := request{}
	for _, r := range s.requests {
		require.Equal(t, requests[r.id], r.frame, "decision %d", r.id)
		switch {
		case r.socket == before.socket:
			require.Greater(t, r.id, before.id)
		case !lossy:
			require.GreaterOrEqual(t, r.id, before.id)
		}
		before = r
	}
	for id, answer := range s.answers {
		if id > before.id {
			continue
		}
		a, ok := stored[id]
		require.True(t, ok, "decision %d is lost", id)
		require.False(t, a.Default)
		require.JSONEq(t, string(answer), string(a.Action))
	}
	require.Len(t, stored, len(s.answers))
}
