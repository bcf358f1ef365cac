package api

import "net/http"

func (s *Server) registerAccountDelete() {
	register(s, endpoint[nothing, nothing]{
		id: "delete-me", method: http.MethodDelete, path: "/me", tag: "account", summary: "Delete the account for good",
		session: true, run: s.deleteMe,
	})
}

// deleteMe answers once look-ups find neither the account's bots nor its
// handle.
func (s *Server) deleteMe(c *call, _ *nothing) (*nothing, error) {
	cookie, at, err := s.Auth.Delete(c.ctx, c.caller, c.meta)
	if err != nil {
		return nil, err
	}
	c.await(at)
	c.header().Add("Set-Cookie", cookie.String())
	return new(nothing), nil
}
