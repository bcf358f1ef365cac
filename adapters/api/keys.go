package api

import (
	"encoding/base64"

	"hexarena/adapters/rest"
	"hexarena/domain/owner"
)

type keyPath struct {
	myAccount
	ID string `path:"id"`
}

type newKey struct{ Body rest.NewKey }

// find returns an error if the caller does not own the key.
func (p *keyPath) find(c *call) error {
	if err := p.myAccount.find(c); err != nil {
		return err
	}
	if _, ok := c.account.Key(p.ID); !ok {
		return owner.ErrKeyUnknown
	}
	return nil
}

func (s *Server) listKeys(c *call, _ *myAccount) (rest.Keys, error) {
	out := rest.Keys{Keys: []rest.Key{}}
	for _, k := range c.account.Keys {
		out.Keys = append(out.Keys, keyBody(k))
	}
	return out, nil
}

func (s *Server) registerKey(c *call, in *newKey) (rest.Key, error) {
	key, err := s.parseKey(in)
	if err != nil {
		return rest.Key{}, err
	}
	registered, at, err := s.Auth.RegisterKey(c.ctx, c.caller, key, in.Body.Proof, c.meta)
	if err != nil {
		return rest.Key{}, err
	}
	c.await(at)
	return keyBody(registered), nil
}

func (s *Server) parseKey(in *newKey) (owner.NewKey, error) {
	name, nameErr := owner.ParseName(in.Body.Name)
	public, publicErr := s.ParsePublicKey(in.Body.PublicKey)
	scopes, scopesErr := owner.ParseScopes(in.Body.Scopes)
	return owner.NewKey{Name: name, PublicKey: public, Scopes: scopes}, owner.Together(nameErr, publicErr, scopesErr)
}

func (s *Server) revokeKey(c *call, in *keyPath) (out nothing, err error) {
	_, err = c.change(func(a owner.Account) ([]owner.Event, error) { return a.RevokeKey(in.ID) })
	return out, err
}

func keyBody(k owner.Key) rest.Key {
	return rest.Key{
		ID: k.ID, Name: k.Name, PublicKey: base64.StdEncoding.EncodeToString(k.PublicKey), Scopes: k.Scopes,
		CreatedAt: rest.FormatTime(k.CreatedAt), LastUsedAt: rest.FormatTimeOrNull(k.LastUsedAt), RevokedAt: rest.FormatTimeOrNull(k.RevokedAt),
	}
}
