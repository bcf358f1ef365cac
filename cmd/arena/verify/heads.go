package verify

import (
	"crypto/ed25519"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"hexarena/cmd/arena/remote"
	"hexarena/domain/ladder"
	"hexarena/projections/signedlog"
)

// The trees of a mode. Each has its own signed heads.
const (
	resultsTree = "results"
	ladderTree  = "ladder"
)

// The type heads remembers the newest head of each tree of an arena, so that the arena
// cannot show a different history later. A file holds one head, exactly as the arena
// signed it. The folder is named after the platform key, so that the heads remain valid
// if the arena's address changes.
type heads struct {
	folder string // empty with --no-remember
	key    ed25519.PublicKey
}

// The type remembered is a head that was read from a file.
type remembered struct {
	signedlog.Head
	file string
}

func openHeads(key ed25519.PublicKey, remember bool) (heads, error) {
	if !remember {
		return heads{key: key}, nil
	}
	folder, err := remote.ConfigFolder()
	if err != nil {
		return heads{}, fmt.Errorf("find the folder for remembered heads: %w; use --no-remember to verify without it", err)
	}
	return heads{folder: filepath.Join(folder, "heads", hex.EncodeToString(key)), key: key}, nil
}

func (h heads) path(tree, mode string) string { return filepath.Join(h.folder, tree+"-"+mode) }

// openHead checks the signature of a mode's head. The parameter tree names the tree
// that the head belongs to.
func openHead(tree string, signed []byte, mode string, key ed25519.PublicKey) (signedlog.Head, error) {
	if tree == ladderTree {
		return signedlog.OpenLadder(signed, mode, key)
	}
	return signedlog.Open(signed, mode, key)
}

// The method read() returns the remembered head of a tree, or nil if no head is stored.
func (h heads) read(tree, mode string) (*remembered, error) {
	if h.folder == "" {
		return nil, nil //nolint:nilnil // if no head is stored, any head is valid
	}
	r := &remembered{file: h.path(tree, mode)}
	text, err := os.ReadFile(r.file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil //nolint:nilnil // as above
	}
	if err == nil {
		r.Head, err = openHead(tree, text, mode, h.key)
	}
	if err != nil {
		return nil, fmt.Errorf("read the remembered head in %s: %w; restore the file, or delete it to trust the arena's next head", r.file, err)
	}
	return r, nil
}

// write stores a head that continues the remembered one. If another process has
// stored a larger head in the meantime, write does not replace that head.
func (h heads) write(tree, mode string, head signedlog.Head, signed []byte) error {
	if h.folder == "" {
		return nil
	}
	before, err := h.read(tree, mode)
	if err != nil || before != nil && before.Size >= head.Size {
		return err
	}
	if err := remote.ReplaceFile(h.path(tree, mode), signed); err != nil {
		return fmt.Errorf("store the head of the %s tree: %w; use --no-remember to verify without storing heads", tree, err)
	}
	return nil
}

// writeOther stores a head that contradicts the remembered one, as evidence. It
// returns the file's name.
func (h heads) writeOther(tree, mode string, signed []byte) (string, error) {
	file := h.path(tree, mode) + ".other"
	return file, remote.ReplaceFile(file, signed)
}

// The type saved is the head in the file that --head names.
type saved struct {
	remembered

	tree, mode string
}

// readSaved reads the file that --head names. To find out which mode and tree the
// head belongs to, it tries all of them. Without a file, it returns nil.
func readSaved(file string, key ed25519.PublicKey) (*saved, error) {
	if file == "" {
		return nil, nil //nolint:nilnil // a saved head is optional
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("--head: %w", err)
	}
	for _, mode := range ladder.Modes {
		for _, tree := range []string{resultsTree, ladderTree} {
			if h, err := openHead(tree, text, mode, key); err == nil {
				return &saved{remembered{h, file}, tree, mode}, nil
			}
		}
	}
	return nil, fmt.Errorf("--head %s: the file is not a head that this arena's platform key signed", file)
}
