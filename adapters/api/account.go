package api

import (
	"hexarena/adapters/rest"
	"hexarena/domain/owner"
)

type patchMe struct {
	myAccount
	Body rest.AccountPatch
}

func (s *Server) getMe(c *call, _ *myAccount) (rest.Account, error) { return c.accountBody(c.account) }

func (s *Server) patchMe(c *call, in *patchMe) (rest.Account, error) {
	if in.Body.Name == nil {
		return c.accountBody(c.account)
	}
	handle, err := owner.ParseHandle(*in.Body.Name)
	if err != nil {
		return rest.Account{}, err
	}
	account := c.account
	if handle != account.Handle {
		if account, err = c.chooseHandle(handle); err != nil {
			return rest.Account{}, err
		}
	}
	return c.accountBody(account)
}

// deleteMe deletes the caller's account. It returns once the directory no longer finds
// the account's bots or its handle.
func (s *Server) deleteMe(c *call, _ *nothing) (out nothing, err error) {
	cookies, at, err := s.Auth.Delete(c.ctx, c.caller, c.meta)
	if err != nil {
		return out, err
	}
	c.await(at)
	c.setCookies(cookies...)
	return out, nil
}

// accountBody returns an account as its owner sees it. It reads the email
// address from the address stream, because no other stream contains it.
func (c *call) accountBody(a owner.Account) (rest.Account, error) {
	email, err := c.server.Accounts.Address(c.ctx, a.ID)
	if err != nil {
		return rest.Account{}, err
	}
	return rest.Account{ID: a.ID, Name: a.Handle, Email: email}, nil
}
