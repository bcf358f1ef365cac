// Package listen contains the code that the program's servers share: listeners,
// time limits, graceful shutdown, and the metrics of the process.
package listen

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// drainTime is how long a shutdown waits for the calls that are in progress.
const drainTime = 5 * time.Second

// TCP listens on host:port. Errors name the flag that contains the address.
func TCP(ctx context.Context, flag, address string) (net.Listener, error) {
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", address)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", flag, err)
	}
	return l, nil
}

// IsLoopback reports whether only this machine can reach an address (host:port). It
// returns false for names other than "localhost", because their addresses may change.
func IsLoopback(address string) bool {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return false
	}
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// NewServer returns a server that limits how long a caller may take to send its
// headers. The server has no ReadTimeout, which would end long responses. The
// API's router sets a deadline for request bodies.
func NewServer(h http.Handler) *http.Server {
	return &http.Server{Handler: h, ReadHeaderTimeout: 10 * time.Second, IdleTimeout: 2 * time.Minute, MaxHeaderBytes: 32 << 10}
}

// strictTransport makes browsers use only https for this host, for one year after
// each response. It does not cover subdomains, because the operator's other services
// may use them. It does not request an entry in the browsers' preload lists, because
// removing an entry takes months.
const strictTransport = "max-age=31536000"

// RequireHTTPS adds Strict-Transport-Security (RFC 6797) to every response. Browsers
// ignore the header in responses over plain HTTP.
func RequireHTTPS(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Strict-Transport-Security", strictTransport)
		h.ServeHTTP(w, r)
	})
}

// Serve handles calls until the server is shut down or fails.
func Serve(s *http.Server, l net.Listener) error {
	if err := s.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// CloseIdle closes the connections that are waiting for their next call. Clients
// reconnect when they make that call.
func CloseIdle(s *http.Server) {
	s.SetKeepAlivesEnabled(false) // this closes them
	s.SetKeepAlivesEnabled(true)
}

// Shutdown waits for the calls that are in progress. If calls take longer than
// drainTime, it cuts them off and returns an error.
func Shutdown(ctx context.Context, servers ...*http.Server) error {
	ctx, cancel := context.WithTimeout(ctx, drainTime)
	defer cancel()
	var errs []error
	for _, s := range servers {
		if err := s.Shutdown(ctx); err != nil {
			errs = append(errs, err, s.Close())
		}
	}
	return errors.Join(errs...)
}

// Metrics serves the metrics of the process, the Go runtime and the given
// collectors.
func Metrics(more ...prometheus.Collector) http.Handler {
	registry := prometheus.NewRegistry()
	registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	registry.MustRegister(more...)
	return promhttp.HandlerFor(registry, promhttp.HandlerOpts{})
}
