package auth

import (
	"crypto/rand"
	"encoding/base64"
	"net/http"
	"strings"

	"hexarena/domain/owner"
)

// sessionRandom is how many random bytes a session's token has.
const sessionRandom = 32

// maxOwnerID bounds what is looked up as an owner's id; ids are UUIDs.
const maxOwnerID = 64

func newSession() (token, hash string) {
	random := make([]byte, sessionRandom)
	_, _ = rand.Read(random) // never fails
	return base64.RawURLEncoding.EncodeToString(random), hashOf(random)
}

// cookieName is that of a session's cookie. A browser takes a __Host- cookie
// over https alone, from this host alone.
func (s *Service) cookieName() string {
	if s.secure {
		return "__Host-session"
	}
	return "session"
}

// sessionCookie holds the owner's id and the token: `{ownerId}.{token}`.
func (s *Service) sessionCookie(ownerID, token string) *http.Cookie {
	return &http.Cookie{
		Name: s.cookieName(), Value: ownerID + "." + token, Path: "/", MaxAge: int(owner.SessionLength.Seconds()),
		HttpOnly: true, Secure: s.secure, SameSite: http.SameSiteLaxMode,
	}
}

// endedCookie makes a browser forget the session.
func (s *Service) endedCookie() *http.Cookie {
	c := s.sessionCookie("", "")
	c.Value, c.MaxAge = "", -1
	return c
}

// parseSession reads a cookie's value; the session is not verified yet.
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
