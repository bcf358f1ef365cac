package leaderboard_test

import (
	"cmp"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"hexarena/domain/ladder"
	"hexarena/domain/match"
	"hexarena/domain/rating"
	"hexarena/eventstore"
	"hexarena/eventstore/logtest"
	"hexarena/eventstore/memory"
	"hexarena/projections/arenatest"
	"hexarena/projections/leaderboard"
)

func TestRankingOrder(t *testing.T) {
	w := newArena(t, 1)
	for i, displayed := range []map[string]float64{
		{"low": -3, "c": 7.04, "b2": 9, "b1": 9, "a": 1},
		{"c": 7.04, "a": 7.01},
		{"c": 7.04, "removed": 50},
		{"a": 7.01},
		{"d": 7.0},
	} {
		id := newID(i)
		started, changed := match.Started{MatchID: id, Mode: ladder.Standard}, ladder.RatingsChanged{MatchID: id}
		for bot, d := range displayed {
			started.Seats = append(started.Seats, match.Seat{BotID: bot})
			changed.Seats = append(changed.Seats, ladder.RatedSeat{BotID: bot, Placement: 1, After: rating.Rating{Mu: d, Sigma: 0}})
		}
		w.append(match.Stream(id), started)
		w.append(ladder.Stream(ladder.Standard), changed)
	}
	rows := followed(t, w.log).Rows(ladder.Standard, func(id string) (string, string, bool) {
		names := map[string]string{"low": "Low", "a": "Same", "b1": "Same", "b2": "Same", "c": "Cee", "d": "Aaa"}
		return names[id], "", id != "removed"
	})
	require.Equal(t, []leaderboard.Row{
		{Rank: 1, BotID: "b1", Name: "Same", Rating: 9, GamesPlayed: 1}, // by id
		{Rank: 2, BotID: "b2", Name: "Same", Rating: 9, GamesPlayed: 1},
		{Rank: 3, BotID: "c", Name: "Cee", Rating: 7, GamesPlayed: 3}, // sorted by name, because the ratings 7.04 and 7.01 are both displayed as 7.0
		{Rank: 4, BotID: "a", Name: "Same", Rating: 7, GamesPlayed: 3},
		{Rank: 5, BotID: "d", Name: "Aaa", Rating: 7, GamesPlayed: 1}, // sorted by the number of games, which comes before the name
		{Rank: 6, BotID: "low", Name: "Low", Rating: -3, GamesPlayed: 1},
	}, rows)
}

func TestRankingWithoutRatedBotsIsEmpty(t *testing.T) {
	for _, l := range []*inspected{newInspected(), followed(t, memory.New())} {
		rows := l.Rows(ladder.Parley, itself)
		require.NotNil(t, rows, "an empty list")
		require.Empty(t, rows)
		rows, err := l.RowsAt(ladder.Parley, afterAll, itself)
		require.NoError(t, err)
		require.Equal(t, []leaderboard.Row{}, rows)
	}
}

func TestRankingCountsRatedMatchesOfItsMode(t *testing.T) {
	log := memory.New()
	a := arenatest.New(t, log, 3)
	standard := a.Register("ada", ladder.Standard, "Ann", "Bea", "Cat", "Dot", "Eve")
	parley := a.Register("bob", ladder.Parley, "Ida", "Jon", "Kim")
	l := leaderboard.New()
	runner := arenatest.Follow(t, log, l)
	rows := func(mode string) []leaderboard.Row {
		require.NoError(t, runner.Sync(t.Context()))
		return l.Rows(mode, itself)
	}

	g := a.Seat(ladder.Standard, standard[:4]...)[0]
	g.Start()
	g.PlayOut()
	require.Empty(t, rows(ladder.Standard), "before the match is rated")
	g.Conclude()
	require.Len(t, rows(ladder.Standard), 4, "one bot has not played")
	require.Empty(t, rows(ladder.Parley))

	void := a.Seat(ladder.Parley, parley...)[0]
	void.Start()
	void.Abort(match.WallClock)
	void.Conclude()
	require.Empty(t, rows(ladder.Parley), "after an aborted match")
	a.Complete(ladder.Parley, parley...)
	require.Len(t, rows(ladder.Parley), 3)

	for range 3 {
		a.Complete(ladder.Standard, standard[1:]...)
	}
	want := ladder.New(ladder.Standard)
	for r, err := range log.Read(t.Context(), "ladder-standard", 0, eventstore.ReadOptions{}) {
		require.NoError(t, err)
		e, err := ladder.Decode(r.Type, r.Data)
		require.NoError(t, err)
		want = ladder.Evolve(want, e, r.Created)
	}
	got := rows(ladder.Standard)
	require.Len(t, got, 5)
	for i, row := range got {
		require.Equal(t, leaderboard.Row{
			Rank: i + 1, BotID: row.BotID, Name: row.BotID, Owner: "owner of " + row.BotID,
			Rating: want.Bot(row.BotID).Rating.Displayed(), GamesPlayed: want.Bot(row.BotID).Games,
		}, row)
	}
	require.True(t, slices.IsSortedFunc(got, func(a, b leaderboard.Row) int { return cmp.Compare(b.Rating, a.Rating) }))
	spread, err := l.Spread(ladder.Standard, afterAll)
	require.NoError(t, err)
	require.Len(t, spread, 5)
	for id, s := range spread {
		require.InDelta(t, 3*want.Bot(id).Rating.Sigma, s, 1e-12)
	}
}

