package auth

import (
	"crypto/rand"
	"encoding/base64"
	"net/http"
	"strings"

	"hexarena/domain/owner"
)

// sessionRandom is the number of random bytes in a session's token.
const sessionRandom = 32

// maxOwnerID is the maximum length of an owner id, in bytes. Longer ids are
// rejected without reading the log. Real ids are UUIDs, which are shorter.
const maxOwnerID = 64

func newSession() (token, hash string) {
	random := make([]byte, sessionRandom)
	_, _ = rand.Read(random) // never fails
	return base64.RawURLEncoding.EncodeToString(random), hashOf(random)
}

// cookieName returns the name of the session cookie. Browsers accept and send a
// __Host- cookie only over https, and only for this host.
func (s *Service) cookieName() string {
	if s.options.Secure {
		return "__Host-session"
	}
	return "session"
}

// sessionCookie returns a cookie with the value `{ownerId}.{token}`.
func (s *Service) sessionCookie(ownerID, token string) *http.Cookie {
	return &http.Cookie{
		Name: s.cookieName(), Value: ownerID + "." + token, Path: "/", MaxAge: int(owner.SessionLength.Seconds()),
		HttpOnly: true, Secure: s.options.Secure, SameSite: http.SameSiteLaxMode,
	}
}

// endedCookie returns a cookie that makes a browser forget the session.
func (s *Service) endedCookie() *http.Cookie {
	c := s.sessionCookie("", "")
	c.Value, c.MaxAge = "", -1
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
