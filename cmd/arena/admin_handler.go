package main

import (
	"encoding/json"
	"net/http"
	"net/http/pprof"

	"github.com/prometheus/client_golang/prometheus"

	"hexarena/adapters/admin"
	"hexarena/cmd/arena/listen"
	"hexarena/eventstore/node"
	"hexarena/projections"
)

// adminHandler serves the operators' endpoints. If its address is not on loopback, it
// serves only /metrics and /ready, because the other endpoints do not authenticate
// their callers. It rejects all calls that a browser makes on behalf of another site.
func (a *arena) adminHandler() http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", listen.Metrics(a.collectors()...))
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
	return listen.ForOperators(mux, a.AdminListen, a.AdminHosts, a.logger)
}

// The method collectors() returns the metrics of the arena's parts.
func (a *arena) collectors() []prometheus.Collector {
	all := []prometheus.Collector{a.log.Collector(), projections.Collector(a.runners...), a.cosigners.Collector()}
	if a.Play && a.beacon != nil {
		all = append(all, a.beacon)
	}
	if a.player != nil {
		all = append(all, a.player.collectors(adminPlayer{a}.Seats)...)
	}
	if a.limited != nil { // nil in tests without a public port
		all = append(all, a.limited.Collectors()...)
	}
	return all
}

// The method ready() responds with 200 while the beacon and all read models work. If a
// read model has stopped, ready responds with 503 and names the event that stopped the
// model. It also responds with 503 while the beacon is behind, because the arena then
// seats nobody, and while a playing arena does not have the active seed key. If the log
// is available, ready also reports whether the arena is draining.
func (a *arena) ready(w http.ResponseWriter, r *http.Request) {
	status, answer := http.StatusOK, map[string]any{"ready": true}
	if draining, known := a.draining(r.Context()); known {
		answer["draining"] = draining
	}
	if a.Play && a.beacon != nil {
		err := a.beacon.Err()
		answer["beacon"] = map[string]any{"up": err == nil, "round": a.beacon.Newest()}
		if err != nil {
			status, answer["ready"], answer["why"] = http.StatusServiceUnavailable, false, "the arena seats nobody: "+err.Error()
		}
	}
	if a.Play {
		if missing := a.secrets.MissingSeedKeyIDs(); len(missing) > 0 {
			answer["missingSeedKeys"] = missing
		}
		if err := a.secrets.Err(); err != nil {
			status, answer["ready"], answer["why"] = http.StatusServiceUnavailable, false, "the arena plays no new matches: "+err.Error()
		}
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
