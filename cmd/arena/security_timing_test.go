package main

import (
	"crypto/ed25519"
	"io"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"hexarena/eventstore/logtest"
)

// The arena takes as long to reject a wrong signature under a known key id as under
// an unknown one. The test measures real time, so it runs only in the long tests.
func TestSoakKeyIDsTakeTheSameTime(t *testing.T) {
	if os.Getenv("ARENA_SOAK") == "" {
		t.Skip("measures real time: run make soak")
	}
	const callers, pairs = 30, 290 // each caller stays below 600 calls a minute
	random := logtest.Random(t)
	f := newSecurityArena(t)
	known := f.member(t).newKey("bots.read")
	_, wrong := pair(t)
	var took [2][]time.Duration // durations under unknown ids and under the known id
	var differences []time.Duration
	for range callers {
		who := f.anonymous(t)
		for range pairs {
			var now [2]time.Duration
			first := random.IntN(2)
			for _, which := range []int{first, 1 - first} {
				now[which] = who.forge(t, []string{uuid.NewString(), known.keyID}[which], wrong)
				took[which] = append(took[which], now[which])
			}
			differences = append(differences, now[1]-now[0])
		}
	}
	difference := median(differences)
	t.Logf("%d pairs of calls: median %v under an unknown id, %v under a known id; median of the differences %v",
		len(differences), median(took[0]), median(took[1]), difference)
	require.Less(t, difference.Abs(), 10*time.Microsecond)
}

// forge signs a call with the wrong key, and returns how long the arena took to
// reject it.
func (c *caller) forge(t *testing.T, keyID string, wrong ed25519.PrivateKey) time.Duration {
	c.keyID, c.key = keyID, wrong
	r, err := c.request(t.Context(), "GET", "/bots", nil)
	require.NoError(t, err)
	began := time.Now()
	answer, err := c.client.Do(r)
	took := time.Since(began)
	require.NoError(t, err)
	require.Equal(t, 401, answer.StatusCode)
	_, err = io.Copy(io.Discard, answer.Body)
	require.NoError(t, err)
	require.NoError(t, answer.Body.Close())
	return took
}

func median(all []time.Duration) time.Duration {
	sorted := slices.Sorted(slices.Values(all))
	return sorted[len(sorted)/2]
}
