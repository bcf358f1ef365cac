package matches_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"hexarena/domain/ladder"
	"hexarena/domain/match"
	"hexarena/eventstore"
	"hexarena/eventstore/logtest"
	"hexarena/eventstore/memory"
	"hexarena/projections/arenatest"
	"hexarena/projections/matches"
)

// The tests below compare selections with a search through all matches.
const (
	filteredMatches = 90
	filteredBots    = 6
)

// filtered stores matches without games. Three a day are seated, and some start one or two
// days later. It returns the list of these matches, and the matches, newest first.
func filtered(t *testing.T) (*matches.Matches, []matches.Summary) {
	t.Helper()
	log, list := memory.New(), matches.New()
	runner := arenatest.Follow(t, log, list)
	rng := rand.New(rand.NewPCG(logtest.Seed(t), 1))
	store := func(stream string, at time.Time, e eventstore.Typed) {
		encoded, err := eventstore.Encode(e, eventstore.Metadata{At: at, Turns: 70})
		require.NoError(t, err)
		_, err = log.Append(context.Background(), eventstore.StreamID(stream), eventstore.Any, encoded)
		require.NoError(t, err)
	}
	var ids []string
	type start struct {
		id string
		at time.Time
	}
	var starts []start
	for i := range filteredMatches {
		id, mode := fmt.Sprintf("m-%d", i), ladder.Modes[rng.IntN(len(ladder.Modes))]
		at := time.Date(2026, 9, 1, 0, 0, 0, 0, time.UTC).Add(time.Duration(i) * 8 * time.Hour)
		store(ladder.Stream(mode), at, ladder.TablesSeated{Tables: []ladder.Table{{MatchID: id}}})
		ids, starts = append(ids, id), append(starts, start{id, at.Add(time.Duration(max(0, rng.IntN(60)-40)) * time.Hour * 3)})
	}
	slices.SortStableFunc(starts, func(a, b start) int { return a.at.Compare(b.at) })
	for _, s := range starts {
		e := match.Started{MatchID: s.id}
		for _, bot := range rng.Perm(filteredBots)[:3] {
			e.Seats = append(e.Seats, match.Seat{BotID: fmt.Sprintf("b-%d", bot)})
		}
		store(match.Stream(s.id), s.at, e)
		if rng.IntN(3) > 0 {
			store(match.Stream(s.id), s.at.Add(time.Minute), match.GameEnded{EndData: match.EndData{Scores: []int{10, 7, 6}}})
			store(ladder.Stream(ladder.Standard), s.at.Add(time.Minute), ladder.RatingsChanged{MatchID: s.id})
		}
		if rng.IntN(20) == 0 { // so that some matches change in a later transaction
			require.NoError(t, runner.Sync(t.Context()))
		}
	}
	require.NoError(t, runner.Sync(t.Context()))
	var all []matches.Summary
	for _, id := range slices.Backward(ids) {
		m, found, err := list.Get(id)
		require.NoError(t, err)
		require.True(t, found)
		all = append(all, m)
	}
	return list, all
}

// selects is the meaning of a query, without its page.
func selects(q matches.Query, m matches.Summary) bool {
	plays := func(bot string) bool {
		return bot == "" || slices.ContainsFunc(m.Players, func(p matches.Player) bool { return p.BotID == bot })
	}
	day := m.StartedAt[:10]
	return (q.Mode == "" || m.Mode == q.Mode) && (q.Status == "" || m.Status == q.Status) && plays(q.BotID) && plays(q.RivalID) &&
		(q.From == "" || day >= q.From) && (q.To == "" || day <= q.To)
}

func TestSelectionsEqualASearch(t *testing.T) {
	l, all := filtered(t)
	days := []string{"", "2026-08-01", "2026-10-20"}
	for d := range 33 {
		days = append(days, time.Date(2026, 9, 1+d, 0, 0, 0, 0, time.UTC).Format(time.DateOnly))
	}
	bot := rapid.SampledFrom([]string{"", "b-0", "b-1", "b-2", "b-3", "nobody"})
	rapid.Check(t, func(t *rapid.T) {
		q := matches.Query{
			Mode:   rapid.SampledFrom([]string{"", ladder.Standard, ladder.Parley}).Draw(t, "mode"),
			Status: rapid.SampledFrom([]string{"", matches.Running, matches.Completed, matches.Aborted}).Draw(t, "status"),
			BotID:  bot.Draw(t, "bot"),
			From:   rapid.SampledFrom(days).Draw(t, "from"), To: rapid.SampledFrom(days).Draw(t, "to"),
			Limit: rapid.IntRange(1, 30).Draw(t, "limit"),
		}
		if rival := bot.Draw(t, "rival"); q.BotID != "" && rival != q.BotID {
			q.RivalID = rival
		}
		forwards := rapid.Bool().Draw(t, "forwards")
		if forwards {
			q.After = all[len(all)-1].ID
		}
		var want, got []string
		for _, m := range all {
			if selects(q, m) && m.ID != q.After {
				want = append(want, m.ID)
			}
		}
		if forwards {
			slices.Reverse(want)
		}
		for {
			page, next := list(t, l, q)
			for _, m := range page {
				got = append(got, m.ID)
			}
			if next == "" {
				break
			}
			require.Len(t, page, q.Limit)
			if forwards {
				q.After = next
			} else {
				q.Before = next
			}
		}
		require.Equal(t, want, got)
	})
}

// Scores and turns are hidden until the ladder closes the match.
func TestScoresAndTurnsOfEndedMatches(t *testing.T) {
	w := newFixture(t)
	g := w.Seat(ladder.Standard, w.bots[:4]...)[0]
	g.Start()
	g.PlayOut()
	running := w.get(g.MatchID)
	require.Nil(t, running.Scores)
	require.Zero(t, running.Turns)
	g.Conclude()
	ended := w.get(g.MatchID)
	require.Equal(t, g.State.End.Scores, ended.Scores)
	require.Equal(t, int(g.State.Game.Turn), ended.Turns)
	require.Positive(t, ended.Turns)

	g = w.Seat(ladder.Standard, w.bots[:4]...)[0]
	g.Start()
	g.Play(3)
	g.Abort(match.WallClock)
	g.Conclude()
	require.Nil(t, w.get(g.MatchID).Scores)
	require.Equal(t, 3, w.get(g.MatchID).Turns)
}
