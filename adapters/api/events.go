package api

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"hexarena/adapters/rest/problem"
	"hexarena/eventstore"
	"hexarena/projections"
	"hexarena/projections/health"
)

// Events are the events of owners; see projections/health.
type Events interface {
	// Wait returns once the results of the other methods include the event at a
	// position.
	Wait(ctx context.Context, p eventstore.Position) error
	// Changed returns a channel that is closed when there may be more events, or when
	// Events returns an error.
	Changed() <-chan struct{}
	After(ownerID string, id health.ID) (n int64, err error)
	Newest(ownerID string) (id health.ID, n int64, err error)
	Events(ownerID string, n int64, limit int) ([]health.Event, error)
}

const (
	// eventsTime is how long a call waits for the log, and for an event that another
	// process has already sent.
	eventsTime = 5 * time.Second
	// eventsAtOnce is the maximum number of events that a stream holds in memory. The
	// streams that one address may open read at most this many events every paceAll.
	// Otherwise, an owner of many events could keep a core busy.
	eventsAtOnce = 100
)

// streamEvents sends the caller's events (docs/protocol.md, "Events for owners").
func (s *Server) streamEvents(c *call, _ *nothing) (stream, error) {
	if s.Events == nil {
		return stream{}, projections.ErrStopped
	}
	feed := &eventFeed{events: s.Events, ownerID: c.caller.OwnerID, admit: c.stillAdmitted}
	var err error
	if text := c.request.Header.Get("Last-Event-ID"); text != "" {
		feed.n, err = s.continueAfter(c, text)
	} else {
		var newest health.ID
		newest, feed.n, err = s.Events.Newest(feed.ownerID)
		feed.first = fmt.Appendf(nil, "id: %s\n\n", newest)
	}
	return stream{source: feed, pace: s.streams.pace}, err
}

var errUnknownEvent = problem.InvalidHeader("Last-Event-ID", "must be 0 or the id of one of your events")

// continueAfter returns the number of the event with the given id. If the read model of
// this process has not reached the event yet, continueAfter waits.
func (s *Server) continueAfter(c *call, text string) (int64, error) {
	id, ok := health.ParseID(text)
	if !ok {
		return 0, errUnknownEvent
	}
	if err := s.reach(c.ctx, id.Position); err != nil {
		return 0, err
	}
	n, err := s.Events.After(c.caller.OwnerID, id)
	switch {
	case errors.Is(err, health.ErrEventTooOld):
		err = problem.ErrEventGone
	case errors.Is(err, health.ErrEventUnknown):
		err = errUnknownEvent
	}
	return n, err
}

// reach waits until Events includes the event at a position. It refuses a position
// after the end of the log, because such a position can only come from another log.
func (s *Server) reach(ctx context.Context, p eventstore.Position) error {
	ctx, cancel := context.WithTimeout(ctx, eventsTime)
	defer cancel()
	for last, err := range s.Log.ReadAll(ctx, eventstore.EndPosition, eventstore.ReadOptions{Direction: eventstore.Backwards, Limit: 1}) {
		if err != nil {
			return err
		}
		if last.Position < p {
			return errUnknownEvent
		}
	}
	err := s.Events.Wait(ctx, p)
	if errors.Is(err, context.DeadlineExceeded) {
		return projections.ErrBehind
	}
	return err
}

// stillAdmitted returns an error if the caller's key or session is no longer valid.
func (c *call) stillAdmitted() error {
	account, err := c.server.Accounts.Load(c.request.Context(), c.caller.OwnerID)
	if err != nil {
		return err
	}
	return account.Admit(c.caller, c.server.Now())
}

// eventFeed is the source of a stream of an owner's events. It loads events only when
// its reader asks for them.
type eventFeed struct {
	events  Events
	ownerID string
	admit   func() error
	n       int64  // number of the latest event that was taken
	first   []byte // a record that comes before all events, or nil
}

// Take implements source. It ends the stream if the reader must connect again. While the
// log is unavailable, nobody can check the reader's credentials, so the reader gets no
// events.
func (f *eventFeed) Take() (records [][]byte, more <-chan struct{}, ended bool) {
	more = f.events.Changed() // before the read, so that no change is missed
	list, err := f.events.Events(f.ownerID, f.n, eventsAtOnce)
	refused := f.admit() // after the read, so that it sees a revocation before these events
	idle := len(list) == 0 && f.first == nil
	switch {
	case err != nil, refused != nil && !idle, refused != nil && !errors.Is(refused, eventstore.ErrUnavailable):
		return nil, nil, true
	case idle:
		return nil, more, false
	}
	if f.first != nil {
		records, f.first = append(records, f.first), nil
	}
	for _, e := range list {
		data, err := json.Marshal(e)
		if err != nil {
			return nil, nil, true
		}
		records = append(records, fmt.Appendf(nil, "event: %s\nid: %s\ndata: %s\n\n", e.Type, e.ID, data))
	}
	f.n += int64(len(list))
	if len(list) == eventsAtOnce {
		more = closed
	}
	return records, more, false
}

// closed is a closed channel. Take returns it when more records are already available.
var closed = func() <-chan struct{} { c := make(chan struct{}); close(c); return c }()
