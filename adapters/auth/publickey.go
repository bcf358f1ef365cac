package auth

import (
	"crypto/ed25519"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"strings"

	"filippo.io/edwards25519"
	"golang.org/x/crypto/ssh"

	"hexarena/domain/owner"
)

// maxKeyText is the maximum length of an encoded public key, in bytes. It
// allows a long comment on an OpenSSH line.
const maxKeyText = 4096

// ParsePublicKey reads an Ed25519 public key from an OpenSSH public-key line, a
// PEM block, or the base64 encoding of the key's 32 bytes (docs/protocol.md).
// It ignores white space at both ends and rejects other text around the key. It
// also rejects keys of small order, because anyone can forge signatures that
// are valid for such keys. The error is an owner.InvalidError and never
// contains the text.
func ParsePublicKey(text string) (ed25519.PublicKey, error) {
	text = strings.TrimSpace(text)
	if len(text) > maxKeyText {
		return nil, owner.Invalid("publicKey", "is too long for an Ed25519 public key")
	}
	if strings.Contains(text, "PRIVATE KEY") {
		return nil, owner.Invalid("publicKey", "is a private key. It was not stored. Make a new key pair and register its public key.")
	}
	key, ok := decodeKey(text)
	switch {
	case !ok:
		return nil, owner.Invalid("publicKey", "must be one Ed25519 public key: an OpenSSH line, a PEM block, or the base64 encoding of its 32 bytes")
	case !isSafe(key):
		return nil, owner.Invalid("publicKey", "is not a safe Ed25519 key: it is not a point on the curve, has a small order, or is not encoded canonically")
	}
	return key, nil
}

func decodeKey(text string) (ed25519.PublicKey, bool) {
	switch {
	case strings.HasPrefix(text, "-----BEGIN"):
		return decodePEM(text)
	case strings.HasPrefix(text, "ssh-"):
		return decodeSSH(text)
	default:
		return decodeRaw(text)
	}
}

func decodePEM(text string) (ed25519.PublicKey, bool) {
	block, rest := pem.Decode([]byte(text))
	if block == nil || block.Type != "PUBLIC KEY" || len(block.Headers) > 0 || strings.TrimSpace(string(rest)) != "" {
		return nil, false
	}
	parsed, err := x509.ParsePKIXPublicKey(block.Bytes)
	if err != nil {
		return nil, false
	}
	key, ok := parsed.(ed25519.PublicKey)
	return key, ok
}

func decodeSSH(line string) (ed25519.PublicKey, bool) {
	if strings.ContainsAny(line, "\r\n") {
		return nil, false
	}
	parsed, _, options, rest, err := ssh.ParseAuthorizedKey([]byte(line))
	if err != nil || len(options) > 0 || len(rest) > 0 || parsed.Type() != ssh.KeyAlgoED25519 {
		return nil, false
	}
	crypto, ok := parsed.(ssh.CryptoPublicKey)
	if !ok {
		return nil, false
	}
	key, ok := crypto.CryptoPublicKey().(ed25519.PublicKey)
	return key, ok
}

func decodeRaw(text string) (ed25519.PublicKey, bool) {
	key, ok := decodeBase64(text, ed25519.PublicKeySize)
	return ed25519.PublicKey(key), ok
}

// isSafe reports whether a key is the canonical encoding of a point that does not have
// a small order.
func isSafe(key ed25519.PublicKey) bool {
	p, err := new(edwards25519.Point).SetBytes(key)
	if err != nil || string(p.Bytes()) != string(key) {
		return false
	}
	return new(edwards25519.Point).MultByCofactor(p).Equal(edwards25519.NewIdentityPoint()) == 0
}

// decodeBase64 decodes padded standard base64 of exactly size bytes. It accepts
// only the canonical encoding.
func decodeBase64(text string, size int) ([]byte, bool) {
	if len(text) != base64.StdEncoding.EncodedLen(size) {
		return nil, false
	}
	decoded, err := base64.StdEncoding.Strict().DecodeString(text)
	return decoded, err == nil && len(decoded) == size
}
