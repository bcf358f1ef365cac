package api

import (
	"encoding/base64"
	"net/http"

	"hexarena/adapters/rest"
)

func (s *Server) registerMeta() {
	register(s, endpoint[nothing, rest.Health]{
		id: "get-health", method: http.MethodGet, path: "/health", tag: "meta", summary: "Whether the service answers",
		run: func(*call, *nothing) (rest.Health, error) { return rest.Health{Status: "ok"}, nil },
	})
	register(s, endpoint[nothing, rest.Arena]{
		id: "get-arena", method: http.MethodGet, path: "/.well-known/arena.json", tag: "meta", summary: "The key that signs the arena's connections to bots",
		run: s.getArena,
	})
}

func (s *Server) getArena(c *call, _ *nothing) (rest.Arena, error) {
	c.header().Set("Cache-Control", "public, max-age=3600")
	return rest.Arena{PublicKey: base64.StdEncoding.EncodeToString(s.PlatformKey)}, nil
}