func TestLeaderboardStopsAtAnInvalidEvent(t *testing.T) {
	for name, c := range map[string]struct {
		spoil func(*testArena, *table)
		want  string
	}{
		"ratings of a match that never started": {func(w *testArena, _ *table) {
			w.append("ladder-standard", ladder.RatingsChanged{MatchID: "x"})
		}, "ladder-standard@2: match x is rated, but never started"},
		"ratings of a bot that did not play": {func(w *testArena, m *table) {
			w.append("ladder-standard", ladder.RatingsChanged{MatchID: m.MatchID, Seats: []ladder.RatedSeat{{BotID: "a"}, {BotID: "stranger"}}})
		}, "bot stranger is rated, but did not play"},
		"an end without a start": {func(w *testArena, _ *table) {
			w.append("match-x", match.GameEnded{})
		}, "match-x@0: match x never started"},
		"torn data": {func(w *testArena, _ *table) {
			e, err := eventstore.Encode(ladder.MatchVoided{}, eventstore.Metadata{})
			require.NoError(w.t, err)
			e.Data = []byte("{")
			_, err = w.log.Append(w.t.Context(), "ladder-standard", eventstore.Any, e)
			require.NoError(w.t, err)
		}, "decode MatchVoided"},
		"metadata of a later version": {func(w *testArena, _ *table) {
			e, err := eventstore.Encode(ladder.MatchVoided{}, eventstore.Metadata{})
			require.NoError(w.t, err)
			e.Metadata = []byte(`{"schema":9}`)
			_, err = w.log.Append(w.t.Context(), "ladder-standard", eventstore.Any, e)
			require.NoError(w.t, err)
		}, "schema version 9"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newArena(t, 2)
			m := w.seat(ladder.Standard, "a", "b", "c", "d")[0]
			w.start(m)
			w.append("ladder-standard", ladder.MatchVoided{MatchID: "that never started", Why: ladder.WhyOperator})
			good := followed(t, w.log).dump(t)
			c.spoil(w, m)
			l := newInspected()
			require.ErrorContains(t, arenatest.Follow(t, w.log, l).Sync(t.Context()), c.want)
			require.Equal(t, good, l.dump(t), "the rows before the invalid event")
			require.Empty(t, l.Rows(ladder.Standard, itself))
		})
	}
}

func TestReadersSeeWholeMatches(t *testing.T) {
	w := newArena(t, 3)
	bots := []string{"a", "b", "c", "d"}
	l := leaderboard.New()
	runner := arenatest.Follow(t, w.log, l)
	w.complete(ladder.Standard, bots, 1, 2, 3, 4)
	began := w.now
	require.NoError(t, runner.Sync(t.Context()))
	stop := make(chan struct{})
	var readers sync.WaitGroup
	for range 2 {
		readers.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				rows := l.Rows(ladder.Standard, itself)
				assert.Len(t, rows, 4)
				for i, row := range rows {
					assert.Equal(t, i+1, row.Rank)
					assert.Equal(t, rows[0].GamesPlayed, row.GamesPlayed)
				}
				h, _, err := l.History("a")
				if err != nil || len(h.Points) == 0 {
					t.Error("a", h.Points, err)
					return
				}
				then, err := l.RowsAt(ladder.Standard, began, itself)
				if err != nil || len(then) != 4 || then[0].GamesPlayed != 1 {
					t.Error(then, err)
					return
				}
			}
		})
	}
	for range 20 {
		w.now = w.now.Add(time.Hour)
		w.complete(ladder.Standard, bots, 2, 1, 3, 3)
		require.NoError(t, runner.Sync(t.Context()))
	}
	close(stop)
	readers.Wait()
}

