package api

import (
	"encoding/base64"
	"net/http"
)

type nothing struct{}

type healthOutput struct {
	Body struct {
		Status string `json:"status" enum:"ok"`
	}
}

type arenaOutput struct {
	Body struct {
		PublicKey string `json:"publicKey" doc:"Base64 of the raw 32 bytes of the platform's Ed25519 public key."`
	}
}

func (s *Server) registerMeta() {
	register(s, endpoint[nothing, healthOutput]{
		id: "get-health", method: http.MethodGet, path: "/health", tag: "meta", summary: "Whether the service answers",
		run: func(*call, *nothing) (*healthOutput, error) {
			out := new(healthOutput)
			out.Body.Status = "ok"
			return out, nil
		},
	})
	register(s, endpoint[nothing, arenaOutput]{
		id: "get-arena", method: http.MethodGet, path: "/.well-known/arena.json", tag: "meta", summary: "The key that signs the arena's connections to bots",
		run: s.getArena,
	})
}

func (s *Server) getArena(c *call, _ *nothing) (*arenaOutput, error) {
	c.header().Set("Cache-Control", "public, max-age=3600")
	out := new(arenaOutput)
	out.Body.PublicKey = base64.StdEncoding.EncodeToString(s.PlatformKey)
	return out, nil
}
