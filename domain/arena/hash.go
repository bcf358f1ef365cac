package arena

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
)

// Hash is the SHA-256 of a key. It is written as 64 lower-case hex digits.
type Hash [sha256.Size]byte

// HashOf returns the hash that identifies a key in the log.
func HashOf(key []byte) Hash { return sha256.Sum256(key) }

// String returns the hash in lower-case hex.
func (h Hash) String() string { return hex.EncodeToString(h[:]) }

// MarshalText returns the hash in lower-case hex.
func (h Hash) MarshalText() ([]byte, error) { return []byte(h.String()), nil }

// UnmarshalText reads 64 lower-case hex digits.
func (h *Hash) UnmarshalText(text []byte) error { return readHex((*[32]byte)(h), text) }

// RevealedKey is a seed key that is no longer secret, because its last match
// has ended. It is written as 64 lower-case hex digits.
type RevealedKey [32]byte

// MarshalText returns the key in lower-case hex.
func (k RevealedKey) MarshalText() ([]byte, error) { return []byte(hex.EncodeToString(k[:])), nil }

// UnmarshalText reads 64 lower-case hex digits.
func (k *RevealedKey) UnmarshalText(text []byte) error { return readHex((*[32]byte)(k), text) }

var errNotHex = errors.New("want 64 lower-case hex digits")

func readHex(into *[32]byte, text []byte) error {
	b, err := hex.DecodeString(string(text))
	if err != nil || len(b) != len(into) || hex.EncodeToString(b) != string(text) {
		return errNotHex
	}
	copy(into[:], b)
	return nil
}
