package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"hexarena/eventstore/node"
)

// operators serves the operators' endpoints of a node that is alone. A nil one
// serves none.
type operators struct {
	listener net.Listener
	server   *http.Server
	ended    chan struct{}
}

// listenOperators listens for them; an empty address is for none.
func listenOperators(ctx context.Context, address string) (*operators, error) {
	if address == "" {
		return nil, nil
	}
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", address)
	if err != nil {
		return nil, fmt.Errorf("--admin-listen: %w", err)
	}
	return &operators{listener: l, ended: make(chan struct{})}, nil
}

// serve begins to answer them. On an address outside loopback only /metrics and
// /ready are there.
func (o *operators) serve(n *node.Node) {
	if o == nil {
		return
	}
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", nodeMetrics(n))
	mux.HandleFunc("GET /ready", func(w http.ResponseWriter, _ *http.Request) {
		if err := n.Ready(); err != nil {
			http.Error(w, err.Error(), http.StatusServiceUnavailable)
		}
	})
	if loopback(o.listener.Addr().String()) {
		mux.Handle(node.AdminPrefix, n.Admin())
	}
	o.server = newServer(mux)
	go func() {
		defer close(o.ended)
		_ = serveOn(o.server, o.listener) // a node does without them
	}()
}

// close ends what is being answered.
func (o *operators) close() error {
	switch {
	case o == nil:
		return nil
	case o.server == nil:
		return o.listener.Close()
	}
	ctx, cancel := context.WithTimeout(context.Background(), callTime)
	defer cancel()
	err := o.server.Shutdown(ctx)
	if err != nil {
		err = errors.Join(err, o.server.Close())
	}
	<-o.ended
	return err
}

// greeting says where they are.
func (o *operators) greeting() string {
	if o == nil {
		return ""
	}
	return fmt.Sprintf("operators' endpoints on http://%s\n", o.listener.Addr())
}

// nodeMetrics serves what the process, the Go runtime and the node measure.
func nodeMetrics(n *node.Node) http.Handler {
	registry := prometheus.NewRegistry()
	registry.MustRegister(
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
		prometheus.NewCounterFunc(prometheus.CounterOpts{Name: "arena_node_events_total", Help: "Events stored since the start."},
			func() float64 { return float64(n.Stats().Events) }),
		prometheus.NewCounterFunc(prometheus.CounterOpts{Name: "arena_node_syncs_total", Help: "Syncs of the write-ahead log since the start."},
			func() float64 { return float64(n.Stats().Syncs) }),
	)
	return promhttp.HandlerFor(registry, promhttp.HandlerOpts{})
}
