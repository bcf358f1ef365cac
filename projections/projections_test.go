package projections_test

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"hexarena/eventstore"
	"hexarena/eventstore/logtest"
	"hexarena/eventstore/memory"
	"hexarena/projections"
)

func TestMain(m *testing.M) { logtest.VerifyNoLeaks(m) }

// list is a model that stores the types of the events that it receives.
type list struct {
	version int
	bad     string // the type of events that the model rejects
	broken  string // the type of events whose writes fail

	mu        sync.Mutex
	rows      *sql.DB
	unflushed []string
	memory    string // all types, committed or not
}

func (l *list) Name() string { return "list" }

func (l *list) Schema() projections.Schema {
	return projections.Schema{Version: max(1, l.version), Tables: "CREATE TABLE seen (n INTEGER PRIMARY KEY, type TEXT NOT NULL) STRICT"}
}

func (l *list) Filter() eventstore.Filter {
	return eventstore.Filter{StreamPrefixes: []string{"a-"}}
}

func (l *list) Load(rows *sql.DB) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.rows, l.unflushed = rows, nil
	return rows.QueryRow("SELECT coalesce(group_concat(type, ' ' ORDER BY n), '') FROM seen").Scan(&l.memory)
}

func (l *list) Apply(tx *projections.Tx, r eventstore.Recorded) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch r.Type {
	case l.bad:
		return errors.New("no such event")
	case l.broken:
		return tx.Exec("INSERT INTO nowhere VALUES (1)")
	}
	l.unflushed = append(l.unflushed, r.Type)
	l.memory = strings.TrimSpace(l.memory + " " + r.Type)
	return nil
}

func (l *list) Flush(tx *projections.Tx) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, name := range l.unflushed {
		if err := tx.Exec("INSERT INTO seen (type) VALUES (?)", name); err != nil {
			return err
		}
	}
	l.unflushed = nil
	return nil
}

// all returns the committed types.
func (l *list) all(t *testing.T) (all string) {
	t.Helper()
	l.mu.Lock()
	defer l.mu.Unlock()
	require.NoError(t, l.rows.QueryRow("SELECT coalesce(group_concat(type, ' ' ORDER BY n), '') FROM seen").Scan(&all))
	return all
}

func (l *list) remembered() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.memory
}

type named string

func (n named) EventType() string { return string(n) }

func put(t *testing.T, log eventstore.Log, stream string, names ...string) eventstore.Position {
	t.Helper()
	var at eventstore.Position
	for _, name := range names {
		e, err := eventstore.Encode(named(name), eventstore.Metadata{At: time.Unix(1, 0), Correlation: "t"})
		require.NoError(t, err)
		a, err := log.Append(t.Context(), eventstore.StreamID(stream), eventstore.Any, e)
		require.NoError(t, err)
		at = a.Position
	}
	return at
}

// follow opens a runner, which is closed when the test ends.
func follow(t *testing.T, dir string, log eventstore.Log, model projections.Model, lines ...*bytes.Buffer) *projections.Runner {
	t.Helper()
	logger := slog.New(slog.DiscardHandler)
	for _, b := range lines {
		logger = slog.New(slog.NewTextHandler(b, nil))
	}
	r, err := projections.Open(dir, log, model, logger)
	require.NoError(t, err)
	t.Cleanup(func() { _ = r.Close() })
	return r
}

func TestRunnerAppliesEachSelectedEventOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log, model := memory.New(), &list{}
		put(t, log, "a-1", "one", "two")
		put(t, log, "b-1", "other")
		r := follow(t, t.TempDir(), log, model)
		require.NoError(t, r.Sync(t.Context()), "Sync without Run")
		require.Equal(t, "one two", model.all(t))

		ctx, cancel := context.WithCancel(t.Context())
		timeout, stop := context.WithTimeout(ctx, time.Second)
		defer stop()
		require.ErrorIs(t, r.UpToDate(timeout), context.DeadlineExceeded, "Run has not begun")
		stopped := make(chan error)
		put(t, log, "a-2", "before")
		go func() { stopped <- r.Run(ctx) }()
		require.NoError(t, r.UpToDate(ctx))
		require.Equal(t, "one two before", model.all(t), "rows after UpToDate")
		at := put(t, log, "a-2", "three")
		require.NoError(t, r.Wait(ctx, at))
		require.Equal(t, "one two before three", model.all(t), "rows after Wait")
		require.GreaterOrEqual(t, r.Position(), at)
		require.NoError(t, r.Sync(ctx))

		var writers sync.WaitGroup
		for i := range 20 {
			writers.Go(func() {
				put(t, log, fmt.Sprint("a-", i), "many")
				require.NoError(t, r.Sync(ctx))
			})
		}
		writers.Wait()
		require.Equal(t, 20, strings.Count(model.all(t), "many"), "events that Run and Sync both received")
		cancel()
		require.NoError(t, <-stopped)
	})
}

