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

// maxKeyText is how long the text of a public key may be, in bytes; an OpenSSH
// line's comment is most of it.
const maxKeyText = 4096

// ParsePublicKey reads an Ed25519 public key from an OpenSSH public-key line, a
// PEM block or the base64 of its 32 bytes (specification, "Authentication").
// Text around it is refused, white space at the ends aside. So is a key of
// small order, under which forged signatures verify. The error is an
// owner.InvalidError, and never holds the text.
func ParsePublicKey(text string) (ed25519.PublicKey, error) {
	text = strings.TrimSpace(text)
	if len(text) > maxKeyText {
		return nil, owner.Invalid("publicKey", "is too long for an Ed25519 public key")
	}
	if strings.Contains(text, "PRIVATE KEY") {
		return nil, owner.Invalid("publicKey", "is a private key: it was not stored, but make a new pair, and register its public half")
	}
	key, ok := decodeKey(text)
	switch {
	case !ok:
		return nil, owner.Invalid("publicKey", "must be one Ed25519 public key: an OpenSSH line, a PEM block, or the base64 of its 32 bytes")
	case !sound(key):
		return nil, owner.Invalid("publicKey", "is no point of the curve that can be relied on (of small order, or not in its one encoding)")
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

// sound says whether a key is the canonical encoding of a point that is not of
// small order.
func sound(key ed25519.PublicKey) bool {
	p, err := new(edwards25519.Point).SetBytes(key)
	if err != nil || string(p.Bytes()) != string(key) {
		return false
	}
	return new(edwards25519.Point).MultByCofactor(p).Equal(edwards25519.NewIdentityPoint()) == 0
}

// decodeBase64 reads the one padded standard base64 of size bytes.
func decodeBase64(text string, size int) ([]byte, bool) {
	if len(text) != base64.StdEncoding.EncodedLen(size) {
		return nil, false
	}
	decoded, err := base64.StdEncoding.Strict().DecodeString(text)
	return decoded, err == nil && len(decoded) == size
}
