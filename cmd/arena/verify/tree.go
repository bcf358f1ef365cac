package verify

import (
	"bytes"
	"cmp"
	"context"
	"encoding/base64"
	"errors"
	"fmt"

	"filippo.io/torchwood"
	"golang.org/x/mod/sumdb/tlog"

	"hexarena/domain/audit"
	"hexarena/eventstore"
	"hexarena/projections/signedlog"
)

// The names of the checks that need a ladder's tree.
const (
	checkTree      = "ladder tree" // the signed tree of the ladder, and that it continues the remembered head
	checkWitnesses = "witnesses"   // the cosignatures that --policy demands
)

// errNoTree means that the arena serves no ladder tree, because the arena is older than
// this program.
var errNoTree = errors.New("the arena serves no ladder tree; it runs an older version")

// tree is the signed tree of a mode's ladder, at the size that a checkpoint states.
type tree struct {
	calls
	mode   string
	heads  heads
	policy *policy // nil without --policy

	saved  *remembered    // the head of this tree that --head names, or nil
	head   signedlog.Head // has no root before the first checkpoint
	before *remembered    // the remembered head that the first checkpoint continues, or nil

	witnessed signedlog.Head // the newest head that satisfies the policy; it has no more events than head
	cosigned  []cosignature  // cosignatures of witnessed, by witnesses of the policy

	tiles  map[tlog.Tile][]byte
	failed error // error of the latest call for a tile

	batch  int           // number of events that seatings requests in one call
	page   []ladderEvent // the latest batch
	tables seatings      // the latest seating
}

// The type seatings holds the tables of one TablesSeated, by match.
type seatings struct {
	revision uint64
	byMatch  map[string]audit.Seating // nil: none was read yet
}

// newTree returns a tree before its first checkpoint.
func newTree(c calls, mode string, h heads, p *policy, batch int) *tree {
	return &tree{calls: c, mode: mode, heads: h, policy: p, tiles: map[tlog.Tile][]byte{}, batch: batch}
}

func treeDifference(log, follows string) *audit.Difference {
	return &audit.Difference{Check: checkTree, Log: log, Follows: follows}
}

// describeTree returns a short description of a ladder's tree.
func describeTree(h signedlog.Head) string {
	return fmt.Sprintf("%d events with the root %s", h.Size, base64.StdEncoding.EncodeToString(h.Root))
}

// advance requests the current checkpoint. The checkpoint must continue the newest
// known head, and its tree must satisfy the policy. One server of an arena may lag
// behind another, and witnesses need a moment to cosign, so advance tries up to
// signedTries times.
func (t *tree) advance(ctx context.Context) (d *audit.Difference, err error) {
	for try := 1; ; try++ {
		var again bool
		d, again, err = t.try(ctx)
		if d == nil || !again || try == signedTries {
			return d, err
		}
		if err := eventstore.Sleep(ctx, signedWait); err != nil {
			return nil, err
		}
	}
}

// try requests the current checkpoint once. The result named again is true if
// another try may return a better checkpoint.
func (t *tree) try(ctx context.Context) (d *audit.Difference, again bool, err error) {
	signed, err := t.get(ctx, "/ladder/"+t.mode+"/checkpoint")
	if err != nil {
		return nil, false, err
	}
	earlier, err := t.earlier()
	if err != nil {
		return nil, false, err
	}
	if signed == nil {
		if len(earlier) > 0 {
			return treeDifference("no ladder tree", "a head that continues the earlier one: "+describeTree(earlier[0].Head)), false, nil
		}
		key, err := t.get(ctx, "/log/"+t.mode+"/vkey")
		if err == nil && key != nil {
			return treeDifference("no ladder tree", "a ladder tree, because the arena publishes its key"), true, nil
		}
		return nil, false, cmp.Or(err, errNoTree)
	}
	h, d := t.open(signed)
	if d != nil {
		return d, false, nil
	}
	for _, before := range earlier {
		d, again, err := t.continues(ctx, h, signed, before)
		if d != nil || err != nil {
			return d, again, err
		}
	}
	t.head = h
	if err := t.heads.write(ladderTree, t.mode, h, signed); err != nil || t.policy == nil {
		return nil, false, err
	}
	d, err = t.quorum(ctx, signed)
	return d, true, err
}

