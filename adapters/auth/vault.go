package auth

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"net/mail"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"hexarena/domain/owner"
)

// vault hashes addresses, encrypts sign-in tokens and recognizes browsers, with keys
// derived from the email key. A token contains the encrypted address and its expiry, so
// nothing is stored before sign-in. Changing the email key invalidates all tokens and
// all browser cookies.
type vault struct {
	hashKey    []byte
	browserKey []byte
	seal       cipher.AEAD
}

// A token contains random bytes, the link's expiry in Unix milliseconds, and the
// address.
const (
	tokenRandom = 32
	tokenHead   = tokenRandom + 8 // before the address
)

// maxToken is the maximum length of a token, in bytes.
const maxToken = 1024

func newVault(emailKey []byte) (vault, error) {
	hashKey, err := hkdf.Key(sha256.New, emailKey, nil, "hexarena address hash", 32)
	if err != nil {
		return vault{}, fmt.Errorf("derive the key for address hashes: %w", err)
	}
	browserKey, err := hkdf.Key(sha256.New, emailKey, nil, "hexarena known browser", 32)
	if err != nil {
		return vault{}, fmt.Errorf("derive the key for browsers: %w", err)
	}
	sealKey, err := hkdf.Key(sha256.New, emailKey, nil, "hexarena sign-in token 2", 32) // tokens of version 1 had no expiry
	if err != nil {
		return vault{}, fmt.Errorf("derive the key for sign-in tokens: %w", err)
	}
	block, err := aes.NewCipher(sealKey)
	if err != nil {
		return vault{}, fmt.Errorf("create the cipher for sign-in tokens: %w", err)
	}
	seal, err := cipher.NewGCMWithRandomNonce(block)
	if err != nil {
		return vault{}, fmt.Errorf("create the cipher for sign-in tokens: %w", err)
	}
	return vault{hashKey: hashKey, browserKey: browserKey, seal: seal}, nil
}

// addressHash returns the keyed hash that identifies an address in the log. It ignores
// the case of ASCII letters. Without the email key, nobody can find out which address a
// hash belongs to.
func (v vault) addressHash(address string) string {
	mac := hmac.New(sha256.New, v.hashKey)
	mac.Write([]byte(foldASCII(address)))
	return hex.EncodeToString(mac.Sum(nil))
}

// newToken returns the token of a sign-in link for an address.
func (v vault) newToken(address string, until time.Time) string {
	plain := make([]byte, tokenRandom, tokenHead+len(address))
	_, _ = rand.Read(plain) // never fails
	plain = binary.BigEndian.AppendUint64(plain, uint64(until.UnixMilli()))
	sealed := v.seal.Seal(nil, nil, append(plain, address...), nil)
	return base64.RawURLEncoding.EncodeToString(sealed)
}

// openToken decrypts a token and returns its address and its link. If newToken did not
// create the token, the error is owner.ErrLinkInvalid.
func (v vault) openToken(token string) (address string, link owner.Link, err error) {
	if len(token) > maxToken || strings.ContainsAny(token, "\r\n") {
		return "", owner.Link{}, owner.ErrLinkInvalid
	}
	sealed, err := base64.RawURLEncoding.Strict().DecodeString(token)
	if err != nil {
		return "", owner.Link{}, owner.ErrLinkInvalid
	}
	plain, err := v.seal.Open(nil, nil, sealed, nil)
	if err != nil || len(plain) <= tokenHead {
		return "", owner.Link{}, owner.ErrLinkInvalid
	}
	until := time.UnixMilli(int64(binary.BigEndian.Uint64(plain[tokenRandom:])))
	return string(plain[tokenHead:]), owner.Link{Hash: hashOf(sealed), Until: until}, nil
}

// hashOf returns the hash of a token. The log contains only the hash, so that nobody
// who reads the log can use the token.
func hashOf(token []byte) string {
	sum := sha256.Sum256(token)
	return hex.EncodeToString(sum[:])
}

// maxAddress is the maximum length of an address, in bytes (RFC 5321).
const maxAddress = 254

// ParseAddress trims white space and checks that the text is a single email
// address, without a name, comments or line breaks. The error is an
// owner.InvalidError.
func ParseAddress(text string) (string, error) {
	text = strings.TrimSpace(text)
	parsed, err := mail.ParseAddress(text)
	if err != nil || parsed.Address != text || parsed.Name != "" || len(text) > maxAddress ||
		!utf8.ValidString(text) || strings.ContainsFunc(text, unprintable) {
		return "", owner.Invalid("email", "must be an email address, like name@example.org")
	}
	return text, nil
}

func unprintable(r rune) bool { return !unicode.IsPrint(r) || r == ' ' }

// foldASCII converts only the letters A to Z to lower case. Unicode case
// folding maps letters of different alphabets to each other, so the addresses
// of two people could collide.
func foldASCII(s string) string {
	return strings.Map(func(r rune) rune {
		if r >= 'A' && r <= 'Z' {
			return r + 'a' - 'A'
		}
		return r
	}, s)
}