// If a model rejects an event, the events before it stay committed, even those
// in the same batch.
func TestRunnerStopsAtAnEventThatItCannotFold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir, log, model := t.TempDir(), memory.New(), &list{bad: "two"}
		at := put(t, log, "a-1", "one", "two", "three")
		r := follow(t, dir, log, model)
		err := r.Run(t.Context())
		require.ErrorContains(t, err, "list at a-1@1: no such event")
		require.ErrorIs(t, err, projections.ErrStopped)
		require.Equal(t, err, r.Err())
		require.Equal(t, "one", model.all(t))
		require.Equal(t, err, r.Wait(t.Context(), at))
		require.Equal(t, err, r.UpToDate(t.Context()))
		require.Equal(t, err, r.Sync(t.Context()))
		require.NoError(t, r.Close())

		again := &list{bad: "two"}
		r = follow(t, dir, log, again)
		require.ErrorContains(t, r.Run(t.Context()), "list at a-1@1: no such event")
		require.NoError(t, r.Close())

		fixed := &list{}
		require.NoError(t, follow(t, dir, log, fixed).Sync(t.Context()))
		require.Equal(t, "one two three", fixed.all(t), "a program that knows the event")
	})
}

// A failed write drops all uncommitted events from the file and from memory. No
// time passes in the synctest bubble, so no batch becomes old enough to be
// committed.
func TestRunnerStopsWhenItsFileFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log, model := memory.New(), &list{broken: "bad"}
		put(t, log, "a-1", "one")
		r := follow(t, t.TempDir(), log, model)
		require.NoError(t, r.Sync(t.Context()))
		put(t, log, "a-1", "two", "bad", "three")
		require.ErrorContains(t, r.Sync(t.Context()), "no such table: nowhere")
		require.Equal(t, "one", model.all(t))
		require.Equal(t, "one", model.remembered())
	})
}

func TestWaitEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := follow(t, t.TempDir(), memory.New(), &list{})
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		require.ErrorIs(t, r.Wait(ctx, 99), context.DeadlineExceeded)
	})
}

// The type counted is a log that counts the events delivered to its subscribers.
type counted struct {
	*memory.Log
	delivered int
}

func (c *counted) Subscribe(ctx context.Context, after eventstore.Position, f eventstore.Filter) iter.Seq2[eventstore.Message, error] {
	return func(yield func(eventstore.Message, error) bool) {
		for m, err := range c.Log.Subscribe(ctx, after, f) {
			if m.Event != nil {
				c.delivered++
			}
			if !yield(m, err) {
				return
			}
		}
	}
}

func TestRestartContinuesAtTheCheckpoint(t *testing.T) {
	dir, log := t.TempDir(), &counted{Log: memory.New()}
	put(t, log, "a-1", "one", "two")
	r := follow(t, dir, log, &list{})
	require.NoError(t, r.Sync(t.Context()))
	require.NoError(t, r.Close())
	require.Equal(t, 2, log.delivered)

	put(t, log, "a-1", "three")
	var lines bytes.Buffer
	model := &list{}
	r = follow(t, dir, log, model, &lines)
	require.Equal(t, "one two", model.remembered(), "memory right after Open")
	require.NoError(t, r.Sync(t.Context()))
	require.Equal(t, "one two three", model.all(t))
	require.Equal(t, 3, log.delivered)
	require.Empty(t, lines.String())
}

// An idle model's checkpoint lets the next process skip the part of the log that
// has no selected events.
func TestIdleRunnerSavesACheckpoint(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir, log := t.TempDir(), memory.New()
		put(t, log, "a-1", "one")
		last := put(t, log, "b-1", "other", "other", "other")
		r := follow(t, dir, log, &list{})
		ctx, cancel := context.WithTimeout(t.Context(), 15*time.Second)
		defer cancel()
		require.NoError(t, r.Run(ctx))
		require.NoError(t, r.Close())
		require.Equal(t, last, follow(t, dir, log, &list{}).Position())
	})
}

