package leaderboard_test

import (
	"cmp"
	"log/slog"
	"slices"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"hexarena/domain/ladder"
	"hexarena/domain/match"
	"hexarena/domain/rating"
	"hexarena/eventstore"
	"hexarena/eventstore/memory"
	"hexarena/projections"
	"hexarena/projections/arenatest"
	"hexarena/projections/leaderboard"
)

// itself names every bot by its id.
func itself(botID string) (name, owner string, ok bool) { return botID, "owner of " + botID, true }

// record makes an event of a mode's ladder, stored at a position.
func record(t *testing.T, mode string, at eventstore.Position, e ladder.Event) eventstore.Recorded {
	t.Helper()
	encoded, err := eventstore.Encode(e, eventstore.Metadata{})
	require.NoError(t, err)
	return eventstore.Recorded{Event: encoded, Stream: eventstore.StreamID(ladder.Stream(mode)), Position: at}
}

// after rates bots, one match each, at what is displayed as given.
func after(displayed map[string]float64) ladder.RatingsChanged {
	var e ladder.RatingsChanged
	for id, d := range displayed {
		e.Seats = append(e.Seats, ladder.RatedSeat{BotID: id, After: rating.Rating{Mu: d, Sigma: 0}})
	}
	return e
}

func TestOrder(t *testing.T) {
	l := leaderboard.New()
	for i, e := range []ladder.RatingsChanged{
		after(map[string]float64{"low": -3, "c": 7.04, "b2": 9, "b1": 9, "a": 1}),
		after(map[string]float64{"c": 7.04, "a": 7.01}),
		after(map[string]float64{"c": 7.04, "removed": 50}),
		after(map[string]float64{"a": 7.01}),
		after(map[string]float64{"d": 7.0}),
	} {
		require.NoError(t, l.Apply(record(t, ladder.Standard, eventstore.Position(i+1), e)))
	}
	rows := l.Rows(ladder.Standard, func(id string) (string, string, bool) {
		names := map[string]string{"low": "Low", "a": "Same", "b1": "Same", "b2": "Same", "c": "Cee", "d": "Aaa"}
		return names[id], "", id != "removed"
	})
	require.Equal(t, []leaderboard.Row{
		{Rank: 1, BotID: "b1", Name: "Same", Rating: 9, GamesPlayed: 1}, // by id
		{Rank: 2, BotID: "b2", Name: "Same", Rating: 9, GamesPlayed: 1},
		{Rank: 3, BotID: "c", Name: "Cee", Rating: 7, GamesPlayed: 3}, // by name: what is displayed counts, 7.04 is no more than 7.01
		{Rank: 4, BotID: "a", Name: "Same", Rating: 7, GamesPlayed: 3},
		{Rank: 5, BotID: "d", Name: "Aaa", Rating: 7, GamesPlayed: 1}, // by games, before names
		{Rank: 6, BotID: "low", Name: "Low", Rating: -3, GamesPlayed: 1},
	}, rows)
}

func TestNobodyRated(t *testing.T) {
	rows := leaderboard.New().Rows(ladder.Parley, itself)
	require.NotNil(t, rows, "an empty list, not null")
	require.Empty(t, rows)
}

// Only rated matches count, each mode by itself.
func TestWholeMatches(t *testing.T) {
	log := memory.New()
	a := arenatest.New(t, log, 3)
	standard := a.Register("ada", ladder.Standard, "Ann", "Bea", "Cat", "Dot", "Eve")
	parley := a.Register("bob", ladder.Parley, "Ida", "Jon", "Kim")
	l := leaderboard.New()
	runner := projections.New(log, l, slog.New(slog.DiscardHandler))
	rows := func(mode string) []leaderboard.Row {
		require.NoError(t, runner.Sync(t.Context()))
		return l.Rows(mode, itself)
	}

	g := a.Seat(ladder.Standard, standard[:4]...)[0]
	g.Start()
	g.PlayOut()
	require.Empty(t, rows(ladder.Standard), "it is not rated")
	g.Conclude()
	require.Len(t, rows(ladder.Standard), 4, "one has not played")
	require.Empty(t, rows(ladder.Parley))

	void := a.Seat(ladder.Parley, parley...)[0]
	void.Start()
	void.Abort(match.WallClock)
	void.Conclude()
	require.Empty(t, rows(ladder.Parley), "an aborted match rates nobody")
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
}

func TestWhatCannotBeFolded(t *testing.T) {
	l := leaderboard.New()
	bad := record(t, ladder.Standard, 1, after(map[string]float64{"a": 1}))
	bad.Data = []byte("{")
	require.ErrorContains(t, l.Apply(bad), "RatingsChanged")
	bad.Type = "RatingsLost"
	require.ErrorContains(t, l.Apply(bad), "RatingsLost")
	require.Empty(t, l.Rows(ladder.Standard, itself))
	bad.Stream = "owner-x"
	require.NoError(t, l.Apply(bad), "not a ladder's")
}

// Readers meet a live ranking half way; one rebuilt, and one that met each
// event twice, are the same in the end.
func TestRebuild(t *testing.T) {
	log := memory.New()
	a := arenatest.New(t, log, 4)
	bots := a.Register("ada", ladder.Standard, "Ann", "Bea", "Cat", "Dot")
	live := leaderboard.New()
	runner := projections.New(log, live, slog.New(slog.DiscardHandler))
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
				rows := live.Rows(ladder.Standard, itself)
				for i, row := range rows {
					assert.Len(t, rows, 4)
					assert.Equal(t, i+1, row.Rank)
					assert.Equal(t, rows[0].GamesPlayed, row.GamesPlayed, "a match changes all of its bots at once")
				}
			}
		})
	}
	for range 5 {
		a.Complete(ladder.Standard, bots...)
		require.NoError(t, runner.Sync(t.Context()))
	}
	close(stop)
	readers.Wait()

	rebuilt, twice := leaderboard.New(), leaderboard.New()
	require.NoError(t, projections.New(log, rebuilt, slog.New(slog.DiscardHandler)).Sync(t.Context()))
	require.Equal(t, live, rebuilt)
	for r, err := range log.ReadAll(t.Context(), 0, eventstore.ReadOptions{}) {
		require.NoError(t, err)
		if twice.Filter().Selects(r.Stream) {
			require.NoError(t, twice.Apply(r))
			require.NoError(t, twice.Apply(r))
		}
	}
	require.Equal(t, live, twice)
}
