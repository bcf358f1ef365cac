package api_test

import (
	"encoding/json"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"hexarena/adapters/rest"
	"hexarena/domain/stats"
	"hexarena/projections/arenatest"
	"hexarena/projections/frames"
)

// The statistics are those of the public record, and only an ended match has them.
func TestStatisticsOfAMatch(t *testing.T) {
	s := newSpectated(t)
	for g, status := range s.statuses() {
		path := "/matches/" + g.MatchID + "/statistics"
		if status == "running" {
			s.get(path).is(http.StatusConflict, "match_running")
			continue
		}
		got := s.get(path).is(http.StatusOK)
		require.NotEmpty(t, got.header.Get("ETag"))
		var body rest.MatchStatistics
		require.NoError(t, json.Unmarshal(got.body, &body))
		require.Equal(t, g.MatchID, body.MatchID)

		var m rest.Match
		require.NoError(t, json.Unmarshal(s.get("/matches/"+g.MatchID).is(http.StatusOK).body, &m))
		h, err := frames.Read(t.Context(), s.arena.log, g.MatchID)
		require.NoError(t, err)
		fromRecord := frames.History{Started: h.Started}
		for _, e := range m.Replay {
			stored, err := e.Stored(*m.Proof)
			require.NoError(t, err)
			fromRecord.Events = append(fromRecord.Events, stored)
		}
		require.Equal(t, stats.Of(h.Started, fromRecord.Events), body.Match, "anyone can compute them from the record")
		for i, seat := range body.Seats {
			require.Equal(t, m.ThinkingMs[i], seat.ThinkingMs)
		}
	}
	s.get("/matches/none/statistics").is(http.StatusNotFound, "not_found")
	s.get("/matches/"+s.four.MatchID+"/statistics?x=1").is(http.StatusUnprocessableEntity, "invalid")
}

func TestWinProbabilityOfAMatch(t *testing.T) {
	s := newSpectated(t)
	s.server.SetPlayouts(5) // fast enough for the race detector
	s.get("/matches/"+s.running.MatchID+"/win-probability").is(http.StatusConflict, "match_running")
	got := s.winProbability(s.three.MatchID)
	require.NotEmpty(t, got.header.Get("ETag"))
	var body rest.WinProbability
	require.NoError(t, json.Unmarshal(got.body, &body))
	require.Positive(t, body.Playouts)
	last := body.Outlooks[len(body.Outlooks)-1]
	require.Equal(t, s.three.State.Seq, last.Seq)
	for seat, place := range s.three.State.End.Placements {
		require.Equal(t, place == 1, last.Wins[seat] > 0)
	}
}

// Only one win probability is computed at a time. A cached one needs no turn.
func TestWinProbabilityWhileAnotherIsComputed(t *testing.T) {
	s := newSpectated(t)
	s.server.SetPlayouts(5) // fast enough for the race detector
	s.winProbability(s.three.MatchID)
	done, err := s.server.Compute(t.Context())
	require.NoError(t, err)
	s.get("/matches/" + s.three.MatchID + "/win-probability").is(http.StatusOK)
	busy := s.get("/matches/"+s.four.MatchID+"/win-probability").is(http.StatusServiceUnavailable, "busy")
	require.Equal(t, "1", busy.header.Get("Retry-After"))
	done()
	s.winProbability(s.four.MatchID)
}

// winProbability calls again while the arena is still computing, as on a slow machine. Each
// call waits for the result.
func (s *spectated) winProbability(matchID string) *answer {
	for {
		got := s.get("/matches/" + matchID + "/win-probability")
		if got.status != http.StatusServiceUnavailable {
			return got.is(http.StatusOK)
		}
	}
}

// The results of a ladder add up to those of its bots.
func TestResultsBySeat(t *testing.T) {
	s := newSpectated(t)
	games, byBot, byLadder := 0, [4]int{}, [4]int{}
	for _, id := range s.bots {
		got := s.get("/bots/" + id + "/statistics")
		if got.status == http.StatusNotFound {
			continue
		}
		var bot rest.BotStatistics
		require.NoError(t, json.Unmarshal(got.is(http.StatusOK).body, &bot))
		played := 0
		for _, seat := range bot.Seats {
			games += seat.Games
			played += seat.Games
			byBot[seat.Seat] += seat.Wins
		}
		require.Len(t, bot.Versions, 1)
		require.Equal(t, played, bot.Versions[0].Games)
	}
	require.Positive(t, games)
	var l rest.LadderStatistics
	require.NoError(t, json.Unmarshal(s.get("/ladder/standard/statistics").is(http.StatusOK).body, &l))
	require.Equal(t, "standard", l.Mode)
	for _, table := range l.Tables {
		require.Len(t, table.Seats, table.Players)
		for _, seat := range table.Seats {
			games -= seat.Games
			byLadder[seat.Seat] += seat.Wins
		}
	}
	require.Zero(t, games)
	require.Equal(t, byBot, byLadder)
	s.get("/ladder/chess/statistics").is(http.StatusNotFound, "not_found")
	s.get("/bots/none/statistics").is(http.StatusNotFound, "not_found")
}

// Openings and lengths follow from the statistics of the matches.
func TestResultsByOpeningAndLength(t *testing.T) {
	s := newSpectated(t)
	tables := map[string]rest.LadderStatistics{}
	for _, mode := range []string{"standard", "parley"} {
		var l rest.LadderStatistics
		require.NoError(t, json.Unmarshal(s.get("/ladder/"+mode+"/statistics").is(http.StatusOK).body, &l))
		tables[mode] = l
	}
	for _, g := range []*arenatest.Game{s.three, s.four} { // the only rated match of each table size
		var of rest.MatchStatistics
		require.NoError(t, json.Unmarshal(s.get("/matches/"+g.MatchID+"/statistics").is(http.StatusOK).body, &of))
		turns := int(g.State.Game.Turn)
		games := 0
		for seat, p := range g.State.Started.Seats {
			pips := 0
			for _, place := range of.Seats[seat].Opening {
				pips += place.Pips
			}
			var bot rest.BotStatistics
			require.NoError(t, json.Unmarshal(s.get("/bots/"+p.BotID+"/statistics").is(http.StatusOK).body, &bot))
			require.Len(t, bot.Openings, 1)
			require.Equal(t, pips, bot.Openings[0].Pips)
			require.Equal(t, bot.Seats[0].Results, bot.Openings[0].Results)
			require.Len(t, bot.Lengths, 1)
			require.Equal(t, bot.Seats[0].Results, bot.Lengths[0].Results)
			require.True(t, bot.Lengths[0].From <= turns && turns <= bot.Lengths[0].To && bot.Lengths[0].To == bot.Lengths[0].From+19, "%+v, %d turns", bot.Lengths[0], turns)
		}
		for _, table := range tables[g.Mode].Tables {
			if table.Players != len(g.Bots) {
				require.Empty(t, table.Openings)
				require.Empty(t, table.Lengths)
				continue
			}
			for _, o := range table.Openings {
				games += o.Games
			}
			require.Equal(t, table.Players, games)
			require.Len(t, table.Lengths, 1)
			require.Equal(t, 1, table.Lengths[0].Matches)
		}
	}
}
