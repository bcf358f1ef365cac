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

// History records what clients asked of a log, when, and what they were told.
// Check says whether there is one order of it all, in keeping with the times,
// in which a log that does one thing after another answers the same: whether
// the log is linearizable. Safe for concurrent use.
type History struct {
	began time.Time

	mu      sync.Mutex
	ops     []porcupine.Operation
	numbers map[uuid.UUID]number // of event ids, as the model knows them
}

// Verdict is what Check found.
type Verdict struct {
	Operations   int
	Reads        int
	Conflicts    int
	Unknown      int // appends whose outcome the client was not told
	Linearizable bool
	Undecided    bool // the check ran out of time
}

// NewHistory begins a history. Its streams are to be new ones.
func NewHistory() *History {
	return &History{began: time.Now(), numbers: make(map[uuid.UUID]number)}
}

// asked is what a client asked: an append, or a read if there are no events.
type asked struct {
	stream   eventstore.StreamID
	expected eventstore.Expected
	ids      string // of the events, as numbers in a row
	head     bool   // of a read: the last event alone
}

// told is what it was told.
type told struct {
	unknown  bool
	conflict bool
	revision eventstore.Expected // an append: of its last event; a conflict: the stream's
	ids      string              // a read's
}

// Append appends through a log and records it. While the outcome is unknown
// and again says so, the same append is sent again, as one operation: the log
// promises to store it once. Its error is that of the last one.
func (h *History) Append(ctx context.Context, client int, log eventstore.Log, again func() (context.Context, context.CancelFunc, bool), id eventstore.StreamID, expected eventstore.Expected, events ...eventstore.Event) (eventstore.Appended, error) {
	question := asked{stream: id, expected: expected, ids: h.number(events)}
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
		h.record(client, question, call, told{revision: eventstore.At(appended.Revision)})
	case errors.As(err, &wrong):
		h.record(client, question, call, told{conflict: true, revision: wrong.Current})
	case unknown(err):
		h.record(client, question, call, told{unknown: true})
	}
	return appended, err
}

func unknown(err error) bool {
	return errors.Is(err, eventstore.ErrUnavailable) || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)
}

// Read reads a whole stream, or its last event, and records it if it succeeds.
// It returns the revision that the stream is at.
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
	h.record(client, asked{stream: id, head: head}, call, told{ids: h.number(events), revision: at})
	return at, nil
}

func (h *History) now() int64 { return int64(time.Since(h.began)) }

func (h *History) record(client int, question asked, call int64, answer told) {
	back := h.now()
	if answer.unknown {
		back = math.MaxInt64 // it may still happen
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.ops = append(h.ops, porcupine.Operation{ClientId: client, Input: question, Call: call, Output: answer, Return: back})
}

// number returns events as the model knows them.
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

// Check judges what was recorded, within a time.
func (h *History) Check(within time.Duration) Verdict {
	h.mu.Lock()
	defer h.mu.Unlock()
	v := Verdict{Operations: len(h.ops)}
	for _, op := range h.ops {
		answer := op.Output.(told)
		switch {
		case op.Input.(asked).ids == "":
			v.Reads++
		case answer.unknown:
			v.Unknown++
		case answer.conflict:
			v.Conflicts++
		}
	}
	result := porcupine.CheckOperationsTimeout(oneAfterAnother, h.ops, within)
	v.Linearizable, v.Undecided = result == porcupine.Ok, result == porcupine.Unknown
	return v
}
