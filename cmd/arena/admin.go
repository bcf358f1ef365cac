package main

import (
	"encoding/json"
	"net/http"
	"net/http/pprof"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"hexarena/eventstore/node"
)

// adminHandler serves the operators' endpoints. On an address outside loopback
// only /metrics and /ready are there.
func (a *arena) adminHandler() http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", a.metrics())
	mux.HandleFunc("GET /ready", a.ready)
	if loopback(a.AdminListen) {
		mux.HandleFunc("GET /debug/pprof/", pprof.Index)
		mux.HandleFunc("GET /debug/pprof/profile", pprof.Profile)
		mux.HandleFunc("GET /debug/pprof/trace", pprof.Trace)
		if a.node != nil {
			mux.Handle(node.AdminPrefix, a.node.Admin())
		}
	}
	return http.NewCrossOriginProtection().Handler(mux)
}

// metrics serves what the process, the Go runtime and the log's client measure.
func (a *arena) metrics() http.Handler {
	registry := prometheus.NewRegistry()
	registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}), a.log.Collector())
	return promhttp.HandlerFor(registry, promhttp.HandlerOpts{})
}

// ready answers 200 while every read model folds, and 503 with the event that
// one could not.
func (a *arena) ready(w http.ResponseWriter, _ *http.Request) {
	status, answer := http.StatusOK, map[string]any{"ready": true}
	for _, r := range a.runners {
		if err := r.Err(); err != nil {
			status, answer = http.StatusServiceUnavailable, map[string]any{"ready": false, "why": err.Error()}
		}
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(answer)
}
