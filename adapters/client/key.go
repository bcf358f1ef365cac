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

// Key signs requests: an API key's id, and its private half.
type Key struct {
	ID      string
	Private ed25519.PrivateKey
}

// Sign adds the headers of a signed request ("Authentication" 3 and 4 of the
// specification). Target is the path and query as they will be sent.
func (k Key) Sign(h http.Header, now time.Time, method, target string, body []byte) {
	timestamp := strconv.FormatInt(now.UnixMilli(), 10)
	message := append([]byte(timestamp+"."+method+"."+target+"."), body...)
	h.Set("X-Arena-Key", k.ID)
	h.Set("X-Arena-Timestamp", timestamp)
	h.Set("X-Arena-Signature", base64.StdEncoding.EncodeToString(ed25519.Sign(k.Private, message)))
}

// NewPrivate makes a private key.
func NewPrivate() (ed25519.PrivateKey, error) {
	_, private, err := ed25519.GenerateKey(nil)
	return private, err
}

// pemType is that of PKCS#8.
const pemType = "PRIVATE KEY"

// EncodePrivate writes a private key as PKCS#8 in PEM, which OpenSSL reads too.
func EncodePrivate(key ed25519.PrivateKey) ([]byte, error) {
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return nil, err
	}
	return pem.EncodeToMemory(&pem.Block{Type: pemType, Bytes: der}), nil
}

// ErrNoPrivateKey says that a text holds no private key of the kind. It does
// not show the text.
var ErrNoPrivateKey = errors.New("no Ed25519 private key in PEM (PKCS#8)")

// ParsePrivate reads what EncodePrivate writes.
func ParsePrivate(text []byte) (ed25519.PrivateKey, error) {
	block, _ := pem.Decode(text)
	if block == nil || block.Type != pemType {
		return nil, ErrNoPrivateKey
	}
	parsed, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	if err != nil {
		return nil, ErrNoPrivateKey
	}
	key, ok := parsed.(ed25519.PrivateKey)
	if !ok {
		return nil, ErrNoPrivateKey
	}
	return key, nil
}

// PublicLine is the public half as a line to register, in OpenSSH's format,
// with its newline.
func PublicLine(key ed25519.PrivateKey) (string, error) {
	public, err := ssh.NewPublicKey(key.Public())
	if err != nil {
		return "", err
	}
	return string(ssh.MarshalAuthorizedKey(public)), nil
}
