package api_test

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"hexarena/adapters/api"
	"hexarena/domain/ladder"
	"hexarena/domain/match"
	"hexarena/projections/arenatest"
)

var (
	completedPoint = object(with(seatFacts("completed"), map[string]shape{
		"matchId": id, "endedAt": moment, "placement": integer(1, 4), "seat": seat, "rating": oneDecimal, "mu": unrounded, "sigma": unrounded,
	}))
	abortedPoint = object(with(seatFacts("aborted"), map[string]shape{"matchId": id, "endedAt": moment, "seat": seat, "reason": oneOf("wall_clock", "operator", "beacon")}))
)

func unrounded(v any) error {
	if _, ok := v.(float64); !ok {
		return fmt.Errorf(" is %v, not a number", v)
	}
	return nil
}

// historyOf returns the shape of a response from /bots/{id}/history whose points have
// the given shape.
func historyOf(points shape) shape {
	return object(map[string]shape{
		"botId": id, "name": text, "owner": text, "mode": mode, "abortedMatches": integer(0, 1<<20), "points": list(points),
	})
}

// player returns a bot's entry in a match's record.
func player(t *testing.T, record map[string]any, botID string) map[string]any {
	t.Helper()
	for _, p := range record["players"].([]any) {
		if p := p.(map[string]any); p["botId"] == botID {
			return p
		}
	}
	require.Fail(t, "the bot did not play", botID)
	return nil
}

// seatAt returns the fields of a seat in a match's record, and adds the fields of the
// parameter more.
func seatAt(record map[string]any, seat any, more map[string]any) map[string]any {
	all := maps.Clone(record["seats"].([]any)[int(seat.(float64))].(map[string]any))
	maps.Copy(all, more)
	return all
}

// A bot's history can be limited to a version.
func TestHistoryOfAVersion(t *testing.T) {
	s := newSpectated(t)
	path := "/bots/" + s.bots[0] + "/history"
	for _, aborted := range []string{"", "&aborted=true"} {
		whole := s.get(path + "?aborted=" + fmt.Sprint(aborted != "")).is(http.StatusOK).json["points"].([]any)
		require.NotEmpty(t, whole)
		for _, p := range whole {
			require.Equal(t, arenatest.Version, p.(map[string]any)["version"])
		}
		require.Equal(t, whole, s.get(path + "?version=" + url.QueryEscape(arenatest.Version) + aborted).is(http.StatusOK).json["points"])
		require.Empty(t, s.get(path + "?version=1.0" + aborted).is(http.StatusOK).json["points"])
	}
	for _, p := range s.get("/bots/" + s.bots[1] + "/history").json["points"].([]any) {
		require.NotContains(t, p, "version")
	}
}

// A bot's history matches the records of its matches.
func TestHistory(t *testing.T) {
	s := newSpectated(t)
	bot := s.bots[0]
	got := s.get("/bots/" + bot + "/history").fits(historyOf(completedPoint)).json
	require.Equal(t, "Ann", got["name"])
	require.Equal(t, "countess", got["owner"])
	require.Equal(t, "standard", got["mode"])
	require.Equal(t, 1.0, got["abortedMatches"], "the ladder has not closed the other aborted match")
	points := got["points"].([]any)
	require.Len(t, points, 1)
	point := points[0].(map[string]any)
	record := s.get("/matches/" + s.four.MatchID).is(http.StatusOK).json
	mine := player(t, record, bot)
	require.Equal(t, seatAt(record, mine["seat"], map[string]any{
		"matchId": s.four.MatchID, "endedAt": record["endedAt"], "placement": mine["placement"], "seat": mine["seat"],
		"rating": mine["ratingDelta"], "mu": point["mu"], "sigma": point["sigma"], // the displayed rating of a new bot is 0, so the rating equals the delta
	}), point)

	aborted := s.get("/bots/" + bot + "/history?aborted=true").fits(historyOf(abortedPoint)).json
	record = s.get("/matches/" + s.aborted.MatchID).is(http.StatusOK).json
	mine = player(t, record, bot)
	require.Equal(t, []any{seatAt(record, mine["seat"], map[string]any{
		"matchId": s.aborted.MatchID, "endedAt": record["endedAt"], "seat": mine["seat"], "reason": record["reason"],
	})}, aborted["points"])
	require.Equal(t, 1.0, aborted["abortedMatches"])
	require.Equal(t, got, s.get("/bots/"+bot+"/history?aborted=false").is(http.StatusOK).json)
}

// A bot has a history as soon as it has started its first match. Unknown bots,
// and registered bots that have not played, have no history.
func TestBotsWithHistory(t *testing.T) {
	s := newSpectated(t)
	for _, id := range []string{"nobody", arenatest.ID("nobody"), s.bots[7]} {
		s.get("/bots/"+id+"/history").is(http.StatusNotFound, "not_found")
		s.get("/bots/"+id+"/history?aborted=yes").is(http.StatusNotFound, "not_found")
	}
	s.get("/bots/" + s.bots[4] + "/history").fits(historyOf(completedPoint))
	for query, field := range map[string]string{"aborted=yes": "aborted", "aborted=": "aborted", "limit=1": "limit", "mode=standard": "mode"} {
		s.get("/bots/"+s.bots[0]+"/history?"+query).is(http.StatusUnprocessableEntity, "invalid").names(field)
	}
	before := s.get("/bots/" + s.bots[0] + "/history").is(http.StatusOK).json
	s.play.Own("ada", botCalled(s.bots[0], "Annabel"), botGone(s.bots[0]))
	s.read.sync()
	before["name"] = "Annabel"
	require.Equal(t, before, s.get("/bots/"+s.bots[0]+"/history").fits(historyOf(completedPoint)).json, "a removed bot keeps its history")
}

