package main

import (
	"context"
	"crypto/ed25519"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"path/filepath"
	"time"

	"github.com/stretchr/testify/require"

	"hexarena/adapters/client"
	"hexarena/adapters/rest"
	"hexarena/cmd/arena/demo"
	"hexarena/cmd/arena/remote"
	"hexarena/domain/ladder"
	"hexarena/domain/owner"
	"hexarena/eventstore"
)

// ownerWrite is a change that an owner ordered, and how to find it in the log.
type ownerWrite struct {
	what string
	is   func(account string, e owner.Event) bool
	too  int // how many other such events its account has
}

// order calls f until the arena has acknowledged a change. A call that ended without an
// acknowledgement may have changed the account. The arena may then refuse the next call,
// because nothing is left to do.
func (p *clusterPlay) order(w ownerWrite, f func(context.Context) error) {
	ctx, cancel := context.WithTimeout(p.t.Context(), patience)
	defer cancel()
	for tries := 1; ; tries++ {
		err := f(ctx)
		var refused *client.Refusal
		known := errors.As(err, &refused) && refused.Status < http.StatusInternalServerError
		if err == nil || known && tries > 1 {
			break
		}
		if known || eventstore.Sleep(ctx, 300*time.Millisecond) != nil {
			p.t.Errorf("%s: %v", w.what, err)
			return
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.writes = append(p.writes, w)
}

// register adds a bot to the ladder.
func (p *clusterPlay) register(o *demo.Owner, b *testBot) {
	w := ownerWrite{"register " + b.name, func(_ string, e owner.Event) bool {
		r, ok := e.(owner.BotRegistered)
		return ok && r.Name == b.name
	}, 0}
	p.order(w, func(ctx context.Context) error {
		return o.Call(ctx, http.MethodPost, "/bots", rest.NewBot{Name: b.name, Mode: ladder.Standard, URL: b.url}, nil)
	})
}

// leaver returns an owner who is signed in and can delete the account.
func (p *clusterPlay) leaver() *demo.Owner {
	p.t.Helper()
	o := &demo.Owner{Base: p.base()}
	name := fmt.Sprintf("leaver-%d", p.played)
	ctx := p.t.Context()
	require.NoError(p.t, o.Call(ctx, http.MethodPost, "/sign-in", rest.SignIn{Email: name + "@example.org"}, nil))
	token, err := remote.MailedToken(filepath.Join(p.data, "mail"), name+"@example.org")
	require.NoError(p.t, err)
	require.NoError(p.t, o.Call(ctx, http.MethodPost, "/sign-in/confirm", rest.SignInConfirmation{Token: token}, nil))
	require.NoError(p.t, o.Call(ctx, http.MethodPatch, "/me", rest.AccountPatch{Name: &name}, nil))
	return o
}

// change lets an owner register a paused bot, change and remove it. Another owner, who is
// leaving, registers and revokes a key, and deletes the account.
func (p *clusterPlay) change(o, leaver *demo.Owner, b *testBot) {
	call := func(method, path string, body any) func(context.Context) error {
		return func(ctx context.Context) error { return o.Call(ctx, method, path, body, nil) }
	}
	paused, active := "paused", "active"
	p.order(ownerWrite{"register " + b.name, func(_ string, e owner.Event) bool {
		r, ok := e.(owner.BotRegistered)
		return ok && r.Name == b.name
	}, 0}, call(http.MethodPost, "/bots", rest.NewBot{Name: b.name, Mode: ladder.Standard, URL: b.url, Status: &paused}))
	id := p.idOf(o, "/bots", b.name)
	url := b.url + "/moved"
	p.order(ownerWrite{"change the URL of " + b.name, func(_ string, e owner.Event) bool {
		c, ok := e.(owner.BotURLChanged)
		return ok && c.BotID == id
	}, 0}, call(http.MethodPatch, "/bots/"+id, rest.BotPatch{URL: &url}))
	p.order(ownerWrite{"unpause " + b.name, func(_ string, e owner.Event) bool {
		u, ok := e.(owner.BotUnpaused)
		return ok && u.BotID == id
	}, 0}, call(http.MethodPatch, "/bots/"+id, rest.BotPatch{Status: &active}))
	p.order(ownerWrite{"pause " + b.name, func(_ string, e owner.Event) bool {
		u, ok := e.(owner.BotPaused)
		return ok && u.BotID == id
	}, 1}, call(http.MethodPatch, "/bots/"+id, rest.BotPatch{Status: &paused}))
	p.changeKeys(leaver, b.name)
	p.order(ownerWrite{"remove " + b.name, func(_ string, e owner.Event) bool {
		r, ok := e.(owner.BotRemoved)
		return ok && r.BotID == id
	}, 0}, call(http.MethodDelete, "/bots/"+id, nil))
	var me struct{ ID string }
	p.read(leaver, "/me", &me)
	p.order(ownerWrite{"delete " + me.ID, func(account string, e owner.Event) bool {
		_, ok := e.(owner.Deleted)
		return ok && account == owner.AccountStream(me.ID)
	}, 0}, func(ctx context.Context) error { return leaver.Call(ctx, http.MethodDelete, "/me", nil, nil) })
}

// changeKeys registers a key and revokes it.
func (p *clusterPlay) changeKeys(o *demo.Owner, name string) {
	public, _, err := ed25519.GenerateKey(nil)
	if err != nil {
		panic(err)
	}
	p.order(ownerWrite{"register key " + name, func(_ string, e owner.Event) bool {
		r, ok := e.(owner.APIKeyRegistered)
		return ok && r.Name == name
	}, 0}, func(ctx context.Context) error {
		return o.Call(ctx, http.MethodPost, "/keys", rest.NewKey{Name: name, PublicKey: base64.StdEncoding.EncodeToString(public)}, nil)
	})
	id := p.idOf(o, "/keys", name)
	p.order(ownerWrite{"revoke key " + name, func(_ string, e owner.Event) bool {
		r, ok := e.(owner.APIKeyRevoked)
		return ok && r.KeyID == id
	}, 0}, func(ctx context.Context) error { return o.Call(ctx, http.MethodDelete, "/keys/"+id, nil, nil) })
}

// idOf returns the id of a named bot or key.
func (p *clusterPlay) idOf(o *demo.Owner, path, name string) string {
	for {
		var list struct{ Bots, Keys []struct{ ID, Name string } }
		if !p.read(o, path, &list) {
			return ""
		}
		for _, e := range append(list.Bots, list.Keys...) {
			if e.Name == name {
				return e.ID
			}
		}
	}
}

// read makes a call until it succeeds.
func (p *clusterPlay) read(o *demo.Owner, path string, into any) bool {
	ctx, cancel := context.WithTimeout(p.t.Context(), patience)
	defer cancel()
	for {
		err := o.Call(ctx, http.MethodGet, path, nil, into)
		if err == nil {
			return true
		}
		if eventstore.Sleep(ctx, 300*time.Millisecond) != nil {
			p.t.Errorf("GET %s: %v", path, err)
			return false
		}
	}
}
