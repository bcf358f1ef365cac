package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"testing"

	"github.com/stretchr/testify/require"
)

// operatorsPort is the address of a running process's operators' endpoints.
type operatorsPort struct{ at string }

// call sends a request without a body, with the given Host header and the other given
// headers.
func (p operatorsPort) call(t *testing.T, method, path, host string, headers ...string) (status int, code string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, "http://"+p.at+path, nil)
	require.NoError(t, err)
	r.Host = host
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	res, err := http.DefaultClient.Do(r)
	require.NoError(t, err)
	defer res.Body.Close()
	var refusal struct{ Code string }
	if res.Header.Get("Content-Type") == "application/problem+json" {
		require.NoError(t, json.NewDecoder(res.Body).Decode(&refusal))
	}
	return res.StatusCode, refusal.Code
}

// The method refuses() requires that the port refuses a call with the given error code.
func (p operatorsPort) refuses(t *testing.T, code, method, path, host string, headers ...string) {
	t.Helper()
	status, got := p.call(t, method, path, host, headers...)
	require.Equal(t, http.StatusForbidden, status, "%s %s at %s %v", method, path, host, headers)
	require.Equal(t, code, got)
}

func (p operatorsPort) answers(t *testing.T, path, host string) {
	t.Helper()
	eventually(t, path+" answers at "+host, func() bool { // while the arena starts, /ready may have status 503
		status, _ := p.call(t, http.MethodGet, path, host)
		return status == http.StatusOK
	})
}

// The operators' endpoints of an arena, a demo and a node accept calls only from the
// operator's own programs and pages.
func TestSecurityOperatorsPort(t *testing.T) {
	t.Parallel()
	arena := newSecurityArena(t)
	demo := launch(t, "demo", "--no-bots", "--data", t.TempDir(), "--listen", "127.0.0.1:0", "--admin-listen", "127.0.0.1:0", "--node-listen", "127.0.0.1:0")
	node := launch(t, "node", "--data", t.TempDir(), "--listen", "127.0.0.1:0")
	reads := []string{"/metrics", "/ready"}
	arenaReads := append(reads, "/debug/pprof/", "/debug/pprof/profile?seconds=60", "/debug/pprof/trace?seconds=60", "/debug/pprof/heap", "/admin/status", "/nothing")
	arenaOrders := []string{"/admin/drain", "/admin/rotate-seed-key", "/admin/node/scavenge", "/admin/node/backup"}
	ports := []struct {
		at            string
		reads, orders []string
	}{
		{arena.admin(), arenaReads, arenaOrders},
		{demo.admin(), arenaReads, arenaOrders},
		{node.admin(), reads, arenaOrders[2:]},
	}

	t.Run("a name of another site", func(t *testing.T) {
		for _, p := range ports {
			port := operatorsPort{p.at}
			_, number, _ := net.SplitHostPort(p.at)
			for _, host := range []string{"rebind.example:" + number, "rebind.example", "127.0.0.1.rebind.example:" + number, "0.0.0.0:" + number} {
				for _, path := range p.reads {
					port.refuses(t, "host", http.MethodGet, path, host, "Sec-Fetch-Site", "same-origin")
				}
				for _, path := range p.orders {
					port.refuses(t, "host", http.MethodPost, path, host, "Sec-Fetch-Site", "same-origin", "Origin", "http://"+host)
				}
			}
			port.answers(t, "/ready", p.at)
			port.answers(t, "/metrics", "localhost:"+number)
		}
	})
	t.Run("a page of another site", func(t *testing.T) {
		for _, p := range ports {
			port := operatorsPort{p.at}
			for _, headers := range [][]string{
				{"Sec-Fetch-Site", "cross-site"},
				{"Sec-Fetch-Site", "same-site"},
				{"Origin", "https://evil.example"},
			} {
				for _, path := range p.reads {
					port.refuses(t, "cross_site", http.MethodGet, path, p.at, headers...)
					port.refuses(t, "cross_site", http.MethodOptions, path, p.at, headers...)
				}
				for _, path := range p.orders {
					port.refuses(t, "cross_site", http.MethodPost, path, p.at, headers...)
				}
			}
		}
	})
	t.Run("names for monitoring", func(t *testing.T) {
		watched := newTestArena(t, "--admin-hosts", "arena.internal,Arena")
		watched.launch("--admin-listen", "0.0.0.0:0")
		at, err := url.Parse(watched.arena.await(`operators' endpoints on (http://\S+)`)[1])
		require.NoError(t, err)
		port := operatorsPort{"127.0.0.1:" + at.Port()}
		for _, path := range reads {
			for _, host := range []string{"arena.internal:" + at.Port(), "arena", "10.2.3.4", port.at} {
				port.answers(t, path, host)
			}
			port.refuses(t, "host", http.MethodGet, path, "rebind.example:"+at.Port())
			port.refuses(t, "cross_site", http.MethodGet, path, "arena", "Origin", "https://evil.example")
			require.Equal(t, http.StatusOK, http10(t, port.at, path), "a load balancer that sends no Host header")
		}
	})
}

// http10 sends an HTTP/1.0 request without a Host header, as load balancers do.
func http10(t *testing.T, at, path string) (status int) {
	t.Helper()
	conn, err := new(net.Dialer).DialContext(t.Context(), "tcp", at)
	require.NoError(t, err)
	defer conn.Close()
	fmt.Fprintf(conn, "GET %s HTTP/1.0\r\n\r\n", path)
	res, err := http.ReadResponse(bufio.NewReader(conn), nil)
	require.NoError(t, err)
	defer res.Body.Close()
	return res.StatusCode
}
