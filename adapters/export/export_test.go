package export_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/parquet-go/parquet-go"
	"github.com/stretchr/testify/require"

	"hexarena/adapters/export"
	"hexarena/domain/ladder"
	"hexarena/domain/match"
	"hexarena/eventstore"
	"hexarena/eventstore/logtest"
	"hexarena/eventstore/memory"
)

// readAll reads all rows of a table from its JSON lines.
func readAll[R any](t *testing.T, dir, table string) (all []R) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, table, "*.jsonl"))
	require.NoError(t, err)
	for _, file := range files {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		for lines := bufio.NewScanner(bytes.NewReader(text)); lines.Scan(); {
			var row R
			require.NoError(t, json.Unmarshal(lines.Bytes(), &row), lines.Text())
			all = append(all, row)
		}
	}
	return all
}

type row = map[string]any

// The tables contain no rows for running matches or for matches that never started.
func TestTablesHoldTheEndedMatchesInLadderOrder(t *testing.T) {
	w := newFixture(t)
	dir := t.TempDir()
	done := run(t, t.Context(), w.log, options(dir, export.JSONL))
	require.Equal(t, len(w.games), done.Matches)
	require.Equal(t, (len(w.games)+1)/2, done.Partitions)

	matches, events := readAll[row](t, dir, "matches"), readAll[row](t, dir, "events")
	require.Len(t, matches, len(w.games))
	for i, g := range w.games {
		require.Equal(t, g.MatchID, matches[i]["match_id"])
		var status, reason string
		if g.State.Abort != nil {
			status, reason = "aborted", g.State.Abort.Why
		} else {
			status, reason = "completed", g.State.End.Reason
		}
		require.Equal(t, []any{status, reason, g.Mode, float64(g.State.Game.Turn)}, []any{matches[i]["status"], matches[i]["reason"], matches[i]["mode"], matches[i]["turns"]})
		require.Equal(t, g.Times[0].Format(match.TimeFormat), matches[i]["started_at"])
		seq := 0
		for n, e := range g.Events {
			kind, _, data := match.Publish(e)
			if kind == "" {
				continue
			}
			seq++
			want, err := json.Marshal(data)
			require.NoError(t, err)
			got := events[0]
			events = events[1:]
			held, err := json.Marshal(got["data"])
			require.NoError(t, err)
			require.JSONEq(t, string(want), string(held))
			require.Equal(t, []any{g.MatchID, float64(seq), kind, g.Times[n].Format(match.TimeFormat)}, []any{got["match_id"], got["seq"], got["kind"], got["at"]})
		}
	}
	require.Empty(t, events)
	requireDecisions(t, w, readAll[row](t, dir, "decisions"))
	requireSeats(t, w, readAll[row](t, dir, "seats"))
	require.NotEmpty(t, readAll[row](t, dir, "trades"))
}

// requireDecisions compares the rows of decisions with the outcome counts of each
// match.
func requireDecisions(t *testing.T, w *fixture, decisions []row) {
	t.Helper()
	got, want := map[string]int{}, map[string]int{}
	for _, d := range decisions {
		got[fmt.Sprint(d["match_id"], d["outcome"])]++
		if d["outcome"] != "played" && d["kind"] != "discard" {
			require.NotNil(t, d["action"], "the default: %v", d)
		}
	}
	for _, g := range w.games {
		for _, e := range g.Events {
			switch e := e.(type) {
			case match.DecisionTimedOut:
				want[g.MatchID+"timeout"]++
			case match.AnswerRejected:
				want[g.MatchID+"illegal"]++
			case match.ActionPlayed:
				if !e.Default {
					want[g.MatchID+"played"]++
				}
			}
		}
	}
	require.Equal(t, want, got)
}

func requireSeats(t *testing.T, w *fixture, seats []row) {
	t.Helper()
	for _, g := range w.games {
		for i, s := range g.State.Started.Seats {
			got := seats[0]
			seats = seats[1:]
			require.Equal(t, []any{g.MatchID, float64(i), s.BotID, s.BotName, s.OwnerID}, []any{got["match_id"], got["seat"], got["bot_id"], got["bot_name"], got["owner_id"]})
			if g.State.End != nil {
				require.EqualValues(t, g.State.End.Placements[i], got["placement"])
				require.EqualValues(t, g.State.End.Scores[i], got["score"])
			} else {
				require.Nil(t, got["placement"])
			}
			require.Equal(t, g.State.Resigned[i], got["resigned"])
			require.EqualValues(t, g.State.Strikes[i], got["strikes"])
		}
	}
	require.Empty(t, seats)
}

func TestParquetHoldsTheSameRows(t *testing.T) {
	w := newFixture(t)
	lines, columns := t.TempDir(), t.TempDir()
	run(t, t.Context(), w.log, options(lines, export.JSONL))
	run(t, t.Context(), w.log, options(columns, export.Parquet))
	same[export.Match](t, lines, columns, "matches")
	same[export.Seat](t, lines, columns, "seats")
	same[export.Event](t, lines, columns, "events")
	same[export.Decision](t, lines, columns, "decisions")
	same[export.Trade](t, lines, columns, "trades")
	same[export.RatingChange](t, lines, columns, "rating_changes")
}

