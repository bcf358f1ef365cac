package auth

import (
	"crypto/ed25519"
	"crypto/sha256"
	"net/http"
	"strconv"
	"time"

	"hexarena/domain/owner"
)

// The headers of a signed request, and how far its timestamp may be from the
// service's clock (specification, "Authentication").
const (
	headerKey       = "X-Arena-Key"
	headerTimestamp = "X-Arena-Timestamp"
	headerSignature = "X-Arena-Signature"

	maxSkew = 5 * time.Minute
)

// maxKeyID bounds what is looked up as a key id; ids are UUIDs.
const maxKeyID = 64

// signature is what a request's headers claim; it is not verified yet.
type signature struct {
	keyID     string
	timestamp string
	at        time.Time // the timestamp
	signature []byte
}

// signed says whether a request claims to be signed.
func signed(h http.Header) bool {
	return len(h[headerKey])+len(h[headerTimestamp])+len(h[headerSignature]) > 0
}

// parseSignature reads the three headers, each of which must be there once and
// in its one spelling, with a timestamp that is near enough to now. All that is
// wrong is owner.ErrUnauthenticated.
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

// verifies says whether key made the signature over a request. Target is the
// request's target as received, path and query.
func (s signature) verifies(key ed25519.PublicKey, method, target string, body []byte) bool {
	return len(key) == ed25519.PublicKeySize &&
		ed25519.Verify(key, signedMessage(s.timestamp, method, target, body), s.signature)
}

// hash names a signed request in the log. It covers what was signed, not the
// signature, of which a key may make several.
func (s signature) hash(method, target string, body []byte) spentHash {
	h := sha256.New()
	h.Write([]byte(s.keyID))
	h.Write([]byte{0})
	h.Write(signedMessage(s.timestamp, method, target, body))
	return spentHash(h.Sum(nil))
}

// signedMessage is `{timestamp}.{METHOD}.{path}.{body}`.
func signedMessage(timestamp, method, target string, body []byte) []byte {
	message := make([]byte, 0, len(timestamp)+len(method)+len(target)+len(body)+3)
	message = append(message, timestamp...)
	message = append(message, '.')
	message = append(message, method...)
	message = append(message, '.')
	message = append(message, target...)
	message = append(message, '.')
	return append(message, body...)
}

func single(h http.Header, name string) (string, bool) {
	if v := h[name]; len(v) == 1 {
		return v[0], true
	}
	return "", false
}

// parseMillis reads unix milliseconds: digits alone, without leading zeros.
func parseMillis(text string) (int64, bool) {
	ms, err := strconv.ParseInt(text, 10, 64)
	return ms, err == nil && ms > 0 && strconv.FormatInt(ms, 10) == text
}
