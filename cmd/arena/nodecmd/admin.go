package nodecmd

import (
	"net/http"

	"github.com/prometheus/client_golang/prometheus"

	"hexarena/cmd/arena/listen"
	"hexarena/eventstore/node"
)

// adminHandler serves the operators' endpoints. If its address is not on
// loopback, it serves only /metrics and /ready, because the other endpoints do
// not authenticate their callers.
func adminHandler(n *node.Node, address string) http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", metrics(n))
	mux.HandleFunc("GET /ready", func(w http.ResponseWriter, _ *http.Request) {
		if err := n.Ready(); err != nil {
			http.Error(w, err.Error(), http.StatusServiceUnavailable)
		}
	})
	if listen.IsLoopback(address) {
		mux.Handle(node.AdminPrefix, n.Admin())
	}
	return mux
}

func metrics(n *node.Node) http.Handler {
	return listen.Metrics(
		prometheus.NewCounterFunc(prometheus.CounterOpts{Name: "arena_node_events_total", Help: "Events stored since the process started."},
			func() float64 { return float64(n.Stats().Events) }),
		prometheus.NewCounterFunc(prometheus.CounterOpts{Name: "arena_node_syncs_total", Help: "Syncs of the write-ahead log since the process started."},
			func() float64 { return float64(n.Stats().Syncs) }),
	)
}
