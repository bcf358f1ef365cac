package auth

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"net/mail"
	"strings"
	"unicode"
	"unicode/utf8"

	"hexarena/domain/owner"
)

// vault hashes addresses and seals sign-in tokens, under keys that it derives
// from the e-mail key: a token works as long as that key does, and no store
// needs to hold the address that it is for.
type vault struct {
	hashKey []byte
	seal    cipher.AEAD
}

// tokenRandom is how many random bytes a token holds beside the address.
const tokenRandom = 32

// maxToken bounds the text of a token, in bytes.
const maxToken = 1024

func newVault(emailKey []byte) (vault, error) {
	hashKey, err := hkdf.Key(sha256.New, emailKey, nil, "hexarena address hash", 32)
	if err != nil {
		return vault{}, fmt.Errorf("derive the address hash's key: %w", err)
	}
	sealKey, err := hkdf.Key(sha256.New, emailKey, nil, "hexarena sign-in token", 32)
	if err != nil {
		return vault{}, fmt.Errorf("derive the tokens' key: %w", err)
	}
	block, err := aes.NewCipher(sealKey)
	if err != nil {
		return vault{}, fmt.Errorf("tokens' cipher: %w", err)
	}
	seal, err := cipher.NewGCMWithRandomNonce(block)
	if err != nil {
		return vault{}, fmt.Errorf("tokens' cipher: %w", err)
	}
	return vault{hashKey: hashKey, seal: seal}, nil
}

// addressHash names an address in the log: the same for the same address
// without case, and of no use to who lacks the e-mail key.
func (v vault) addressHash(address string) string {
	mac := hmac.New(sha256.New, v.hashKey)
	mac.Write([]byte(foldASCII(address)))
	return hex.EncodeToString(mac.Sum(nil))
}

// newToken seals random bytes and an address.
func (v vault) newToken(address string) (token, hash string) {
	plain := make([]byte, tokenRandom, tokenRandom+len(address))
	_, _ = rand.Read(plain) // never fails
	sealed := v.seal.Seal(nil, nil, append(plain, address...), nil)
	return base64.RawURLEncoding.EncodeToString(sealed), hashOf(sealed)
}

// openToken returns the address that newToken sealed, or owner.ErrLinkInvalid.
func (v vault) openToken(token string) (address, hash string, err error) {
	if len(token) > maxToken || strings.ContainsAny(token, "\r\n") {
		return "", "", owner.ErrLinkInvalid
	}
	sealed, err := base64.RawURLEncoding.Strict().DecodeString(token)
	if err != nil {
		return "", "", owner.ErrLinkInvalid
	}
	plain, err := v.seal.Open(nil, nil, sealed, nil)
	if err != nil || len(plain) <= tokenRandom {
		return "", "", owner.ErrLinkInvalid
	}
	return string(plain[tokenRandom:]), hashOf(sealed), nil
}

// hashOf is what the log holds of a token.
func hashOf(token []byte) string {
	sum := sha256.Sum256(token)
	return hex.EncodeToString(sum[:])
}

// maxAddress is how long an address may be, in bytes (RFC 5321).
const maxAddress = 254

// ParseAddress checks an e-mail address, white space at its ends aside: one
// bare address, without a name, comments or line breaks. The error is an
// owner.InvalidError.
func ParseAddress(text string) (string, error) {
	text = strings.TrimSpace(text)
	parsed, err := mail.ParseAddress(text)
	if err != nil || parsed.Address != text || parsed.Name != "" || len(text) > maxAddress ||
		!utf8.ValidString(text) || strings.ContainsFunc(text, unprintable) {
		return "", owner.Invalid("email", "must be an e-mail address, like name@example.org")
	}
	return text, nil
}

func unprintable(r rune) bool { return !unicode.IsPrint(r) || r == ' ' }

// foldASCII lowers the letters A to Z alone: other letters fold onto one
// another across alphabets, and two people's addresses would be one.
func foldASCII(s string) string {
	return strings.Map(func(r rune) rune {
		if r >= 'A' && r <= 'Z' {
			return r + 'a' - 'A'
		}
		return r
	}, s)
}
