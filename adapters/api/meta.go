package api

import (
	"encoding/base64"

	"hexarena/adapters/rest"
)

func (s *Server) getHealth(*call, *nothing) (rest.Health, error) {
	return rest.Health{Status: "ok"}, nil
}

func (s *Server) getArena(c *call, _ *nothing) (rest.Arena, error) {
	c.header().Set("Cache-Control", "public, max-age=3600")
	return rest.Arena{PublicKey: base64.StdEncoding.EncodeToString(s.PlatformKey), Beacon: s.Beacon}, nil
}
