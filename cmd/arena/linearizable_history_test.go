package main

import (
	"context"
	"errors"
	"math"
	"sync"
	"time"

	"github.com/anishathalye/porcupine"
	"github.com/google/uuid"

	"hexarena/eventstore"
)

// history records the calls that clients make to a log, with their times and results.
// The method check() reports whether the log is linearizable. To check this, it looks
// for an order of the calls that agrees with their times and explains their results, as
// if the log handled one call after another. A history is safe for concurrent use.
type history struct {
	began time.Time

	mu      sync.Mutex
	ops     []porcupine.Operation
	numbers map[uuid.UUID]eventNumber // the number of each event id; the model uses these numbers instead of ids
}

// verdict is the result of check.
type verdict struct {
	operations   int
	reads        int
	conflicts    int
	unknown      int // number of appends whose outcome is unknown to the client
	linearizable bool
	undecided    bool // whether the check ran out of time
}

// newHistory starts a history. The clients must use new streams.
func newHistory() *history {
	return &history{began: time.Now(), numbers: make(map[uuid.UUID]eventNumber)}
}

// logRequest is a call by a client: an append, or a read if ids is empty.
type logRequest struct {
	stream   eventstore.StreamID
	expected eventstore.Expected
	ids      string // numbers of the events, joined
	head     bool   // whether a read asks for only the last event
}

// logAnswer is the result of a request.
type logAnswer struct {
	unknown  bool
	conflict bool
	revision eventstore.Expected // after an append, the revision of its last event; after a conflict, the revision of the stream
	ids      string              // numbers of the events that a read returned
}

// The method append() calls Append on a log and records the call. While the outcome is
// unknown and again() returns true, append retries the call. It records all tries as
// one operation, because the log promises to store the events only once. append returns
// the result of the last try.
func (h *history) append(ctx context.Context, client int, log eventstore.Log, again func() (context.Context, context.CancelFunc, bool), id eventstore.StreamID, expected eventstore.Expected, events ...eventstore.Event) (eventstore.Appended, error) {
	req := logRequest{stream: id, expected: expected, ids: h.number(events)}
	call := h.now()
	appended, err := log.Append(ctx, id, expected, events...)
	for outcomeUnknown(err) {
		ctx, cancel, more := again()
		if !more {
			break
		}
		appended, err = log.Append(ctx, id, expected, events...)
		cancel()
	}
	var wrong *eventstore.WrongVersionError
	switch {
	case err == nil:
		h.record(client, req, call, logAnswer{revision: eventstore.At(appended.Revision)})
	case errors.As(err, &wrong):
		h.record(client, req, call, logAnswer{conflict: true, revision: wrong.Current})
	case outcomeUnknown(err):
		h.record(client, req, call, logAnswer{unknown: true})
	}
	return appended, err
}

func outcomeUnknown(err error) bool {
	return errors.Is(err, eventstore.ErrUnavailable) || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)
}

// The method read() reads a whole stream, or only its last event, and records the call
// if it succeeds. It returns the current revision of the stream.
func (h *history) read(ctx context.Context, client int, log eventstore.Log, id eventstore.StreamID, head bool) (eventstore.Expected, error) {
	from, opt := eventstore.Revision(0), eventstore.ReadOptions{}
	if head {
		from, opt = eventstore.EndRevision, eventstore.ReadOptions{Direction: eventstore.Backwards, Limit: 1}
	}
	call, at := h.now(), eventstore.NoStream
	var events []eventstore.Event
	for r, err := range log.Read(ctx, id, from, opt) {
		if err != nil {
			return at, err
		}
		events, at = append(events, r.Event), eventstore.At(r.Revision)
	}
	h.record(client, logRequest{stream: id, head: head}, call, logAnswer{ids: h.number(events), revision: at})
	return at, nil
}

func (h *history) now() int64 { return int64(time.Since(h.began)) }

func (h *history) record(client int, req logRequest, call int64, ans logAnswer) {
	back := h.now()
	if ans.unknown {
		back = math.MaxInt64 // the append may still take effect
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.ops = append(h.ops, porcupine.Operation{ClientId: client, Input: req, Call: call, Output: ans, Return: back})
}

// number returns the numbers of the events, which the model uses instead of ids.
func (h *history) number(events []eventstore.Event) string {
	h.mu.Lock()
	defer h.mu.Unlock()
	row := make([]byte, 0, len(events)*eventNumberSize)
	for _, e := range events {
		n, known := h.numbers[e.ID]
		if !known {
			n = newEventNumber(len(h.numbers))
			h.numbers[e.ID] = n
		}
		row = append(row, n[:]...)
	}
	return string(row)
}

// check decides whether the recorded calls are linearizable. It gives up after the
// given time.
func (h *history) check(within time.Duration) verdict {
	h.mu.Lock()
	defer h.mu.Unlock()
	v := verdict{operations: len(h.ops)}
	for _, op := range h.ops {
		ans := op.Output.(logAnswer)
		switch {
		case op.Input.(logRequest).ids == "":
			v.reads++
		case ans.unknown:
			v.unknown++
		case ans.conflict:
			v.conflicts++
		}
	}
	result := porcupine.CheckOperationsTimeout(sequentialLog, h.ops, within)
	v.linearizable, v.undecided = result == porcupine.Ok, result == porcupine.Unknown
	return v
}
