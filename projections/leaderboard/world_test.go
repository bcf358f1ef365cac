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

// afterAll is later than every event of these tests. The logs of the tests have
// clocks of their own, so the wall clock can be before their events.
var afterAll = time.Date(2100, 1, 1, 0, 0, 0, 0, time.UTC)

// itself names every bot by its id.
func itself(botID string) (name, owner string, ok bool) { return botID, "owner of " + botID, true }

// kept is a leaderboard of which a test has the rows.
type kept struct {
	*leaderboard.Leaderboard
	rows *sql.DB
}

func newKept() *kept { return &kept{Leaderboard: leaderboard.New()} }

func (k *kept) Load(rows *sql.DB) error {
	k.rows = rows
	return k.Leaderboard.Load(rows)
}

func (k *kept) dump(t testing.TB) string {
	t.Helper()
	var b bytes.Buffer
	require.NoError(t, projections.Dump(&b, k.rows))
	return b.String()
}

// followed is a leaderboard that holds what a log does.
func followed(t testing.TB, log eventstore.Log) *kept {
	t.Helper()
	k := newKept()
	require.NoError(t, arenatest.Follow(t, log, k).Sync(t.Context()))
	return k
}

// world writes the log of matches of which nothing but the ends is of interest.
type world struct {
	t       testing.TB
	log     *memory.Log
	rng     *rand.Rand
	now     time.Time
	ladders map[string]ladder.Ladder
	closed  map[string]time.Time // when, at the latest, a mode's ladder closed a match that had begun
	playing []*table
}

type table struct {
	ladder.Seating
	seats         []string // in seat order
	started, over bool
	ended         time.Time
}

func newWorld(t testing.TB, chance uint64) *world {
	return &world{
		t: t, log: memory.New(), rng: rand.New(rand.NewPCG(chance, 1)), now: time.Date(2026, 10, 1, 12, 0, 0, 0, time.UTC),
		ladders: map[string]ladder.Ladder{ladder.Standard: ladder.New(ladder.Standard), ladder.Parley: ladder.New(ladder.Parley)},
		closed:  map[string]time.Time{},
	}
}

func (w *world) append(stream string, events ...eventstore.Typed) {
	w.t.Helper()
	encoded, err := eventstore.EncodeAll(events, eventstore.Metadata{At: w.now, Correlation: stream})
	require.NoError(w.t, err)
	_, err = w.log.Append(w.t.Context(), eventstore.StreamID(stream), eventstore.Any, encoded...)
	require.NoError(w.t, err)
}

func (w *world) evolve(mode string, events []ladder.Event, err error) {
	w.t.Helper()
	require.NoError(w.t, err)
	for _, e := range events {
		w.append(ladder.Stream(mode), e)
		w.ladders[mode] = ladder.Evolve(w.ladders[mode], e, w.now)
	}
}

// seat opens the tables that some bots of a mode fill.
func (w *world) seat(mode string, ids ...string) []*table {
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

// start stores who sits where.
func (w *world) start(m *table) {
	w.t.Helper()
	e := match.Started{MatchID: m.MatchID, Mode: m.Mode}
	for _, i := range w.rng.Perm(len(m.Bots)) {
		m.seats = append(m.seats, m.Bots[i].BotID)
		e.Seats = append(e.Seats, match.Seat{BotID: m.Bots[i].BotID})
	}
	m.started = true
	w.append(match.Stream(m.MatchID), e)
}

// end stores the end of a match, as its own stream has it.
func (w *world) end(m *table, e match.Event) {
	w.t.Helper()
	m.over, m.ended = true, w.now
	w.append(match.Stream(m.MatchID), e)
}

// rate completes a match; places are by seat.
func (w *world) rate(m *table, places ...int) {
	w.t.Helper()
	var results []ladder.Result
	for seat, id := range m.seats {
		results = append(results, ladder.Result{BotID: id, Placement: places[seat]})
	}
	events, err := w.ladders[m.Mode].Finish(m.MatchID, results)
	w.evolve(m.Mode, events, err)
	w.close(m)
}

func (w *world) void(m *table) {
	w.t.Helper()
	events, err := w.ladders[m.Mode].Void(m.MatchID, ladder.WhyOperator)
	w.evolve(m.Mode, events, err)
	w.close(m)
}

func (w *world) close(m *table) {
	if m.started && w.now.After(w.closed[m.Mode]) {
		w.closed[m.Mode] = w.now
	}
}

// complete plays a match of some bots of a mode; places are by seat.
func (w *world) complete(mode string, ids []string, places ...int) *table {
	w.t.Helper()
	m := w.seat(mode, ids...)[0]
	w.start(m)
	w.now = w.now.Add(time.Minute)
	w.end(m, match.GameEnded{})
	w.now = w.now.Add(time.Second)
	w.rate(m, places...)
	return m
}

// competition are places of a competition ranking by chance.
func (w *world) competition(n int) []int {
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

// anything has something happen, by chance: a seating, a start, an end, a
// rating, an abort, an operator who voids what may not have started, and time,
// which sometimes goes back.
func (w *world) anything() {
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
	case !m.over:
		w.end(m, match.GameEnded{})
	default:
		w.rate(m, w.competition(len(m.seats))...)
		w.playing = append(w.playing[:i], w.playing[i+1:]...)
	}
}

func newID(n int) string { return uuid.NewSHA1(uuid.NameSpaceURL, fmt.Append(nil, n)).String() }
