package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"filippo.io/torchwood"
	"github.com/stretchr/testify/require"
	"github.com/transparency-dev/merkle/rfc6962"
	"github.com/transparency-dev/tessera/api"
	"github.com/transparency-dev/tessera/client"
	"github.com/transparency-dev/tessera/fsck"
	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"

	"hexarena/domain/ladder"
	"hexarena/eventstore/memory"
	"hexarena/projections/arenatest"
	"hexarena/projections/matches"
	"hexarena/projections/signedlog"
)

// verifierOf returns the verifier of the heads of an arena's ladder tree.
func verifierOf(t testing.TB, base, mode string) note.Verifier {
	t.Helper()
	v, err := note.NewVerifier(strings.TrimSpace(string(bodyOf(t, base+"/log/"+mode+"/vkey"))))
	require.NoError(t, err)
	return v
}

// policyOf returns a policy that accepts heads of the ladder tree with the arena's
// signature.
func policyOf(v note.Verifier) torchwood.Policy {
	return torchwood.ThresholdPolicy(2, torchwood.OriginPolicy(v.Name()), torchwood.SingleVerifierPolicy(v))
}

// Two programs from other projects read and verify all tiles of a running arena:
// Tessera's fsck and torchwood's client. The tree has more than one full tile and
// grows while they read.
func TestTilesOfARunningArenaAreWhole(t *testing.T) {
	t.Parallel()
	s := newTestArena(t, quick...)
	made := memory.New()
	past := arenatest.New(t, made, 5)
	bots := past.Register("ada", ladder.Standard, "Ann", "Bea", "Cat")
	for range 270 {
		past.Seat(ladder.Standard, bots...)[0].Void(ladder.WhyOperator)
	}
	require.NoError(t, os.Mkdir(filepath.Join(s.data, "node"), 0o700))
	log, closeLog := openLog(t, s.data)
	pourLog(t, made, log, ladder.StreamPrefix)
	closeLog()
	s.start()
	s.join(goodPlayers(t, 4, &eventTrigger{})...)
	// The arena signs a new head after it rates a match. Before the third match
	// starts, the arena publishes a head that includes the seating of that match.
	// This head therefore also includes the first two ratings.
	eventually(t, "three matches are rated", func() bool { return len(s.list(matches.Completed)) >= 3 })

	verifier := verifierOf(t, s.base(), ladder.Standard)
	root, err := url.Parse(s.base() + "/ladder/standard/")
	require.NoError(t, err)
	tiles, err := client.NewHTTPFetcher(root, http.DefaultClient)
	require.NoError(t, err)
	require.NoError(t, fsck.New(verifier.Name(), verifier, tiles, leafHashes, fsck.Opts{N: 4}).Check(t.Context()))

	c, _, err := torchwood.VerifyCheckpoint(bodyOf(t, s.base()+"/ladder/standard/checkpoint"), policyOf(verifier))
	require.NoError(t, err)
	require.Greater(t, c.N, int64(540))
	fetcher, err := torchwood.NewTileFetcher(s.base()+"/ladder/standard", torchwood.WithHTTPClient(http.DefaultClient))
	require.NoError(t, err)
	reader, err := torchwood.NewClient(fetcher)
	require.NoError(t, err)
	entries := map[int64]string{}
	for i, entry := range reader.AllEntries(t.Context(), c.Tree, 0) {
		entries[i] = string(entry)
	}
	require.NoError(t, reader.Err())
	require.Len(t, entries, int(c.N))

	// Anyone can recompute each entry from the events.
	leaves := 0
	for from := int64(0); from < c.N; {
		var page struct {
			Events []struct {
				Revision   int64
				Type, Data string
			}
			Next *int64
		}
		s.get(fmt.Sprintf("/ladder/standard/events?limit=500&from=%d", from), &page)
		for _, e := range page.Events {
			if e.Revision >= c.N {
				break
			}
			var entry struct{ Leaf string }
			require.NoError(t, json.Unmarshal([]byte(entries[e.Revision]), &entry))
			var leaf []byte
			if e.Type == (ladder.RatingsChanged{}).EventType() {
				var rated ladder.RatingsChanged
				require.NoError(t, json.Unmarshal([]byte(e.Data), &rated))
				record, err := signedlog.Leaf(bodyOf(t, s.base()+"/matches/"+rated.MatchID))
				require.NoError(t, err)
				hash := tlog.RecordHash(record)
				leaf = hash[:]
				leaves++
			}
			require.Equal(t, string(signedlog.Entry(uint64(e.Revision), e.Type, []byte(e.Data), leaf)), entries[e.Revision])
		}
		from += int64(len(page.Events))
		if page.Next == nil {
			break
		}
	}
	require.GreaterOrEqual(t, leaves, 2)
	s.stop()
}

// leafHashes returns the hashes of a bundle's entries.
func leafHashes(bundle []byte) ([][]byte, error) {
	var b api.EntryBundle
	if err := b.UnmarshalText(bundle); err != nil {
		return nil, err
	}
	var hashes [][]byte
	for _, e := range b.Entries {
		hashes = append(hashes, rfc6962.DefaultHasher.HashLeaf(e))
	}
	return hashes, nil
}
