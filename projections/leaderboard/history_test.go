package leaderboard_test

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"hexarena/domain/ladder"
	"hexarena/domain/match"
	"hexarena/eventstore/logtest"
	"hexarena/eventstore/memory"
	"hexarena/projections/arenatest"
	"hexarena/projections/leaderboard"
	"hexarena/projections/seats"
)

func TestHistoryListsCompletedAndAbortedMatches(t *testing.T) {
	w := newArena(t, 5)
	first := w.complete(ladder.Standard, []string{"a", "b", "c"}, 2, 1, 2)
	firstRating := w.ladders[ladder.Standard].Bot("a").Rating

	stopped := w.seat(ladder.Standard, "a", "b", "d")[0]
	w.start(stopped)
	for range match.MaxStrikes {
		w.strike(stopped, slices.Index(stopped.seats, "a"))
	}
	w.now = w.now.Add(time.Minute)
	w.end(stopped, match.Aborted{Why: match.WallClock})
	w.now = w.now.Add(time.Minute)
	w.void(stopped)

	dropped := w.seat(ladder.Standard, "a", "e", "f")[0]
	w.void(dropped)

	second := w.complete(ladder.Standard, []string{"a", "b", "c", "d"}, 4, 3, 2, 1)
	running := w.seat(ladder.Standard, "a", "b", "g")[0]
	w.start(running)

	l := followed(t, w.log)
	h, ok, err := l.History("a")
	require.NoError(t, err)
	require.True(t, ok)
	seat := func(m *table, id string) int { return slices.Index(m.seats, id) }
	ended := func(m *table, s seats.Seat) leaderboard.EndedMatch {
		at := seat(m, "a")
		if m.used != nil {
			s.TimeUsedMs = &m.used[at]
		}
		return leaderboard.EndedMatch{m.MatchID, m.ended, at, s}
	}
	secondRating := w.ladders[ladder.Standard].Bot("a").Rating
	zero, one, two := 0.0, firstRating.Displayed(), secondRating.Displayed()
	require.Equal(t, leaderboard.History{
		Mode: ladder.Standard,
		Points: []leaderboard.Point{
			{ended(first, seats.Seat{RatingBefore: &zero, RatingAfter: &one}), []int{2, 1, 2}[seat(first, "a")], firstRating},
			{ended(second, seats.Seat{RatingBefore: &one, RatingAfter: &two}), []int{4, 3, 2, 1}[seat(second, "a")], secondRating},
		},
		Aborted: []leaderboard.AbortedMatch{{ended(stopped, seats.Seat{Strikes: 3, Resigned: true}), ladder.WhyOperator}},
	}, h)

	h, ok, err = l.History("g")
	require.NoError(t, err)
	require.True(t, ok, "a bot whose first match still runs")
	require.Equal(t, leaderboard.History{Mode: ladder.Standard, Points: []leaderboard.Point{}, Aborted: []leaderboard.AbortedMatch{}}, h)
	for _, id := range []string{"e", "f", "nobody", ""} {
		_, ok, err := l.History(id)
		require.NoError(t, err)
		require.False(t, ok, "%s has never begun a match", id)
		tallies, err := l.BySeat(id)
		require.NoError(t, err)
		require.Empty(t, tallies)
		rivals, err := l.HeadToHead(id)
		require.NoError(t, err)
		require.Empty(t, rivals)
	}
}

// If a match's own stream has no end event, the match ends at the time of the
// ladder's event.
func TestVoidedMatchEndsWhenItsLadderClosesIt(t *testing.T) {
	w := newArena(t, 6)
	m := w.seat(ladder.Standard, "a", "b", "c")[0]
	w.start(m)
	w.now = w.now.Add(time.Hour)
	w.void(m)
	h, _, err := followed(t, w.log).History("b")
	require.NoError(t, err)
	require.Equal(t, []leaderboard.AbortedMatch{{leaderboard.EndedMatch{MatchID: m.MatchID, EndedAt: w.now, Seat: slices.Index(m.seats, "b")}, ladder.WhyOperator}}, h.Aborted)
}

