package api

import (
	"net/http"

	"hexarena/adapters/rest"
)

type signIn struct{ Body rest.SignIn }

type confirmSignIn struct{ Body rest.SignInConfirmation }

func (s *Server) registerSignIn() {
	register(s, endpoint[signIn, nothing]{
		id: "send-sign-in-link", method: http.MethodPost, path: "/sign-in", tag: "account", summary: "Mail a sign-in link",
		status: http.StatusAccepted, forms: true, run: s.sendLink,
	})
	register(s, endpoint[confirmSignIn, rest.Account]{
		id: "confirm-sign-in", method: http.MethodPost, path: "/sign-in/confirm", tag: "account", summary: "Spend a sign-in link for a session",
		forms: true, run: s.confirm,
	})
	register(s, endpoint[nothing, nothing]{
		id: "sign-out", method: http.MethodPost, path: "/sign-out", tag: "account", summary: "End the session",
		session: true, run: s.signOut,
	})
}

func (s *Server) sendLink(c *call, in *signIn) (out nothing, err error) {
	return out, s.Auth.SendLink(c.ctx, in.Body.Email, c.meta)
}

func (s *Server) confirm(c *call, in *confirmSignIn) (rest.Account, error) {
	account, cookie, err := s.Auth.Confirm(c.ctx, in.Body.Token, c.meta)
	if err != nil {
		return rest.Account{}, err
	}
	out, err := c.accountBody(account)
	if err != nil {
		return rest.Account{}, err
	}
	c.header().Add("Set-Cookie", cookie.String())
	return out, nil
}

func (s *Server) signOut(c *call, _ *nothing) (out nothing, err error) {
	cookie, err := s.Auth.SignOut(c.ctx, c.caller, c.meta)
	if err != nil {
		return out, err
	}
	c.header().Add("Set-Cookie", cookie.String())
	return out, nil
}
