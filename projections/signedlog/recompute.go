package signedlog

import (
	"context"
	"errors"

	"github.com/transparency-dev/merkle/rfc6962"

	"hexarena/domain/ladder"
	"hexarena/eventstore"
)

// Recompute builds a mode's tree of results from the log, without the rows, and returns
// the tree's head. It stops when the tree has the given size or at the end of the log,
// whichever comes first. It calls the function report after each leaf.
func Recompute(ctx context.Context, log eventstore.Log, mode string, size uint64, report func(leaves uint64)) (Head, error) {
	tree := factory.NewEmptyRange(0)
	for r, err := range log.Read(ctx, eventstore.StreamID(ladder.Stream(mode)), 0, eventstore.ReadOptions{}) {
		if err != nil {
			return Head{}, err
		}
		if tree.End() == size {
			break
		}
		_, leaf, err := leafOf(ctx, log, r)
		if err != nil {
			return Head{}, err
		}
		if leaf == nil {
			continue
		}
		if err := tree.Append(rfc6962.DefaultHasher.HashLeaf(leaf), nil); err != nil {
			return Head{}, err
		}
		report(tree.End())
	}
	root, err := rootOf(tree)
	return Head{Size: tree.End(), Root: root}, errors.Join(err, ctx.Err())
}
