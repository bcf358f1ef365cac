package api_test

import (
	"context"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"hexarena/adapters/api"
	"hexarena/domain/ladder"
	"hexarena/domain/match"
	"hexarena/domain/owner"
	"hexarena/eventstore"
	"hexarena/projections"
	"hexarena/projections/arenatest"
	"hexarena/projections/health"
)

// places is a Queue that returns fixed places of bots.
type places struct {
	queue
	of map[string]api.Place
}

func (p places) Places(_ context.Context, _ string, bots []ladder.Candidate) ([]api.Place, error) {
	list := make([]api.Place, len(bots))
	for i, b := range bots {
		list[i] = p.of[b.BotID]
	}
	return list, nil
}

// journal appends events to a log and lets the read model of health follow.
type journal struct {
	t    *testing.T
	log  eventstore.Log
	sync *projections.Runner
}

func (j journal) append(stream string, m eventstore.Metadata, events ...eventstore.Typed) {
	j.t.Helper()
	encoded, err := eventstore.EncodeAll(events, m)
	require.NoError(j.t, err)
	_, err = j.log.Append(j.t.Context(), eventstore.StreamID(stream), eventstore.Any, encoded...)
	require.NoError(j.t, err)
	require.NoError(j.t, j.sync.Sync(j.t.Context()))
}

// A bot's health depends on its strikes, and only the bot's owner sees it.
func TestHealthOfABot(t *testing.T) {
	model := health.New()
	a := newArena(t, func(o *api.Options) { o.Health = model })
	j := journal{t, a.log, arenatest.Follow(t, a.log, model)}
	require.NoError(t, j.sync.Sync(t.Context()))
	ada, bob := a.signIn("ada@example.org"), a.signIn("bob@example.org")
	bot := ada.newBot("bot", "standard")
	shown := func() any { return ada.do(http.MethodGet, "/bots/"+bot, nil).is(http.StatusOK).json["health"] }
	recent := func(matches, strikes, resigned, timeouts, illegal float64) map[string]any {
		return map[string]any{"matches": matches, "strikes": strikes, "resigned": resigned, "missed": 0.0, "timeouts": timeouts, "illegal": illegal}
	}
	created := ada.do(http.MethodGet, "/bots/"+bot, nil).is(http.StatusOK).json["createdAt"]
	require.Equal(t, map[string]any{"state": "untested", "since": created, "lastError": nil, "recent": recent(0, 0, 0, 0, 0)}, shown())

	at := time.Date(2026, 9, 6, 13, 0, 0, 0, time.UTC)
	meta := eventstore.Metadata{At: at}
	j.append("match-m", meta, match.Started{MatchID: "m", Seats: []match.Seat{{BotID: bot}}}, match.BoardLaid{})
	for dials := range 3 {
		meta.FailedDials = []int{dials + 1}
		j.append("match-m", meta, match.DecisionTimedOut{TimeoutData: match.TimeoutData{Decision: dials + 1, Kind: "turn", Cause: match.CauseDropped}})
	}
	j.append("match-m", meta, match.SeatResigned{})
	lastError := map[string]any{"matchId": "m", "seq": 4.0, "at": "2026-09-06T13:00:00.000Z", "code": "dropped", "message": "the connection was lost, or did not open in time"}
	require.Equal(t, map[string]any{"state": "unreachable", "since": "2026-09-06T13:00:00.000Z", "lastError": lastError, "recent": recent(0, 0, 0, 0, 0)}, shown())

	j.append("details-m", meta, match.TimeoutExplained{Decision: 3, Fault: match.Fault{Code: "status", Message: "status 401 instead of 101"}})
	lastError["code"], lastError["message"] = "status", "status 401 instead of 101"
	j.append("ladder-standard", meta, ladder.RatingsChanged{MatchID: "m", Seats: []ladder.RatedSeat{{BotID: bot}}})
	require.Equal(t, map[string]any{"state": "unreachable", "since": "2026-09-06T13:00:00.000Z", "lastError": lastError, "recent": recent(1, 3, 1, 3, 0)}, shown())

	later := eventstore.Metadata{At: at.Add(time.Hour)}
	j.append("match-n", later, match.Started{MatchID: "n", Seats: []match.Seat{{BotID: bot}}}, match.BoardLaid{},
		match.AnswerRejected{IllegalData: match.IllegalData{Decision: 1, Reason: "cannot_afford", Message: "You cannot afford it."}}, match.SeatResigned{})
	j.append("ladder-standard", later, ladder.RatingsChanged{MatchID: "n", Seats: []ladder.RatedSeat{{BotID: bot}}})
	listed := ada.do(http.MethodGet, "/bots", nil).is(http.StatusOK).json["bots"].([]any)[0].(map[string]any)
	require.Equal(t, map[string]any{
		"state": "failing", "since": "2026-09-06T14:00:00.000Z", "recent": recent(2, 4, 2, 3, 1),
		"lastError": map[string]any{"matchId": "n", "seq": 2.0, "at": "2026-09-06T14:00:00.000Z", "code": "cannot_afford", "message": "You cannot afford it."},
	}, listed["health"])
	bob.do(http.MethodGet, "/bots/"+bot, nil).is(http.StatusNotFound, "not_found")
	require.NotContains(t, a.anyone().do(http.MethodGet, "/bots/"+bot+"/history", nil).body, "failing")
}

