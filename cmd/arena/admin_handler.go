package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/pprof"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"hexarena/adapters/admin"
	"hexarena/cmd/arena/listen"
	"hexarena/eventstore"
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
		all = append(all, a.player.collectors(adminPlayer{a}.Seats, a.maxMatches())...)
	}
	if a.limited != nil { // nil in tests without a public port
		all = append(all, a.limited.Collectors()...)
	}
	return all
}

// The method ready() responds with 200 while the beacon and all read models work. If a
// read model has stopped, ready responds with 503 and names the event that stopped the
// model. It also responds with 503 while the beacon is behind, because the arena then
// seats nobody, while a playing arena does not have the active seed key, and while the log
// is unavailable. It then says for how long, and what has stopped. If the log is
// available, ready also reports whether the arena is draining. If the arena plays and gets no
// new matches because it cannot sign a head that includes them, ready says why.
func (a *arena) ready(w http.ResponseWriter, r *http.Request) {
	status, answer := http.StatusOK, map[string]any{"ready": true}
	refuse := func(why string) { status, answer["ready"], answer["why"] = http.StatusServiceUnavailable, false, why }
	since, stopped := a.outage(0)
	if since == 0 {
		draining, err := a.draining(r.Context())
		switch {
		case err == nil:
			answer["draining"] = draining
		case errors.Is(err, eventstore.ErrUnavailable), errors.Is(err, context.DeadlineExceeded):
			since, stopped = a.outage(readyTime)
		}
	}
	if since > 0 {
		answer["log"] = map[string]any{"unavailableSeconds": since.Round(time.Second / 10).Seconds(), "stopped": stopped}
		refuse(fmt.Sprintf("the log has been unavailable for %s: %s", since.Round(time.Second/10), stopped))
	}
	if a.Play && a.beacon != nil {
		err := a.beacon.Err()
		answer["beacon"] = map[string]any{"up": err == nil, "round": a.beacon.Newest()}
		if err != nil {
			refuse("the arena seats nobody: " + err.Error())
		}
	}
	if a.Play {
		if missing := a.secrets.MissingSeedKeyIDs(); len(missing) > 0 {
			answer["missingSeedKeys"] = missing
		}
		if err := a.secrets.Err(); err != nil {
			refuse("the arena plays no new matches: " + err.Error())
		}
		if err := a.cannotStart(); err != nil {
			answer["takesNoMatches"] = err.Error()
		}
	}
	for _, r := range a.runners {
		if err := r.Serving(); err != nil {
			refuse(err.Error())
		}
	}
	if a.heads != nil && a.heads.kept != nil {
		if err := a.heads.kept.err(); err != nil {
			refuse("the arena seats nobody: " + err.Error())
		}
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(answer)
}

// The method outage() returns how long the log has been unavailable, or 0 if it is
// available, and what has stopped because of that. The parameter atLeast is how long a
// caller has already waited for the log without a response.
func (a *arena) outage(atLeast time.Duration) (since time.Duration, stopped string) {
	if since = max(atLeast, a.log.Outage()); since == 0 {
		return 0, ""
	}
	stopped = "owners' changes are refused, and pages show what this process knew before"
	if a.Play {
		stopped = "nobody is seated, and running matches wait without charging their bots; " + stopped
	}
	return since, stopped
}
