package signedlog

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/transparency-dev/merkle/compact"
	"github.com/transparency-dev/merkle/proof"
	"github.com/transparency-dev/merkle/rfc6962"
)

// Inclusion proves that a match is in the tree of the given size.
type Inclusion struct {
	Index  uint64
	Size   uint64
	Hashes [][]byte // from the leaf's sibling up
}

var factory = compact.RangeFactory{Hash: rfc6962.DefaultHasher.HashChildren}

// Size returns the number of leaves of a mode's tree.
func (s *SignedLog) Size(ctx context.Context, mode string) (uint64, error) {
	return sizeOf(ctx, s.rows.Load(), mode)
}

// Head returns the current size and root of a mode's tree.
func (s *SignedLog) Head(ctx context.Context, mode string) (size uint64, root []byte, err error) {
	tree, err := readTree(ctx, s.rows.Load(), mode)
	if err != nil {
		return 0, nil, err
	}
	root, err = rootOf(tree)
	return tree.End(), root, err
}

func readTree(ctx context.Context, rows *sql.DB, mode string) (*compact.Range, error) {
	size, err := sizeOf(ctx, rows, mode)
	if err != nil {
		return nil, err
	}
	hashes, err := hashesOf(ctx, rows, mode, compact.RangeNodes(0, size, nil))
	if err != nil {
		return nil, err
	}
	return factory.NewRange(0, size, hashes)
}

func rootOf(tree *compact.Range) ([]byte, error) {
	if tree.End() == 0 {
		return rfc6962.DefaultHasher.EmptyRoot(), nil
	}
	return tree.GetRootHash(nil)
}

// Inclusion returns the proof that a match is in a mode's current tree. If the
// match is not in the tree, it returns false.
func (s *SignedLog) Inclusion(ctx context.Context, mode, matchID string) (i Inclusion, found bool, err error) {
	rows := s.rows.Load()
	err = rows.QueryRowContext(ctx, "SELECT place FROM leaves WHERE match = ? AND mode = ?", matchID, mode).Scan(&i.Index)
	if errors.Is(err, sql.ErrNoRows) {
		return i, false, nil
	}
	if err != nil {
		return i, false, err
	}
	if i.Size, err = sizeOf(ctx, rows, mode); err != nil {
		return i, false, err
	}
	nodes, err := proof.Inclusion(i.Index, i.Size)
	if err != nil {
		return i, false, err
	}
	i.Hashes, err = rehashed(ctx, rows, mode, nodes)
	return i, err == nil, err
}

// Consistency returns the proof that a later tree of a mode continues an earlier
// one. The parameter from is the size of the earlier tree, and to is the size of the
// later one. The sizes must not exceed Size.
func (s *SignedLog) Consistency(ctx context.Context, mode string, from, to uint64) ([][]byte, error) {
	nodes, err := proof.Consistency(from, to)
	if err != nil {
		return nil, err
	}
	return rehashed(ctx, s.rows.Load(), mode, nodes)
}

func rehashed(ctx context.Context, rows *sql.DB, mode string, nodes proof.Nodes) ([][]byte, error) {
	hashes, err := hashesOf(ctx, rows, mode, nodes.IDs)
	if err != nil {
		return nil, err
	}
	return nodes.Rehash(hashes, rfc6962.DefaultHasher.HashChildren)
}

func sizeOf(ctx context.Context, rows *sql.DB, mode string) (size uint64, err error) {
	err = rows.QueryRowContext(ctx, "SELECT coalesce(max(place) + 1, 0) FROM nodes WHERE mode = ? AND level = 0", mode).Scan(&size)
	return size, err
}

// hashesOf reads the hashes of nodes. It reads them one by one, because a proof
// needs only a few nodes of each level.
func hashesOf(ctx context.Context, rows *sql.DB, mode string, ids []compact.NodeID) ([][]byte, error) {
	hashes := make([][]byte, len(ids))
	for i, id := range ids {
		err := rows.QueryRowContext(ctx, "SELECT hash FROM nodes WHERE mode = ? AND level = ? AND place = ?", mode, id.Level, id.Index).Scan(&hashes[i])
		if err != nil {
			return nil, fmt.Errorf("node %d of level %d in the tree of %s: %w", id.Index, id.Level, mode, err)
		}
	}
	return hashes, nil
}
