package main

import (
	"encoding/json"
	"net/http"
	"net/http/pprof"

	"hexarena/adapters/admin"
	"hexarena/cmd/arena/listen"
	"hexarena/eventstore/node"
	"hexarena/projections"
)

// adminHandler serves the operators' endpoints. If its address is not on
// loopback, it serves only /metrics and /ready, because the other endpoints do
// not authenticate their callers. The handler of operators' orders also rejects
// calls that a browser makes on behalf of another site.
func (a *arena) adminHandler() http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", listen.Metrics(a.log.Collector(), projections.Collector(a.runners...), a.cosigners.Collector()))
	mux.HandleFunc("GET /ready", a.ready)
	if listen.IsLoopback(a.AdminListen) {
		mux.HandleFunc("GET /debug/pprof/", pprof.Index)
		mux.HandleFunc("GET /debug/pprof/profile", pprof.Profile)
		mux.HandleFunc("GET /debug/pprof/trace", pprof.Trace)
		mux.Handle(admin.Prefix, a.operators().Handler())
		if a.node != nil {
			mux.Handle(node.AdminPrefix, a.node.Admin())
		}
	}
	return mux
}

// ready responds with 200 while every read model works. If a read model has
// stopped, ready responds with 503 and names the event that stopped the model.
// If the log is available, ready also reports whether the arena is draining.
func (a *arena) ready(w http.ResponseWriter, r *http.Request) {
	status, answer := http.StatusOK, map[string]any{"ready": true}
	if draining, known := a.draining(r.Context()); known {
		answer["draining"] = draining
	}
	for _, r := range a.runners {
		if err := r.Err(); err != nil {
			status, answer["ready"], answer["why"] = http.StatusServiceUnavailable, false, err.Error()
		}
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(answer)
}
