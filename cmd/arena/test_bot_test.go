package main

import (
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"nhooyr.io/websocket"

	"hexarena/domain/match"
)

// testBot is a bot for tests: a real server in the test's process. It remembers the
// requests that it receives. If the field conduct is nil, it plays like the type eager.
type testBot struct {
	name    string
	url     string
	server  *httptest.Server
	conduct conduct          // if nil, the bot sends the good answer
	instead http.HandlerFunc // if not nil, answers a match's upgrade instead of the bot

	upgrade  func(http.Header)      // called for a match's upgrade
	asked    func(r *match.Request) // called when a request arrives
	hold     func(r *match.Request) // called before the answer
	answered func()                 // called after the answer

	mu    sync.Mutex
	games map[string]*botMatch // by match
}

// conduct answers a decision over a socket. d contains the good answer, and the
// number of the decision in the match, counted from 1.
type conduct func(ctx context.Context, conn *websocket.Conn, d decision) error

type decision struct {
	*match.Request
	number int
	answer []byte // the good answer
}

// botMatch is a bot's memory of one match.
type botMatch struct {
	brain    *eager
	sockets  int
	stale    int // requests that arrived on a socket after the arena had opened a newer one
	requests []request
	answers  map[int]json.RawMessage // the actions, by decision id
}

// request is one decision request as the bot received it, without the deadline.
type request struct {
	socket int // number of the match's socket, from 1
	id     int
	frame  string
}

// connKey is the key of the TCP connection in a request's context.
type connKey struct{}

// newTestBot serves a bot until the test ends.
func newTestBot(t testing.TB, name string) *testBot {
	p := newUnstartedBot(t, name)
	p.server.Start()
	p.url = p.server.URL
	return p
}

// newBotAlone serves a bot at a loopback address that few other servers use. If the bot
// stops, another test is unlikely to get its port.
func newBotAlone(t testing.TB, name string) *testBot {
	p := newUnstartedBot(t, name)
	require.NoError(t, p.server.Listener.Close())
	var err error
	p.server.Listener, err = (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.9:0")
	require.NoError(t, err)
	p.server.Start()
	p.url = p.server.URL
	return p
}

// newUnstartedBot returns a bot whose server the test must start.
func newUnstartedBot(t testing.TB, name string) *testBot {
	p := &testBot{name: name, games: map[string]*botMatch{}}
	p.server = httptest.NewUnstartedServer(p)
	p.server.Config.ConnContext = func(ctx context.Context, c net.Conn) context.Context { return context.WithValue(ctx, connKey{}, c) }
	t.Cleanup(p.server.Close)
	return p
}

func (p *testBot) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	id := r.Header.Get("x-arena-match")
	switch {
	case strings.HasSuffix(r.URL.Path, "/ping"):
		_, _ = io.WriteString(w, "pong\n")
		return
	case p.instead != nil && id != "deploy-check":
		p.instead(w, r)
		return
	}
	if p.upgrade != nil && id != "deploy-check" {
		p.upgrade(r.Header)
	}
	conn, err := websocket.Accept(w, r, nil)
	if err != nil {
		return
	}
	defer conn.CloseNow()
	conn.SetReadLimit(1 << 20)
	socket := p.open(id)
	for {
		_, frame, err := conn.Read(r.Context())
		if err != nil || p.reply(r.Context(), conn, socket, frame) != nil {
			return
		}
	}
}

// The method open() adds a socket to a match, and returns the socket's number.
func (p *testBot) open(id string) int {
	s := p.sit(id)
	p.mu.Lock()
	defer p.mu.Unlock()
	s.sockets++
	return s.sockets
}

// sit returns the memory of a match. It creates the memory if it does not exist.
func (p *testBot) sit(id string) *botMatch {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.games[id] == nil {
		p.games[id] = &botMatch{brain: newEager(), answers: map[int]json.RawMessage{}}
	}
	return p.games[id]
}

func (p *testBot) reply(ctx context.Context, conn *websocket.Conn, socket int, frame []byte) error {
	var r match.Request
	if err := json.Unmarshal(frame, &r); err != nil {
		return err
	}
	if p.asked != nil {
		p.asked(&r)
	}
	d, err := p.decide(socket, &r)
	if err != nil {
		return err
	}
	if p.hold != nil {
		p.hold(&r)
	}
	if p.conduct != nil {
		return p.conduct(ctx, conn, d)
	}
	err = conn.Write(ctx, websocket.MessageText, d.answer)
	if p.answered != nil {
		p.answered()
	}
	return err
}

// decide answers a request, and remembers the request and the answer.
func (p *testBot) decide(socket int, r *match.Request) (decision, error) {
	s := p.sit(r.MatchID)
	p.mu.Lock()
	defer p.mu.Unlock()
	action, err := json.Marshal(s.brain.answer(r))
	if err != nil {
		return decision{}, err
	}
	s.requests = append(s.requests, request{socket, r.ID, timeless(*r)})
	if socket < s.sockets {
		s.stale++
	}
	s.answers[r.ID] = action
	answer, err := json.Marshal(match.Response{ID: r.ID, Action: action})
	return decision{r, len(s.answers), answer}, err
}

// The function timeless() encodes a request without its time limits.
func timeless(r match.Request) string {
	r.DeadlineMs, r.BankMs = 0, nil
	return string(r.AppendJSON(nil))
}

// memory returns the memory of a match, or nil if the bot did not play in it.
func (p *testBot) memory(id string) *botMatch {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.games[id]
}
