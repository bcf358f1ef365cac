package api

import (
	"encoding/base64"
	"net/http"

	"github.com/google/uuid"

	"hexarena/domain/owner"
)

type keyBody struct {
	ID         string        `json:"id" doc:"What x-arena-key names."`
	Name       string        `json:"name"`
	PublicKey  string        `json:"publicKey" doc:"Base64 of the 32 bytes."`
	Scopes     []owner.Scope `json:"scopes" nullable:"false"`
	CreatedAt  string        `json:"createdAt" format:"date-time"`
	LastUsedAt *string       `json:"lastUsedAt" format:"date-time" doc:"To the hour."`
	RevokedAt  *string       `json:"revokedAt" format:"date-time"`
}

type keyOutput struct{ Body keyBody }

type keysOutput struct {
	Body struct {
		Keys []keyBody `json:"keys" nullable:"false"`
	}
}

type keyPath struct {
	ID string `path:"id"`
}

type keyInput struct {
	Body struct {
		Name      string   `json:"name" minLength:"1" maxLength:"40"`
		PublicKey string   `json:"publicKey" doc:"An OpenSSH public-key line, a PEM block, or the base64 of the 32 bytes."`
		Scopes    []string `json:"scopes,omitempty" nullable:"false" enum:"bots.read,bots.write,keys.read,keys.write,account.read,account.write"`
	}
}

func (s *Server) registerKeys() {
	register(s, endpoint[nothing, keysOutput]{
		id: "list-keys", method: http.MethodGet, path: "/keys", tag: "keys", summary: "The account's API keys, revoked ones too",
		scope: owner.KeysRead, run: s.listKeys,
	})
	register(s, endpoint[keyInput, keyOutput]{
		id: "register-key", method: http.MethodPost, path: "/keys", tag: "keys", summary: "Register an API key",
		status: http.StatusCreated, scope: owner.KeysWrite, run: s.registerKey,
	})
	register(s, endpoint[keyPath, nothing]{
		id: "revoke-key", method: http.MethodDelete, path: "/keys/{id}", tag: "keys", summary: "Revoke an API key for good",
		scope: owner.KeysWrite, find: findKey, run: s.revokeKey,
	})
}

// findKey refuses a key that is not one of the caller's.
func findKey(c *call, in *keyPath) error {
	account, err := c.mine()
	if err != nil {
		return err
	}
	if _, ok := account.Key(in.ID); !ok {
		return owner.ErrKeyUnknown
	}
	return nil
}

func (s *Server) listKeys(c *call, _ *nothing) (*keysOutput, error) {
	account, err := c.mine()
	if err != nil {
		return nil, err
	}
	out := new(keysOutput)
	out.Body.Keys = make([]keyBody, len(account.Keys))
	for i, k := range account.Keys {
		out.Body.Keys[i] = keyBodyOf(k)
	}
	return out, nil
}

func (s *Server) registerKey(c *call, in *keyInput) (*keyOutput, error) {
	key, err := s.parseKey(in)
	if err != nil {
		return nil, err
	}
	id := uuid.NewString()
	account, err := c.change(func(a owner.Account) ([]owner.Event, error) { return a.RegisterKey(id, key, c.caller) })
	if err != nil {
		return nil, err
	}
	registered, _ := account.Key(id)
	return &keyOutput{keyBodyOf(registered)}, nil
}

func (s *Server) parseKey(in *keyInput) (owner.NewKey, error) {
	name, nameErr := owner.ParseName(in.Body.Name)
	public, publicErr := s.ParsePublicKey(in.Body.PublicKey)
	scopes, scopesErr := owner.ParseScopes(in.Body.Scopes)
	return owner.NewKey{Name: name, PublicKey: public, Scopes: scopes}, owner.Together(nameErr, publicErr, scopesErr)
}

func (s *Server) revokeKey(c *call, in *keyPath) (*nothing, error) {
	_, err := c.change(func(a owner.Account) ([]owner.Event, error) { return a.RevokeKey(in.ID) })
	return new(nothing), err
}

func keyBodyOf(k owner.Key) keyBody {
	return keyBody{
		ID: k.ID, Name: k.Name, PublicKey: base64.StdEncoding.EncodeToString(k.PublicKey), Scopes: k.Scopes,
		CreatedAt: formatTime(k.CreatedAt), LastUsedAt: formatTimeOrNull(k.LastUsedAt), RevokedAt: formatTimeOrNull(k.RevokedAt),
	}
}
