package auth

import (
	"crypto/ed25519"
	"crypto/sha256"
	"net/http"
	"slices"
	"strconv"
	"time"

	"hexarena/domain/owner"
)

// These are the headers of a signed request (docs/protocol.md).
const (
	headerKey       = "X-Arena-Key"
	headerTimestamp = "X-Arena-Timestamp"
	headerSignature = "X-Arena-Signature"
)

// maxSkew is the largest accepted difference between the timestamp of a request
// and the service's clock.
const maxSkew = 5 * time.Minute

// maxKeyID is the maximum length of a key id, in bytes. The service rejects longer ids
// without looking them up. Real ids are UUIDs, which are shorter.
const maxKeyID = 64

// signature contains the parsed headers of a signed request. It has not been verified
// yet.
type signature struct {
	keyID     string
	timestamp string
	at        time.Time // the timestamp
	signature []byte
}

// The function signed() reports whether any of the headers for a signature is set.
func signed(h http.Header) bool {
	return len(h[headerKey])+len(h[headerTimestamp])+len(h[headerSignature]) > 0
}

// parseSignature reads the three headers. Each header must be present exactly once and
// be encoded canonically. The timestamp must be within maxSkew of now. Otherwise, the
// error is owner.ErrUnauthenticated.
func parseSignature(h http.Header, now time.Time) (signature, error) {
	keyID, ok1 := single(h, headerKey)
	timestamp, ok2 := single(h, headerTimestamp)
	encoded, ok3 := single(h, headerSignature)
	if !ok1 || !ok2 || !ok3 || keyID == "" || len(keyID) > maxKeyID {
		return signature{}, owner.ErrUnauthenticated
	}
	ms, ok := parseMillis(timestamp)
	if skew := now.UnixMilli() - ms; !ok || skew > maxSkew.Milliseconds() || skew < -maxSkew.Milliseconds() {
		return signature{}, owner.ErrUnauthenticated
	}
	sig, ok := decodeBase64(encoded, ed25519.SignatureSize)
	if !ok {
		return signature{}, owner.ErrUnauthenticated
	}
	return signature{keyID: keyID, timestamp: timestamp, at: time.UnixMilli(ms), signature: sig}, nil
}

// The method verifies() reports whether key made the signature over a request. target
// is the path and query as received.
func (s signature) verifies(key ed25519.PublicKey, method, target string, body []byte) bool {
	return len(key) == ed25519.PublicKeySize &&
		ed25519.Verify(key, signedMessage(s.timestamp, method, target, body), s.signature)
}

// hash returns the hash that identifies a signed request in the log. The hash covers
// the signed message and not the signature, because a key can make several valid
// signatures of one message.
func (s signature) hash(method, target string, body []byte) spentHash {
	h := sha256.New()
	h.Write([]byte(s.keyID))
	h.Write([]byte{0})
	h.Write(signedMessage(s.timestamp, method, target, body))
	return spentHash(h.Sum(nil))
}

// signedMessage returns `{timestamp}.{METHOD}.{path}.{body}`.
func signedMessage(timestamp, method, target string, body []byte) []byte {
	return slices.Concat([]byte(timestamp+"."+method+"."+target+"."), body)
}

// The function single() returns the value of a header that is present exactly once.
func single(h http.Header, name string) (string, bool) {
	if v := h[name]; len(v) == 1 {
		return v[0], true
	}
	return "", false
}

// parseMillis parses positive Unix milliseconds. It accepts only digits,
// without leading zeros.
func parseMillis(text string) (int64, bool) {
	ms, err := strconv.ParseInt(text, 10, 64)
	return ms, err == nil && ms > 0 && strconv.FormatInt(ms, 10) == text
}
