package main

import (
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"nhooyr.io/websocket"

	"hexarena/domain/match"
	"hexarena/eventstore/logtest"
)

// If the machine pauses, bots get no strikes. The test pauses the arena's process
// with SIGSTOP. An answer is in time if its data reached the socket in time, even if
// the arena reads the data later.
func TestPausedMachineCausesNoStrikes(t *testing.T) {
	t.Parallel()
	const decision, still = 5 * time.Second, 6 * time.Second // still is the length of the pause, longer than the time for a decision
	rng := logtest.Random(t)
	f := &eventTrigger{}
	s := newTestArena(t, "--tick", "250ms", "--rest-standard", "0s", "--decision-standard", decision.String())
	s.start()
	var answered atomic.Int64
	players := goodPlayers(t, 8, &eventTrigger{})
	for _, p := range players {
		p.hold = func(*match.Request) { f.count() } // pauses the arena before the bot writes the answer
		p.answered = func() { answered.Add(1) }
	}
	s.join(players...)
	var waiting int64
	for range 3 {
		var before int64
		f.fireAfter(t, 1+rng.IntN(200), func() {
			s.arena.signal(syscall.SIGSTOP)
			before = answered.Load()
		})
		pause(still)
		waiting += answered.Load() - before
		s.arena.signal(syscall.SIGCONT)
	}
	c := s.settle()
	compared, _ := c.audit(t, s.players)
	t.Logf("3 stops of %v with %v a decision; %d answers written to sockets meanwhile; %d matches, %d events, no strike",
		still, decision, waiting, len(c.order), compared)
	require.GreaterOrEqual(t, waiting, int64(3))
}

// Deploying a new version causes no strikes. After SIGTERM, running matches stay in
// the log, and the next process continues them immediately.
func TestGracefulStopLosesNothing(t *testing.T) {
	t.Parallel()
	rng := logtest.Random(t)
	f := &eventTrigger{}
	s := newTestArena(t, quick...)
	s.start()
	s.join(goodPlayers(t, 8, f)...)
	for range 5 {
		f.fireAfter(t, 1+rng.IntN(400), func() { s.arena.signal(syscall.SIGTERM) })
		s.stop()
		s.start()
	}
	c := s.settle()
	compared, claims := c.audit(t, s.players)
	t.Logf("5 graceful stops, %d matches resumed by a claim, %d matches rated, %d public events equal to those of runs without a stop",
		claims, len(c.order), compared)
	require.Positive(t, claims)
}

// stoppedDuringPlay returns an arena that was stopped while it waited for a bot's answer. f
// counts the requests to its bots.
func stoppedDuringPlay(t *testing.T, rng *rand.Rand, f *eventTrigger) *testArena {
	t.Helper()
	s := newTestArena(t, quick...)
	s.start()
	players := goodPlayers(t, 8, f)
	for _, p := range players {
		p.upgrade, p.answered = nil, nil // count only requests
	}
	s.join(players...)
	f.fireAfter(t, 750+rng.IntN(500), func() {
		s.arena.signal(syscall.SIGTERM)
		<-s.arena.exited // so that the match that waits for this answer stays unfinished
	})
	s.stop()
	return s
}

// When an arena shuts down, it first completes the calls that it has received. After
// the restart, the log contains the writes of these calls. The arena cuts off slow
// callers.
func TestStopAnswersReceivedCalls(t *testing.T) {
	t.Parallel()
	s := newTestArena(t)
	s.start()
	o := s.owner()
	pinged, stopping := make(chan struct{}, 1), make(chan struct{})
	bot := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/ping") {
			pinged <- struct{}{}
			select {
			case <-stopping:
			case <-r.Context().Done():
			}
			_, _ = io.WriteString(w, "pong")
			return
		}
		if c, err := websocket.Accept(w, r, nil); err == nil {
			_, _, _ = c.Read(r.Context())
			_ = c.CloseNow()
		}
	}))
	defer bot.Close()
	dawdler, err := net.Dial("tcp", strings.TrimPrefix(s.base(), "http://"))
	require.NoError(t, err)
	defer dawdler.Close()
	_, err = io.WriteString(dawdler, "POST /sign-in HTTP/1.1\r\nHost: arena\r\nContent-Length: 100\r\n\r\n{")
	require.NoError(t, err)

	registered := make(chan error, 1)
	go func() { registered <- o.Register(t.Context(), "slow", "standard", bot.URL) }()
	<-pinged
	s.arena.signal(syscall.SIGTERM)
	eventually(t, "the shutdown has begun", func() bool {
		c, err := net.Dial("tcp", dawdler.RemoteAddr().String())
		if err == nil {
			_ = c.Close()
		}
		return err != nil
	})
	close(stopping)
	s.stop()
	require.NoError(t, <-registered)

	s.start()
	o.Base = s.base()
	var list struct{ Bots []struct{ Name string } }
	require.NoError(t, o.Call(t.Context(), http.MethodGet, "/bots", nil, &list))
	require.Len(t, list.Bots, 1)
	s.stop()
}
