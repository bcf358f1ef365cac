package client

import (
	"crypto/ed25519"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"net/http"
	"strconv"
	"time"

	"golang.org/x/crypto/ssh"
)

// Key is the id and the private key of an API key.
type Key struct {
	ID      string
	Private ed25519.PrivateKey
}

// Sign adds the headers of a signed request to h ("Signing" in docs/protocol.md).
// target is the path with the query, exactly as sent.
func (k Key) Sign(h http.Header, now time.Time, method, target string, body []byte) {
	timestamp := strconv.FormatInt(now.UnixMilli(), 10)
	message := append([]byte(timestamp+"."+method+"."+target+"."), body...)
	h.Set("X-Arena-Key", k.ID)
	h.Set("X-Arena-Timestamp", timestamp)
	h.Set("X-Arena-Signature", base64.StdEncoding.EncodeToString(ed25519.Sign(k.Private, message)))
}

// NewPrivate returns a new private key.
func NewPrivate() (ed25519.PrivateKey, error) {
	_, private, err := ed25519.GenerateKey(nil)
	return private, err
}

// EncodePrivate encodes a private key as PKCS#8 in PEM. OpenSSL can read this
// format.
func EncodePrivate(key ed25519.PrivateKey) ([]byte, error) {
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return nil, err
	}
	return pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}), nil
}

// ErrNoPrivateKey reports that the input is not an Ed25519 private key. The
// message contains no part of the input.
var ErrNoPrivateKey = errors.New("not an Ed25519 private key in PEM (PKCS#8)")

// ParsePrivate decodes the result of EncodePrivate.
func ParsePrivate(text []byte) (ed25519.PrivateKey, error) {
	parsed, err := ssh.ParseRawPrivateKey(text)
	key, ok := parsed.(ed25519.PrivateKey)
	if err != nil || !ok {
		return nil, ErrNoPrivateKey
	}
	return key, nil
}

// PublicLine returns the public key that belongs to key, as a line in OpenSSH's format,
// including the newline. Owners register this line with the arena.
func PublicLine(key ed25519.PrivateKey) (string, error) {
	public, err := ssh.NewPublicKey(key.Public())
	if err != nil {
		return "", err
	}
	return string(ssh.MarshalAuthorizedKey(public)), nil
}
