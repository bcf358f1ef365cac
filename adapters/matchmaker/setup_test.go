package matchmaker

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"hexarena/domain/ladder"
	"hexarena/eventstore"
	"hexarena/eventstore/logtest"
	"hexarena/eventstore/memory"
)

func TestMain(m *testing.M) { logtest.VerifyNoLeaks(m) }

const restOfTests = 5 * time.Minute

type seedKeys struct{}

func (seedKeys) CurrentSeedKey() (string, []byte) { return "k1", []byte("seed key of tests") }

func newLadder(log eventstore.Log, mode string) *Ladder {
	return NewLadder(log, LadderOptions{Mode: mode, Rest: restOfTests, PlatformKey: "cGxhdGZvcm0=", SeedKeys: seedKeys{}, Logger: slog.New(slog.DiscardHandler)})
}

func candidates(ids ...string) []ladder.Candidate {
	all := make([]ladder.Candidate, len(ids))
	for i, id := range ids {
		all[i].BotID = id
	}
	return all
}

func numbered(n int) []ladder.Candidate {
	ids := make([]string, n)
	for i := range ids {
		ids[i] = fmt.Sprintf("bot-%04d", i)
	}
	return candidates(ids...)
}

// inOrder returns results in which the bots' placements follow the table order.
func inOrder(s ladder.Seating) []ladder.Result {
	var all []ladder.Result
	for i, bot := range s.Bots {
		all = append(all, ladder.Result{BotID: bot.BotID, Placement: i + 1})
	}
	return all
}

// seatOne seats three bots at one table.
func seatOne(t *testing.T, l *Ladder) ladder.Seating {
	t.Helper()
	_, err := l.Seat(t.Context(), candidates("a", "b", "c"), time.Now(), 0, unchecked)
	require.NoError(t, err)
	all, err := l.Unfinished(t.Context())
	require.NoError(t, err)
	require.Len(t, all, 1)
	return all[0]
}

// storedIn returns the events of a ladder's stream. It checks that no bot is in
// two matches at the same time, and that no match ends twice.
func storedIn(t *testing.T, log eventstore.Log, mode string) []ladder.Event {
	t.Helper()
	var events []ladder.Event
	in, ended := map[string]string{}, map[string]bool{}
	end := func(id string) {
		require.False(t, ended[id], "match %s ended twice", id)
		ended[id] = true
		for bot, match := range in {
			if match == id {
				delete(in, bot)
			}
		}
	}
	for r, err := range log.Read(context.Background(), eventstore.StreamID(ladder.Stream(mode)), 0, eventstore.ReadOptions{}) {
		require.NoError(t, err)
		e, err := ladder.Decode(r.Type, r.Data)
		require.NoError(t, err)
		events = append(events, e)
		switch e := e.(type) {
		case ladder.TablesSeated:
			for index, table := range e.Tables {
				require.Equal(t, ladder.MatchID("cGxhdGZvcm0=", mode, uint64(r.Revision), index), table.MatchID)
				for _, bot := range table.Bots {
					require.Empty(t, in[bot], "%s is seated while it plays", bot)
					in[bot] = table.MatchID
				}
			}
		case ladder.RatingsChanged:
			end(e.MatchID)
		case ladder.MatchVoided:
			end(e.MatchID)
		}
	}
	return events
}

// fault makes one call to the log fail in a certain way.
type fault func(ctx context.Context, call func() error) error

var errReset = errors.New("connection reset")

// lostBefore fails before the call reaches the log.
func lostBefore(context.Context, func() error) error {
	return fmt.Errorf("%w: %w", eventstore.ErrUnavailable, errReset)
}

// lostAfter executes the call but loses the log's response.
func lostAfter(_ context.Context, call func() error) error {
	_ = call()
	return errReset
}

// The function hangs() does not execute the call, and returns only when the context
// ends.
func hangs(ctx context.Context, _ func() error) error {
	<-ctx.Done()
	return ctx.Err()
}

// faultyLog is a log whose next calls fail.
type faultyLog struct {
	*memory.Log
	mu      sync.Mutex
	appends []fault
	reads   []fault
	ids     []uuid.UUID // id of the first event of each Append call
}

func newFaultyLog() *faultyLog { return &faultyLog{Log: memory.New()} }

func next(mu *sync.Mutex, faults *[]fault) fault {
	mu.Lock()
	defer mu.Unlock()
	if len(*faults) == 0 {
		return func(_ context.Context, call func() error) error { return call() }
	}
	f := (*faults)[0]
	*faults = (*faults)[1:]
	return f
}

func (l *faultyLog) fail(appends, reads []fault) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.appends, l.reads = appends, reads
}

func (l *faultyLog) Append(ctx context.Context, id eventstore.StreamID, expected eventstore.Expected, events ...eventstore.Event) (appended eventstore.Appended, err error) {
	l.mu.Lock()
	l.ids = append(l.ids, events[0].ID)
	l.mu.Unlock()
	err = next(&l.mu, &l.appends)(ctx, func() (err error) {
		appended, err = l.Log.Append(ctx, id, expected, events...)
		return err
	})
	return appended, err
}

func (l *faultyLog) Read(ctx context.Context, id eventstore.StreamID, from eventstore.Revision, opt eventstore.ReadOptions) iter.Seq2[eventstore.Recorded, error] {
	return func(yield func(eventstore.Recorded, error) bool) {
		err := next(&l.mu, &l.reads)(ctx, func() error {
			l.Log.Read(ctx, id, from, opt)(yield)
			return nil
		})
		if err != nil {
			yield(eventstore.Recorded{}, err)
		}
	}
}
