// Package secrets manages an arena's secrets: the platform key that signs for the
// arena, the email key, and the seed keys of its matches. All of them are in one file.
// The first process that uses a log creates the file with [Open]. Later, [Open]
// compares the file with the stream arena-keys, which contains the public key and
// hashes of the secrets. All processes on a log have the same platform key and email
// key. They exchange seed keys through the log, encrypted: see [Secrets.Follow].
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
	"sync/atomic"
	"time"

	"github.com/google/uuid"
	"golang.org/x/sync/semaphore"

	"hexarena/domain/arena"
	"hexarena/eventstore"
)

// Secrets contains an arena's secrets. Printing or logging a Secrets does not reveal a
// key. It is safe for concurrent use.
type Secrets struct{ *store }

// store is the state that all copies of a Secrets share.
type store struct {
	log   eventstore.Log
	path  string
	plays bool

	changing *semaphore.Weighted     // locked during a change, from reading the log to storing current; a caller that waits for it gives up when its context ends
	current  atomic.Pointer[current] // stored only while changing is locked
	sealed   map[string]bool         // guarded by changing; the ids of keys of which the log has a copy
	unsaved  bool                    // guarded by changing; whether current contains keys that could not be added to the file
}

// The type current contains all secrets of this process, and the keys that the log
// names. The log may name newer keys by now.
type current struct {
	file contents
	keys arena.Keys
	why  error // why this process may lack keys, or the log may lack copies; nil if there is no reason
}

var kind = eventstore.Kind[arena.Keys, arena.Event]{Decode: arena.DecodeKeys, Evolve: arena.EvolveKeys}

// Open reads the secrets file at path. If the log has no keys yet, Open creates the
// file. Otherwise, Open fails if the file is missing. It also fails if other users may
// open the file, if the file is damaged, or if it does not match the log. An error
// message is a single line, and tells the operator what to do. If the process crashes
// during the first call to Open, the next call completes the work.
//
// If the file lacks seed keys, Open adds those that the log has. The parameter plays
// says whether this process plays. If it plays and lacks the active seed key, it must
// not seat tables while Err returns an error.
func Open(ctx context.Context, log eventstore.Log, path string, plays bool) (*Secrets, error) {
	file, err := loadOrCreate(ctx, log, path)
	if err != nil {
		return nil, err
	}
	keys, err := commit(ctx, log, file.held())
	if err != nil {
		return nil, err
	}
	var missing *arena.MissingSeedKeyError
	if err := keys.Check(file.held(), plays); err != nil && !errors.As(err, &missing) {
		return nil, fmt.Errorf("the secrets file %s does not belong to this log: %w: restore the secrets file from the backup of this log", path, err)
	}
	s := Secrets{&store{log: log, path: path, plays: plays, changing: semaphore.NewWeighted(1), sealed: map[string]bool{}}}
	file, why := s.exchange(ctx, keys, file) // Follow tries again after a failure
	s.current.Store(&current{file, keys, why})
	return &s, nil
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

// Platform returns the key with which the arena signs.
func (s Secrets) Platform() ed25519.PrivateKey {
	return ed25519.NewKeyFromSeed(s.current.Load().file.PlatformSeed[:])
}

// EmailKey returns the email key, which has 32 bytes. It is used for the names
// of email streams and for sign-in links.
func (s Secrets) EmailKey() []byte {
	return slices.Clone(s.current.Load().file.EmailKey[:])
}

// findTime limits how long SeedKey waits for the log. The API must answer within 5 s.
const findTime = 2 * time.Second

// SeedKey returns the seed key with the given id, even if the key is retired. A key has
// 32 bytes. If this process does not have the key yet, SeedKey reads the file again,
// because another process may share the file, and then the log.
func (s Secrets) SeedKey(ctx context.Context, id string) ([]byte, bool) {
	if key, ok := s.current.Load().file.seedKey(id); ok {
		return key, true
	}
	ctx, cancel := context.WithTimeout(ctx, findTime)
	defer cancel()
	if err := s.changing.Acquire(ctx, 1); err != nil {
		return nil, false
	}
	defer s.changing.Release(1)
	now := *s.current.Load()
	if _, ok := now.file.find(id); !ok {
		now.file = s.withStoredKeys(now.file)
	}
	if _, ok := now.file.find(id); !ok {
		keys, _, err := kind.Load(ctx, s.log, arena.KeysStream, arena.Keys{})
		named, ok := keys.Seed(id)
		if err != nil || !ok {
			return nil, false
		}
		now.keys = keys
		now.file, _ = s.complete(ctx, []arena.SeedKey{named}, now.file)
	}
	s.current.Store(&now)
	return now.file.seedKey(id)
}

// CurrentSeedKey returns the seed key for new tables. The result reflects the last
// change in the log that this process has read. If this process does not have the key,
// CurrentSeedKey returns an empty id and no key.
func (s Secrets) CurrentSeedKey() (id string, key []byte) {
	now := s.current.Load()
	seed, _ := now.keys.CurrentSeed()
	key, ok := now.file.seedKey(seed.ID)
	if !ok {
		return "", nil
	}
	return seed.ID, key
}

// SeedKeyIDs returns the ids of the secret seed keys that this process has: the active
// key, and retired keys that are not published yet. Other processes should pass it only
// matches that use one of these keys.
func (s Secrets) SeedKeyIDs() (ids []string) {
	now := s.current.Load()
	for _, k := range now.keys.Secret() {
		if key, ok := now.file.find(k.ID); ok && key.hash() == k.Hash {
			ids = append(ids, k.ID)
		}
	}
	return ids
}

// MissingSeedKeyIDs returns the ids of the secret seed keys that this process does not
// have.
func (s Secrets) MissingSeedKeyIDs() (ids []string) {
	now := s.current.Load()
	held := s.SeedKeyIDs()
	for _, k := range now.keys.Secret() {
		if !slices.Contains(held, k.ID) {
			ids = append(ids, k.ID)
		}
	}
	return ids
}

// Err returns an error if this process does not have the active seed key. The message
// is a single line, and tells the operator what to do.
func (s Secrets) Err() error {
	now := s.current.Load()
	return now.err()
}

func (c *current) err() error {
	err := c.keys.Check(c.file.held(), true)
	var missing *arena.MissingSeedKeyError
	if !errors.As(err, &missing) {
		return err
	}
	if c.why != nil {
		err = fmt.Errorf("%w (%w)", err, c.why)
	}
	return fmt.Errorf("%w: start an arena that has this key, or restore the secrets file from its newest backup; if the key is lost, run arena admin rotate-seed-key", err)
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
