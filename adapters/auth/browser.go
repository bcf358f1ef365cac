package auth

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"net/http"
	"time"
)

// browserLength is how long after a sign-in the arena still recognizes the browser.
const browserLength = 365 * 24 * time.Hour

// The value of a browser's cookie contains a random id, the time of its expiry in Unix
// milliseconds, and a code for the address. Only the arena can compute the code. The
// value does not contain the address.
const (
	browserID   = 16
	browserHead = browserID + 8 // before the code
)

// browserName returns the name of the cookie by which the arena recognizes a
// browser that has signed in before.
func (s *Service) browserName() string { return s.cookiePrefix() + "browser" }

// browserCookies returns a new cookie for the browser that signed in with an address.
// It returns no cookie for a program, because programs sign their calls with keys and
// may expect only the session cookie.
func (s *Service) browserCookies(r *http.Request, address string, now time.Time) []*http.Cookie {
	if r.Header.Get("Sec-Fetch-Site") == "" && r.Header.Get("Origin") == "" {
		return nil
	}
	head := make([]byte, browserID, browserHead+sha256.Size)
	_, _ = rand.Read(head) // never fails
	head = binary.BigEndian.AppendUint64(head, uint64(now.Add(browserLength).UnixMilli()))
	value := base64.RawURLEncoding.EncodeToString(append(head, s.vault.browserCode(head, address)...))
	return []*http.Cookie{s.cookie(s.browserName(), value, browserLength)}
}

// knownBrowser returns the id of the browser that sent a request. ok is false if
// the browser has not signed in with the address.
func (s *Service) knownBrowser(r *http.Request, address string, now time.Time) (id string, ok bool) {
	c, err := r.Cookie(s.browserName())
	if err != nil {
		return "", false
	}
	value, err := base64.RawURLEncoding.Strict().DecodeString(c.Value)
	if err != nil || len(value) != browserHead+sha256.Size {
		return "", false
	}
	head, code := value[:browserHead], value[browserHead:]
	until := time.UnixMilli(int64(binary.BigEndian.Uint64(head[browserID:])))
	return string(head[:browserID]), hmac.Equal(code, s.vault.browserCode(head, address)) && now.Before(until)
}

// browserCode returns the code for a browser and an address. It ignores the case of
// ASCII letters.
func (v vault) browserCode(head []byte, address string) []byte {
	mac := hmac.New(sha256.New, v.browserKey)
	mac.Write(head)
	mac.Write([]byte(foldASCII(address)))
	return mac.Sum(nil)
}
