// Package secrets holds an arena's secrets: the Ed25519 key that signs for the
// arena, the key of its email streams, and the seed keys of its matches. All
// of them are in one file. [Open] creates the file at the first start on a log.
// At later starts it compares the file with the stream arena-keys, which holds
// hashes of the secrets.
//
// It does not know what the keys are used for.
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

// Secrets are an arena's secrets. Printing or logging them shows no key. They are
// safe for concurrent use.
type Secrets struct{ *store }

// store holds the secrets. Copies of Secrets share it.
type store struct {
	log  eventstore.Log
	path string

	changing sync.Mutex // held during a change, from reading the log to storing current
	current  atomic.Pointer[current]
}

// current holds the contents of the file and the active seed key.
type current struct {
	file contents
	seed string // id of the active seed key; empty if the file lacks it
}

var kind = eventstore.Kind[arena.Keys, arena.Event]{Decode: arena.DecodeKeys, Evolve: arena.EvolveKeys}

// Open reads the secrets file at path, or creates it at the first start on a
// log. At later starts it fails if the file is missing. It also fails if the
// file is damaged, is open to others or does not match the log. The error is
// one line and says what to do. If plays is true, the file must have the active
// seed key. If the first start crashes, the next start completes it.
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
	s.current.Store(&current{file, active(keys, file)})
	return &Secrets{s}, nil
}

// loadOrCreate reads the file. It creates the file only if the log names no keys
// yet. It makes the file durable first, so that the log never names keys that a
// crash can lose.
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

// createOrLoad creates the file, or reads it if another process was faster.
func createOrLoad(path string) (contents, error) {
	file := generate()
	err := create(path, file)
	if errors.Is(err, fs.ErrExist) {
		return load(path)
	}
	return file, err
}

// commit stores the keys of the first start in the log, unless the log already
// names keys, which may be those of another arena. It returns the keys that the
// log names.
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

// active returns the id of the active seed key, or "" if the file lacks it.
func active(keys arena.Keys, file contents) string {
	seed, _ := keys.CurrentSeed()
	if _, held := file.seedKey(seed.ID); !held {
		return ""
	}
	return seed.ID
}

// Platform returns the key that the arena signs with.
func (s Secrets) Platform() ed25519.PrivateKey {
	return ed25519.NewKeyFromSeed(s.current.Load().file.PlatformSeed[:])
}

// EmailKey returns the key, of 32 bytes, for the names of email streams and for
// sign-in links.
func (s Secrets) EmailKey() []byte {
	return slices.Clone(s.current.Load().file.EmailKey[:])
}

// SeedKey returns a seed key, of 32 bytes, by its id. It finds retired keys too.
func (s Secrets) SeedKey(id string) ([]byte, bool) {
	return s.current.Load().file.seedKey(id)
}

// CurrentSeedKey returns the seed key for new tables, as of the last Refresh or
// Rotate. It returns an empty key if the file lacks the key, which happens only
// in an arena that does not play.
func (s Secrets) CurrentSeedKey() (id string, key []byte) {
	now := s.current.Load()
	key, _ = now.file.seedKey(now.seed)
	return now.seed, key
}

// Format shows no key, with any verb.
func (Secrets) Format(s fmt.State, _ rune) {
	_, _ = io.WriteString(s, "[secrets]")
}

// MarshalJSON always fails, so that no key gets into a response or a log.
func (Secrets) MarshalJSON() ([]byte, error) {
	return nil, errors.New("secrets cannot be encoded as JSON")
}
