package secrets

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/sha256"
	"fmt"

	"hexarena/domain/arena"
)

// sealInfo separates the key that seals seed keys from all other uses of the platform
// key. Copies in existing logs depend on it, so it never changes.
const sealInfo = "hexarena arena-seed-keys v1"

// The type sealer encrypts copies of seed keys for the log, and decrypts them. The
// additional data is the id of the seed key, so nobody can store a copy under another
// id.
type sealer struct{ aead cipher.AEAD }

// newSealer derives the key of a sealer from the seed of the platform key, which all
// processes of an arena have.
func newSealer(platformSeed secret) (sealer, error) {
	key, err := hkdf.Key(sha256.New, platformSeed[:], nil, sealInfo, sha256.Size)
	if err != nil {
		return sealer{}, fmt.Errorf("derive the key for copies of seed keys: %w", err)
	}
	block, err := aes.NewCipher(key)
	if err != nil {
		return sealer{}, fmt.Errorf("derive the key for copies of seed keys: %w", err)
	}
	aead, err := cipher.NewGCMWithRandomNonce(block) // a copy consists of the nonce, the ciphertext and the tag
	return sealer{aead}, err
}

func (s sealer) seal(k seedKey) arena.SealedKey {
	return arena.SealedKey{ID: k.ID, Sealed: s.aead.Seal(nil, nil, k.Key[:], []byte(k.ID))}
}

// The method open() returns false if the copy is damaged, or was sealed with another
// platform key or for another id.
func (s sealer) open(k arena.SealedKey) (seedKey, bool) {
	key, err := s.aead.Open(nil, nil, k.Sealed, []byte(k.ID))
	if err != nil || len(key) != len(secret{}) {
		return seedKey{}, false
	}
	return seedKey{ID: k.ID, Key: secret(key)}, true
}

// copyOf returns a seed key that the log has: published or sealed.
func (s sealer) copyOf(k arena.SeedKey, sealed arena.SealedKeys) (seedKey, error) {
	if k.Revealed != nil {
		return seedKey{ID: k.ID, Key: secret(*k.Revealed)}, nil
	}
	stored, ok := sealed.Find(k.ID)
	if !ok {
		return seedKey{}, fmt.Errorf("the log has no copy of the seed key %q", k.ID)
	}
	key, ok := s.open(stored)
	if !ok || key.hash() != k.Hash {
		return seedKey{}, fmt.Errorf("the log's copy of the seed key %q is damaged", k.ID)
	}
	return key, nil
}
