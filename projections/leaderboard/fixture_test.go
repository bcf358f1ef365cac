package leaderboard_test

import (
	"bytes"
	"database/sql"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"hexarena/domain/ladder"
	"hexarena/domain/match"
	"hexarena/eventstore"
	"hexarena/eventstore/memory"
	"hexarena/projections"
	"hexarena/projections/arenatest"
	"hexarena/projections/leaderboard"
)

// afterAll is later than every event in these tests. The test logs have their own
// clocks, so the wall clock can be earlier than their events.
var afterAll = time.Date(2100, 1, 1, 0, 0, 0, 0, time.UTC)

// The function itself() is a Names function that returns a bot's id as its name.
func itself(botID string) (name, owner string, ok bool) { return botID, "owner of " + botID, true }

// The type inspected is a leaderboard whose rows a test can read.
type inspected struct {
	*leaderboard.Leaderboard
	rows *sql.DB
}

func newInspected() *inspected { return &inspected{Leaderboard: leaderboard.New()} }

func (l *inspected) Load(rows *sql.DB) error {
	l.rows = rows
	return l.Leaderboard.Load(rows)
}

func (l *inspected) dump(t testing.TB) string {
	t.Helper()
	var b bytes.Buffer
	require.NoError(t, projections.Dump(&b, l.rows))
	return b.String()
}

// The function followed() returns a leaderboard that is up to date with a log.
func followed(t testing.TB, log eventstore.Log) *inspected {
	t.Helper()
	l := newInspected()
	require.NoError(t, arenatest.Follow(t, log, l).Sync(t.Context()))
	return l
}

// testArena writes a log of matches that contain no moves, only seatings, starts,
// ends and ratings.
type testArena struct {
	t       testing.TB
	log     *memory.Log
	rng     *rand.Rand
	now     time.Time
	ladders map[string]ladder.Ladder
	closed  map[string]time.Time // by mode: when the ladder last closed a match that had started
	playing []*table

	versions map[string]string // by bot: the version that it names at the start of a match
}

type table struct {
	ladder.Seating
	seats         []string // in seat order
	started, over bool
	ended         time.Time
	strikes       []int // by seat
	used          []int64
}

func newArena(t testing.TB, chance uint64) *testArena {
	return &testArena{
		t: t, log: memory.New(), rng: rand.New(rand.NewPCG(chance, 1)), now: time.Date(2026, 10, 1, 12, 0, 0, 0, time.UTC),
		ladders: map[string]ladder.Ladder{ladder.Standard: ladder.New(ladder.Standard), ladder.Parley: ladder.New(ladder.Parley)},
		closed:  map[string]time.Time{},
	}
}

func (w *testArena) append(stream string, events ...eventstore.Typed) {
	w.t.Helper()
	w.appendWith(stream, eventstore.Metadata{}, events...)
}

func (w *testArena) appendWith(stream string, m eventstore.Metadata, events ...eventstore.Typed) {
	w.t.Helper()
	m.At, m.Correlation = w.now, stream
	encoded, err := eventstore.EncodeAll(events, m)
	require.NoError(w.t, err)
	_, err = w.log.Append(w.t.Context(), eventstore.StreamID(stream), eventstore.Any, encoded...)
	require.NoError(w.t, err)
}

func (w *testArena) evolve(mode string, events []ladder.Event, err error) {
	w.t.Helper()
	require.NoError(w.t, err)
	for _, e := range events {
		w.append(ladder.Stream(mode), e)
		w.ladders[mode] = ladder.Evolve(w.ladders[mode], e, w.now)
	}
}

// seat assigns bots of a mode to tables.
func (w *testArena) seat(mode string, ids ...string) []*table {
	w.t.Helper()
	candidates := make([]ladder.Candidate, len(ids))
	for i, id := range ids {
		candidates[i].BotID = id
	}
	before := map[string]bool{}
	for _, s := range w.ladders[mode].Unfinished() {
		before[s.MatchID] = true
	}
	events, err := w.ladders[mode].Seat(candidates, ladder.Tick{Now: w.now, PlatformKey: "cGxhdGZvcm0=", SeedKeyID: "k1", SeedKey: []byte("k")})
	w.evolve(mode, events, err)
	var tables []*table
	for _, s := range w.ladders[mode].Unfinished() {
		if !before[s.MatchID] {
			tables = append(tables, &table{Seating: s})
		}
	}
	w.playing = append(w.playing, tables...)
	return tables
}

