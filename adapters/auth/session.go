package auth

import (
	"crypto/rand"
	"encoding/base64"
	"net/http"
	"strings"
	"time"

	"hexarena/domain/owner"
)

// sessionRandom is the number of random bytes in a session's token.
const sessionRandom = 32

// maxOwnerID is the maximum length of an owner id, in bytes. The service rejects longer
// ids without reading the log. Real ids are UUIDs, which are shorter.
const maxOwnerID = 64

func newSession() (token, hash string) {
	random := make([]byte, sessionRandom)
	_, _ = rand.Read(random) // never fails
	return base64.RawURLEncoding.EncodeToString(random), hashOf(random)
}

// cookiePrefix returns the prefix of cookie names. Browsers accept and send a
// __Host- cookie only over https, and only for this host.
func (s *Service) cookiePrefix() string {
	if s.options.Secure {
		return "__Host-"
	}
	return ""
}

func (s *Service) cookie(name, value string, length time.Duration) *http.Cookie {
	return &http.Cookie{
		Name: name, Value: value, Path: "/", MaxAge: int(length.Seconds()),
		HttpOnly: true, Secure: s.options.Secure, SameSite: http.SameSiteLaxMode,
	}
}

// cookieName returns the name of the session cookie.
func (s *Service) cookieName() string { return s.cookiePrefix() + "session" }

// sessionCookie returns a cookie with the value `{ownerId}.{token}`.
func (s *Service) sessionCookie(ownerID, token string) *http.Cookie {
	return s.cookie(s.cookieName(), ownerID+"."+token, owner.SessionLength)
}

// endedCookie returns a cookie that makes a browser forget the cookie with the given
// name.
func (s *Service) endedCookie(name string) *http.Cookie {
	c := s.cookie(name, "", 0)
	c.MaxAge = -1
	return c
}

// parseSession parses a cookie's value. It does not check that the session exists.
func parseSession(value string) (ownerID, hash string, err error) {
	ownerID, token, found := strings.Cut(value, ".")
	if !found || ownerID == "" || len(ownerID) > maxOwnerID {
		return "", "", owner.ErrUnauthenticated
	}
	random, err := base64.RawURLEncoding.Strict().DecodeString(token)
	if err != nil || len(random) != sessionRandom {
		return "", "", owner.ErrUnauthenticated
	}
	return ownerID, hashOf(random), nil
}