// maxSize is the largest size of a tree. Package tlog counts hashes in an int64.
const maxSize = 1 << 60

// The method open() checks the signature of a checkpoint.
func (t *tree) open(signed []byte) (h signedlog.Head, d *audit.Difference) {
	h, err := signedlog.OpenLadder(signed, t.mode, t.heads.key)
	if err == nil && h.Size > maxSize {
		err = fmt.Errorf("its size is more than %d", uint64(maxSize))
	}
	if err != nil {
		return h, treeDifference(shortenText(signed), "a checkpoint that the platform key has signed: "+err.Error())
	}
	return h, nil
}

// size returns the number of events that the caller may accept. With a policy, the
// caller may accept only the events that the policy's witnesses have cosigned.
func (t *tree) size() uint64 {
	if t.policy != nil {
		return t.witnessed.Size
	}
	return t.head.Size
}

// quorum finds a checkpoint that satisfies the policy. The newest checkpoint may not
// have its cosignatures yet. So quorum also requests the newest checkpoint that has
// at least 1 cosignature, at least 2, and so on (docs/protocol.md, "Witnesses of the
// ladder tree"). A cosigned tree without events proves nothing about the ladder's
// events, so it does not satisfy the policy.
func (t *tree) quorum(ctx context.Context, newest []byte) (*audit.Difference, error) {
	missing := ""
	for n, signed := 1, newest; signed != nil; n++ {
		h, d := t.open(signed)
		if d != nil {
			return d, nil
		}
		cosigned, err := t.policy.check(signed, h.Origin, t.heads.key)
		if err == nil && h.Size == 0 && t.head.Size > 0 {
			missing = "the witnesses cosigned only a tree without events"
			break
		}
		if err == nil {
			t.witnessed, t.cosigned = h, cosigned
			return t.agree(ctx, h, signed)
		}
		if !errors.Is(err, errQuorum) {
			return nil, err
		}
		missing = err.Error()
		if n > len(t.policy.witnesses) {
			break
		}
		if signed, err = t.get(ctx, fmt.Sprintf("/ladder/%s/checkpoint?cosignatures=%d", t.mode, n)); err != nil {
			return nil, err
		}
	}
	return &audit.Difference{
		Check: checkWitnesses, Log: "a checkpoint of " + describeTree(t.head),
		Follows: "a checkpoint that satisfies " + t.policy.file + ": " + missing,
	}, nil
}

// agree requires that the smaller of two trees, the cosigned tree and the newest
// tree, is the beginning of the larger one.
func (t *tree) agree(ctx context.Context, cosigned signedlog.Head, signed []byte) (*audit.Difference, error) {
	small, large := cosigned, t.head
	if small.Size > large.Size {
		small, large = large, small
	}
	root, d, err := t.rootAt(ctx, large, small.Size)
	if d != nil || err != nil {
		return d, err
	}
	if !bytes.Equal(root, small.Root) {
		return treeDifference("a head of "+describeTree(t.head), "a head of the tree that witnesses cosigned: "+describeTree(cosigned)), nil
	}
	t.head = large
	if cosigned.Size < large.Size {
		return nil, nil //nolint:nilnil // no difference, and no error
	}
	return nil, t.heads.write(ladderTree, t.mode, cosigned, signed)
}

// The method earlier() returns the heads that the next checkpoint must continue. For
// the first checkpoint, these are the remembered head and the head that --head names.
func (t *tree) earlier() (list []remembered, err error) {
	if t.head.Root != nil {
		return []remembered{{Head: t.head}}, nil
	}
	if t.before, err = t.heads.read(ladderTree, t.mode); err != nil {
		return nil, err
	}
	for _, r := range []*remembered{t.before, t.saved} {
		if r != nil {
			list = append(list, *r)
		}
	}
	return list, nil
}

