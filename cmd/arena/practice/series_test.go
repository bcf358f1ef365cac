package practice

import (
	"encoding/json"
	"log/slog"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"hexarena/domain/audit"
	"hexarena/domain/ladder"
	"hexarena/domain/match"
	"hexarena/domain/tournament"
)

// newSeries returns a series of three rotations of each seed.
func newSeries(t testing.TB, blocks, parallel int, specs ...string) *series {
	t.Helper()
	bots, err := parseBots(specs)
	require.NoError(t, err)
	return &series{
		plan: tournament.Plan{Bots: len(bots), Blocks: blocks, Seed: "test", Rotate: true}, bots: bots, mode: ladder.Standard,
		decision: time.Minute, wall: time.Hour, parallel: parallel, logger: slog.New(slog.DiscardHandler),
		starter: &starter{restarts: make([]atomic.Int64, len(bots))},
	}
}

func all(int) bool { return false }

// recordsOf plays a series, and returns the records by id. Without times, it removes
// everything that depends on the clock.
func recordsOf(t testing.TB, s *series, withTimes bool) map[string]string {
	t.Helper()
	var mu sync.Mutex
	list := map[string]string{}
	require.NoError(t, s.play(t.Context(), all, func(p played) error {
		if !withTimes {
			removeTimes(&p)
		}
		text, err := encode(p)
		mu.Lock()
		defer mu.Unlock()
		list[p.match.ID] = text
		return err
	}))
	require.Len(t, list, s.plan.Matches())
	return list
}

func encode(p played) (string, error) {
	r, err := newRecord(p)
	if err != nil {
		return "", err
	}
	text, err := json.Marshal(r)
	return string(text), err
}

func removeTimes(p *played) {
	h := &p.history
	for i, e := range h.Events {
		h.Times[i], h.Clocks[i].Used = time.Time{}, match.NewClocks(len(h.Started.Seats))
		if a, ok := e.(match.ActionPlayed); ok {
			a.ElapsedMs = new(int64)
			h.Events[i] = a
		}
	}
}

// A seed determines the records, except for times. The number of matches that are played
// at the same time does not matter, nor whether a referee plays them.
func TestASeedDeterminesTheRecords(t *testing.T) {
	specs := []string{"house:greedy", "house:greedy", "house:random", "house:random"}
	one := recordsOf(t, newSeries(t, 1, 1, specs...), false)
	require.Equal(t, one, recordsOf(t, newSeries(t, 1, 4, specs...), false))

	s := newSeries(t, 1, 1, specs...)
	w := s.newWorker(0)
	defer w.close()
	refereed := map[string]string{}
	for n := range s.plan.Matches() {
		p, err := w.referee(t.Context(), s.plan.Match(n))
		require.NoError(t, err)
		removeTimes(&p)
		refereed[p.match.ID], err = encode(p)
		require.NoError(t, err)
	}
	require.Equal(t, one, refereed)
}

// The audit recomputes the records.
func TestRecordsVerify(t *testing.T) {
	for _, text := range recordsOf(t, newSeries(t, 3, 2, "house:greedy", "house:random", "house:random"), true) {
		r, err := audit.Parse([]byte(text))
		require.NoError(t, err)
		report := audit.Match(r, audit.Evidence{})
		require.Nil(t, report.Difference, "%v", report.Difference)
		require.Equal(t, "completed", r.Status)
	}
}

// An aborted match has a record too.
func TestAbortedMatchesVerify(t *testing.T) {
	s := newSeries(t, 1, 1, "house:greedy", "house:random", "house:random")
	s.wall = time.Nanosecond
	for _, text := range recordsOf(t, s, true) {
		r, err := audit.Parse([]byte(text))
		require.NoError(t, err)
		report := audit.Match(r, audit.Evidence{})
		require.Nil(t, report.Difference, "%v", report.Difference)
		require.Equal(t, "aborted", r.Status)
	}
}

// BenchmarkHouseBots plays matches of three house bots on one core.
func BenchmarkHouseBots(b *testing.B) {
	s := newSeries(b, 1<<30, 1, "house:greedy", "house:greedy", "house:random")
	w := s.newWorker(0)
	for n := 0; b.Loop(); n++ {
		_, err := w.play(b.Context(), s.plan.Match(n))
		require.NoError(b, err)
	}
}
