// Package secrets manages an arena's secrets: the platform key that signs for the
// arena, the email key, and the seed keys of its matches. All of them are in one file.
// The first process that uses a log creates the file with [Open]. Later, [Open]
// compares the file with the stream arena-keys, which contains the public key and
// hashes of the secrets.
//
// The package does not know what the keys are used for.
package secrets

import (
	"context"
	"crypto/ed25519"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"

	"hexarena/domain/arena"
	"hexarena/eventstore"
)

// Secrets contains an arena's secrets. Printing or logging a Secrets does not reveal a
// key. It is safe for concurrent use.
type Secrets struct{ *store }

// store is the state that all copies of a Secrets share.
type store struct {
	log  eventstore.Log
	path string

	changing sync.Mutex // locked during a change, from reading the log to storing current
	current  atomic.Pointer[current]
}

// The type current contains the contents of the file, and the active seed key.
type current struct {
	file contents
	seed string    // id of the active seed key; empty if the file does not contain the key
	used time.Time // when the active seed key was added
}

var kind = eventstore.Kind[arena.Keys, arena.Event]{Decode: arena.DecodeKeys, Evolve: arena.EvolveKeys}

// Open reads the secrets file at path. If the log has no keys yet, Open creates the
// file. Otherwise, Open fails if the file is missing. It also fails if other users may
// open the file, if the file is damaged, or if it does not match the log. An error
// message is a single line, and tells the operator what to do. If plays is true, the
// file must contain the active seed key. If the process crashes during the first call
// to Open, the next call completes the work.
func Open(ctx context.Context, log eventstore.Log, path string, plays bool) (*Secrets, error) {
	file, err := loadOrCreate(ctx, log, path)
	if err != nil {
		return nil, err
	}
	keys, err := commit(ctx, log, file.held())
	if err != nil {
		return nil, err
	}
	if err := keys.Check(file.held(), plays); err != nil {
		return nil, fmt.Errorf("the secrets file %s does not belong to this log: %w: restore the secrets file from the backup of this log", path, err)
	}
	s := &store{log: log, path: path}
	s.current.Store(active(keys, file))
	return &Secrets{s}, nil
}

// loadOrCreate reads the file, or creates it if the log does not name any keys yet. It
// makes a new file durable before the log names the file's keys, so that a crash cannot
// lose keys that the log names.
func loadOrCreate(ctx context.Context, log eventstore.Log, path string) (contents, error) {
	keys, _, err := kind.Load(ctx, log, arena.KeysStream, arena.Keys{})
	if err != nil {
		return contents{}, err
	}
	file, err := load(path)
	missing := errors.Is(err, fs.ErrNotExist)
	switch {
	case keys.Exist() && missing:
		return contents{}, fmt.Errorf("the secrets file %s is missing, but this log was started with a secrets file: restore the file from its backup", path)
	case keys.Exist():
		return file, err
	case missing:
		file, err = createOrLoad(path)
	}
	if err != nil {
		return contents{}, err
	}
	return file, syncFolder(filepath.Dir(path))
}

// createOrLoad creates the file, or reads it if another process has just created
// it.
func createOrLoad(path string) (contents, error) {
	file := generate()
	err := create(path, file)
	if errors.Is(err, fs.ErrExist) {
		return load(path)
	}
	return file, err
}

// commit stores the public key and the hashes of new secrets in the log, unless the log
// already names keys. commit returns the keys that the log names, which may be those of
// another arena.
func commit(ctx context.Context, log eventstore.Log, held arena.Held) (arena.Keys, error) {
	m := eventstore.Metadata{At: time.Now(), Correlation: uuid.NewString()}
	keys, _, err := kind.Handle(ctx, log, arena.KeysStream, arena.Keys{}, m, func(k arena.Keys) ([]arena.Event, error) {
		if k.Exist() {
			return nil, nil
		}
		return k.FirstStart(held)
	})
	return keys, err
}

// The function active() returns the contents of the file together with the active seed
// key, provided that the file contains that key.
func active(keys arena.Keys, file contents) *current {
	seed, _ := keys.CurrentSeed()
	if _, held := file.seedKey(seed.ID); !held {
		return &current{file: file}
	}
	return &current{file, seed.ID, seed.Added}
}

// Platform returns the key with which the arena signs.
func (s Secrets) Platform() ed25519.PrivateKey {
	return ed25519.NewKeyFromSeed(s.current.Load().file.PlatformSeed[:])
}

// EmailKey returns the email key, which has 32 bytes. It is used for the names
// of email streams and for sign-in links.
func (s Secrets) EmailKey() []byte {
	return slices.Clone(s.current.Load().file.EmailKey[:])
}

// SeedKey returns the seed key with the given id, even if the key is retired. A key has
// 32 bytes. If SeedKey does not know the id, it reads the file again, because another
// process that shares the file may have rotated the key.
func (s Secrets) SeedKey(id string) ([]byte, bool) {
	before := s.current.Load()
	if key, ok := before.file.seedKey(id); ok {
		return key, true
	}
	file, err := load(s.path)
	if err != nil || file.held().Platform != before.file.held().Platform {
		return nil, false
	}
	s.current.CompareAndSwap(before, &current{file, before.seed, before.used}) // fails if this process has rotated the key in the meantime; that state is newer
	return file.seedKey(id)
}

// CurrentSeedKey returns the seed key for new tables. The result reflects the last call
// to Refresh or Rotate. If the file does not contain the key, CurrentSeedKey returns an
// empty key. That happens only in an arena that does not play.
func (s Secrets) CurrentSeedKey() (id string, key []byte) {
	now := s.current.Load()
	key, _ = now.file.seedKey(now.seed)
	return now.seed, key
}

// Format prints "[secrets]" for every verb, so that no key appears in a log.
func (Secrets) Format(s fmt.State, _ rune) {
	_, _ = io.WriteString(s, "[secrets]")
}

// MarshalJSON always returns an error, so that no key appears in a response or a
// log.
func (Secrets) MarshalJSON() ([]byte, error) {
	return nil, errors.New("secrets cannot be encoded as JSON")
}
