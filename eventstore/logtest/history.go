package logtest

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

// History records the calls of clients to a log, with their times and answers. Check
// reports whether the log is linearizable: whether some order of the calls, consistent
// with their times, explains all answers if the log handles one call after another.
// It is safe for concurrent use.
type History struct {
	began time.Time

	mu      sync.Mutex
	ops     []porcupine.Operation
	numbers map[uuid.UUID]number // of event ids, as the model knows them
}

// Verdict is the result of Check.
type Verdict struct {
	Operations   int
	Reads        int
	Conflicts    int
	Unknown      int // appends whose outcome the client does not know
	Linearizable bool
	Undecided    bool // the check ran out of time
}

// NewHistory starts a history. The clients must use new streams.
func NewHistory() *History {
	return &History{began: time.Now(), numbers: make(map[uuid.UUID]number)}
}

// request is a call of a client: an append, or a read if ids is empty.
type request struct {
	stream   eventstore.StreamID
	expected eventstore.Expected
	ids      string // numbers of the events, joined
	head     bool   // of a read: only the last event
}

// answer is the answer to a request.
type answer struct {
	unknown  bool
	conflict bool
	revision eventstore.Expected // of an append: that of its last event; of a conflict: that of the stream
	ids      string              // of a read
}

// Append appends to a log and records the call. While the outcome is unknown and
// again returns true, it sends the same append again. All tries count as one
// operation, because the log promises to store the events once. Append returns the
// last answer.
func (h *History) Append(ctx context.Context, client int, log eventstore.Log, again func() (context.Context, context.CancelFunc, bool), id eventstore.StreamID, expected eventstore.Expected, events ...eventstore.Event) (eventstore.Appended, error) {
	req := request{stream: id, expected: expected, ids: h.number(events)}
	call := h.now()
	appended, err := log.Append(ctx, id, expected, events...)
	for unknown(err) {
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
		h.record(client, req, call, answer{revision: eventstore.At(appended.Revision)})
	case errors.As(err, &wrong):
		h.record(client, req, call, answer{conflict: true, revision: wrong.Current})
	case unknown(err):
		h.record(client, req, call, answer{unknown: true})
	}
	return appended, err
}

func unknown(err error) bool {
	return errors.Is(err, eventstore.ErrUnavailable) || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)
}

// Read reads a whole stream, or only its last event, and records the call if it
// succeeds. It returns the current revision of the stream.
func (h *History) Read(ctx context.Context, client int, log eventstore.Log, id eventstore.StreamID, head bool) (eventstore.Expected, error) {
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
	h.record(client, request{stream: id, head: head}, call, answer{ids: h.number(events), revision: at})
	return at, nil
}

func (h *History) now() int64 { return int64(time.Since(h.began)) }

func (h *History) record(client int, req request, call int64, ans answer) {
	back := h.now()
	if ans.unknown {
		back = math.MaxInt64 // it may still take effect
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.ops = append(h.ops, porcupine.Operation{ClientId: client, Input: req, Call: call, Output: ans, Return: back})
}

// number returns the numbers of the events, which the model uses instead of ids.
func (h *History) number(events []eventstore.Event) string {
	h.mu.Lock()
	defer h.mu.Unlock()
	row := make([]byte, 0, len(events)*numberSize)
	for _, e := range events {
		n, known := h.numbers[e.ID]
		if !known {
			n = newNumber(len(h.numbers))
			h.numbers[e.ID] = n
		}
		row = append(row, n[:]...)
	}
	return string(row)
}

// Check checks the recorded calls. It gives up after the given time.
func (h *History) Check(within time.Duration) Verdict {
	h.mu.Lock()
	defer h.mu.Unlock()
	v := Verdict{Operations: len(h.ops)}
	for _, op := range h.ops {
		ans := op.Output.(answer)
		switch {
		case op.Input.(request).ids == "":
			v.Reads++
		case ans.unknown:
			v.Unknown++
		case ans.conflict:
			v.Conflicts++
		}
	}
	result := porcupine.CheckOperationsTimeout(sequentialLog, h.ops, within)
	v.Linearizable, v.Undecided = result == porcupine.Ok, result == porcupine.Unknown
	return v
}
