package api

import (
	"net/http"

	"hexarena/domain/owner"
)

type accountBody struct {
	ID    string `json:"id"`
	Name  string `json:"name" doc:"The public handle; empty until chosen."`
	Email string `json:"email"`
}

type accountOutput struct{ Body accountBody }

type accountPatch struct {
	Body struct {
		Name *string `json:"name,omitempty" minLength:"3" maxLength:"20" pattern:"^[a-z0-9_-]+$"`
	}
}

func (s *Server) registerAccount() {
	register(s, endpoint[nothing, accountOutput]{
		id: "get-me", method: http.MethodGet, path: "/me", tag: "account", summary: "The calling account",
		scope: owner.AccountRead, run: s.getMe,
	})
	register(s, endpoint[accountPatch, accountOutput]{
		id: "patch-me", method: http.MethodPatch, path: "/me", tag: "account", summary: "Choose the public handle",
		scope: owner.AccountWrite, run: s.patchMe,
	})
}

func (s *Server) getMe(c *call, _ *nothing) (*accountOutput, error) {
	account, err := c.mine()
	if err != nil {
		return nil, err
	}
	return c.accountOf(account)
}

func (s *Server) patchMe(c *call, in *accountPatch) (*accountOutput, error) {
	account, err := c.mine()
	if err != nil {
		return nil, err
	}
	if in.Body.Name == nil {
		return c.accountOf(account)
	}
	handle, err := owner.ParseHandle(*in.Body.Name)
	if err != nil {
		return nil, err
	}
	if handle != account.Handle {
		if account, err = c.chooseHandle(handle); err != nil {
			return nil, err
		}
	}
	return c.accountOf(account)
}

// accountOf is an account as its owner sees it, with the address, which only
// the address stream holds.
func (c *call) accountOf(a owner.Account) (*accountOutput, error) {
	email, err := c.server.Accounts.Address(c.ctx, a.ID)
	if err != nil {
		return nil, err
	}
	return &accountOutput{accountBody{ID: a.ID, Name: a.Handle, Email: email}}, nil
}
