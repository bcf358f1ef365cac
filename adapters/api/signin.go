package api

import "hexarena/adapters/rest"

type signIn struct{ Body rest.SignIn }

type confirmSignIn struct{ Body rest.SignInConfirmation }

func (s *Server) sendLink(c *call, in *signIn) (out nothing, err error) {
	return out, s.Auth.SendLink(c.ctx, c.request, s.limiter.Network(c.request), in.Body.Email, c.meta)
}

func (s *Server) confirm(c *call, in *confirmSignIn) (rest.Account, error) {
	account, cookies, err := s.Auth.Confirm(c.ctx, c.request, in.Body.Token, c.meta)
	if err != nil {
		return rest.Account{}, err
	}
	out, err := c.accountBody(account)
	if err != nil {
		return rest.Account{}, err
	}
	c.setCookies(cookies...)
	return out, nil
}

func (s *Server) signOut(c *call, _ *nothing) (out nothing, err error) {
	cookie, err := s.Auth.SignOut(c.ctx, c.caller, c.meta)
	if err != nil {
		return out, err
	}
	c.setCookies(cookie)
	return out, nil
}
