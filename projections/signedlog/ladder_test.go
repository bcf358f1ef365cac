package signedlog_test

import (
	"context"
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"strings"
	"testing"

	"filippo.io/torchwood"
	"github.com/google/uuid"
	"github.com/gowebpki/jcs"
	"github.com/stretchr/testify/require"
	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"

	"hexarena/domain/ladder"
	"hexarena/eventstore"
	"hexarena/eventstore/memory"
	"hexarena/projections/arenatest"
	"hexarena/projections/signedlog"
)

// storedHashes is an in-memory tree that package tlog builds.
type storedHashes []tlog.Hash

func (s storedHashes) ReadHashes(indexes []int64) ([]tlog.Hash, error) {
	list := make([]tlog.Hash, len(indexes))
	for i, at := range indexes {
		list[i] = s[at]
	}
	return list, nil
}

// add appends an entry to a tree that has n entries.
func (s *storedHashes) add(t testing.TB, n int64, entry []byte) {
	more, err := tlog.StoredHashes(n, entry, s)
	require.NoError(t, err)
	*s = append(*s, more...)
}

func (w *fixture) ladderHead(mode string) tlog.Tree {
	size, root, err := w.signed.LadderHead(w.t.Context(), mode)
	require.NoError(w.t, err)
	return tlog.Tree{N: int64(size), Hash: tlog.Hash(root)}
}

func hashesOf(list [][]byte) []tlog.Hash {
	hashes := make([]tlog.Hash, len(list))
	for i, h := range list {
		hashes[i] = tlog.Hash(h)
	}
	return hashes
}

// expectedEntry builds the entry of an event according to docs/audit.md. The leaf
// is empty if the event adds no leaf to the tree of results.
func expectedEntry(t testing.TB, r eventstore.Recorded, leaf []byte) []byte {
	sum := sha256.Sum256(r.Data)
	fields := map[string]any{"revision": uint64(r.Revision), "type": r.Type, "sha256": hex.EncodeToString(sum[:])}
	if leaf != nil {
		hash := tlog.RecordHash(leaf)
		fields["leaf"] = hex.EncodeToString(hash[:])
	}
	text, err := json.Marshal(fields)
	require.NoError(t, err)
	canonical, err := jcs.Transform(text)
	require.NoError(t, err)
	return canonical
}

// closeThree closes three matches of the standard ladder: one that is rated,
// one that is aborted, and one that is voided before its start. It returns the
// leaf of each event of the ladder.
func (w *fixture) closeThree() (leaves [][]byte) {
	rated := w.play.Complete(ladder.Standard, w.play.Register("ada", ladder.Standard, "x", "y", "z")...)
	aborted := w.stop(ladder.Standard, 1)
	w.begin(ladder.Standard, 2).Void(ladder.WhyBeacon)
	w.stop(ladder.Parley, 1) // this match belongs to another tree
	w.sync()
	for _, g := range []*arenatest.Game{rated, aborted} {
		leaf, err := signedlog.Leaf(w.record(g.MatchID))
		require.NoError(w.t, err)
		leaves = append(leaves, nil, leaf)
	}
	return append(leaves, nil, nil)
}

