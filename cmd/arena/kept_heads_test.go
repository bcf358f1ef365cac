package main

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/transparency-dev/merkle/compact"
	"github.com/transparency-dev/merkle/proof"
	"github.com/transparency-dev/merkle/rfc6962"

	"hexarena/projections/signedlog"
)

// leaves is a small tree. It computes each hash from its leaves.
type leaves []string

func (l leaves) root(from, to int) []byte {
	h := rfc6962.DefaultHasher
	if to == from {
		return h.EmptyRoot()
	}
	r := (&compact.RangeFactory{Hash: h.HashChildren}).NewEmptyRange(0)
	for _, leaf := range l[from:to] {
		if err := r.Append(h.HashLeaf([]byte(leaf)), nil); err != nil {
			panic(err)
		}
	}
	root, err := r.GetRootHash(nil)
	if err != nil {
		panic(err)
	}
	return root
}

func (l leaves) head() signedlog.Head {
	return signedlog.Head{Origin: "arena.example/log", Size: uint64(len(l)), Root: l.root(0, len(l))}
}

var errTooLarge = errors.New("the tree is smaller")

func (l leaves) prove(from, to uint64) ([][]byte, error) {
	if to > uint64(len(l)) {
		return nil, errTooLarge
	}
	nodes, err := proof.Consistency(from, to)
	if err != nil {
		return nil, err
	}
	hashes := make([][]byte, len(nodes.IDs))
	for i, id := range nodes.IDs {
		first := int(id.Index << id.Level)
		hashes[i] = l.root(first, min(first+1<<id.Level, len(l)))
	}
	return nodes.Rehash(hashes, rfc6962.DefaultHasher.HashChildren)
}

// A head is on the disk before it is served. A tree that lost what a head covers is never
// signed, also after a restart, until it continues the head again.
func TestKeptHeadsNeverSignAFork(t *testing.T) {
	dir := t.TempDir()
	k, err := openKeptHeads(dir)
	require.NoError(t, err)
	keep := func(l leaves) error { return k.keep(l.head(), l.prove) }
	require.NoError(t, keep(leaves{}))
	require.NoError(t, keep(leaves{"a", "b"}))
	require.NoError(t, keep(leaves{"a", "b", "c"}))
	var stored map[string]keptHead
	data, err := os.ReadFile(filepath.Join(dir, keptHeadsFile))
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(data, &stored))
	require.Equal(t, keptHead{3, leaves{"a", "b", "c"}.root(0, 3)}, stored["arena.example/log"])
	older := leaves{"a", "b"}.head()
	require.NoError(t, k.keep(older, leaves{"a", "b", "c"}.prove), "a reader that is late gets an older head")

	unread := func(uint64, uint64) ([][]byte, error) { return nil, context.Canceled }
	require.ErrorIs(t, k.keep(older, unread), context.Canceled)
	require.NoError(t, k.err(), "a tree that could not be read is not a loss")

	for range 2 {
		for _, lost := range []leaves{{"a", "b"}, {"a", "b", "x"}, {"a", "b", "x", "y"}, {}} {
			require.ErrorContains(t, keep(lost), "has lost events")
			require.Error(t, k.err())
		}
		k, err = openKeptHeads(dir) // a restart
		require.NoError(t, err)
	}
	require.NoError(t, keep(leaves{"a", "b", "c", "d"}), "the lost events are stored again")
	require.NoError(t, k.err())

	require.NoError(t, os.WriteFile(filepath.Join(dir, keptHeadsFile), []byte("{"), 0o600))
	_, err = openKeptHeads(dir)
	require.ErrorContains(t, err, "read the signed heads")
}

// Each arena on a log stores the heads that it has signed itself. After a loss, every arena
// that had folded the lost events refuses to sign. An arena that had not folded them does
// not know of them (ADR 54).
func TestEachArenaKeepsItsOwnHeads(t *testing.T) {
	open := func(seen ...leaves) *keptHeads {
		k, err := openKeptHeads(t.TempDir())
		require.NoError(t, err)
		for _, l := range seen {
			require.NoError(t, k.keep(l.head(), l.prove))
		}
		return k
	}
	all, left, other := leaves{"a", "b", "c"}, leaves{"a", "b"}, leaves{"a", "b", "x"}
	first, second, behind, fresh := open(left, all), open(all), open(left), open()
	for _, k := range []*keptHeads{first, second} {
		require.ErrorContains(t, k.keep(left.head(), left.prove), "has lost events")
		require.ErrorContains(t, k.keep(other.head(), other.prove), "has lost events")
	}
	for _, k := range []*keptHeads{behind, fresh} {
		require.NoError(t, k.keep(left.head(), left.prove))
		require.NoError(t, k.keep(other.head(), other.prove))
		require.Error(t, k.keep(all.head(), all.prove), "from now on, the other history is a fork")
	}
}