// start appends the start of a match with random seats.
func (w *testArena) start(m *table) {
	w.t.Helper()
	e := match.Started{MatchID: m.MatchID, Mode: m.Mode}
	for _, i := range w.rng.Perm(len(m.Bots)) {
		m.seats = append(m.seats, m.Bots[i].BotID)
		e.Seats = append(e.Seats, match.Seat{BotID: m.Bots[i].BotID, Version: w.versions[m.Bots[i].BotID]})
	}
	m.started, m.strikes = true, make([]int, len(m.seats))
	w.append(match.Stream(m.MatchID), e)
}

// strike appends a strike of a seat, and after the third strike also the seat's
// resignation.
func (w *testArena) strike(m *table, seat int) {
	w.t.Helper()
	m.strikes[seat]++
	w.append(match.Stream(m.MatchID), match.DecisionTimedOut{Seat: seat, TimeoutData: match.TimeoutData{Strikes: m.strikes[seat]}})
	if m.strikes[seat] == match.MaxStrikes {
		w.append(match.Stream(m.MatchID), match.SeatResigned{Seat: seat})
	}
}

// end appends the end of a match to its own stream. Half of the matches have clocks.
func (w *testArena) end(m *table, e match.Event) {
	w.t.Helper()
	if w.rng.IntN(2) == 0 {
		for range m.seats {
			m.used = append(m.used, int64(w.rng.IntN(600_000)))
		}
	}
	m.over, m.ended = true, w.now
	w.appendWith(match.Stream(m.MatchID), eventstore.Metadata{UsedMs: m.used}, e)
}

// rate appends the ratings of a match. The placements are by seat.
func (w *testArena) rate(m *table, places ...int) {
	w.t.Helper()
	var results []ladder.Result
	for seat, id := range m.seats {
		results = append(results, ladder.Result{BotID: id, Placement: places[seat]})
	}
	events, err := w.ladders[m.Mode].Finish(m.MatchID, results)
	w.evolve(m.Mode, events, err)
	w.close(m)
}

func (w *testArena) void(m *table) {
	w.t.Helper()
	events, err := w.ladders[m.Mode].Void(m.MatchID, ladder.WhyOperator)
	w.evolve(m.Mode, events, err)
	w.close(m)
}

func (w *testArena) close(m *table) {
	if m.started && w.now.After(w.closed[m.Mode]) {
		w.closed[m.Mode] = w.now
	}
}

// complete plays a match. The placements are by seat.
func (w *testArena) complete(mode string, ids []string, places ...int) *table {
	w.t.Helper()
	m := w.seat(mode, ids...)[0]
	w.start(m)
	w.now = w.now.Add(time.Minute)
	w.end(m, match.GameEnded{})
	w.now = w.now.Add(time.Second)
	w.rate(m, places...)
	return m
}

// competition returns random placements. Seats with the same number of points
// share a place.
func (w *testArena) competition(n int) []int {
	points := make([]int, n)
	for i := range points {
		points[i] = w.rng.IntN(5)
	}
	places := make([]int, n)
	for i := range points {
		places[i] = 1
		for _, p := range points {
			if p > points[i] {
				places[i]++
			}
		}
	}
	return places
}

// The method anything makes a random change: it seats, starts, ends, rates, aborts
// or voids a match. It also changes the clock, sometimes backwards.
func (w *testArena) anything() {
	w.t.Helper()
	w.now = w.now.Add(time.Duration(w.rng.IntN(3000)-300) * time.Millisecond)
	if len(w.playing) < 2 || w.rng.IntN(5) == 0 {
		mode := ladder.Modes[w.rng.IntN(2)]
		var ids []string
		for i := range 14 {
			ids = append(ids, fmt.Sprintf("%s-%02d", mode, i))
		}
		w.rng.Shuffle(len(ids), func(i, j int) { ids[i], ids[j] = ids[j], ids[i] })
		w.seat(mode, ids[:3+w.rng.IntN(10)]...)
		return
	}
	i := w.rng.IntN(len(w.playing))
	switch m := w.playing[i]; {
	case w.rng.IntN(12) == 0:
		w.void(m)
		w.playing = append(w.playing[:i], w.playing[i+1:]...)
	case !m.started:
		w.start(m)
	case !m.over && m.strikes[0] < match.MaxStrikes && w.rng.IntN(3) == 0:
		w.strike(m, 0)
	case !m.over:
		w.end(m, match.GameEnded{})
	default:
		w.rate(m, w.competition(len(m.seats))...)
		w.playing = append(w.playing[:i], w.playing[i+1:]...)
	}
}

func newID(n int) string { return uuid.NewSHA1(uuid.NameSpaceURL, fmt.Append(nil, n)).String() }
