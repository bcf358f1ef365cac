// Package secrets keeps an arena's secrets: the Ed25519 key that signs for it,
// the key of its e-mail streams and the seed keys of its matches. They live in
// one file, made at the arena's first start and never again, and are checked
// at every start against what arena-keys commits the arena to. It does not know
// what the keys are used for.
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
	"time"

	"github.com/google/uuid"

	"hexarena/domain/arena"
	"hexarena/eventstore"
)

// Secrets are an arena's secrets. They never show themselves when printed or
// logged. They are safe for concurrent use.
type Secrets struct{ *keep }

// keep is where they are kept; copies of Secrets share it.
type keep struct {
	log  eventstore.Log
	path string

	changing sync.Mutex // held by whoever changes what follows, from its first look at the log on

	mu      sync.RWMutex // guards what follows; writers hold changing too
	file    contents
	current string // id of the seed key in use; empty where it is not held
}

var kind = eventstore.Kind[arena.Keys, arena.Event]{Decode: arena.DecodeKeys, Evolve: arena.EvolveKeys}

// Open loads the secrets in the file at path, and makes them if this is the
// log's first start. It refuses, with one line that says what to do, a file
// that is missing, that others may read or that cannot be read, and secrets
// that are not those of the log; player says whether the seed keys in use are
// needed too. A crash at any point of a first start is mended by the next.
func Open(ctx context.Context, log eventstore.Log, path string, player bool) (*Secrets, error) {
	file, err := loadOrCreate(ctx, log, path)
	if err != nil {
		return nil, err
	}
	keys, err := commit(ctx, log, file.held())
	if err != nil {
		return nil, err
	}
	if err := keys.Check(file.held(), player); err != nil {
		return nil, fmt.Errorf("the secrets file %s does not belong to this log: %w: restore the file that was backed up with it", path, err)
	}
	return &Secrets{&keep{log: log, path: path, file: file, current: inUse(keys, file)}}, nil
}

// loadOrCreate reads the file; only where the log names no keys yet may it be
// made. Before the log names its keys, its name is durable.
func loadOrCreate(ctx context.Context, log eventstore.Log, path string) (contents, error) {
	keys, _, err := kind.Load(ctx, log, arena.KeysStream, arena.Keys{})
	if err != nil {
		return contents{}, err
	}
	file, err := load(path)
	missing := errors.Is(err, fs.ErrNotExist)
	switch {
	case keys.Exist() && missing:
		return contents{}, fmt.Errorf("the secrets file %s is missing, and this log was started with one: restore it from its backup", path)
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

// createOrLoad makes the file unless another start is faster; then that one's
// counts.
func createOrLoad(path string) (contents, error) {
	file := generate()
	err := create(path, file)
	if errors.Is(err, fs.ErrExist) {
		return load(path)
	}
	return file, err
}

// commit appends the first start's events unless the log holds some already,
// another arena's perhaps, and returns what the log names.
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

func inUse(keys arena.Keys, file contents) string {
	seed, _ := keys.CurrentSeed()
	if _, held := file.seedKey(seed.ID); !held {
		return ""
	}
	return seed.ID
}

// contents are the secrets as they are now.
func (s Secrets) contents() (file contents, current string) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.file, s.current
}

func (s Secrets) set(file contents, current string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.file, s.current = file, current
}

// Platform is the key that the arena signs with.
func (s Secrets) Platform() ed25519.PrivateKey {
	file, _ := s.contents()
	return ed25519.NewKeyFromSeed(file.PlatformSeed[:])
}

// EmailKey is the 32 bytes that e-mail streams are named and sign-in links
// sealed under.
func (s Secrets) EmailKey() []byte {
	file, _ := s.contents()
	return slices.Clone(file.EmailKey[:])
}

// SeedKey is the seed key of an id, 32 bytes, retired or not.
func (s Secrets) SeedKey(id string) ([]byte, bool) {
	file, _ := s.contents()
	return file.seedKey(id)
}

// CurrentSeedKey is the one to seat new tables under, as of the last Refresh or
// Rotate. A player holds it; for an arena that only reads it may be empty and
// nil.
func (s Secrets) CurrentSeedKey() (id string, key []byte) {
	file, current := s.contents()
	key, _ = file.seedKey(current)
	return current, key
}

// Format writes no secret, whatever the verb.
func (Secrets) Format(s fmt.State, _ rune) {
	_, _ = io.WriteString(s, "[secrets]")
}

// MarshalJSON refuses: secrets leave their file by their methods alone.
func (Secrets) MarshalJSON() ([]byte, error) {
	return nil, errors.New("secrets are not to be written")
}
