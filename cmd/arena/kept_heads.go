package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"

	"hexarena/projections/signedlog"
)

// keptHeads stores the newest signed head of each tree in a file, before the head is
// served. A cluster may lose events that a served head covers. The tree then no longer
// continues this head, and a new head would be a fork, which proves to everyone that the
// arena has changed its history. So keptHeads refuses to sign such a head. The arena
// seats nobody until the tree continues the head again, or an operator removes the file.
type keptHeads struct {
	path string

	mu    sync.Mutex // guards the fields below
	heads map[string]keptHead
	lost  map[string]error // by origin: why no head can be signed
}

type keptHead struct {
	Size uint64 `json:"size"`
	Root []byte `json:"root"`
}

// keptHeadsFile is the name of the file in the data folder.
const keptHeadsFile = "signed-heads.json"

func openKeptHeads(dataFolder string) (*keptHeads, error) {
	k := &keptHeads{path: filepath.Join(dataFolder, keptHeadsFile), heads: map[string]keptHead{}, lost: map[string]error{}}
	data, err := os.ReadFile(k.path)
	if errors.Is(err, fs.ErrNotExist) {
		return k, nil
	}
	if err == nil {
		err = json.Unmarshal(data, &k.heads)
	}
	if err != nil {
		return nil, fmt.Errorf("read the signed heads in %s: %w", k.path, err)
	}
	return k, nil
}

// errShorter reports that a tree ends before its newest kept head.
var errShorter = errors.New("the tree is shorter")

// keepNewest is like keep, for the head of a whole tree. If the kept head is larger, the
// tree has lost its end, although what is left of it is consistent with the head.
func (k *keptHeads) keepNewest(h signedlog.Head, prove func(from, to uint64) ([][]byte, error)) error {
	return k.keep(h, func(from, to uint64) ([][]byte, error) {
		if h.Size < to {
			return nil, fmt.Errorf("%w: it has %d entries", errShorter, h.Size)
		}
		return prove(from, to)
	})
}

// keep checks that a head is consistent with the newest kept head of its tree. If it is
// larger, keep stores it. The function prove returns the consistency proof between two
// sizes of the current tree.
func (k *keptHeads) keep(h signedlog.Head, prove func(from, to uint64) ([][]byte, error)) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	last := k.heads[h.Origin]
	err := consistent(h, signedlog.Head{Origin: h.Origin, Size: last.Size, Root: last.Root}, prove)
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return err // the tree could not be read, which proves nothing
	}
	if err != nil {
		err = fmt.Errorf("the log has lost events that a signed head of %s covers (size %d): %w; see \"A signed head that the log lost\" in docs/operations.md", h.Origin, last.Size, err)
		k.lost[h.Origin] = err
		return err
	}
	delete(k.lost, h.Origin)
	if h.Size <= last.Size {
		return nil
	}
	k.heads[h.Origin] = keptHead{h.Size, h.Root}
	if err := k.store(); err != nil {
		k.heads[h.Origin] = last
		return fmt.Errorf("store the signed heads: %w", err)
	}
	return nil
}

// consistent returns nil if one of two heads continues the other.
func consistent(a, b signedlog.Head, prove func(from, to uint64) ([][]byte, error)) error {
	if a.Size < b.Size {
		a, b = b, a
	}
	if b.Size == 0 && a.Size == 0 {
		return nil
	}
	hashes, err := prove(b.Size, a.Size)
	if err != nil {
		return err
	}
	return a.Continues(b, hashes)
}

// store replaces the file. It returns after the file is on the disk.
func (k *keptHeads) store() error {
	data, err := json.Marshal(k.heads)
	if err != nil {
		return err
	}
	f, err := os.CreateTemp(filepath.Dir(k.path), keptHeadsFile+"-*")
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	err = errors.Join(err, f.Sync(), f.Close())
	if err == nil {
		err = os.Rename(f.Name(), k.path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	dir, err := os.Open(filepath.Dir(k.path))
	if err != nil {
		return err
	}
	return errors.Join(dir.Sync(), dir.Close())
}

// err returns why a tree cannot be signed, or nil.
func (k *keptHeads) err() error {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, err := range k.lost {
		return err
	}
	return nil
}