// The tree has one entry for each event of the ladder. Its hashes, tiles and proofs
// are the same as those that package tlog computes.
func TestEveryLadderEventIsAnEntry(t *testing.T) {
	w := newFixture(t)
	w.sync()
	require.Zero(t, w.ladderHead(ladder.Standard).N)
	require.Equal(t, tlog.Hash(root(nil)), w.ladderHead(ladder.Standard).Hash)
	leaves := w.closeThree()
	var tree storedHashes
	var entries [][]byte
	for r, err := range w.log.Read(t.Context(), eventstore.StreamID(ladder.Stream(ladder.Standard)), 0, eventstore.ReadOptions{}) {
		require.NoError(t, err)
		entry := expectedEntry(t, r, leaves[len(entries)])
		tree.add(t, int64(len(entries)), entry)
		entries = append(entries, entry)
	}
	require.Len(t, entries, 6)
	require.Equal(t, `{"leaf":"`, string(entries[1][:9]))
	head := w.ladderHead(ladder.Standard)
	require.EqualValues(t, 6, head.N)
	require.EqualValues(t, 2, w.ladderHead(ladder.Parley).N)
	hash, err := tlog.TreeHash(6, tree)
	require.NoError(t, err)
	require.Equal(t, hash, head.Hash)
	size, err := w.signed.LadderSize(t.Context(), ladder.Standard)
	require.NoError(t, err)
	require.EqualValues(t, 6, size)
	require.EqualValues(t, 2, w.head(ladder.Standard).Size, "the tree of results is a separate tree")

	for width := 1; width <= 6; width++ {
		tile := tlog.Tile{H: torchwood.TileHeight, W: width}
		want, err := tlog.ReadTileData(tile, tree)
		require.NoError(t, err)
		w.requireTile(tile, want)
		tile.L = -1
		want = nil
		for _, e := range entries[:width] {
			want, err = torchwood.AppendTileEntry(want, e)
			require.NoError(t, err)
		}
		w.requireTile(tile, want)
	}
	for _, tile := range []tlog.Tile{
		{H: 8, W: 7}, {H: 8, W: 256}, {H: 8, L: -1, W: 7}, {H: 8, L: 1, W: 1}, {H: 8, N: 1, W: 1}, {H: 8, L: 63, W: 1}, {H: 7, W: 1},
		{H: 8, N: 1<<62 - 1, W: 1}, {H: 8, L: -1, N: 1 << 56, W: 1},
	} {
		_, found, err := w.signed.Tile(t.Context(), ladder.Standard, tile)
		require.NoError(t, err)
		require.False(t, found, tile)
	}

	for to := uint64(1); to <= 6; to++ {
		later, err := tlog.TreeHash(int64(to), tree)
		require.NoError(t, err)
		for at := range to {
			proof, err := w.signed.LadderInclusion(t.Context(), ladder.Standard, at, to)
			require.NoError(t, err)
			require.NoError(t, tlog.CheckRecord(hashesOf(proof), int64(to), later, int64(at), tlog.RecordHash(entries[at])))
			proof, err = w.signed.LadderConsistency(t.Context(), ladder.Standard, at+1, to)
			require.NoError(t, err)
			earlier, err := tlog.TreeHash(int64(at+1), tree)
			require.NoError(t, err)
			require.NoError(t, tlog.CheckTree(hashesOf(proof), int64(to), later, int64(at+1), earlier))
		}
	}
}

func (w *fixture) requireTile(tile tlog.Tile, want []byte) {
	w.t.Helper()
	data, found, err := w.signed.Tile(w.t.Context(), ladder.Standard, tile)
	require.NoError(w.t, err)
	require.True(w.t, found, tile)
	require.Equal(w.t, want, data, tile)
}

// A missing event in the ladder's stream stops the model. Otherwise the indices of
// the entries would no longer match the revisions of the events.
func TestMissingLadderEventStopsTheModel(t *testing.T) {
	w := newFixture(t)
	w.stop(ladder.Standard, 1)
	log := &holed{Log: w.log, missing: 0}
	signed := signedlog.New(log)
	require.ErrorContains(t, arenatest.Follow(t, log, signed).Sync(t.Context()), "ladder-standard@1: the next event of the ladder must be at revision 0")
}

// The type holed is a log whose subscriptions leave out one event of the standard
// ladder.
type holed struct {
	*memory.Log
	missing eventstore.Revision
}

func (h *holed) Subscribe(ctx context.Context, from eventstore.Position, f eventstore.Filter) iter.Seq2[eventstore.Message, error] {
	return func(yield func(eventstore.Message, error) bool) {
		for m, err := range h.Log.Subscribe(ctx, from, f) {
			if m.Event != nil && string(m.Event.Stream) == ladder.Stream(ladder.Standard) && m.Event.Revision == h.missing {
				continue
			}
			if !yield(m, err) {
				return
			}
		}
	}
}

// modelTiles reads tiles from the model and counts them.
type modelTiles struct {
	*fixture
	read int
}

