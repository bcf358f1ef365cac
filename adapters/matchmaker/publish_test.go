package matchmaker

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"hexarena/domain/ladder"
)

// retiredKeys show k1 once nobody needs it.
type retiredKeys struct {
	mu           sync.Mutex // guards what follows
	asked, shown int
	fails        error
}

func (r *retiredKeys) fail(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.fails = err
}

func (r *retiredKeys) counts() (asked, shown int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.asked, r.shown
}

func (r *retiredKeys) PublishRetired(ctx context.Context, needed func(context.Context) (map[string]bool, error)) ([]string, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.asked++
	keys, err := needed(ctx)
	if err != nil || r.fails != nil {
		return nil, errors.Join(err, r.fails)
	}
	if keys["k1"] || r.shown > 0 {
		return nil, nil
	}
	r.shown++
	return []string{"k1"}, nil
}

// A retired seed key is published at the first tick after its last match on any
// ladder, and at a start.
func TestRetiredKeysArePublishedAfterTheirLastMatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := given(3, ladder.Standard, ladder.Parley)
		keys := &retiredKeys{}
		for _, l := range a.config.Ladders {
			_, err := l.Seat(t.Context(), a.bots, time.Now())
			require.NoError(t, err)
		}
		a.config.Retired = keys
		a.run(t)
		defer func() { a.stop() }()
		finish := func(l *Ladder) {
			all, err := l.Unfinished(t.Context())
			require.NoError(t, err)
			require.NoError(t, l.Finish(t.Context(), all[0].MatchID, inOrder(all[0])))
			a.set(func(a *arena) { a.bots = nil })
		}
		asked, _ := keys.counts()
		require.Equal(t, 1, asked, "at the start")
		finish(a.config.Ladders[0])
		later(30 * time.Second)
		asked, shown := keys.counts()
		require.Equal(t, 2, asked, "and at each tick")
		require.Zero(t, shown, "the other ladder has a match of it")
		finish(a.config.Ladders[1])
		keys.fail(errors.New("the log is away"))
		later(30 * time.Second)
		_, shown = keys.counts()
		require.Zero(t, shown)
		require.Contains(t, a.lines.String(), "retired seed keys were not published")
		keys.fail(nil)
		later(60 * time.Second)
		_, shown = keys.counts()
		require.Equal(t, 1, shown)
		require.Contains(t, a.lines.String(), "a retired seed key is published")
	})
}
