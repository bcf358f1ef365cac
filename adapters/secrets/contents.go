package secrets

import (
	"bytes"
	"crypto/ed25519"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/google/uuid"

	"hexarena/domain/arena"
)

// version is the version of the secrets file's format.
const version = 1

// The type contents is the content of the secrets file, encoded as JSON.
type contents struct {
	Version      int       `json:"version"`
	PlatformSeed secret    `json:"platformSeed"` // Ed25519, RFC 8032
	EmailKey     secret    `json:"emailKey"`
	SeedKeys     []seedKey `json:"seedKeys"` // in the order of their creation
}

type seedKey struct {
	ID  string `json:"id"`
	Key secret `json:"key"`
}

// The method hash() returns the hash by which arena-keys names the key.
func (s seedKey) hash() arena.Hash { return arena.HashOf(s.Key[:]) }

// secret is 32 bytes in lower-case hex.
type secret [32]byte

func newSecret() (s secret) {
	_, _ = rand.Read(s[:]) // never returns an error, because a failure ends the program
	return s
}

// MarshalText encodes the secret in lower-case hex.
func (s secret) MarshalText() ([]byte, error) { return []byte(hex.EncodeToString(s[:])), nil }

var errNotSecret = errors.New("a key does not consist of 64 lower-case hex digits")

// UnmarshalText decodes the result of MarshalText. Its error does not contain the
// text.
func (s *secret) UnmarshalText(text []byte) error {
	b, err := hex.DecodeString(string(text))
	if err != nil || len(b) != len(s) || hex.EncodeToString(b) != string(text) {
		return errNotSecret
	}
	copy(s[:], b)
	return nil
}

func generate() contents {
	return contents{
		Version:      version,
		PlatformSeed: newSecret(),
		EmailKey:     newSecret(),
		SeedKeys:     []seedKey{{ID: uuid.NewString(), Key: newSecret()}},
	}
}

// parse decodes a secrets file. Its errors contain no part of a key.
func parse(data []byte) (contents, error) {
	var c contents
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	if err := d.Decode(&c); err != nil {
		return contents{}, err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return contents{}, errors.New("there is text after the JSON object")
	}
	return c, c.check()
}

func (c contents) check() error {
	if c.Version != version {
		return fmt.Errorf("version %d: this program reads version %d", c.Version, version)
	}
	if c.PlatformSeed == (secret{}) || c.EmailKey == (secret{}) {
		return errors.New("platformSeed or emailKey is missing")
	}
	if len(c.SeedKeys) == 0 {
		return errors.New("seedKeys is empty")
	}
	for i, s := range c.SeedKeys {
		if s.ID == "" || s.Key == (secret{}) {
			return fmt.Errorf("seedKeys[%d] has no id or no key", i)
		}
		if slices.ContainsFunc(c.SeedKeys[:i], func(earlier seedKey) bool { return earlier.ID == s.ID }) {
			return fmt.Errorf("seedKeys[%d] has the same id as an earlier seed key", i)
		}
	}
	return nil
}

func (c contents) encode() ([]byte, error) {
	data, err := json.MarshalIndent(c, "", "  ")
	return append(data, '\n'), err
}

func (c contents) find(id string) (seedKey, bool) {
	for _, s := range c.SeedKeys {
		if s.ID == id {
			return s, true
		}
	}
	return seedKey{}, false
}

// The method seedKey() returns a copy of the key with the given id.
func (c contents) seedKey(id string) ([]byte, bool) {
	s, ok := c.find(id)
	if !ok {
		return nil, false
	}
	return slices.Clone(s.Key[:]), true
}

// The method held() returns what the log stores about the secrets: the public key and
// the hashes.
func (c contents) held() arena.Held {
	public := ed25519.NewKeyFromSeed(c.PlatformSeed[:]).Public().(ed25519.PublicKey)
	h := arena.Held{Platform: arena.PublicKey(public), Email: arena.HashOf(c.EmailKey[:])}
	for _, s := range c.SeedKeys {
		h.Seeds = append(h.Seeds, arena.HeldSeed{ID: s.ID, Hash: s.hash()})
	}
	return h
}