func same[R any](t *testing.T, lines, columns, table string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(columns, table, "*.parquet"))
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, file := range files {
		rows, err := parquet.ReadFile[R](file)
		require.NoError(t, err)
		want, err := os.ReadFile(filepath.Join(lines, table, filepath.Base(file[:len(file)-len("parquet")])+"jsonl"))
		require.NoError(t, err)
		var got bytes.Buffer
		encoder := json.NewEncoder(&got)
		encoder.SetEscapeHTML(false)
		for _, r := range rows {
			require.NoError(t, encoder.Encode(r))
		}
		require.Equal(t, string(want), got.String(), table)
	}
}

func TestInterruptedRunsWriteTheSameFilesAsOneRun(t *testing.T) {
	w := newFixture(t)
	for _, format := range export.Formats {
		whole := t.TempDir()
		run(t, t.Context(), w.log, options(whole, format))
		broken := t.TempDir()
		stops := 0
		for events := 150; ; events += 150 {
			_, err := export.Run(t.Context(), cut{w.log, events}, options(broken, format))
			if err == nil {
				break
			}
			require.ErrorIs(t, err, logtest.ErrInjected)
			stops++
		}
		t.Logf("%d stops", stops)
		require.Greater(t, stops, 5)
		logtest.RequireSameFiles(t, contents(t, whole), contents(t, broken))
	}
}

// A failed read must not complete a partition. Otherwise, the next run would create
// different files than an uninterrupted run.
func TestFailedReadFinishesNoPartition(t *testing.T) {
	w := newFixture(t)
	for n := range 100 {
		dir := t.TempDir()
		o := options(dir, export.JSONL)
		o.PerFile = len(w.games) + 1
		_, err := export.Run(t.Context(), cut{w.log, 700 + 10*n}, o)
		require.ErrorIs(t, err, logtest.ErrInjected)
		finished, err := filepath.Glob(filepath.Join(dir, "*", "*.jsonl"))
		require.NoError(t, err)
		require.Empty(t, finished)
	}
}

// cut is a log whose ReadAll fails after some events.
type cut struct {
	eventstore.Log
	events int
}

// ReadAll implements eventstore.Log.
func (c cut) ReadAll(ctx context.Context, from eventstore.Position, o eventstore.ReadOptions) iter.Seq2[eventstore.Recorded, error] {
	if o.Direction == eventstore.Backwards {
		return c.Log.ReadAll(ctx, from, o)
	}
	return func(yield func(eventstore.Recorded, error) bool) {
		left := c.events
		for r, err := range c.Log.ReadAll(ctx, from, o) {
			if left--; left < 0 {
				yield(eventstore.Recorded{}, logtest.ErrInjected)
				return
			}
			if !yield(r, err) {
				return
			}
		}
	}
}

// If a run is killed between two renames, the next run replaces its files.
func TestRunReplacesUnfinishedFiles(t *testing.T) {
	w := newFixture(t)
	whole, broken := t.TempDir(), t.TempDir()
	run(t, t.Context(), w.log, options(whole, export.JSONL))
	ctx, cancel := context.WithCancel(t.Context())
	o := options(broken, export.JSONL)
	o.Report = func(done, _ uint64) {
		if done > 4 {
			cancel()
		}
	}
	_, err := export.Run(ctx, w.log, o)
	require.ErrorIs(t, err, context.Canceled)
	var state struct{ Position uint64 }
	text, err := os.ReadFile(filepath.Join(broken, "export.json"))
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(text, &state))
	require.NotZero(t, state.Position)
	for _, name := range []string{"%020d.jsonl", ".%020d.jsonl.part"} {
		for _, ahead := range []uint64{0, 12345} {
			left := filepath.Join(broken, "events", fmt.Sprintf(name, state.Position+ahead))
			require.NoError(t, os.WriteFile(left, []byte("half a line"), 0o600))
		}
	}
	replacement := filepath.Join(broken, "seats", fmt.Sprintf(".%020d.jsonl.part", 0))
	require.NoError(t, os.WriteFile(replacement, []byte("half a line"), 0o600))
	run(t, t.Context(), w.log, options(broken, export.JSONL))
	logtest.RequireSameFiles(t, contents(t, whole), contents(t, broken))
}

