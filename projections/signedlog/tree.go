package signedlog

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/transparency-dev/merkle/compact"
	"github.com/transparency-dev/merkle/proof"
	"github.com/transparency-dev/merkle/rfc6962"

	"hexarena/projections"
)

// Inclusion proves that a match is in the tree of the given size.
type Inclusion struct {
	Index  uint64
	Size   uint64
	Hashes [][]byte // from the leaf's sibling up
}

var factory = compact.RangeFactory{Hash: rfc6962.DefaultHasher.HashChildren}

// resultsTree and ladderTree return the names of a mode's trees. An origin is a
// host followed by such a name.
func resultsTree(mode string) string { return "log/" + mode }
func ladderTree(mode string) string  { return "ladder/" + mode }

func (s *SignedLog) results(mode string) tree { return tree{s.rows.Load(), resultsTree(mode)} }

// Size returns the number of leaves of a mode's tree of results.
func (s *SignedLog) Size(ctx context.Context, mode string) (uint64, error) {
	return s.results(mode).size(ctx)
}

// Head returns the current size and root of a mode's tree of results.
func (s *SignedLog) Head(ctx context.Context, mode string) (size uint64, root []byte, err error) {
	return s.results(mode).head(ctx)
}

// Inclusion returns the proof that a match is in a mode's current tree of results.
// If the match is not in the tree, it returns false.
func (s *SignedLog) Inclusion(ctx context.Context, mode, matchID string) (i Inclusion, found bool, err error) {
	t := s.results(mode)
	err = t.rows.QueryRowContext(ctx, "SELECT place FROM leaves WHERE match = ? AND mode = ?", matchID, mode).Scan(&i.Index)
	if errors.Is(err, sql.ErrNoRows) {
		return i, false, nil
	}
	if err != nil {
		return i, false, err
	}
	if i.Size, err = t.size(ctx); err != nil {
		return i, false, err
	}
	i.Hashes, err = t.inclusion(ctx, i.Index, i.Size)
	return i, err == nil, err
}

// Consistency returns the proof that a later version of a mode's tree of results
// continues an earlier one. The parameter from is the size of the earlier tree, and
// to is the size of the later one. The sizes must not exceed Size.
func (s *SignedLog) Consistency(ctx context.Context, mode string, from, to uint64) ([][]byte, error) {
	return s.results(mode).consistency(ctx, from, to)
}

// tree reads the committed nodes of one tree.
type tree struct {
	rows *projections.Queries
	name string
}

func (t tree) size(ctx context.Context) (size uint64, err error) {
	err = t.rows.QueryRowContext(ctx, "SELECT coalesce(max(place) + 1, 0) FROM nodes WHERE tree = ? AND level = 0", t.name).Scan(&size)
	return size, err
}

func (t tree) head(ctx context.Context) (size uint64, root []byte, err error) {
	c, err := t.compact(ctx)
	if err != nil {
		return 0, nil, err
	}
	root, err = rootOf(c)
	return c.End(), root, err
}

func (t tree) compact(ctx context.Context) (*compact.Range, error) {
	size, err := t.size(ctx)
	if err != nil {
		return nil, err
	}
	hashes, err := t.hashes(ctx, compact.RangeNodes(0, size, nil))
	if err != nil {
		return nil, err
	}
	return factory.NewRange(0, size, hashes)
}

func rootOf(c *compact.Range) ([]byte, error) {
	if c.End() == 0 {
		return rfc6962.DefaultHasher.EmptyRoot(), nil
	}
	return c.GetRootHash(nil)
}

func (t tree) inclusion(ctx context.Context, index, size uint64) ([][]byte, error) {
	nodes, err := proof.Inclusion(index, size)
	if err != nil {
		return nil, err
	}
	return t.rehashed(ctx, nodes)
}

func (t tree) consistency(ctx context.Context, from, to uint64) ([][]byte, error) {
	nodes, err := proof.Consistency(from, to)
	if err != nil {
		return nil, err
	}
	return t.rehashed(ctx, nodes)
}

func (t tree) rehashed(ctx context.Context, nodes proof.Nodes) ([][]byte, error) {
	hashes, err := t.hashes(ctx, nodes.IDs)
	if err != nil {
		return nil, err
	}
	return nodes.Rehash(hashes, rfc6962.DefaultHasher.HashChildren)
}

// The method hashes reads the hashes of nodes. It reads them one by one, because a
// proof needs only a few nodes of each level.
func (t tree) hashes(ctx context.Context, ids []compact.NodeID) ([][]byte, error) {
	hashes := make([][]byte, len(ids))
	for i, id := range ids {
		err := t.rows.QueryRowContext(ctx, "SELECT hash FROM nodes WHERE tree = ? AND level = ? AND place = ?", t.name, id.Level, id.Index).Scan(&hashes[i])
		if err != nil {
			return nil, fmt.Errorf("node %d of level %d in the tree %s: %w", id.Index, id.Level, t.name, err)
		}
	}
	return hashes, nil
}
