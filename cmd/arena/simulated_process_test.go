package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"

	"hexarena/cmd/arena/offline"
	"hexarena/cmd/arena/simulate"
	"hexarena/eventstore"
)

// simulatedProcess is one process of the arena in a simulated world. It runs the code of
// `arena serve`, but its log, its lines to bots and its callers are simulated.
type simulatedProcess struct {
	s      *simulation
	host   *simulatedHost
	name   string // of this process: each start has another name
	data   string
	client *simulate.Client
	arena  *arena // nil until it is open; the lock of the simulation guards it
	// isolated means that nobody reaches the process.
	isolated atomic.Bool
	stop     context.CancelFunc
	killed   chan struct{} // closed by kill
	ended    chan struct{} // closed when the method run of the arena has returned
	err      error         // of the method run
}

// simulatedHost is a machine on which one process of the arena runs at a time.
type simulatedHost struct {
	name   string
	data   string // the data folder of the current or next process
	starts int
	now    *simulatedProcess // nil while no process runs; the lock of the simulation guards it
}

// start starts a process on a host.
func (s *simulation) start(h *simulatedHost) *simulatedProcess {
	h.starts++
	name := fmt.Sprintf("%s.%d", h.name, h.starts)
	p := &simulatedProcess{s: s, host: h, name: name, data: h.data, client: s.log.Client(name), killed: make(chan struct{}), ended: make(chan struct{})}
	p.client.At = func(at simulate.Point, stream string) { s.passes(p, at, stream) }
	ctx, stop := context.WithCancel(context.Background())
	p.stop = stop
	s.mu.Lock()
	h.now = p
	s.started = append(s.started, p)
	s.mu.Unlock()
	s.world.Step("%s starts", name)
	if s.world.Planted() == simulate.PlantEarlyCheckpoint && h.starts > 1 {
		s.plantEarlyCheckpoint(h.data)
	}
	go func() {
		defer close(p.ended)
		a, err := p.open(ctx)
		if err == nil {
			err = a.run(ctx)
		}
		p.err = err
		if err != nil && !p.isKilled() {
			s.world.Step("%s ends: %v", name, err)
			s.mu.Lock()
			defer s.mu.Unlock()
			if h.now == p {
				h.now = nil
			}
		}
	}()
	return p
}

// copyFolder copies a data folder. The copy is what a crash at this moment leaves.
func copyFolder(from, to string) error {
	return filepath.WalkDir(from, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		target := filepath.Join(to, strings.TrimPrefix(path, from))
		if d.IsDir() {
			return os.MkdirAll(target, 0o700)
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		return os.WriteFile(target, text, 0o600)
	})
}

func (p *simulatedProcess) isKilled() bool {
	select {
	case <-p.killed:
		return true
	default:
		return false
	}
}

// kill ends the process like kill -9. Nothing that its goroutines do later has an effect:
// its connections are dead, and the next process gets a copy of the data folder.
func (p *simulatedProcess) kill(why string) {
	s := p.s
	s.mu.Lock()
	defer s.mu.Unlock()
	if p.isKilled() || p.host.now != p {
		return
	}
	s.world.Fault("kill", p.name, why)
	close(p.killed)
	p.client.Kill()
	s.network.Kill(p.name)
	p.host.now = nil
	p.host.data = filepath.Join(s.root, fmt.Sprintf("%s.%d", p.host.name, p.host.starts))
	if err := copyFolder(p.data, p.host.data); err != nil {
		s.fail("copy the data folder of %s: %v", p.name, err)
	}
	p.stop()
}

// plantEarlyCheckpoint moves the checkpoint of a read model to the end of the log. The
// commit calls the method committing, so the caller must not hold the lock.
func (s *simulation) plantEarlyCheckpoint(data string) {
	db, err := sql.Open("sqlite", filepath.Join(offline.ProjectionsDir(data), "matches.db"))
	if err != nil {
		s.fail("%v", err)
		return
	}
	defer db.Close()
	for r, err := range s.log.Store().ReadAll(context.Background(), eventstore.EndPosition, eventstore.ReadOptions{Direction: eventstore.Backwards, Limit: 1}) {
		if err != nil {
			s.fail("%v", err)
			return
		}
		if _, err := db.ExecContext(context.Background(), "UPDATE checkpoint SET position = ?, anchor = ?, event = ?", int64(r.Position), int64(r.Position), r.ID.String()); err != nil {
			s.world.Step("the checkpoint cannot be changed: %v", err)
		}
	}
}