// queue is a Queue in which the number of waiting bots never changes.
type queue struct {
	waiting map[string]int
	next    time.Time
}

func (q queue) Waiting(_ context.Context, mode string) (int, error) {
	return q.waiting[mode], nil
}

func (q queue) Places(context.Context, string, []ladder.Candidate) ([]api.Place, error) {
	return nil, errStopped
}

func (q queue) NextTick(time.Time) time.Time { return q.next }

func TestQueue(t *testing.T) {
	next := time.Date(2026, 9, 6, 12, 0, 30, 0, time.UTC)
	waiting := map[string]int{"standard": 2, "parley": 5}
	a := newArena(t, func(o *api.Options) { o.Queue = queue{waiting, next} })
	require.Equal(t, map[string]any{"mode": "standard", "waiting": 2.0, "nextTick": "2026-09-06T12:00:30.000Z"}, a.anyone().do(http.MethodGet, "/queue", nil).is(http.StatusOK).json)
	require.Equal(t, 5.0, a.anyone().do(http.MethodGet, "/queue?mode=parley", nil).is(http.StatusOK).json["waiting"])
	a.anyone().do(http.MethodGet, "/queue?mode=chess", nil).is(http.StatusUnprocessableEntity, "invalid").names("mode")

	elsewhere := newArena(t, func(o *api.Options) { o.Queue = queue{waiting: waiting} })
	require.Nil(t, elsewhere.anyone().do(http.MethodGet, "/queue", nil).is(http.StatusOK).json["nextTick"], "a process that seats no tables")
}

// The leaderboard for a past time shows the ranking at that time, with the current
// names.
func TestLeaderboardAtATime(t *testing.T) {
	s := newSpectated(t)
	s.unrated.Conclude()
	s.read.sync()
	rated := func(g *arenatest.Game) string { return g.Times[len(g.Times)-1].Add(time.Second).Format(time.RFC3339) }
	for at, games := range map[string][]float64{
		"2020-01-01T00:00:00Z":                       nil,
		s.three.Times[0].Format(time.RFC3339Nano):    nil,
		rated(s.three):                               {1, 1, 1},
		s.unrated.Times[0].Format(time.RFC3339):      {1, 1, 1},
		"2999-01-01T00:00:00.000Z":                   {2, 2, 2},
		url.QueryEscape("2999-01-01T00:00:00+14:00"): {2, 2, 2},
	} {
		rows := s.get("/leaderboard?mode=parley&at=" + at).fits(ranking).json["rows"].([]any)
		require.Len(t, rows, len(games), at)
		for i, row := range rows {
			require.Equal(t, games[i], row.(map[string]any)["gamesPlayed"], at)
		}
	}
	require.Equal(t, s.get("/leaderboard").is(http.StatusOK).json, s.get("/leaderboard?at=2999-01-01T00:00:00Z").is(http.StatusOK).json)
	for _, bad := range []string{"", "now", "2026-09-06", "2026-09-06T12:00:00", "2026-09-06T12:00:00,5Z", "2026-09-06T12:00:00+02:00", "1788696000", "2026-02-30T00:00:00Z", "2026-09-06T12:00:00-24:00", "2026-09-06T12:00:00-02:60"} {
		s.get("/leaderboard?at="+bad).is(http.StatusUnprocessableEntity, "invalid").names("at")
	}
}

// A history does not contain a bot's URL, which only the owner may see.
func TestHistoriesHoldNoURL(t *testing.T) {
	s := newSpectated(t)
	for _, bot := range s.bots[:7] {
		for _, path := range []string{"/bots/" + bot + "/history", "/bots/" + bot + "/history?aborted=true", "/leaderboard?at=2999-01-01T00:00:00Z"} {
			require.NotContains(t, string(s.get(path).is(http.StatusOK).body), "bots.example")
		}
	}
}

// A history leaves out running matches, and matches that the ladder has not yet
// rated or voided.
func TestHistoryHasOnlyClosedMatches(t *testing.T) {
	s := newSpectated(t)
	in := func(g *arenatest.Game) bool {
		for _, seat := range g.State.Started.Seats {
			for _, query := range []string{"", "?aborted=true"} {
				for _, p := range s.get("/bots/" + seat.BotID + "/history" + query).is(http.StatusOK).json["points"].([]any) {
					if p.(map[string]any)["matchId"] == g.MatchID {
						return true
					}
				}
			}
		}
		return false
	}
	for _, g := range []*arenatest.Game{s.running, s.unrated, s.unvoid} {
		require.False(t, in(g))
	}
	s.unrated.Conclude()
	s.unvoid.Conclude()
	s.running.Abort(match.Operator)
	s.running.Conclude()
	s.read.sync()
	for _, g := range []*arenatest.Game{s.running, s.unrated, s.unvoid} {
		require.True(t, in(g))
	}
}
