package main

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/http/cookiejar"
	"os"
	"path/filepath"
	"strings"
	"time"

	"hexarena/adapters/client"
)

// account is an owner of bots who does all over REST, as a stranger would.
type account struct {
	base   string
	client *http.Client       // with the session's cookie, while signing up
	KeyID  string             `json:"keyId"`
	Key    ed25519.PrivateKey `json:"key"`
}

// houseOwner returns the account of the house bots: that of the data folder,
// or a new one.
func houseOwner(ctx context.Context, a *arena) (*account, error) {
	path := filepath.Join(a.pace.Data, "house-key.json")
	owner := &account{base: a.baseURL, client: http.DefaultClient}
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
	jar, err := cookiejar.New(nil)
	if err != nil {
		return err
	}
	o.client = &http.Client{Jar: jar}
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
	o.client, o.KeyID, o.Key = http.DefaultClient, key.ID, private
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

// call sends a request, signed once there is a key, and decodes the answer.
func (o *account) call(ctx context.Context, method, path string, body, answer any) error {
	var raw []byte
	if body != nil {
		var err error
		if raw, err = json.Marshal(body); err != nil {
			return err
		}
	}
	req, err := http.NewRequestWithContext(ctx, method, o.base+path, bytes.NewReader(raw))
	if err != nil {
		return err
	}
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	if o.KeyID != "" {
		client.Key{ID: o.KeyID, Private: o.Key}.Sign(req.Header, time.Now(), method, path, raw)
	}
	res, err := o.client.Do(req)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	b, err := io.ReadAll(io.LimitReader(res.Body, 1<<20))
	if err != nil {
		return err
	}
	if res.StatusCode >= 300 {
		return fmt.Errorf("%s %s: %s: %s", method, path, res.Status, b)
	}
	if answer == nil {
		return nil
	}
	return json.Unmarshal(b, answer)
}
