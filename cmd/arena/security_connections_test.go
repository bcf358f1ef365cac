package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"regexp"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"hexarena/adapters/rest"
	"hexarena/projections/matches"
)

const (
	// floodFiles is the number of files and sockets that the arena of these tests may
	// have open. The number is small, so that the tests run on every machine. Half of
	// these files and sockets are for callers' connections, and one address may use a
	// quarter of that half.
	floodFiles     = 512
	floodTotal     = floodFiles / 2
	floodPerCaller = floodTotal / 4
	// floodHolders is how many connections the strangers attempt at the same time:
	// more than the arena can have open.
	floodHolders = floodFiles + 64
)

func TestSecurityConnections(t *testing.T) {
	t.Parallel()
	t.Run("one address", func(t *testing.T) { t.Parallel(); connectionsOfOneAddress(t) })
	t.Run("a flood from many addresses", func(t *testing.T) { t.Parallel(); connectionFlood(t, 3000) })
}

// The test opens 20,000 connections.
func TestSoakConnections(t *testing.T) {
	if os.Getenv("ARENA_SOAK") == "" {
		t.Skip("takes a minute: run make soak")
	}
	connectionFlood(t, 20_000)
}

// One address cannot use up the connections that other addresses need.
func connectionsOfOneAddress(t *testing.T) {
	f := newFloodArena(t)
	from := net.IPv4(127, 78, 0, 1)
	for i := range floodPerCaller + 20 {
		// The arena keeps an idle connection for minutes. If the connection waited in the
		// middle of a call, the arena would close it after a few seconds, perhaps before
		// the test has opened all others.
		why, conn, err := knock(t.Context(), f.arena.address(), from, "")
		require.NoError(t, err)
		if conn != nil {
			t.Cleanup(func() { _ = conn.Close() })
		}
		if i < floodPerCaller {
			require.Empty(t, why, "connection %d", i+1)
		} else {
			require.Contains(t, why, "from this address", "connection %d", i+1)
		}
	}
	res, err := http.Get(f.base() + "/health") // from another address
	require.NoError(t, err)
	defer res.Body.Close()
	require.Equal(t, http.StatusOK, res.StatusCode)
}

// While strangers attempt many connections, the running match continues, its result
// is stored, the bots are dialed for the next match, and that match ends too.
func connectionFlood(t *testing.T, attempts int64) {
	f := newFloodArena(t, "--tick", "1s", "--rest-standard", "1s", "--decision-standard", "30s")
	dialed := make(chan string, 1000)
	bots := []*testBot{newTestBot(t, "Ann"), newTestBot(t, "Bea"), newTestBot(t, "Cat"), newTestBot(t, "Dot")}
	bots[0].upgrade = func(h http.Header) { dialed <- h.Get("x-arena-match") }
	f.join(bots...)
	next := func(what string) string {
		timer := time.NewTimer(patience)
		defer timer.Stop()
		select {
		case id := <-dialed:
			return id
		case <-timer.C:
			require.FailNow(t, "never: "+what)
			return ""
		}
	}
	ids := []string{next("the first match")}

	crowd := newStrangers(f.arena.address(), attempts)
	defer crowd.stop()
	select {
	case <-crowd.attempted:
	case <-time.After(patience):
		require.FailNow(t, "the attempts hang")
	}
	require.Positive(t, crowd.refused.Load())
	eventually(t, "all connections for callers are in use", func() bool { return f.metric("arena_connections") == floodTotal })
	for len(dialed) > 0 {
		ids = append(ids, <-dialed)
	}
	ids = append(ids, next("a match that begins during the flood"), next("another one, after that match was rated"))
	t.Logf("%d attempts: %d refused with a response; %.0f refused in total, %.0f open", attempts, crowd.refused.Load(), f.metric("arena_connections_refused_total"), f.metric("arena_connections"))
	crowd.stop()

	f.retire()
	f.finish(len(ids))
	require.Empty(t, f.list(matches.Aborted))
	for _, id := range ids {
		r := f.record(id)
		r.requireWhole(t) // no bot has a strike
	}
}

// newFloodArena starts an arena that may have only floodFiles files and sockets open.
func newFloodArena(t *testing.T, flags ...string) *testArena {
	f := newTestArena(t, flags...)
	f.files = floodFiles
	f.start()
	return f
}

// metric returns a metric of the arena.
func (s *testArena) metric(name string) (value float64) {
	s.t.Helper()
	res, err := http.Get("http://" + s.arena.admin() + "/metrics")
	s.must(err)
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	s.must(err)
	found := regexp.MustCompile(`(?m)^` + name + ` (\S+)$`).FindSubmatch(text)
	require.NotNil(s.t, found, name)
	_, err = fmt.Sscan(string(found[1]), &value)
	s.must(err)
	return value
}

// knock opens a connection, makes a call, and sends the text begun. If the arena
// accepts the connection, knock returns it. If the arena refuses it, knock returns the
// reason, or an error if the arena gave none.
func knock(ctx context.Context, address string, from net.IP, begun string) (why string, c net.Conn, err error) {
	d := net.Dialer{LocalAddr: &net.TCPAddr{IP: from}}
	if c, err = d.DialContext(ctx, "tcp", address); err != nil {
		return "", nil, err
	}
	if _, err := io.WriteString(c, "GET /health HTTP/1.1\r\nHost: arena\r\n\r\n"+begun); err != nil {
		c.Close()
		return "", nil, err
	}
	res, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		c.Close()
		return "", nil, err
	}
	defer res.Body.Close()
	if res.StatusCode == http.StatusOK {
		return "", c, nil
	}
	defer c.Close()
	var p rest.Problem
	if err := json.NewDecoder(res.Body).Decode(&p); err != nil {
		return "", nil, err
	}
	if res.StatusCode != http.StatusServiceUnavailable || p.Code != "busy" || res.Header.Get("Retry-After") == "" {
		return "", nil, fmt.Errorf("%s: %+v", res.Status, p)
	}
	return p.Detail, nil, nil
}

// strangers attempt connections from many addresses, and keep the accepted
// connections open.
type strangers struct {
	address   string
	attempts  int64
	started   atomic.Int64
	refused   atomic.Int64  // attempts that were refused with a response that gives the reason
	attempted chan struct{} // closed after all attempts
	cancel    context.CancelFunc
	holders   sync.WaitGroup
}

func newStrangers(address string, attempts int64) *strangers {
	ctx, cancel := context.WithCancel(context.Background())
	f := &strangers{address: address, attempts: attempts, attempted: make(chan struct{}), cancel: cancel}
	for range floodHolders {
		f.holders.Go(func() { f.hold(ctx) })
	}
	return f
}

// hold attempts connections. Once all attempts have been made, it only replaces
// connections that the arena has closed.
func (f *strangers) hold(ctx context.Context) {
	for ctx.Err() == nil {
		n := f.started.Add(1)
		if n == f.attempts {
			close(f.attempted)
		}
		from := net.IPv4(127, 78, byte(1+rand.N(250)), byte(rand.N(256)))
		why, conn, err := knock(ctx, f.address, from, "GET /health HTTP/1.1\r\n") // the arena waits for the rest of the second call
		switch {
		case conn != nil:
			stop := context.AfterFunc(ctx, func() { _ = conn.Close() })
			_, _ = io.Copy(io.Discard, conn) // until the arena closes it
			stop()
			_ = conn.Close()
		case why != "":
			f.refused.Add(1)
			fallthrough
		case err != nil:
			if n >= f.attempts {
				return
			}
		}
	}
}

func (f *strangers) stop() {
	f.cancel()
	f.holders.Wait()
}
