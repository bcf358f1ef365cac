package signedlog

import (
	"context"
	"encoding/binary"
	"fmt"
	"math"

	"golang.org/x/mod/sumdb/tlog"
)

// tileHeight is the height of the tiles of a ladder tree (C2SP tlog-tiles).
const tileHeight = 8

func (s *SignedLog) ladder(mode string) tree { return tree{s.rows.Load(), ladderTree(mode)} }

// LadderSize returns the number of entries of a mode's ladder tree.
func (s *SignedLog) LadderSize(ctx context.Context, mode string) (uint64, error) {
	return s.ladder(mode).size(ctx)
}

// LadderHead returns the current size and root of a mode's ladder tree.
func (s *SignedLog) LadderHead(ctx context.Context, mode string) (size uint64, root []byte, err error) {
	return s.ladder(mode).head(ctx)
}

// LadderInclusion returns the proof that the entry at index is in a mode's ladder
// tree of the given size. The index must be below size, and size must not exceed
// LadderSize.
func (s *SignedLog) LadderInclusion(ctx context.Context, mode string, index, size uint64) ([][]byte, error) {
	return s.ladder(mode).inclusion(ctx, index, size)
}

// LadderConsistency returns the proof that a later version of a mode's ladder tree
// continues an earlier one. The sizes must not exceed LadderSize.
func (s *SignedLog) LadderConsistency(ctx context.Context, mode string, from, to uint64) ([][]byte, error) {
	return s.ladder(mode).consistency(ctx, from, to)
}

// Tile returns a tile of a mode's ladder tree in the format of C2SP tlog-tiles. A
// tile of level -1 is a bundle of entries. Tile returns false if the tree does
// not contain the complete tile yet, or if the height of the tile is not 8.
func (s *SignedLog) Tile(ctx context.Context, mode string, t tlog.Tile) (data []byte, found bool, err error) {
	first := t.N << tileHeight
	if t.H != tileHeight || t.N > math.MaxInt64>>tileHeight {
		return nil, false, nil
	}
	query, arguments := "SELECT entry FROM entries WHERE mode = ? AND place >= ? AND place < ? ORDER BY place", []any{mode}
	if t.L >= 0 {
		query = "SELECT hash FROM nodes WHERE tree = ? AND level = ? AND place >= ? AND place < ? ORDER BY place"
		arguments = []any{ladderTree(mode), t.L * tileHeight}
	}
	rows, err := s.rows.Load().QueryContext(ctx, query, append(arguments, first, first+int64(t.W))...)
	if err != nil {
		return nil, false, err
	}
	defer rows.Close()
	width := 0
	for ; rows.Next(); width++ {
		var item []byte
		if err := rows.Scan(&item); err != nil {
			return nil, false, err
		}
		if t.L < 0 {
			if len(item) > math.MaxUint16 {
				return nil, false, fmt.Errorf("entry %d of the ladder tree of %s is too long", first+int64(width), mode)
			}
			data = binary.BigEndian.AppendUint16(data, uint16(len(item)))
		}
		data = append(data, item...)
	}
	return data, width == t.W, rows.Err()
}
