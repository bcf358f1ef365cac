package listen

import (
	"bytes"
	"encoding/json"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"hexarena/adapters/api/ratelimit"
	"hexarena/adapters/rest"
)

const (
	// maxConnections is the maximum number of connections on a machine that allows
	// many descriptors. It limits the memory that connections use.
	maxConnections = 20_000
	// maxPerCaller is the maximum number of connections from one IPv4 address or IPv6
	// /64.
	maxPerCaller = 256
	// refusedRetry is the Retry-After value, in seconds, in the response on a refused
	// connection.
	refusedRetry = 5
	// refusalTime is how long a client may take to read why it was refused.
	refusalTime = 500 * time.Millisecond
)

// Limited is a listener that limits the number of open connections. The limit leaves
// at least half of the process's descriptors for other uses, such as its own
// connections to bots and to the log (docs/operations.md, "Connections"). It is safe
// for concurrent use.
type Limited struct {
	net.Listener
	// Trusted contains proxies. The limit per address does not apply to them.
	Trusted []netip.Prefix
	// Full is called about once a second while connections are refused because
	// too many are open. It may close idle connections.
	Full   func()
	Logger *slog.Logger

	total, perCaller int
	refusals         chan struct{} // one element for each client that is reading why it was refused
	opened           prometheus.GaugeFunc
	refused          prometheus.Counter

	mu       sync.Mutex
	open     int
	byCaller map[netip.Addr]int
	warned   time.Time
}

// Limit returns a listener that limits the connections of l.
func Limit(l net.Listener, trusted []netip.Prefix, logger *slog.Logger) *Limited {
	total := min(maxConnections, descriptors()/2)
	limited := &Limited{
		Listener: l, Trusted: trusted, Logger: logger, Full: func() {},
		total: total, perCaller: max(1, min(maxPerCaller, total/4)),
		refusals: make(chan struct{}, total/4), byCaller: map[netip.Addr]int{},
	}
	limited.refused = prometheus.NewCounter(prometheus.CounterOpts{
		Name: "arena_connections_refused_total", Help: "Connections to the public port that were refused because too many were open.",
	})
	limited.opened = prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "arena_connections", Help: "Open connections to the public port.",
	}, func() float64 {
		limited.mu.Lock()
		defer limited.mu.Unlock()
		return float64(limited.open)
	})
	return limited
}

// Collectors returns the metrics of the connections.
func (l *Limited) Collectors() []prometheus.Collector {
	return []prometheus.Collector{l.opened, l.refused}
}

// Accept implements net.Listener. If a connection exceeds a limit, Accept refuses it
// with an HTTP response.
func (l *Limited) Accept() (net.Conn, error) {
	for {
		c, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		tcp := c.(*net.TCPConn)
		peer := c.RemoteAddr().(*net.TCPAddr).AddrPort().Addr()
		caller := ratelimit.Caller(peer)
		if why := l.admit(caller, l.trusts(peer)); why != "" {
			l.refuse(tcp, why)
			continue
		}
		return &limitedConn{TCPConn: tcp, closed: sync.OnceFunc(func() { l.release(caller) })}, nil
	}
}

func (l *Limited) trusts(peer netip.Addr) bool {
	return slices.ContainsFunc(l.Trusted, func(p netip.Prefix) bool { return p.Contains(peer.Unmap().WithZone("")) })
}

// admit counts a connection, or says why it is refused.
func (l *Limited) admit(caller netip.Addr, trusted bool) (why string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.open >= l.total:
		l.warn()
		return "too many connections are open: try again later"
	case !trusted && l.byCaller[caller] >= l.perCaller:
		return "too many connections are open from this address: close some, or try again later"
	}
	l.open++
	l.byCaller[caller]++
	return ""
}

// warn logs that the limit has been reached. The caller holds the lock.
func (l *Limited) warn() {
	if time.Since(l.warned) < time.Second {
		return
	}
	l.warned = time.Now()
	l.Logger.Warn("connections are refused, because too many are open", "open", l.open)
	go l.Full()
}

func (l *Limited) release(caller netip.Addr) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.open--
	if l.byCaller[caller]--; l.byCaller[caller] == 0 {
		delete(l.byCaller, caller)
	}
}

// refuse tells a client why its connection is refused, and closes the connection. It
// first waits, in the background, until the client has read the response. If it
// closed the connection earlier, the operating system would discard the response,
// because nobody has read the client's request.
func (l *Limited) refuse(c *net.TCPConn, why string) {
	l.refused.Inc()
	_ = c.SetDeadline(time.Now().Add(refusalTime))
	_, _ = c.Write(refusedResponse(why)) // does not block, because the connection is new
	select {
	case l.refusals <- struct{}{}:
		go func() {
			defer func() { _ = c.Close(); <-l.refusals }()
			_ = c.CloseWrite()
			_, _ = io.Copy(io.Discard, io.LimitReader(c, 64<<10))
		}()
	default:
		_ = c.Close()
	}
}

// refusedResponse returns an HTTP response with a problem (docs/errors.md).
func refusedResponse(why string) []byte {
	body, err := json.Marshal(rest.Problem{
		Status: http.StatusServiceUnavailable, Title: http.StatusText(http.StatusServiceUnavailable), Code: "busy", Detail: why,
	})
	if err != nil {
		panic(err) // strings and integers always encode
	}
	r := http.Response{
		StatusCode: http.StatusServiceUnavailable, ProtoMajor: 1, ProtoMinor: 1, Close: true,
		Header:        http.Header{"Content-Type": {rest.ProblemType}, "Retry-After": {strconv.Itoa(refusedRetry)}},
		ContentLength: int64(len(body)), Body: io.NopCloser(bytes.NewReader(body)),
	}
	var b bytes.Buffer
	_ = r.Write(&b) // a write to a bytes.Buffer never fails
	return b.Bytes()
}

// limitedConn is a connection that counts toward the limits until Close is called.
type limitedConn struct {
	*net.TCPConn
	closed func()
}

// Close stops counting the connection first. So the limits seldom refuse a client because of a
// connection that it has already seen closed.
func (c *limitedConn) Close() error {
	c.closed()
	return c.TCPConn.Close()
}
