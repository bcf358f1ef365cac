package bench

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/alecthomas/kong"
	"nhooyr.io/websocket"

	"hexarena/adapters/botwire"
	"hexarena/adapters/housebot"
	"hexarena/cmd/arena/listen"
	"hexarena/eventstore"
)

// botsCmd serves the bots of all matches in a process of its own. Each URL is a bot that
// decides like house:greedy. The process measures, because only the bots see how long an
// arena takes between an answer and the next request.
type botsCmd struct {
	Think time.Duration `help:"Average time between a request and its answer."`
}

// Run prints the base URL of the bots, and serves them until ctx ends.
func (c botsCmd) Run(ctx context.Context, k *kong.Kong) error {
	l, err := listen.TCP(ctx, "--listen", "127.0.0.1:0")
	if err != nil {
		return err
	}
	fmt.Fprintf(k.Stdout, "http://%s\n", l.Addr())
	server := listen.NewServer(&bots{think: c.Think, matches: map[string]*botsMatch{}})
	defer context.AfterFunc(ctx, func() { _ = server.Close() })()
	return listen.Serve(server, botwire.Listener(l))
}

// bots measures all matches together.
type bots struct {
	think time.Duration

	mu        sync.Mutex // guards the fields below
	matches   map[string]*botsMatch
	decisions int
	shares    []time.Duration
}

// botsMatch is a match in which at least one bot has a socket.
type botsMatch struct {
	sockets  int
	answers  int       // since the last request
	answered time.Time // when the last of these answers was written
}

// botsFigures is the response to a call of /figures. Each call starts a new measurement.
type botsFigures struct {
	Running   int     `json:"running"`   // matches with at least one socket
	Decisions int     `json:"decisions"` // answers that a request has followed, so they are in the log
	Share     latency `json:"share"`     // from the last answer of a batch to the next request of the match
}

// ServeHTTP implements http.Handler.
func (b *bots) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch {
	case r.URL.Path == "/figures":
		_ = json.NewEncoder(w).Encode(b.figures())
	case strings.HasSuffix(r.URL.Path, "/ping"):
		_, _ = w.Write([]byte("pong"))
	default:
		_ = b.play(w, r) // the arena counts what goes wrong: it gives a strike
	}
}

func (b *bots) figures() botsFigures {
	b.mu.Lock()
	defer b.mu.Unlock()
	f := botsFigures{Running: len(b.matches), Decisions: b.decisions, Share: latencyOf(b.shares)}
	b.decisions, b.shares = 0, b.shares[:0]
	return f
}

func (b *bots) play(w http.ResponseWriter, r *http.Request) error {
	id := r.Header.Get("x-arena-match")
	player, err := housebot.NewPlayer("greedy", 1, id)
	if err != nil {
		return err
	}
	conn, err := websocket.Accept(w, r, nil)
	if err != nil {
		return err
	}
	defer conn.CloseNow()
	conn.SetReadLimit(1 << 20)
	m := b.join(id)
	defer b.leave(id)
	var frame bytes.Buffer // reused, so that this process needs little CPU time beside the arena
	for {
		_, message, err := conn.Reader(r.Context())
		if err != nil {
			return err
		}
		b.asked(m)
		frame.Reset()
		if _, err := frame.ReadFrom(message); err != nil {
			return err
		}
		answer, err := player.Answer(frame.Bytes())
		if err != nil {
			return err
		}
		think := time.Duration(float64(b.think) * (0.5 + rand.Float64()))
		if err := eventstore.Sleep(r.Context(), think); err != nil {
			return err
		}
		if err := conn.Write(r.Context(), websocket.MessageText, answer); err != nil {
			return err
		}
		b.answered(m)
	}
}

func (b *bots) join(id string) *botsMatch {
	b.mu.Lock()
	defer b.mu.Unlock()
	m := b.matches[id]
	if m == nil {
		m = &botsMatch{}
		b.matches[id] = m
	}
	m.sockets++
	return m
}

func (b *bots) leave(id string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.matches[id].sockets--; b.matches[id].sockets == 0 {
		delete(b.matches, id)
	}
}

// The method asked() records that a request of a match has begun to arrive.
func (b *bots) asked(m *botsMatch) {
	now := time.Now()
	b.mu.Lock()
	defer b.mu.Unlock()
	if m.answers > 0 {
		b.decisions += m.answers
		b.shares = append(b.shares, now.Sub(m.answered))
		m.answers = 0
	}
}

// The method answered() records that an answer has been written.
func (b *bots) answered(m *botsMatch) {
	now := time.Now()
	b.mu.Lock()
	defer b.mu.Unlock()
	m.answers++
	m.answered = now
}

// withBots starts bots in a process of their own, and calls f with their base URL.
func withBots(ctx context.Context, think time.Duration, f func(url string) error) error {
	var url string
	return withProcess(ctx, []string{"bench", "bots", "--think", think.String()}, func(lines *bufio.Reader) error {
		line, err := lines.ReadString('\n')
		url = strings.TrimSpace(line)
		return err
	}, func(int) error { return f(url) })
}
