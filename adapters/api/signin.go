package api

import "net/http"

type signInInput struct {
	Body struct {
		Email string `json:"email" format:"email"`
	}
}

type confirmInput struct {
	Body struct {
		Token string `json:"token"`
	}
}

func (s *Server) registerSignIn() {
	register(s, endpoint[signInInput, nothing]{
		id: "send-sign-in-link", method: http.MethodPost, path: "/sign-in", tag: "account", summary: "Mail a sign-in link",
		status: http.StatusAccepted, forms: true, run: s.sendLink,
	})
	register(s, endpoint[confirmInput, accountOutput]{
		id: "confirm-sign-in", method: http.MethodPost, path: "/sign-in/confirm", tag: "account", summary: "Spend a sign-in link for a session",
		forms: true, run: s.confirm,
	})
	register(s, endpoint[nothing, nothing]{
		id: "sign-out", method: http.MethodPost, path: "/sign-out", tag: "account", summary: "End the session",
		session: true, run: s.signOut,
	})
}

func (s *Server) sendLink(c *call, in *signInInput) (*nothing, error) {
	return new(nothing), s.Auth.SendLink(c.ctx, in.Body.Email, c.meta)
}

func (s *Server) confirm(c *call, in *confirmInput) (*accountOutput, error) {
	account, cookie, err := s.Auth.Confirm(c.ctx, in.Body.Token, c.meta)
	if err != nil {
		return nil, err
	}
	out, err := c.accountOf(account)
	if err != nil {
		return nil, err
	}
	c.header().Add("Set-Cookie", cookie.String())
	return out, nil
}

func (s *Server) signOut(c *call, _ *nothing) (*nothing, error) {
	cookie, err := s.Auth.SignOut(c.ctx, c.caller, c.meta)
	if err != nil {
		return nil, err
	}
	c.header().Add("Set-Cookie", cookie.String())
	return new(nothing), nil
}
