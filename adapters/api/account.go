package api

import (
	"net/http"

	"hexarena/adapters/rest"
	"hexarena/domain/owner"
)

type patchMe struct{ Body rest.AccountPatch }

func (s *Server) registerAccount() {
	register(s, endpoint[nothing, rest.Account]{
		id: "get-me", method: http.MethodGet, path: "/me", tag: "account", summary: "The calling account",
		scope: owner.AccountRead, run: s.getMe,
	})
	register(s, endpoint[patchMe, rest.Account]{
		id: "patch-me", method: http.MethodPatch, path: "/me", tag: "account", summary: "Choose the public handle",
		scope: owner.AccountWrite, run: s.patchMe,
	})
	register(s, endpoint[nothing, nothing]{
		id: "delete-me", method: http.MethodDelete, path: "/me", tag: "account", summary: "Delete the account for good",
		session: true, run: s.deleteMe,
	})
}

func (s *Server) getMe(c *call, _ *nothing) (rest.Account, error) {
	account, err := c.mine()
	if err != nil {
		return rest.Account{}, err
	}
	return c.accountBody(account)
}

func (s *Server) patchMe(c *call, in *patchMe) (rest.Account, error) {
	account, err := c.mine()
	if err != nil {
		return rest.Account{}, err
	}
	if in.Body.Name == nil {
		return c.accountBody(account)
	}
	handle, err := owner.ParseHandle(*in.Body.Name)
	if err != nil {
		return rest.Account{}, err
	}
	if handle != account.Handle {
		if account, err = c.chooseHandle(handle); err != nil {
			return rest.Account{}, err
		}
	}
	return c.accountBody(account)
}

// deleteMe answers once the directory finds neither the account's bots nor its
// handle.
func (s *Server) deleteMe(c *call, _ *nothing) (out nothing, err error) {
	cookie, at, err := s.Auth.Delete(c.ctx, c.caller, c.meta)
	if err != nil {
		return out, err
	}
	c.await(at)
	c.header().Add("Set-Cookie", cookie.String())
	return out, nil
}

// accountBody returns an account as its owner sees it. Only the address stream
// holds the address.
func (c *call) accountBody(a owner.Account) (rest.Account, error) {
	email, err := c.server.Accounts.Address(c.ctx, a.ID)
	if err != nil {
		return rest.Account{}, err
	}
	return rest.Account{ID: a.ID, Name: a.Handle, Email: email}, nil
}
