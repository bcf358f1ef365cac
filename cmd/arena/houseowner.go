package main

import (
	"context"
	"crypto/ed25519"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"

	"hexarena/adapters/client"
)

// account is an owner of bots who does all over REST, as a stranger would.
type account struct {
	base    string
	session string             // the cookie, while signing up
	KeyID   string             `json:"keyId"`
	Key     ed25519.PrivateKey `json:"key"`
}

// houseOwner returns the account of the house bots: that of the data folder,
// or a new one.
func houseOwner(ctx context.Context, a *arena) (*account, error) {
	path := filepath.Join(a.pace.Data, "house-key.json")
	owner := &account{base: a.baseURL}
	b, err := os.ReadFile(path)
	if err == nil {
		return owner, json.Unmarshal(b, owner)
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	folder, ok := strings.CutPrefix(a.mail(), "file:")
	if !ok {
		return nil, errors.New("the demo signs in by a mail in a folder: use --mail file:DIR")
	}
	if err := owner.signUp(ctx, folder, "house@example.org", "house"); err != nil {
		return nil, err
	}
	if b, err = json.Marshal(owner); err != nil {
		return nil, err
	}
	return owner, os.WriteFile(path, b, 0o600)
}

// signUp opens an account by the link in the mail, chooses its handle and
// registers a key.
func (o *account) signUp(ctx context.Context, mails, address, handle string) error {
	if err := o.call(ctx, http.MethodPost, "/sign-in", map[string]string{"email": address}, nil); err != nil {
		return err
	}
	token, err := mailedToken(mails, address)
	if err != nil {
		return err
	}
	if err := o.call(ctx, http.MethodPost, "/sign-in/confirm", map[string]string{"token": token}, nil); err != nil {
		return err
	}
	if err := o.call(ctx, http.MethodPatch, "/me", map[string]string{"name": handle}, nil); err != nil {
		return err
	}
	public, private, err := ed25519.GenerateKey(nil)
	if err != nil {
		return err
	}
	var key struct{ ID string }
	if err := o.call(ctx, http.MethodPost, "/keys", map[string]string{"name": handle, "publicKey": base64.StdEncoding.EncodeToString(public)}, &key); err != nil {
		return err
	}
	if err := o.call(ctx, http.MethodPost, "/sign-out", nil, nil); err != nil {
		return err
	}
	o.session, o.KeyID, o.Key = "", key.ID, private
	return nil
}

// register sees to it that a bot of that name is on the ladder at that URL.
func (o *account) register(ctx context.Context, name, mode, botURL string) error {
	var list struct {
		Bots []struct{ ID, Name, Mode string }
	}
	if err := o.call(ctx, http.MethodGet, "/bots?mode="+mode, nil, &list); err != nil {
		return err
	}
	for _, b := range list.Bots {
		if b.Name == name {
			return o.call(ctx, http.MethodPatch, "/bots/"+b.ID, map[string]string{"url": botURL}, nil)
		}
	}
	return o.call(ctx, http.MethodPost, "/bots", map[string]string{"name": name, "mode": mode, "url": botURL}, nil)
}

// call makes a call, signed once there is a key, and decodes the answer.
func (o *account) call(ctx context.Context, method, path string, body, into any) error {
	who := client.Options{Base: o.base, Session: o.session}
	if o.KeyID != "" {
		who.Key = &client.Key{ID: o.KeyID, Private: o.Key}
	}
	c, err := client.New(who)
	if err != nil {
		return err
	}
	answer, err := c.Call(ctx, method, path, body)
	if err != nil {
		return fmt.Errorf("%s %s: %w", method, path, err)
	}
	for _, cookie := range answer.Cookies {
		o.session = cookie.Name + "=" + cookie.Value
	}
	if into == nil {
		return nil
	}
	return json.Unmarshal(answer.Body, into)
}