// The live leaderboard restarts at random times. Its rows must be byte for byte the
// same as those of a rebuild.
func TestRebuildEqualsTheLiveLeaderboard(t *testing.T) {
	w := newArena(t, logtest.Seed(t))
	dir := t.TempDir()
	live := newInspected()
	runner := arenatest.FollowIn(t, dir, w.log, live)
	for range 300 {
		w.anything()
		switch w.rng.IntN(20) {
		case 0: // the live leaderboard restarts
			require.NoError(t, runner.Close())
			live = newInspected()
			runner = arenatest.FollowIn(t, dir, w.log, live)
		case 1, 2, 3:
			require.NoError(t, runner.Sync(t.Context()))
		}
	}
	require.NoError(t, runner.Sync(t.Context()))
	require.NoError(t, runner.Sync(t.Context()), "a second Sync")
	rebuilt := followed(t, w.log)
	logtest.RequireSameText(t, rebuilt.dump(t), live.dump(t))
	require.NoError(t, live.Load(live.rows), "loading from rows")
	for _, mode := range ladder.Modes {
		rows := rebuilt.Rows(mode, itself)
		require.NotEmpty(t, rows)
		require.Equal(t, rows, live.Rows(mode, itself))
		for _, row := range rows {
			was := w.ladders[mode].Bot(row.BotID)
			require.Equal(t, was.Games, row.GamesPlayed)
			require.Equal(t, was.Rating.Displayed(), row.Rating)
		}
	}
}

// RowsAt returns the ranking that the leaderboard had at the given time. If a match
// closes later than another, it belongs to a later ranking, even if a writer's
// clock goes back in between.
func TestRowsAtEqualsTheRankingOfThatTime(t *testing.T) {
	w := newArena(t, logtest.Seed(t))
	l := newInspected()
	runner := arenatest.Follow(t, w.log, l)
	type moment struct {
		at   time.Time
		rows []leaderboard.Row
	}
	stood := map[string][]moment{}
	versions := map[string]uint64{}
	enough := func() bool {
		for mode := range w.ladders {
			if len(stood[mode]) <= 10 {
				return false
			}
		}
		return true
	}
	for step := 0; step < 250 || step < 2000 && !enough(); step++ {
		w.anything()
		require.NoError(t, runner.Sync(t.Context()))
		for mode, state := range w.ladders {
			if state.Version() == versions[mode] {
				continue
			}
			versions[mode] = state.Version()
			rows := l.Rows(mode, itself)
			if was := stood[mode]; len(was) > 0 && slices.Equal(was[len(was)-1].rows, rows) {
				continue // the ranking has not changed, for example because the step was a seating or an abort
			}
			stood[mode] = append(stood[mode], moment{w.closed[mode], rows})
		}
	}
	require.True(t, enough())
	for mode, moments := range stood {
		for _, when := range moments {
			for _, at := range []time.Time{when.at, when.at.Add(-time.Millisecond), when.at.Add(-time.Nanosecond), when.at.Add(999 * time.Microsecond)} {
				want := []leaderboard.Row{}
				for _, m := range moments {
					if !m.at.After(at) {
						want = m.rows
					}
				}
				got, err := l.RowsAt(mode, at, itself)
				require.NoError(t, err)
				require.Equal(t, want, got, "%s at %s", mode, at)
			}
		}
		now, err := l.RowsAt(mode, w.now.Add(1000*time.Hour), itself)
		require.NoError(t, err)
		require.Equal(t, l.Rows(mode, itself), now, "a time in the future")
	}
}

func TestRowsAtUsesTodaysNamesAndOmitsRemovedBots(t *testing.T) {
	w := newArena(t, 4)
	w.complete(ladder.Standard, []string{"a", "b", "c"}, 1, 2, 3)
	then := w.now
	w.now = w.now.Add(time.Hour)
	w.complete(ladder.Standard, []string{"a", "b", "c"}, 1, 2, 3)
	rows, err := followed(t, w.log).RowsAt(ladder.Standard, then, func(id string) (string, string, bool) { return "new " + id, "owner", id != "b" })
	require.NoError(t, err)
	require.Len(t, rows, 2)
	for i, row := range rows {
		require.Equal(t, i+1, row.Rank)
		require.Equal(t, "new "+row.BotID, row.Name)
		require.Equal(t, 1, row.GamesPlayed)
	}
}
