package auth

import (
	"cmp"
	"context"
	"log/slog"
	"net/http"

	"hexarena/domain/owner"
	"hexarena/eventstore"
)

// Verify returns the caller of a request: the owner of the key that signed it,
// or of the session in its cookie. body is the body as received, and m.At is
// the current time. If the request has no credentials, invalid credentials, or
// both a signature and a cookie, the error is owner.ErrUnauthenticated. The
// error does not reveal the reason. If the signature is not valid while the directory may
// lack keys, Verify returns the error of Directory.Key.
//
// A signed write runs only once. Verify spends its signature before it returns,
// so the signature stays spent if the call fails later. If the same signed
// write arrives again, Verify returns owner.ErrUnauthenticated.
func (s *Service) Verify(ctx context.Context, r *http.Request, body []byte, m eventstore.Metadata) (owner.Caller, error) {
	cookies := r.CookiesNamed(s.cookieName())
	switch {
	case signed(r.Header) && len(cookies) == 0:
		return s.verifySignature(ctx, r, body, m)
	case !signed(r.Header) && len(cookies) == 1:
		return s.verifySession(ctx, cookies[0].Value, m)
	}
	return owner.Caller{}, owner.ErrUnauthenticated
}

func (s *Service) verifySignature(ctx context.Context, r *http.Request, body []byte, m eventstore.Metadata) (owner.Caller, error) {
	sig, err := parseSignature(r.Header, m.At)
	if err != nil {
		return owner.Caller{}, err
	}
	ownerID, known, valid, behind := s.signer(sig, r, body)
	if !known || !valid {
		return owner.Caller{}, cmp.Or(behind, owner.ErrUnauthenticated)
	}
	account, err := s.options.Accounts.Load(ctx, ownerID)
	if err != nil {
		return owner.Caller{}, err
	}
	key, _ := account.Key(sig.keyID)
	caller := owner.Caller{OwnerID: ownerID, KeyID: sig.keyID, Scopes: key.Scopes, Suspended: account.Suspended}
	if err := account.Admit(caller, m.At); err != nil {
		return owner.Caller{}, err
	}
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		if err := s.spent.spend(ctx, ownerID, sig.hash(r.Method, r.RequestURI, body), sig.at, m); err != nil {
			return owner.Caller{}, err
		}
	}
	s.noteUse(ctx, account, sig.keyID, m)
	return caller, nil
}

// signer finds the owner of a signature's key, which may be revoked, and verifies the
// signature. A wrong signature takes the same time whether or not its key id exists:
// for an unknown id, signer verifies with a public key whose private key nobody has. It
// does not load the account. Only a known id has an account, so the extra time would
// reveal that the id exists. While the directory may lack keys, behind is its error.
func (s *Service) signer(sig signature, r *http.Request, body []byte) (ownerID string, known, valid bool, behind error) {
	key, known, behind := s.options.Directory.Key(sig.keyID)
	if !known {
		key.PublicKey = s.stranger
	}
	return key.OwnerID, known, sig.verifies(key.PublicKey, r.Method, r.RequestURI, body), behind
}

// noteUse records the use of a key, at most once an hour. It logs a failure but returns
// no error, because the request itself is valid.
func (s *Service) noteUse(ctx context.Context, account owner.Account, keyID string, m eventstore.Metadata) {
	if len(account.UseKey(keyID, m.At)) == 0 {
		return
	}
	_, _, err := s.options.Accounts.Change(ctx, account.ID, m, func(a owner.Account) ([]owner.Event, error) { return a.UseKey(keyID, m.At), nil })
	if err != nil {
		s.options.Logger.WarnContext(ctx, "could not store that a key was used", slog.String("key", keyID), slog.Any("error", err))
	}
}

func (s *Service) verifySession(ctx context.Context, cookie string, m eventstore.Metadata) (owner.Caller, error) {
	ownerID, hash, err := parseSession(cookie)
	if err != nil {
		return owner.Caller{}, err
	}
	account, err := s.options.Accounts.Load(ctx, ownerID)
	if err != nil {
		return owner.Caller{}, err
	}
	caller := owner.Caller{OwnerID: ownerID, Session: hash, Scopes: owner.AllScopes(), Suspended: account.Suspended}
	if err := account.Admit(caller, m.At); err != nil {
		return owner.Caller{}, err
	}
	return caller, nil
}