// Matches are counted under the version that the bot named when they began. The version
// that played last comes first, and a rebuild counts the same.
func TestByVersion(t *testing.T) {
	w := newArena(t, logtest.Seed(t))
	play := func(version string, placement int) {
		w.versions = map[string]string{"a": version}
		m := w.seat(ladder.Parley, "a", "b", "c")[0]
		w.start(m)
		w.versions = map[string]string{"a": "too late"}
		if placement == 0 {
			w.end(m, match.Aborted{Why: match.WallClock})
			w.void(m)
			return
		}
		w.end(m, match.GameEnded{})
		places := []int{2, 2, 2}
		if placement == 3 {
			places = []int{1, 1, 1}
		}
		places[slices.Index(m.seats, "a")] = placement
		w.rate(m, places...)
	}
	play("1", 1)
	play("2 beta", 3)
	play("", 1)
	play("2 beta", 1)
	play("1", 0)
	l := followed(t, w.log)
	tallies, err := l.ByVersion("a")
	require.NoError(t, err)
	require.Equal(t, []leaderboard.VersionTally{
		{Version: "2 beta", Games: 2, Places: [4]int{1, 0, 1}}, {Games: 1, Places: [4]int{1}}, {Version: "1", Games: 1, Places: [4]int{1}},
	}, tallies)
	h, _, err := l.History("a")
	require.NoError(t, err)
	require.Equal(t, []string{"1", "2 beta", "", "2 beta"}, []string{h.Points[0].Played.Version, h.Points[1].Played.Version, h.Points[2].Played.Version, h.Points[3].Played.Version})
	require.Equal(t, "1", h.Aborted[0].Played.Version)
	tallies, err = l.ByVersion("b")
	require.NoError(t, err)
	require.Equal(t, []leaderboard.VersionTally{{Games: 4, Places: [4]int{1, 3}}}, tallies)
}

func TestBySeatAndHeadToHead(t *testing.T) {
	w := newArena(t, logtest.Seed(t))
	type seen struct {
		seats  map[int]leaderboard.SeatTally
		rivals map[string]leaderboard.Rival
	}
	want := map[string]seen{}
	var results [5][4]leaderboard.SeatTally
	count := func(m *table, places []int) {
		for seat, place := range places {
			t := &results[len(places)][seat]
			t.Seat = seat
			t.Games++
			t.Places[place-1]++
		}
		for seat, id := range m.seats {
			if want[id].seats == nil {
				want[id] = seen{map[int]leaderboard.SeatTally{}, map[string]leaderboard.Rival{}}
			}
			s := want[id].seats[seat]
			s.Seat = seat
			s.Games++
			s.Places[places[seat]-1]++
			want[id].seats[seat] = s
			for other, rival := range m.seats {
				if other == seat {
					continue
				}
				r := want[id].rivals[rival]
				r.BotID = rival
				r.Games++
				switch {
				case places[seat] < places[other]:
					r.Above++
				case places[seat] == places[other]:
					r.Level++
				default:
					r.Below++
				}
				want[id].rivals[rival] = r
			}
		}
	}
	bots := []string{"a", "b", "c", "d", "e", "f", "g"}
	for range 60 {
		w.rng.Shuffle(len(bots), func(i, j int) { bots[i], bots[j] = bots[j], bots[i] })
		n := 3 + w.rng.IntN(2)
		m := w.seat(ladder.Parley, bots[:n]...)[0]
		w.start(m)
		if w.rng.IntN(6) == 0 {
			w.end(m, match.Aborted{Why: match.WallClock})
			w.void(m)
			continue
		}
		w.end(m, match.GameEnded{})
		places := w.competition(n)
		w.rate(m, places...)
		count(m, places)
	}
	l := followed(t, w.log)
	for players := 3; players <= 4; players++ {
		require.Equal(t, results[players][:players], l.Results(ladder.Parley, players))
		require.Len(t, l.Results(ladder.Standard, players), players, "no matches yet")
	}
	reloaded := leaderboard.New()
	require.NoError(t, reloaded.Load(l.rows))
	require.Equal(t, l.Results(ladder.Parley, 4), reloaded.Results(ladder.Parley, 4), "from the rows")
	for id, want := range want {
		seats, err := l.BySeat(id)
		require.NoError(t, err)
		require.Len(t, seats, len(want.seats))
		for i, s := range seats {
			require.Equal(t, want.seats[s.Seat], s)
			require.True(t, i == 0 || seats[i-1].Seat < s.Seat)
		}
		rivals, err := l.HeadToHead(id)
		require.NoError(t, err)
		require.Len(t, rivals, len(want.rivals))
		for i, r := range rivals {
			require.Equal(t, want.rivals[r.BotID], r)
			require.True(t, i == 0 || rivals[i-1].Games > r.Games || rivals[i-1].Games == r.Games && rivals[i-1].BotID < r.BotID)
		}
	}
}

// The function aged() returns a leaderboard of 10,000 bots that have played a given
// number of matches.
func aged(b *testing.B, matches int) (*inspected, *testArena) {
	w := newArena(b, 7)
	bots := make([]string, 10_000)
	for i := range bots {
		bots[i] = newID(i)
	}
	for played := 0; played < matches; {
		w.rng.Shuffle(len(bots), func(i, j int) { bots[i], bots[j] = bots[j], bots[i] })
		tables := w.seat(ladder.Standard, bots[:min(len(bots), 4*(matches-played))]...)
		for _, m := range tables {
			w.now = w.now.Add(time.Second)
			w.start(m)
			w.end(m, match.GameEnded{})
			w.rate(m, 1, 2, 3, 4)
		}
		played += len(tables)
		w.playing = nil
	}
	l := newInspected()
	runner := arenatest.Follow(b, w.log, l)
	began := time.Now()
	require.NoError(b, runner.Sync(b.Context()))
	b.Logf("%d matches, %.0f a second", matches, float64(matches)/time.Since(began).Seconds())
	return l, w
}

