package api

import "hexarena/adapters/rest"

type signIn struct{ Body rest.SignIn }

type confirmSignIn struct{ Body rest.SignInConfirmation }

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