func TestUnusableFileIsRebuilt(t *testing.T) {
	file := func(dir string) string { return filepath.Join(dir, "list.db") }
	overwrite := func(at int64, with ...byte) func(*testing.T, string, *memory.Log) (*memory.Log, *list) {
		return func(t *testing.T, dir string, log *memory.Log) (*memory.Log, *list) {
			f, err := os.OpenFile(file(dir), os.O_RDWR, 0)
			require.NoError(t, err)
			_, err = f.WriteAt(with, at)
			require.NoError(t, err)
			require.NoError(t, f.Close())
			return log, &list{}
		}
	}
	for name, c := range map[string]struct {
		why    string // part of the only log line; if it is empty, the test does not check the log
		change func(t *testing.T, dir string, log *memory.Log) (*memory.Log, *list)
	}{
		"an unchanged file": {"", func(_ *testing.T, _ string, log *memory.Log) (*memory.Log, *list) { return log, &list{} }},
		"a deleted file": {"", func(t *testing.T, dir string, log *memory.Log) (*memory.Log, *list) {
			require.NoError(t, projections.Remove(dir, "list"))
			return log, &list{}
		}},
		"another schema": {"schema has version 1, but this program's schema has version 2", func(_ *testing.T, _ string, log *memory.Log) (*memory.Log, *list) {
			return log, &list{version: 2}
		}},
		"another log": {"another log", func(t *testing.T, _ string, _ *memory.Log) (*memory.Log, *list) {
			other := memory.New()
			put(t, other, "a-1", "one", "two", "three", "four")
			return other, &list{}
		}},
		"another log without an event at the checkpoint": {"another log", func(t *testing.T, _ string, _ *memory.Log) (*memory.Log, *list) {
			other := memory.New()
			put(t, other, "a-1", "uno", "dos", "a much longer name", "cuatro", "cinco", "seis")
			return other, &list{}
		}},
		"a shorter log": {"ends before", func(t *testing.T, _ string, _ *memory.Log) (*memory.Log, *list) {
			other := memory.New()
			put(t, other, "a-1", "one")
			return other, &list{}
		}},
		"not a database":         {"not a database", overwrite(0, []byte("This is some text and no database.")...)},
		"a wrong header":         {"", overwrite(16, 0xff, 0xff)},
		"a page of random bytes": {"", overwrite(4096, bytes.Repeat([]byte{0x5a}, 4096)...)},
		"an empty file": {"", func(t *testing.T, dir string, log *memory.Log) (*memory.Log, *list) {
			require.NoError(t, os.Truncate(file(dir), 0))
			return log, &list{}
		}},
		"a truncated file": {"", func(t *testing.T, dir string, log *memory.Log) (*memory.Log, *list) {
			require.NoError(t, os.Truncate(file(dir), 4096))
			return log, &list{}
		}},
		"another model's file": {"holds the rows of other", func(t *testing.T, dir string, log *memory.Log) (*memory.Log, *list) {
			db, err := sql.Open("sqlite", file(dir))
			require.NoError(t, err)
			_, err = db.Exec("UPDATE checkpoint SET model = 'other'")
			require.NoError(t, err)
			require.NoError(t, db.Close())
			return log, &list{}
		}},
		"no checkpoint": {"no checkpoint", func(t *testing.T, dir string, log *memory.Log) (*memory.Log, *list) {
			db, err := sql.Open("sqlite", file(dir))
			require.NoError(t, err)
			_, err = db.Exec("DELETE FROM checkpoint")
			require.NoError(t, err)
			require.NoError(t, db.Close())
			return log, &list{}
		}},
	} {
		t.Run(name, func(t *testing.T) {
			dir, log := t.TempDir(), memory.New()
			put(t, log, "a-1", "one", "two", "three")
			r := follow(t, dir, log, &list{})
			require.NoError(t, r.Sync(t.Context()))
			require.NoError(t, r.Close())

			log, model := c.change(t, dir, log)
			want := &list{version: model.version}
			fresh := follow(t, t.TempDir(), log, want)
			require.NoError(t, fresh.Sync(t.Context()))
			var lines bytes.Buffer
			r = follow(t, dir, log, model, &lines)
			require.NoError(t, r.Sync(t.Context()))
			require.Equal(t, dump(t, fresh), dump(t, r))
			require.Equal(t, want.all(t), model.remembered())
			require.LessOrEqual(t, strings.Count(lines.String(), "\n"), 1, lines.String())
			require.Contains(t, lines.String(), c.why)
			if c.why != "" {
				require.Contains(t, lines.String(), "rebuilding the rows")
			}
		})
	}
}

func dump(t *testing.T, r *projections.Runner) string {
	t.Helper()
	var b strings.Builder
	require.NoError(t, r.Dump(&b))
	return b.String()
}

func TestDumpQuotesValues(t *testing.T) {
	log := memory.New()
	put(t, log, "a-1", "one", "it's", "two|three")
	r := follow(t, t.TempDir(), log, &list{})
	require.NoError(t, r.Sync(t.Context()))
	require.Equal(t, "seen|1|'one'\nseen|2|'it''s'\nseen|3|'two|three'\n", dump(t, r))
}

func TestLockIsExclusive(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "projections")
	release, err := projections.Lock(dir)
	require.NoError(t, err)
	_, err = projections.Lock(dir)
	require.ErrorIs(t, err, projections.ErrInUse)
	require.ErrorContains(t, err, dir)
	require.NoError(t, release())
	release, err = projections.Lock(dir)
	require.NoError(t, err)
	require.NoError(t, release())
}