// The method continues() requires that the tree of the new head begins with the whole
// earlier tree, unchanged. It checks this with the tiles of the tree.
func (t *tree) continues(ctx context.Context, head signedlog.Head, signed []byte, before remembered) (d *audit.Difference, again bool, err error) {
	expected := "a head that continues the earlier one: " + describeTree(before.Head)
	if before.file != "" {
		expected += " in " + before.file
	}
	if head.Size < before.Size {
		return treeDifference("a head of "+describeTree(head), expected+"; the ladder only grows"), true, nil
	}
	root, d, err := t.rootAt(ctx, head, before.Size)
	if d != nil || err != nil || bytes.Equal(root, before.Root) {
		return d, false, err
	}
	if before.file != "" {
		other, err := t.heads.writeOther(ladderTree, t.mode, signed)
		if err != nil {
			return nil, false, err
		}
		expected += "; the other head is in " + other
	}
	return treeDifference("a head of "+describeTree(head), expected), false, nil
}

// rootAt returns the root that the given head's tree had at the given size. It
// authenticates the tiles against this head.
func (t *tree) rootAt(ctx context.Context, head signedlog.Head, size uint64) ([]byte, *audit.Difference, error) {
	h, err := tlog.TreeHash(int64(size), t.hashes(ctx, head))
	if d, err := t.blame(err); d != nil || err != nil {
		return nil, d, err
	}
	return h[:], nil, nil
}

// The method hashes() reads hashes of the given head's tree from its tiles.
func (t *tree) hashes(ctx context.Context, head signedlog.Head) tlog.HashReader {
	t.failed = nil
	return torchwood.TileHashReaderWithContext(ctx, treeOf(head), t)
}

func treeOf(h signedlog.Head) tlog.Tree {
	return tlog.Tree{N: int64(h.Size), Hash: tlog.Hash(h.Root)}
}

// blame finds out whether a call failed or the tiles contradict their tree.
func (t *tree) blame(err error) (*audit.Difference, error) {
	switch {
	case err == nil:
		return nil, nil
	case t.failed != nil:
		return nil, t.failed
	}
	return treeDifference("tiles that contradict the checkpoint: "+err.Error(), "the tiles of "+describeTree(t.head)), nil
}

// ReadTiles implements torchwood.TileReader.
func (t *tree) ReadTiles(ctx context.Context, tiles []tlog.Tile) ([][]byte, error) {
	var list [][]byte
	for _, tile := range tiles {
		data, cached := t.tiles[tile]
		if !cached {
			var err error
			if data, err = t.ReadEndpoint(ctx, torchwood.TilePath(tile)); err != nil {
				return nil, err
			}
		}
		list = append(list, data)
	}
	return list, nil
}

// SaveTiles implements torchwood.TileReader. It caches authenticated tiles of hashes.
// It does not cache entries, because each entry is read only once.
func (t *tree) SaveTiles(tiles []tlog.Tile, data [][]byte) {
	for i, tile := range tiles {
		if tile.L >= 0 {
			t.tiles[tile] = data[i]
		}
	}
}

// ReadEndpoint implements torchwood.TileReader.
func (t *tree) ReadEndpoint(ctx context.Context, path string) ([]byte, error) {
	path = "/ladder/" + t.mode + "/" + path
	data, err := t.get(ctx, path)
	if err == nil && data == nil {
		err = fmt.Errorf("the arena does not serve %s, which belongs to its tree", path)
	}
	if err != nil {
		t.failed = err
	}
	return data, err
}

// shortenText quotes a text that should have been a checkpoint, and shortens it to
// one line.
func shortenText(text []byte) string {
	const most = 400
	if len(text) > most {
		text = text[:most]
	}
	return fmt.Sprintf("%q", text)
}