// BenchmarkReads reads from a leaderboard of 10,000 bots and 50,000 matches.
func BenchmarkReads(b *testing.B) {
	const matches = 50_000
	l, w := aged(b, matches)
	began := w.now.Add(-matches / 2 * time.Second)
	b.Run("Rows", func(b *testing.B) {
		for b.Loop() {
			l.Rows(ladder.Standard, itself)
		}
	})
	b.Run("RowsAt", func(b *testing.B) {
		for b.Loop() {
			rows, err := l.RowsAt(ladder.Standard, began, itself)
			require.NoError(b, err)
			require.Len(b, rows, 10_000)
		}
	})
	b.Run("History", func(b *testing.B) {
		for b.Loop() {
			_, _, err := l.History(newID(1))
			require.NoError(b, err)
		}
	})
	b.Run("HeadToHead", func(b *testing.B) {
		for b.Loop() {
			_, err := l.HeadToHead(newID(1))
			require.NoError(b, err)
		}
	})
}

// A bot's share of the used time counts only matches that have clocks and that the
// wall clock aborted. The count is right even if the model restarts between the end
// of a match and its MatchVoided event.
func TestClockAborts(t *testing.T) {
	log := memory.New()
	a := arenatest.New(t, log, 3)
	bots := a.Register("ada", ladder.Standard, "Ann", "Bea", "Cat", "Dot")
	dir := t.TempDir()
	abort := func(why string, unmeasured bool) *arenatest.Game {
		a.Unmeasured = unmeasured
		g := a.Seat(ladder.Standard, bots[:3]...)[0]
		g.Start()
		g.Play(3)
		g.Abort(why)
		r := arenatest.FollowIn(t, dir, log, leaderboard.New())
		require.NoError(t, r.Sync(t.Context()))
		require.NoError(t, r.Close())
		g.Conclude()
		return g
	}
	one, two := abort(match.WallClock, false), abort(match.WallClock, false)
	abort(match.WallClock, true)
	abort(match.Operator, false)
	a.Unmeasured = false
	a.Complete(ladder.Standard, bots...)
	model := leaderboard.New()
	require.NoError(t, arenatest.FollowIn(t, dir, log, model).Sync(t.Context()))
	for _, id := range bots[:3] {
		want := leaderboard.ClockAborts{Matches: 3, Measured: 2}
		for _, g := range []*arenatest.Game{one, two} {
			for seat, used := range g.Used {
				want.AllMs += used
				if g.State.Started.Seats[seat].BotID == id {
					want.UsedMs += used
				}
			}
		}
		got, err := model.ClockAborts(id)
		require.NoError(t, err)
		require.Equal(t, want, got)
	}
	for _, id := range []string{bots[3], "nobody"} {
		got, err := model.ClockAborts(id)
		require.NoError(t, err)
		require.Zero(t, got)
	}
}

// The results against a rival, by seat, add up to those of HeadToHead, and mirror those of
// the rival.
func TestAgainstARival(t *testing.T) {
	log, model := memory.New(), leaderboard.New()
	a := arenatest.New(t, log, 5)
	bots := a.Register("ada", ladder.Standard, "Ann", "Bea", "Cat", "Dot", "Eve")
	for i := range 8 {
		a.Complete(ladder.Standard, append([]string{bots[0], bots[1]}, bots[2+i%3])...)
	}
	a.Complete(ladder.Standard, bots[1:]...) // Bea has more matches than Ann
	require.NoError(t, arenatest.Follow(t, log, model).Sync(t.Context()))
	for _, bot := range bots {
		rivals, err := model.HeadToHead(bot)
		require.NoError(t, err)
		for _, r := range rivals {
			got, err := model.Against(bot, r.BotID)
			require.NoError(t, err)
			back, err := model.Against(r.BotID, bot)
			require.NoError(t, err)
			sum, mirrored := leaderboard.Rival{BotID: r.BotID}, leaderboard.Rival{BotID: r.BotID}
			for _, s := range got {
				sum.Games, sum.Above, sum.Level, sum.Below = sum.Games+s.Games, sum.Above+s.Above, sum.Level+s.Level, sum.Below+s.Below
			}
			for _, s := range back {
				mirrored.Games, mirrored.Above, mirrored.Level, mirrored.Below = mirrored.Games+s.Games, mirrored.Above+s.Below, mirrored.Level+s.Level, mirrored.Below+s.Above
			}
			require.Equal(t, r, sum)
			require.Equal(t, r, mirrored)
		}
	}
	for _, pair := range [][2]string{{bots[0], bots[0]}, {bots[0], "nobody"}, {"nobody", bots[0]}} {
		got, err := model.Against(pair[0], pair[1])
		require.NoError(t, err)
		require.Empty(t, got)
	}
}