func (m *modelTiles) ReadTiles(ctx context.Context, tiles []tlog.Tile) (data [][]byte, err error) {
	for _, t := range tiles {
		tile, found, err := m.signed.Tile(ctx, ladder.Standard, t)
		if err != nil || !found {
			return nil, errors.Join(err, fmt.Errorf("tile %v: found is %t", t, found))
		}
		m.read++
		data = append(data, tile)
	}
	return data, nil
}

func (m *modelTiles) SaveTiles([]tlog.Tile, [][]byte) {}

func (m *modelTiles) ReadEndpoint(context.Context, string) ([]byte, error) {
	return nil, io.ErrUnexpectedEOF
}

// Torchwood's client verifies all tiles of a tree that has three levels of tiles.
func TestLongLadderHasWholeTiles(t *testing.T) {
	events := 1<<16 + 300
	if raceEnabled {
		events = 600 // the race detector makes writing rows many times slower
	}
	w := newFixture(t)
	stream := eventstore.StreamID(ladder.Stream(ladder.Standard))
	for from := 0; from < events; {
		var batch []eventstore.Event
		for len(batch) < 1000 && from+len(batch) < events {
			batch = append(batch, eventstore.Event{
				ID: uuid.New(), Type: ladder.TablesSeated{}.EventType(), Data: fmt.Appendf(nil, `{"number":%d}`, from+len(batch)), Metadata: []byte(`{}`),
			})
		}
		expected := eventstore.NoStream
		if from > 0 {
			expected = eventstore.At(eventstore.Revision(from - 1))
		}
		_, err := w.log.Append(t.Context(), stream, expected, batch...)
		require.NoError(t, err)
		from += len(batch)
	}
	require.NoError(t, w.runner.Sync(t.Context()))
	head := w.ladderHead(ladder.Standard)
	require.EqualValues(t, events, head.N)
	tiles := &modelTiles{fixture: w}
	client, err := torchwood.NewClient(tiles)
	require.NoError(t, err)
	n := int64(0)
	for i, entry := range client.AllEntries(t.Context(), head, 0) {
		require.Equal(t, n, i)
		require.True(t, strings.HasPrefix(string(entry), fmt.Sprintf(`{"revision":%d,`, n)), string(entry))
		n++
	}
	require.NoError(t, client.Err())
	require.Equal(t, head.N, n)
	require.Greater(t, tiles.read, 2*events/256)
}

func TestOpenLadderChecksSignedHeads(t *testing.T) {
	key := ed25519.NewKeyFromSeed(make([]byte, 32))
	public := key.Public().(ed25519.PublicKey)
	h := signedlog.Head{Origin: signedlog.LadderOrigin("arena.example:8080", "parley"), Size: 7, Root: make([]byte, 32)}
	require.Equal(t, "arena.example:8080/ladder/parley", h.Origin)
	signed, err := signedlog.Sign(h, key)
	require.NoError(t, err)

	skey, vkey, err := note.GenerateKey(nil, "witness.example")
	require.NoError(t, err)
	witness, err := note.NewSigner(skey)
	require.NoError(t, err)
	n, err := note.Open(signed, note.VerifierList())
	var unverified *note.UnverifiedNoteError
	require.ErrorAs(t, err, &unverified)
	require.Nil(t, n)
	cosigned, err := note.Sign(unverified.Note, witness)
	require.NoError(t, err)
	require.Contains(t, string(cosigned), strings.SplitN(vkey, "+", 2)[0])
	for _, text := range [][]byte{signed, cosigned} {
		opened, err := signedlog.OpenLadder(text, "parley", public)
		require.NoError(t, err)
		require.Equal(t, h, opened)
	}

	_, err = signedlog.OpenLadder(signed, "standard", public)
	require.ErrorContains(t, err, "of mode standard")
	_, err = signedlog.Open(signed, "parley", public)
	require.ErrorContains(t, err, "of mode parley", "a head of one tree is not a head of the other")
	text, err := signedlog.VerifierKey(h.Origin, public)
	require.NoError(t, err)
	v, err := note.NewVerifier(text)
	require.NoError(t, err)
	_, err = note.Open(signed, note.VerifierList(v))
	require.NoError(t, err)
	_, err = signedlog.VerifierKey("a host/ladder/parley", public)
	require.ErrorContains(t, err, "invalid origin")
}