// end stops the process gracefully, and waits for its end.
func (p *simulatedProcess) end() {
	p.s.world.Step("%s stops", p.name)
	p.stop()
	<-p.ended
	p.s.mu.Lock()
	if p.host.now == p {
		p.host.now = nil
	}
	p.s.mu.Unlock()
	if p.err != nil && !p.isKilled() && p.s.world.IsCalm() { // without the log, it cannot hand over its matches
		p.s.failed("%s stopped with an error: %v", p.name, p.err)
	}
}

// open is the function open, with simulated connections.
func (p *simulatedProcess) open(ctx context.Context) (*arena, error) {
	c := p.s.config
	c.pace.Data = p.data
	if c.Beacon != "" {
		c.Beacon = "http://" + p.host.name + ".relay.example"
	}
	a := &arena{config: c, logger: slog.New(traceHandler{p.s.world, p.name})}
	connect := func(context.Context) error { a.log = p.client; return nil }
	dialer := func(context.Context) error {
		a.dial, a.checker = p.s.network.Dialer(p.name), p.s.network.Checker(p.name)
		return nil
	}
	ports := func(context.Context) error {
		a.listeners.public, a.listeners.admin = newSilentListener(8080), newSilentListener(8081)
		a.baseURL = a.BaseURL
		_, a.host, _ = strings.Cut(a.baseURL, "://")
		return os.MkdirAll(p.data, 0o700)
	}
	for _, step := range []func(context.Context) error{ports, a.openMail, connect, a.openSecrets, dialer, a.openBeacon, a.openModels, a.openPlay, a.openServers} {
		if err := step(ctx); err != nil {
			return nil, errors.Join(err, a.close())
		}
	}
	p.s.opened(p, a)
	return a, nil
}

// playing is the history that this process plays.
var playing atomic.Pointer[simulation]

// hookCommits makes SQLite call the simulation before each commit.
func hookCommits() {
	onCommit(func(path string) {
		if s := playing.Load(); s != nil {
			s.committing(path)
		}
	})
}

// serves reports whether the process accepts calls.
func (p *simulatedProcess) serves() bool {
	a := p.s.arenaOf(p)
	if a == nil || p.isKilled() || p.isolated.Load() {
		return false
	}
	select {
	case <-a.upToDate:
		return true
	default:
		return false
	}
}

// serve handles a call, unless the process is killed first.
func (p *simulatedProcess) serve(r *http.Request, admin bool) (*http.Response, error) {
	if !p.serves() {
		return nil, errRefused
	}
	a := p.s.arenaOf(p)
	handler := a.server.Handler
	if admin {
		handler = a.admin.Handler
	}
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	w, done := httptest.NewRecorder(), make(chan struct{})
	go func() {
		defer close(done)
		serveLikeHTTP(handler, w, r.WithContext(ctx))
	}()
	select {
	case <-done:
		return w.Result(), nil
	case <-p.killed:
		return nil, errRefused
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// serveLikeHTTP calls a handler, which may abort its response.
func serveLikeHTTP(h http.Handler, w http.ResponseWriter, r *http.Request) {
	defer func() {
		p := recover()
		if err, ok := p.(error); p != nil && (!ok || !errors.Is(err, http.ErrAbortHandler)) {
			panic(p)
		}
	}()
	h.ServeHTTP(w, r)
}

var errRefused = errors.New("connection refused")

// silentListener is a listener on which nobody connects.
type silentListener struct {
	address *net.TCPAddr
	closed  chan struct{}
	close   func()
}

func newSilentListener(port int) *silentListener {
	l := &silentListener{address: &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: port}, closed: make(chan struct{})}
	l.close = sync.OnceFunc(func() { close(l.closed) })
	return l
}

func (l *silentListener) Accept() (net.Conn, error) { <-l.closed; return nil, net.ErrClosed }
func (l *silentListener) Addr() net.Addr            { return l.address }
func (l *silentListener) Close() error              { l.close(); return nil }

// traceHandler adds warnings and errors of a process to the trace.
type traceHandler struct {
	world   *simulate.World
	process string
}

func (traceHandler) Enabled(_ context.Context, level slog.Level) bool { return level >= slog.LevelInfo }
func (h traceHandler) Handle(_ context.Context, r slog.Record) error {
	var b strings.Builder
	r.Attrs(func(a slog.Attr) bool { fmt.Fprintf(&b, " %s=%v", a.Key, a.Value); return true })
	h.world.Step("%s logs %s %s%s", h.process, r.Level, r.Message, b.String())
	return nil
}
func (h traceHandler) WithAttrs([]slog.Attr) slog.Handler { return h }
func (h traceHandler) WithGroup(string) slog.Handler      { return h }
