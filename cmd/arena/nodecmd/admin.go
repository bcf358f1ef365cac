package nodecmd

import (
	"log/slog"
	"net/http"

	"github.com/prometheus/client_golang/prometheus"

	"hexarena/cmd/arena/listen"
	"hexarena/eventstore/node"
)

// adminHandler serves the operators' endpoints at an address. If the address is not
// on loopback, it serves only /metrics and /ready, because the other endpoints do not
// authenticate their callers. It rejects all calls that a browser makes on behalf of
// another site.
func (c serveCmd) adminHandler(n *node.Node, address string, logger *slog.Logger) http.Handler {
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
	return listen.ForOperators(mux, c.AdminListen, c.AdminHosts, logger)
}

func metrics(n *node.Node) http.Handler {
	return listen.Metrics(append(quotaMetrics(n),
		prometheus.NewCounterFunc(prometheus.CounterOpts{Name: "arena_node_events_total", Help: "Events stored since the process started."},
			func() float64 { return float64(n.Stats().Events) }),
		prometheus.NewCounterFunc(prometheus.CounterOpts{Name: "arena_node_syncs_total", Help: "Syncs of the write-ahead log since the process started."},
			func() float64 { return float64(n.Stats().Syncs) }),
	)...)
}
