package secrets

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"

	"hexarena/domain/arena"
	"hexarena/eventstore"
)

// Processes on several machines exchange seed keys through the log. The stream
// arena-seed-keys contains a sealed copy of each seed key that is still secret. A
// rotation stores the copy before arena-keys names the key, so a process that reads the
// id of a key can also read the key. The logs of older versions have no copies: there,
// each playing process seals the keys that it has when it starts.
//
// A process may use a key from the log even if it cannot add the key to its file,
// because it can get the key from the log again after a restart.

var sealedKind = eventstore.Kind[arena.SealedKeys, arena.Event]{Decode: arena.DecodeSealedKeys, Evolve: arena.EvolveSealedKeys}

// exchange returns c plus the secret keys that only the log or the stored file has. If
// this process plays, exchange also seals the keys that only c has. If it returns an
// error, c may still lack keys, or the log may lack copies. The caller must have locked
// the store.
func (s Secrets) exchange(ctx context.Context, keys arena.Keys, c contents) (contents, error) {
	c, err := s.complete(ctx, keys.Secret(), c)
	if !s.plays {
		return c, err
	}
	var held []seedKey
	for _, k := range keys.Secret() {
		if key, ok := c.find(k.ID); ok && k.Hash == key.hash() {
			held = append(held, key)
		}
	}
	return c, cmp.Or(s.seal(ctx, keys, c, held), err)
}

// complete returns c plus those of the wanted keys that only the stored file or the log
// has. It adds the keys from the log to the stored file. The caller must have locked
// the store.
func (s Secrets) complete(ctx context.Context, wanted []arena.SeedKey, c contents) (contents, error) {
	lacks := func(k arena.SeedKey) bool { _, ok := c.find(k.ID); return !ok }
	if !s.unsaved && !slices.ContainsFunc(wanted, lacks) {
		return c, nil
	}
	c = s.withStoredKeys(c)
	wanted = slices.DeleteFunc(slices.Clone(wanted), func(k arena.SeedKey) bool { return !lacks(k) })
	learned, err := s.fromLog(ctx, wanted, c.PlatformSeed)
	if len(learned) == 0 && !s.unsaved {
		return c, err
	}
	c.SeedKeys = append(slices.Clip(c.SeedKeys), learned...)
	failed := s.save(c)
	s.unsaved = failed != nil
	return c, cmp.Or(failed, err)
}

// fromLog returns those of the wanted keys that the log has, and an error if it does not
// have all of them.
func (s Secrets) fromLog(ctx context.Context, wanted []arena.SeedKey, platformSeed secret) (found []seedKey, err error) {
	if len(wanted) == 0 {
		return nil, nil
	}
	sealed, _, err := sealedKind.Load(ctx, s.log, arena.SealedKeysStream, arena.SealedKeys{})
	if err != nil {
		return nil, err
	}
	box, err := newSealer(platformSeed)
	if err != nil {
		return nil, err
	}
	for _, w := range wanted {
		key, failed := box.copyOf(w, sealed)
		if failed == nil {
			found = append(found, key)
		}
		err = cmp.Or(err, failed)
	}
	return found, err
}

// The method seal() stores sealed copies of the given keys, unless the log has them. It
// replaces a copy that cannot be read. The caller must have locked the store.
func (s Secrets) seal(ctx context.Context, keys arena.Keys, c contents, given []seedKey) error {
	given = slices.DeleteFunc(slices.Clone(given), func(k seedKey) bool { return s.sealed[k.ID] })
	if len(given) == 0 {
		return nil
	}
	box, err := newSealer(c.PlatformSeed)
	if err != nil {
		return err
	}
	m := eventstore.Metadata{At: time.Now(), Correlation: uuid.NewString()}
	_, _, err = sealedKind.Handle(ctx, s.log, arena.SealedKeysStream, arena.SealedKeys{}, m, func(stored arena.SealedKeys) ([]arena.Event, error) {
		var more []arena.SealedKey
		for _, k := range given {
			old, _ := stored.Find(k.ID)
			if opened, ok := box.open(old); !ok || opened != k {
				more = append(more, box.seal(k))
			}
		}
		if len(more) > 0 && len(stored.Keys) == 0 { // a new stream
			if err := s.log.SetMetadata(ctx, arena.SealedKeysStream, eventstore.StreamMetadata{MaxCount: 1}); err != nil {
				return nil, fmt.Errorf("keep only the last event of %s: %w", arena.SealedKeysStream, err)
			}
		}
		return stored.Add(keys, more), nil
	})
	if err != nil {
		return err
	}
	for _, k := range given {
		s.sealed[k.ID] = true
	}
	return nil
}
