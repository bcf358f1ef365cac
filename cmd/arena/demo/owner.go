package demo

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
	"time"

	"hexarena/adapters/client"
	"hexarena/adapters/rest"
	"hexarena/cmd/arena/remote"
	"hexarena/domain/owner"
)

// Owner is a bot owner who uses only the arena's REST interface.
type Owner struct {
	Base    string             `json:"-"` // the arena's URL
	Now     func() time.Time   `json:"-"` // the owner's clock; nil: the correct time
	session string             // the cookie, during SignUp
	KeyID   string             `json:"keyId"`
	Key     ed25519.PrivateKey `json:"key"`
}

// houseOwner returns the owner of the house bots. It reads the owner from the data
// folder. If the folder has no owner yet, it signs up a new one.
func houseOwner(ctx context.Context, a Arena) (*Owner, error) {
	path := filepath.Join(a.Data, "house-key.json")
	house := &Owner{Base: a.BaseURL}
	b, err := os.ReadFile(path)
	if err == nil {
		return house, json.Unmarshal(b, house)
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	if a.MailDir == "" {
		return nil, errors.New("the demo reads its sign-in email from a folder: use --mail file:DIR")
	}
	if err := house.SignUp(ctx, a.MailDir, "house@example.org", owner.House); err != nil {
		return nil, err
	}
	if b, err = json.Marshal(house); err != nil {
		return nil, err
	}
	return house, os.WriteFile(path, b, 0o600)
}

// SignUp opens an account with the link from an email, chooses the account's handle
// and registers a key. The owner signs all later calls with that key.
func (o *Owner) SignUp(ctx context.Context, mailDir, address, handle string) error {
	if err := o.Call(ctx, http.MethodPost, "/sign-in", rest.SignIn{Email: address}, nil); err != nil {
		return err
	}
	token, err := remote.MailedToken(mailDir, address)
	if err != nil {
		return err
	}
	if err := o.Call(ctx, http.MethodPost, "/sign-in/confirm", rest.SignInConfirmation{Token: token}, nil); err != nil {
		return err
	}
	if err := o.Call(ctx, http.MethodPatch, "/me", rest.AccountPatch{Name: &handle}, nil); err != nil {
		return err
	}
	public, private, err := ed25519.GenerateKey(nil)
	if err != nil {
		return err
	}
	var key struct{ ID string }
	if err := o.Call(ctx, http.MethodPost, "/keys", rest.NewKey{Name: handle, PublicKey: base64.StdEncoding.EncodeToString(public)}, &key); err != nil {
		return err
	}
	if err := o.Call(ctx, http.MethodPost, "/sign-out", nil, nil); err != nil {
		return err
	}
	o.session, o.KeyID, o.Key = "", key.ID, private
	return nil
}

// Register adds a bot to the ladder. If the owner already has a bot with that name,
// Register changes the URL of that bot instead.
func (o *Owner) Register(ctx context.Context, name, mode, botURL string) error {
	var list rest.Bots
	if err := o.Call(ctx, http.MethodGet, "/bots?mode="+mode, nil, &list); err != nil {
		return err
	}
	for _, b := range list.Bots {
		if b.Name == name {
			return o.Call(ctx, http.MethodPatch, "/bots/"+b.ID, rest.BotPatch{URL: &botURL}, nil)
		}
	}
	return o.Call(ctx, http.MethodPost, "/bots", rest.NewBot{Name: name, Mode: mode, URL: botURL}, nil)
}

// Call makes a call, and signs it if the owner has a key. Unless into is nil, it
// decodes the response into the value that into points to.
func (o *Owner) Call(ctx context.Context, method, path string, body, into any) error {
	credentials := client.Options{Base: o.Base, Session: o.session, Now: o.Now}
	if o.KeyID != "" {
		credentials.Key = &client.Key{ID: o.KeyID, Private: o.Key}
	}
	c, err := client.New(credentials)
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
