package node

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"mime"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"sync"
	"time"

	"hexarena/eventstore/node/lifecycle"
	"hexarena/eventstore/node/storage"
	"hexarena/eventstore/node/wire"
)

// The operators' routes. Answers are lines of JSON: of a scavenge one for each
// Told, as it goes on; the last has Done or Error.
const (
	AdminPrefix  = "/admin/node/"
	BackupPath   = AdminPrefix + "backup"   // POST BackupOrder → BackedUp
	ScavengePath = AdminPrefix + "scavenge" // POST → Told
)

// BackupOrder asks for a backup into a folder on the node's machine.
type BackupOrder struct {
	Target string `json:"target"`
}

// Told is a line of the answer to a scavenge.
type Told struct {
	Step  string             `json:"step,omitempty"`
	At    uint64             `json:"at,omitempty"`
	Of    uint64             `json:"of,omitempty"`
	Done  *storage.Scavenged `json:"done,omitempty"`
	Error string             `json:"error,omitempty"`
}

// tellTime is the time between two lines about one step.
const tellTime = 500 * time.Millisecond

// maxOrder is how long an order may be.
const maxOrder = 64 << 10

// Admin serves the operators' routes. It has no passwords: it is for an address
// on loopback, and refuses what another site has a browser send there. Work
// that is going on ends when its server shuts down.
func (n *Node) Admin() http.Handler {
	a := &admin{Node: n}
	a.ctx, a.cancel = context.WithCancel(context.Background())
	mux := http.NewServeMux()
	mux.HandleFunc("POST "+BackupPath, a.backup)
	mux.HandleFunc("POST "+ScavengePath, a.scavenge)
	return http.NewCrossOriginProtection().Handler(onlyByAddress(mux))
}

type admin struct {
	*Node
	once   sync.Once
	ctx    context.Context // ends with the server
	cancel context.CancelFunc
}

// while is how long a call may go on: until its caller leaves, or the server
// shuts down.
func (a *admin) while(r *http.Request) (context.Context, func()) {
	if server, ok := r.Context().Value(http.ServerContextKey).(*http.Server); ok {
		a.once.Do(func() { server.RegisterOnShutdown(a.cancel) })
	}
	ctx, cancel := context.WithCancel(r.Context())
	stop := context.AfterFunc(a.ctx, cancel)
	return ctx, func() { stop(); cancel() }
}

// onlyByAddress refuses calls to a name that is not this machine's own: a site
// may have its name lead here.
func onlyByAddress(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		host := r.Host
		if name, _, err := net.SplitHostPort(host); err == nil {
			host = name
		}
		if _, err := netip.ParseAddr(strings.Trim(host, "[]")); err != nil && host != "localhost" {
			http.Error(w, "call this by its address", http.StatusForbidden)
			return
		}
		h.ServeHTTP(w, r)
	})
}

func (a *admin) backup(w http.ResponseWriter, r *http.Request) {
	if kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || kind != wire.ContentJSON {
		http.Error(w, "want "+wire.ContentJSON, http.StatusUnsupportedMediaType)
		return
	}
	var order BackupOrder
	decoder := json.NewDecoder(io.LimitReader(r.Body, maxOrder))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&order); err != nil {
		http.Error(w, `want {"target": folder}`, http.StatusBadRequest)
		return
	}
	ctx, cancel := a.while(r)
	defer cancel()
	done, err := a.Backup(ctx, order.Target)
	if err != nil {
		a.logger.Warn("backup", "target", order.Target, "error", err)
		http.Error(w, storage.OneLine(err), statusOf(err))
		return
	}
	a.logger.Info("backed up", "target", done.Target, "position", done.Position, "bytes", done.Bytes)
	w.Header().Set("Content-Type", wire.ContentJSON)
	_ = json.NewEncoder(w).Encode(done) // who has left does not want it
}

func statusOf(err error) int {
	switch {
	case errors.Is(err, storage.ErrTarget):
		return http.StatusUnprocessableEntity
	case errors.Is(err, ErrBusy):
		return http.StatusConflict
	case errors.Is(err, lifecycle.ErrClosed), errors.Is(err, lifecycle.ErrFailed):
		return http.StatusServiceUnavailable
	default:
		return http.StatusInternalServerError
	}
}

func (a *admin) scavenge(w http.ResponseWriter, r *http.Request) {
	ctx, cancel := a.while(r)
	defer cancel()
	lines := &teller{encoder: json.NewEncoder(w), flush: http.NewResponseController(w)}
	w.Header().Set("Content-Type", "application/x-ndjson")
	stop := lines.tellOften()
	done, err := a.Scavenge(ctx, lines.note)
	stop()
	if errors.Is(err, ErrBusy) {
		http.Error(w, storage.OneLine(err), statusOf(err))
		return
	}
	last := Told{Done: &done}
	if err != nil {
		last = Told{Error: storage.OneLine(err)}
		a.logger.Warn("scavenge", "error", err)
	} else {
		a.logger.Info("scavenged", "streams", done.Streams, "events", done.Events, "bytes", done.Bytes)
	}
	lines.tell(last)
}

// teller writes lines as they come, not too often. Safe for concurrent use.
type teller struct {
	mu      sync.Mutex
	encoder *json.Encoder
	flush   *http.ResponseController
	latest  Told
	told    Told
}

func (t *teller) note(step string, at, of uint64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.latest = Told{Step: step, At: at, Of: of}
}

// tellOften tells the latest, every so often, until it is stopped.
func (t *teller) tellOften() (stop func()) {
	ended, gone := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(gone)
		ticker := time.NewTicker(tellTime)
		defer ticker.Stop()
		for {
			select {
			case <-ticker.C:
				t.tell(t.current())
			case <-ended:
				return
			}
		}
	}()
	return func() { close(ended); <-gone }
}

func (t *teller) current() Told {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.latest
}

// tell writes a line. Who does not listen any more ends the work by its context.
func (t *teller) tell(line Told) {
	if line == t.told {
		return
	}
	t.told = line
	_ = t.encoder.Encode(line)
	_ = t.flush.Flush()
}
