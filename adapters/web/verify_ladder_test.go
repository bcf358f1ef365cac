package web_test

import (
	"bytes"
	"crypto/ed25519"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"filippo.io/torchwood"
	"github.com/stretchr/testify/require"
	"github.com/transparency-dev/merkle/rfc6962"
	"golang.org/x/mod/sumdb/tlog"

	"hexarena/adapters/rest"
	"hexarena/domain/audit/sample"
	"hexarena/domain/ladder"
	"hexarena/eventstore"
	"hexarena/projections/signedlog"
)

// ladderVector is the signed tree of a ladder, for the checker modules. The events
// after the first four are made up.
type ladderVector struct {
	Revision int               `json:"revision"` // of the seating
	Events   string            `json:"events"`   // the response to the call for the seating's event
	Proof    string            `json:"proof"`    // that the event is in the tree of four entries
	Heads    map[int]string    `json:"heads"`    // signed heads, by size
	Forked   string            `json:"forked"`   // a signed head of another tree, with two entries
	Other    map[string]string `json:"other"`    // events and proof of another seating, in a tree of one entry
}

// storedHashes is a tree in memory, made by package tlog.
type storedHashes []tlog.Hash

// ReadHashes implements tlog.HashReader.
func (s storedHashes) ReadHashes(indexes []int64) ([]tlog.Hash, error) {
	list := make([]tlog.Hash, len(indexes))
	for i, at := range indexes {
		list[i] = s[at]
	}
	return list, nil
}

func (s *storedHashes) add(t *testing.T, n int64, entry []byte) {
	more, err := tlog.StoredHashes(n, entry, s)
	require.NoError(t, err)
	*s = append(*s, more...)
}

// ladderOf builds the tree of a ladder with package tlog, and writes its tiles.
func ladderOf(t *testing.T, played *sample.Ladder, key ed25519.PrivateKey, tiles string) ladderVector {
	require.Len(t, played.Events, 4)
	sign := func(size int64, root tlog.Hash) string {
		signed, err := signedlog.Sign(signedlog.Head{Origin: signedlog.LadderOrigin("arena.example", ladder.Standard), Size: uint64(size), Root: root[:]}, key)
		require.NoError(t, err)
		return string(signed)
	}
	event := func(e ladder.Event) (entry []byte, page string) {
		encoded, err := eventstore.Encode(e, eventstore.Metadata{})
		require.NoError(t, err)
		text, err := json.Marshal(rest.LadderEvents{Mode: ladder.Standard, Size: 4, Events: []rest.LadderEvent{{Type: encoded.Type, Data: string(encoded.Data)}}})
		require.NoError(t, err)
		return signedlog.Entry(0, encoded.Type, encoded.Data, nil), string(text)
	}
	first, page := event(played.Events[0])
	v := ladderVector{Events: page, Heads: map[int]string{0: sign(0, tlog.Hash(rfc6962.DefaultHasher.EmptyRoot()))}}
	var tree storedHashes
	tree.add(t, 0, first)
	written := int64(0)
	for n := int64(1); n <= 66_000; n++ {
		if slices.Contains([]int64{1, 2, 3, 4, 7, 255, 256, 257, 300, 511, 512, 513, 1000, 65_535, 65_536, 65_537, 66_000}, n) {
			root, err := tlog.TreeHash(n, tree)
			require.NoError(t, err)
			v.Heads[int(n)] = sign(n, root)
			for _, tile := range tlog.NewTiles(torchwood.TileHeight, written, n) {
				data, err := tlog.ReadTileData(tile, tree)
				require.NoError(t, err)
				name := filepath.Join(tiles, filepath.FromSlash(torchwood.TilePath(tile)))
				require.NoError(t, os.MkdirAll(filepath.Dir(name), 0o700))
				require.NoError(t, os.WriteFile(name, data, 0o600))
			}
			written = n
		}
		tree.add(t, n, fmt.Appendf(nil, "entry %d", n))
	}
	v.Proof = proofIn(t, tree, 4, v.Heads[4])

	// The other seating has the same tables with other bots.
	seated := played.Events[0].(ladder.TablesSeated)
	seated.Tables = slices.Clone(seated.Tables)
	for i := range seated.Tables {
		seated.Tables[i].Bots = slices.Clone(seated.Tables[i].Bots)
		slices.Reverse(seated.Tables[i].Bots)
	}
	other, page := event(seated)
	var lying storedHashes
	lying.add(t, 0, other)
	v.Other = map[string]string{"events": page, "proof": proofIn(t, lying, 1, sign(1, lying[0]))}
	lying.add(t, 1, bytes.Clone(first))
	root, err := tlog.TreeHash(2, lying)
	require.NoError(t, err)
	v.Forked = sign(2, root)
	return v
}

// proofIn proves that the first entry is in the tree of a signed head.
func proofIn(t *testing.T, tree storedHashes, size int64, head string) string {
	p, err := tlog.ProveRecord(size, 0, tree)
	require.NoError(t, err)
	return string(torchwood.FormatProof(0, p, []byte(head)))
}