// Each run adds files. Together, the files contain the same rows as the files
// of a single run.
func TestEachRunAddsFilesAndChangesNone(t *testing.T) {
	rng := logtest.Random(t)
	w := newFixture(t)
	dir := t.TempDir()
	before := map[string]string{}
	for range 3 {
		done := run(t, t.Context(), w.log, options(dir, export.JSONL))
		after := contents(t, dir)
		for name, text := range before {
			if name != "export.json" {
				require.Equal(t, text, after[name], "%s has changed", name)
			}
		}
		before = after
		again := run(t, t.Context(), w.log, options(dir, export.JSONL))
		require.Zero(t, again.Matches)
		require.Equal(t, done.Position, again.Position)
		require.Equal(t, before, contents(t, dir))
		for range 1 + rng.IntN(3) {
			w.complete(ladder.Standard, rng.Perm(5)[:3]...)
		}
	}
	run(t, t.Context(), w.log, options(dir, export.JSONL))
	once := t.TempDir()
	run(t, t.Context(), w.log, options(once, export.JSONL))
	for _, table := range []string{"matches", "seats", "events", "decisions", "trades", "rating_changes"} {
		require.Equal(t, readAll[row](t, once, table), readAll[row](t, dir, table))
	}
}

func TestSinceAndModeSelectMatches(t *testing.T) {
	w := newFixture(t)
	all := t.TempDir()
	run(t, t.Context(), w.log, options(all, export.JSONL))
	matches := readAll[row](t, all, "matches")
	at := eventstore.Position(matches[2]["position"].(float64))
	for since, want := range map[eventstore.Position][]row{0: matches, at: matches[3:], at - 1: matches[2:], at + 1: matches[3:], 1 << 62: nil} {
		o := options(t.TempDir(), export.JSONL)
		o.Since = since
		run(t, t.Context(), w.log, o)
		require.Equal(t, want, readAll[row](t, o.Dir, "matches"), "%d", since)
	}
	o := options(t.TempDir(), export.JSONL)
	o.Mode = ladder.Parley
	run(t, t.Context(), w.log, o)
	require.Equal(t, slices.DeleteFunc(slices.Clone(matches), func(r row) bool { return r["mode"] != ladder.Parley }), readAll[row](t, o.Dir, "matches"))
}

func TestRunRejectsWrongOptionsAndFoldersInOneLine(t *testing.T) {
	w := newFixture(t)
	dir := t.TempDir()
	o := options(dir, export.JSONL)
	run(t, t.Context(), w.log, o)
	before := contents(t, dir)
	for name, c := range map[string]struct {
		change func(*export.Options)
		want   string
	}{
		"an unknown format":  {func(o *export.Options) { o.Format = "csv" }, `format "csv" does not exist`},
		"an unknown mode":    {func(o *export.Options) { o.Mode = "blitz" }, `mode "blitz" does not exist`},
		"no match in a file": {func(o *export.Options) { o.PerFile = 0 }, "the number of matches per file must be at least 1"},
		"a different format": {func(o *export.Options) { o.Format = export.Parquet }, "contains an export of both modes as jsonl"},
		"a different mode":   {func(o *export.Options) { o.Mode = ladder.Parley }, "contains an export of both modes as jsonl"},
		"a different since":  {func(o *export.Options) { o.Since = 5 }, "started after position 0 and has reached position"},
	} {
		wrong := o
		c.change(&wrong)
		_, err := export.Run(t.Context(), w.log, wrong)
		require.ErrorContains(t, err, c.want, name)
		require.NotContains(t, err.Error(), "\n", name)
	}
	_, err := export.Run(t.Context(), memory.New(), o)
	require.ErrorContains(t, err, "another log")
	require.Equal(t, before, contents(t, dir))

	require.NoError(t, os.WriteFile(filepath.Join(dir, "export.json"), []byte(`{"schema":3}`), 0o600))
	_, err = export.Run(t.Context(), w.log, o)
	require.ErrorContains(t, err, "schema version 3")
	require.NoError(t, os.WriteFile(filepath.Join(dir, "export.json"), []byte(`{"schema":`), 0o600))
	_, err = export.Run(t.Context(), w.log, o)
	require.ErrorContains(t, err, "export.json")
	require.NoError(t, os.Remove(filepath.Join(dir, "export.json")))
	_, err = export.Run(t.Context(), w.log, o)
	require.ErrorContains(t, err, "but the file export.json, which records the progress, is missing: use another folder")
	before = contents(t, dir)
	require.Contains(t, before, "matches/"+fmt.Sprintf("%020d.jsonl", 0), "the files after the rejected run")
}

func TestRatedMatchWithoutAnEndIsAnError(t *testing.T) {
	w := newFixture(t)
	encoded, err := eventstore.Encode(ladder.RatingsChanged{MatchID: "missing", Seats: []ladder.RatedSeat{}}, eventstore.Metadata{At: time.Now()})
	require.NoError(t, err)
	_, err = w.log.Append(t.Context(), eventstore.StreamID(ladder.Stream(ladder.Standard)), eventstore.Any, encoded)
	require.NoError(t, err)
	dir := t.TempDir()
	_, err = export.Run(t.Context(), w.log, options(dir, export.JSONL))
	require.ErrorContains(t, err, "match missing is rated by ladder-standard@14, but the match's stream has no end event")
	require.NotErrorIs(t, err, context.Canceled)
}
