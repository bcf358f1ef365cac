package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// A cluster loses a seating that signed heads cover. Both arenas then sign nothing, seat
// nobody, and say so in /ready. After the operator has accepted the shorter history, the
// bots are seated again.
func TestClusterLosesASeatingThatAHeadCovers(t *testing.T) {
	t.Parallel()
	p := newClusterPlay(t)
	p.begin(scenario{lost: whenSeated}) // the bots have been dialed, so a head covers the seating
	eventually(t, "both arenas have signed a head", func() bool {
		for _, h := range p.heads {
			if c, err := h.fetch(); err != nil || c.N == 0 {
				return false
			}
		}
		return true
	})
	eventsLost(p)
	p.owning.Wait()
	p.awaitNotReady("the arena seats nobody: the log has lost events that a signed head of")
	p.awaitNotReady(`"takesNoMatches":"`)
	p.stop()
	p.cluster.Save(filepath.Join(p.data, "fork", "node"))
	require.Empty(t, readHistory(t, filepath.Join(p.data, "fork")).order, "seated although a fork would be signed")
	for _, a := range p.arenas {
		require.NoError(t, os.Remove(filepath.Join(a.data, keptHeadsFile)))
	}
	p.start()
	p.settleMatch()
	p.judge()
}
