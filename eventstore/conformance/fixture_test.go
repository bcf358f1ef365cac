package conformance_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"hexarena/eventstore"
)

// patience is the timeout of a case. It is long because all cases run concurrently,
// perhaps on a loaded machine.
const patience = 3 * time.Minute

// fixture holds the log of a case. No other case or run uses the fixture's stream
// names.
type fixture struct {
	t       *testing.T
	ctx     context.Context
	log     eventstore.Log
	name    string
	streams int
}

func newFixture(t *testing.T, log eventstore.Log) *fixture {
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	t.Cleanup(cancel)
	id := uuid.New()
	return &fixture{t: t, ctx: ctx, log: log, name: fmt.Sprintf("logtest%x", id[:6])}
}

// stream returns the name of a new stream. The name begins with prefix().
func (f *fixture) stream() eventstore.StreamID {
	f.streams++
	return eventstore.StreamID(fmt.Sprintf("%s-%d", f.name, f.streams))
}

func (f *fixture) prefix() string { return f.name + "-" }

// mine returns a filter that selects only the streams of the case.
func (f *fixture) mine() eventstore.Filter {
	return eventstore.Filter{StreamPrefixes: []string{f.prefix()}}
}

// The method events() creates n events to append.
func (f *fixture) events(n int) []eventstore.Event {
	events := make([]eventstore.Event, n)
	for i := range events {
		events[i] = eventstore.Event{
			ID:       uuid.New(),
			Type:     "Counted",
			Data:     fmt.Appendf(nil, `{"n":%d}`, i),
			Metadata: []byte(`{"schema":1}`),
		}
	}
	return events
}

// append stores events and requires success.
func (f *fixture) append(id eventstore.StreamID, expected eventstore.Expected, events ...eventstore.Event) eventstore.Appended {
	f.t.Helper()
	appended, err := f.log.Append(f.ctx, id, expected, events...)
	require.NoError(f.t, err)
	return appended
}

// The method refused() appends events and requires a conflict error with the given
// current revision.
func (f *fixture) refused(id eventstore.StreamID, expected, current eventstore.Expected, events ...eventstore.Event) {
	f.t.Helper()
	_, err := f.log.Append(f.ctx, id, expected, events...)
	f.wrongVersion(err, id, expected, current)
}

func (f *fixture) wrongVersion(err error, id eventstore.StreamID, expected, current eventstore.Expected) {
	f.t.Helper()
	var wrong *eventstore.WrongVersionError
	require.ErrorAs(f.t, err, &wrong)
	require.Equal(f.t, eventstore.WrongVersionError{Stream: id, Expected: expected, Current: current}, *wrong)
}

// read returns a stream's events.
func (f *fixture) read(id eventstore.StreamID, from eventstore.Revision, opt eventstore.ReadOptions) []eventstore.Recorded {
	f.t.Helper()
	return f.collect(f.log.Read(f.ctx, id, from, opt))
}

// readMine reads $all and returns the events of the case.
func (f *fixture) readMine(from eventstore.Position, opt eventstore.ReadOptions, until func(eventstore.Recorded) bool) []eventstore.Recorded {
	f.t.Helper()
	var mine []eventstore.Recorded
	for r, err := range f.log.ReadAll(f.ctx, from, opt) {
		require.NoError(f.t, err)
		require.NotEqual(f.t, '$', rune(r.Type[0]), "system events are left out")
		if f.mine().Selects(r.Stream, r.Type) {
			mine = append(mine, r)
		}
		if until != nil && until(r) {
			break
		}
	}
	return mine
}

func (f *fixture) collect(events iter.Seq2[eventstore.Recorded, error]) []eventstore.Recorded {
	f.t.Helper()
	var all []eventstore.Recorded
	for r, err := range events {
		require.NoError(f.t, err)
		all = append(all, r)
	}
	return all
}

// The method fails() requires that a read fails, and returns its error. The read must
// yield the error last.
func (f *fixture) fails(events iter.Seq2[eventstore.Recorded, error]) error {
	f.t.Helper()
	var failure error
	for _, err := range events {
		require.NoError(f.t, failure, "a read ends with its error")
		failure = err
	}
	require.Error(f.t, failure)
	return failure
}

// follower pulls the messages of a subscription one by one.
type follower struct {
	f    *fixture
	next func() (eventstore.Message, error, bool)
}

func (f *fixture) follow(ctx context.Context, after eventstore.Position, filter eventstore.Filter) *follower {
	next, stop := iter.Pull2(f.log.Subscribe(ctx, after, filter))
	f.t.Cleanup(stop)
	return &follower{f: f, next: next}
}

// message returns the next message.
func (w *follower) message() eventstore.Message {
	w.f.t.Helper()
	m, err, more := w.next()
	require.NoError(w.f.t, err)
	require.True(w.f.t, more, "the subscription ended: %v", context.Cause(w.f.ctx))
	require.NoError(w.f.t, exactlyOne(m))
	return m
}

// The method events returns the next n events of the case. It skips all other
// messages.
func (w *follower) events(n int) []eventstore.Recorded {
	w.f.t.Helper()
	var events []eventstore.Recorded
	for len(events) < n {
		if m := w.message(); m.Event != nil && w.f.mine().Selects(m.Event.Stream, m.Event.Type) {
			events = append(events, *m.Event)
		}
	}
	return events
}

// untilLive returns the events until the subscription has caught up.
func (w *follower) untilLive() []eventstore.Recorded {
	w.f.t.Helper()
	var events []eventstore.Recorded
	for {
		m := w.message()
		if m.CaughtUp {
			return events
		}
		if m.Event != nil {
			events = append(events, *m.Event)
		}
	}
}

func exactlyOne(m eventstore.Message) error {
	n := 0
	for _, set := range []bool{m.Event != nil, m.Checkpoint != 0, m.CaughtUp} {
		if set {
			n++
		}
	}
	if n != 1 {
		return fmt.Errorf("a message with %d fields set", n)
	}
	if m.Checkpoint == eventstore.EndPosition {
		return errors.New("a checkpoint at the end position")
	}
	return nil
}

func ids(events []eventstore.Event) []uuid.UUID {
	all := make([]uuid.UUID, len(events))
	for i, e := range events {
		all[i] = e.ID
	}
	return all
}

func recordedIDs(events []eventstore.Recorded) []uuid.UUID {
	all := make([]uuid.UUID, len(events))
	for i, e := range events {
		all[i] = e.ID
	}
	return all
}

func revisions(events []eventstore.Recorded) []eventstore.Revision {
	all := make([]eventstore.Revision, len(events))
	for i, e := range events {
		all[i] = e.Revision
	}
	return all
}
