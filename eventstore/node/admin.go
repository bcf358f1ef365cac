package node

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"sync"
	"time"

	"hexarena/eventstore/node/lifecycle"
	"hexarena/eventstore/node/record"
	"hexarena/eventstore/node/storage"
	"hexarena/eventstore/node/wire"
)

// These are the operator's routes. The response to a scavenge is a stream of JSON
// lines, each of which is a ScavengeLine. Only the last line has Done or Error set.
const (
	AdminPrefix  = "/admin/node/"
	BackupPath   = AdminPrefix + "backup"   // POST BackupOrder → BackedUp
	ScavengePath = AdminPrefix + "scavenge" // POST → ScavengeLine
)

// BackupOrder requests a backup into a folder on the node's machine.
type BackupOrder struct {
	Target string `json:"target"`
}

// ScavengeLine is one line of the response to a scavenge.
type ScavengeLine struct {
	Step  string             `json:"step,omitempty"`
	At    uint64             `json:"at,omitempty"`
	Of    uint64             `json:"of,omitempty"`
	Done  *storage.Scavenged `json:"done,omitempty"`
	Error string             `json:"error,omitempty"`
}

// lineInterval is the minimum time between two lines about the same step.
const lineInterval = 500 * time.Millisecond

// maxOrder is the maximum size of an order, in bytes.
const maxOrder = 64 << 10

// Admin serves the operator's routes. It does not authenticate callers, so serve it
// only on a loopback address, behind a check that rejects cross-site requests. When the
// server shuts down, a running scavenge or backup stops.
func (n *Node) Admin() http.Handler {
	a := &admin{Node: n}
	a.ctx, a.cancel = context.WithCancel(context.Background())
	mux := http.NewServeMux()
	mux.HandleFunc("POST "+BackupPath, a.backup)
	mux.HandleFunc("POST "+ScavengePath, a.scavenge)
	return mux
}

type admin struct {
	*Node
	once   sync.Once
	ctx    context.Context // ends with the server
	cancel context.CancelFunc
}

// The method while() returns a context that ends when the caller disconnects or the
// server shuts down.
func (a *admin) while(r *http.Request) (context.Context, func()) {
	if server, ok := r.Context().Value(http.ServerContextKey).(*http.Server); ok {
		a.once.Do(func() { server.RegisterOnShutdown(a.cancel) })
	}
	ctx, cancel := context.WithCancel(r.Context())
	stop := context.AfterFunc(a.ctx, cancel)
	return ctx, func() { stop(); cancel() }
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
		a.log.Logger.Warn("backup", "target", order.Target, "error", err)
		http.Error(w, storage.OneLine(err), statusOf(err))
		return
	}
	a.log.Logger.Info("backed up", "target", done.Target, "position", done.Position, "bytes", done.Bytes)
	w.Header().Set("Content-Type", wire.ContentJSON)
	_ = json.NewEncoder(w).Encode(done) // fails only if the caller has disconnected
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
	lines := &lineWriter{encoder: json.NewEncoder(w), flush: http.NewResponseController(w)}
	w.Header().Set("Content-Type", "application/x-ndjson")
	done, err := a.Scavenge(ctx, lines.report)
	if errors.Is(err, ErrBusy) {
		http.Error(w, storage.OneLine(err), statusOf(err))
		return
	}
	last := ScavengeLine{Done: &done}
	if err != nil {
		last = ScavengeLine{Error: storage.OneLine(err)}
		a.log.Logger.Warn("scavenge", "error", err)
	} else {
		a.log.Logger.Info("scavenged", "streams", done.Streams, "events", done.Events, "bytes", done.Bytes)
	}
	lines.write(last)
}

// lineWriter writes a line when a step begins, and more lines at intervals while
// the step runs.
type lineWriter struct {
	encoder *json.Encoder
	flush   *http.ResponseController
	step    string    // the step of the last line
	written time.Time // when the last line was written
}

func (l *lineWriter) report(step string, at, of uint64) {
	if step == l.step && time.Since(l.written) < lineInterval {
		return
	}
	l.step, l.written = step, time.Now()
	l.write(ScavengeLine{Step: step, At: at, Of: of})
}

// write writes a line and ignores errors. If the caller has disconnected, the
// request's context stops the work.
func (l *lineWriter) write(line ScavengeLine) {
	_ = l.encoder.Encode(line)
	_ = l.flush.Flush()
}

// ErrBusy is the error that Scavenge and Backup return while another scavenge or backup
// is running.
var ErrBusy = errors.New("another scavenge or backup is in progress")

// BackedUp describes a backup.
type BackedUp struct {
	Target   string `json:"target"`
	Position uint64 `json:"position"` // position of the last event that the copy is guaranteed to contain
	Bytes    uint64 `json:"bytes"`    // total size of its files
}

// Scavenge removes the events that metadata and tombstones hide, first from the log and
// then from every file in the log's folder. The other events keep their revisions and
// positions. A stream that loses all its events still continues with the same next
// revision. A tombstoned stream keeps its tombstone. Appends and reads continue during
// a scavenge. Scavenge needs as much free disk space as the log uses. If ctx, Close or
// a crash stops it early, the next scavenge continues the work.
func (n *Node) Scavenge(ctx context.Context, progress storage.Progress) (done storage.Scavenged, err error) {
	ctx, leave, err := n.maintain(ctx)
	if err != nil {
		return storage.Scavenged{}, err
	}
	defer leave()
	done, err = n.log.Store.Scavenge(ctx, n.log.Tail.End(), record.Ticks(n.log.Now()), progress)
	n.log.Tail.Forget()
	if err == nil {
		err = n.log.Store.Purge(ctx, progress)
	}
	if err != nil {
		err = fmt.Errorf("scavenge: %w", err)
	}
	return done, err
}

// maintain allows one scavenge or backup at a time. The returned context ends when
// the node closes or its log fails.
func (n *Node) maintain(ctx context.Context) (_ context.Context, leave func(), err error) {
	if !n.maintenance.TryLock() {
		return nil, nil, ErrBusy
	}
	if err := n.Ready(); err != nil {
		n.maintenance.Unlock()
		return nil, nil, err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	stop := context.AfterFunc(n.log.Life.Open(), func() { cancel(n.Ready()) })
	return ctx, func() {
		stop()
		cancel(nil)
		n.maintenance.Unlock()
	}, nil
}

// Backup copies the log into a folder, which must be empty or must not exist yet. The
// copy contains every event that was acknowledged before the call. If the file system
// supports hard links, files that no longer change are linked instead of copied.
// Appends and reads continue during a backup. A node can open the copy. A failed backup
// leaves no copy behind.
func (n *Node) Backup(ctx context.Context, target string) (BackedUp, error) {
	ctx, leave, err := n.maintain(ctx)
	if err != nil {
		return BackedUp{}, err
	}
	defer leave()
	done := BackedUp{Target: target, Position: n.log.Tail.End()}
	if done.Bytes, err = n.log.Store.CopyTo(ctx, target); err != nil {
		return BackedUp{}, err
	}
	return done, nil
}