// If several states apply, the API shows the one that docs/protocol.md lists first.
func TestSeatingOfABot(t *testing.T) {
	of := map[string]api.Place{}
	a := newArena(t, func(o *api.Options) { o.Queue = places{of: of} })
	ada := a.signIn("ada@example.org")
	id := ada.do(http.MethodGet, "/me", nil).is(http.StatusOK).json["id"].(string)
	bot := ada.newBot("bot", "parley")
	is := func(state string, fields map[string]any) {
		t.Helper()
		want := map[string]any{"state": state, "since": nil, "until": nil, "matchId": nil, "reason": nil}
		for k, v := range fields {
			want[k] = v
		}
		require.Equal(t, want, ada.do(http.MethodGet, "/bots/"+bot, nil).is(http.StatusOK).json["seating"])
	}
	began := map[string]any{"since": "2026-09-06T12:00:00.124Z"}
	is("waiting", began)

	ended := time.Date(2026, 9, 6, 11, 59, 0, 0, time.UTC)
	of[bot] = api.Place{MatchID: "m"}
	is("playing", map[string]any{"matchId": "m"})
	of[bot] = api.Place{Ended: ended, RestsUntil: ended.Add(10 * time.Minute)}
	is("resting", map[string]any{"since": "2026-09-06T11:59:00.000Z", "until": "2026-09-06T12:09:00.000Z"})
	of[bot] = api.Place{Ended: ended, RestsUntil: ended.Add(time.Second)}
	is("waiting", began)

	ada.do(http.MethodPatch, "/bots/"+bot, `{"status":"paused"}`).is(http.StatusOK)
	is("paused", began)
	suspended := map[string]any{"since": "2026-09-06T12:00:00.124Z", "reason": "floods"}
	a.store(t, id, owner.BotPaused{BotID: bot, By: owner.ByOperator, Reason: "floods"})
	is("suspended", suspended)
	a.store(t, id, owner.BotUnpaused{BotID: bot, By: owner.ByOperator})
	is("paused", began)
	suspended["reason"] = "abuse"
	a.store(t, id, owner.Suspended{Reason: "abuse"})
	is("suspended", suspended)
	a.store(t, id, owner.Restored{Reason: "settled"})
	is("paused", began)

	ada.do(http.MethodPatch, "/bots/"+bot, `{"status":"active"}`).is(http.StatusOK)
	a.pass(time.Hour)
	of[bot] = api.Place{Ended: ended, RestsUntil: ended.Add(10 * time.Minute)}
	ada = a.signIn("ada@example.org")
	is("waiting", map[string]any{"since": "2026-09-06T12:09:00.000Z"})
}
