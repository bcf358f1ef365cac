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

// retiredKeys is a fake RetiredKeys that publishes the key k1 once no match needs it.
type retiredKeys struct {
	mu               sync.Mutex // guards the fields below
	calls, published int
	fails            error
}

func (r *retiredKeys) fail(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.fails = err
}

func (r *retiredKeys) counts() (calls, published int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.calls, r.published
}

func (r *retiredKeys) PublishRetired(ctx context.Context, needed func(context.Context) (map[string]bool, error)) ([]string, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.calls++
	keys, err := needed(ctx)
	if err != nil || r.fails != nil {
		return nil, errors.Join(err, r.fails)
	}
	if keys["k1"] || r.published > 0 {
		return nil, nil
	}
	r.published++
	return []string{"k1"}, nil
}

// A retired seed key is published at the first tick after the last match with that key
// has ended, no matter on which ladder.
func TestRetiredKeysArePublishedAfterTheirLastMatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := given(3, ladder.Standard, ladder.Parley)
		keys := &retiredKeys{}
		for _, l := range a.options.Ladders {
			_, err := l.Seat(t.Context(), a.bots, time.Now(), 0, unchecked)
			require.NoError(t, err)
		}
		a.options.Retired = keys
		a.run(t)
		defer func() { a.stop() }()
		finish := func(l *Ladder) {
			all, err := l.Unfinished(t.Context())
			require.NoError(t, err)
			require.NoError(t, l.Finish(t.Context(), all[0].MatchID, inOrder(all[0])))
			a.set(func(a *arena) { a.bots = nil })
		}
		calls, _ := keys.counts()
		require.Equal(t, 1, calls, "at the start")
		finish(a.options.Ladders[0])
		later(30 * time.Second)
		calls, published := keys.counts()
		require.Equal(t, 2, calls, "at each tick")
		require.Zero(t, published, "the other ladder has a match with this key")
		finish(a.options.Ladders[1])
		keys.fail(errors.New("the log is unavailable"))
		later(30 * time.Second)
		_, published = keys.counts()
		require.Zero(t, published)
		require.Contains(t, a.lines.String(), "could not publish the retired seed keys")
		keys.fail(nil)
		later(60 * time.Second)
		_, published = keys.counts()
		require.Equal(t, 1, published)
		require.Contains(t, a.lines.String(), "retired seed key published")
	})
}
