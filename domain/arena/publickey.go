package arena

import (
	"encoding/base64"
	"errors"
)

// PublicKey is an Ed25519 public key. It is written in padded standard base64.
type PublicKey [32]byte

// String returns the key in base64. Match ids are derived from this form.
func (k PublicKey) String() string { return base64.StdEncoding.EncodeToString(k[:]) }

// MarshalText returns the key in base64.
func (k PublicKey) MarshalText() ([]byte, error) { return []byte(k.String()), nil }

var errNotPublicKey = errors.New("want a 32-byte public key in base64")

// UnmarshalText reads padded standard base64.
func (k *PublicKey) UnmarshalText(text []byte) error {
	b, err := base64.StdEncoding.Strict().DecodeString(string(text))
	if err != nil || len(b) != len(k) || base64.StdEncoding.EncodeToString(b) != string(text) {
		return errNotPublicKey
	}
	copy(k[:], b)
	return nil
}
