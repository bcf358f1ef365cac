package node

import (
	"encoding/json"
	"log/slog"
	"net/http"
	"strconv"
	"strings"
	"time"

	"hexarena/eventstore/node/connmux"
)

// newHTTP returns the server of plain HTTP requests, over HTTP/1.1 and over HTTP/2
// without TLS. On an HTTP/2 connection, gRPC calls may follow; calls handles them.
func (n *Node) newHTTP(calls http.Handler) *http.Server {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /info", n.info)
	mux.HandleFunc("GET /health/live", n.live)
	protocols := new(http.Protocols)
	protocols.SetHTTP1(true)
	protocols.SetUnencryptedHTTP2(true)
	return &http.Server{
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.ProtoMajor == 2 && strings.HasPrefix(r.Header.Get("Content-Type"), connmux.GRPCContent) {
				calls.ServeHTTP(w, r)
				return
			}
			mux.ServeHTTP(w, r)
		}),
		Protocols:         protocols,
		ReadHeaderTimeout: connmux.HeaderTimeout,
		IdleTimeout:       time.Minute,
		ErrorLog:          slog.NewLogLogger(n.logger.Handler(), slog.LevelDebug),
	}
}

// nodeInfo is the answer of /info.
type nodeInfo struct {
	Version        string          `json:"esVersion"`
	State          string          `json:"state"`
	Features       map[string]bool `json:"features"`
	Authentication struct {
		Type       string   `json:"type"`
		Properties []string `json:"properties"`
	} `json:"authentication"`
}

func (n *Node) info(w http.ResponseWriter, _ *http.Request) {
	info := nodeInfo{
		Version:  Version,
		State:    "leader",
		Features: map[string]bool{"projections": false, "userManagement": false, "atomPub": false},
	}
	info.Authentication.Type = "insecure"
	info.Authentication.Properties = []string{}
	w.Header().Set("Content-Type", "application/json")
	if err := json.NewEncoder(w).Encode(info); err != nil {
		n.logger.Debug("write /info", "error", err)
	}
}

// live answers 204, or the status in the parameter liveCode, while the node is
// ready.
func (n *Node) live(w http.ResponseWriter, r *http.Request) {
	code := http.StatusNoContent
	if asked, err := strconv.Atoi(r.URL.Query().Get("liveCode")); err == nil && asked >= 200 && asked <= 599 {
		code = asked
	}
	if n.life.Ready() != nil {
		code = http.StatusServiceUnavailable
	}
	w.WriteHeader(code)
}
