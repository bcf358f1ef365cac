package api

import (
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"hexarena/projections/leaderboard"
)

// board is a Leaderboard with a given number of rows. The first row contains the
// version as its number of games.
type board struct {
	Leaderboard
	rows int

	mu      sync.Mutex
	version uint64
	made    int
	err     error
}

func (b *board) Version() (uint64, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.version, b.err
}

func (b *board) Rows(string) ([]leaderboard.Row, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.made++
	rows := make([]leaderboard.Row, b.rows)
	rows[0].GamesPlayed = int(b.version)
	return rows, b.err
}

func (b *board) change() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.version++
}

// The function asked() requests the ranking and returns the version of the response.
func asked(t *testing.T, k *rankings, b *board) uint64 {
	t.Helper()
	r, err := k.get(t.Context(), "standard", b)
	require.NoError(t, err)
	return r.version
}

func TestRankingIsEncodedOncePerVersion(t *testing.T) {
	k, b := &rankings{}, &board{rows: largeRanking - 1}
	for version := range uint64(3) {
		for range 3 {
			require.Equal(t, version, asked(t, k, b), "a small ranking is up to date immediately")
		}
		b.change()
	}
	require.Equal(t, 3, b.made)
	first, err := k.get(t.Context(), "standard", b)
	require.NoError(t, err)
	again, err := k.get(t.Context(), "standard", b)
	require.NoError(t, err)
	require.Equal(t, first.etag, again.etag)

	b.err = errors.New("it has stopped")
	_, err = k.get(t.Context(), "standard", b)
	require.ErrorIs(t, err, b.err, "an outdated ranking is not returned")
}

// A large ranking is encoded in the background. Callers do not wait for it: for up to
// half a second, they get the previous ranking.
func TestLargeRankingIsEncodedInTheBackground(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k, b := &rankings{}, &board{rows: largeRanking}
		require.EqualValues(t, 0, asked(t, k, b))
		b.change()
		require.EqualValues(t, 0, asked(t, k, b))
		synctest.Wait()
		require.EqualValues(t, 1, asked(t, k, b))
		b.change()
		<-time.After(rankingStale)
		require.EqualValues(t, 2, asked(t, k, b), "the previous ranking is too old")
	})
}
