package esdb

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"time"

	es "github.com/EventStore/EventStore-Client-Go/v4/esdb"
	"github.com/google/uuid"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"hexarena/eventstore"
)

// known is the newest event of the log that this process has seen: it has read it,
// received it, or got an acknowledgement for it. A cluster may lose its newest events
// when its leader changes. It always loses the end of the log, so while the newest known
// event is there, all others are there too. Each new generation checks this before its
// first call.
//
// A leader that has just been cut off does not have the newest event either, but only
// for a few seconds. So while the event is missing, the log counts as unavailable, and
// connects again. If the event is still missing after pace.doubt, the Log accepts that
// events are lost. It then runs the functions of OnLoss before the next call can
// succeed. All calls that began before fail with eventstore.ErrEventsLost, because their
// callers may have decided them from events that are lost.
type known struct {
	position atomic.Uint64 // a copy of event.position, to skip the lock
	losses   atomic.Int64  // how often events were lost

	mu      sync.Mutex // guards the following fields
	event   seen
	missing time.Time // when the event was first found missing; zero if it was found since
	onLoss  []func()
}

// seen is the place of an event.
type seen struct {
	position eventstore.Position
	stream   eventstore.StreamID
	revision eventstore.Revision
	id       uuid.UUID
}

// see records that this process knows an event.
func (k *known) see(r *eventstore.Recorded) {
	if uint64(r.Position) <= k.position.Load() {
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if r.Position > k.event.position {
		k.event = seen{r.Position, r.Stream, r.Revision, r.ID}
		k.position.Store(uint64(r.Position))
	}
}

// OnLoss registers a function that the Log calls when the log has lost events that this
// process knows. The Log waits for the function, and no call succeeds before that. So
// the function must not call the Log, and must return soon.
func (l *Log) OnLoss(f func()) {
	l.known.mu.Lock()
	defer l.known.mu.Unlock()
	l.known.onLoss = append(l.known.onLoss, f)
}

var (
	errMissing   = errors.New("the node does not have an event that this process knows")
	errUnchecked = errors.New("the node does not show whether it has an event that this process knows")
)

// checkLog probes the server of a new generation. It returns errMissing while the newest
// known event may be lost.
func (l *Log) checkLog(ctx context.Context, c *es.Client) error {
	l.known.mu.Lock()
	newest := l.known.event
	l.known.mu.Unlock()
	if newest.position == 0 {
		return l.probe(ctx, c)
	}
	there, err := newest.in(readsOf(ctx, c))
	switch {
	case err == nil:
		return l.judge(there)
	case definite(err): // no call may begin before the event is checked
		return fmt.Errorf("%w: %s", errUnchecked, describe(err))
	}
	return err
}

// judge decides whether events are lost.
func (l *Log) judge(there bool) error {
	k := &l.known
	k.mu.Lock()
	defer k.mu.Unlock()
	switch now := time.Now(); {
	case there:
		k.missing = time.Time{}
		return nil
	case k.missing.IsZero():
		k.missing = now
		return errMissing
	case now.Sub(k.missing) < l.pace.doubt:
		return errMissing
	}
	l.logger.Error("the log has lost events that this process knows; everything is folded again", "position", k.event.position, "event", k.event.id)
	k.missing, k.event = time.Time{}, seen{}
	k.position.Store(0)
	k.losses.Add(1)
	l.metrics.losses.Inc()
	for _, f := range k.onLoss {
		f()
	}
	return nil
}

// scanned is how many of the newest events amongNewest compares with the known event.
const scanned = 4096

// reads reads events from one node.
type reads struct {
	// all reads events of $all in one direction, at most limit events.
	all func(direction es.Direction, from es.AllPosition, limit uint64) ([]eventstore.Recorded, error)
	// next reads the first event of a stream from a revision on. The list is empty if the
	// stream ends before it.
	next func(stream eventstore.StreamID, from eventstore.Revision) ([]eventstore.Recorded, error)
}

func readsOf(ctx context.Context, c *es.Client) reads {
	return reads{
		all: func(direction es.Direction, from es.AllPosition, limit uint64) ([]eventstore.Recorded, error) {
			return collect(c.ReadAll(ctx, es.ReadAllOptions{Direction: direction, From: from}, limit))
		},
		next: func(stream eventstore.StreamID, from eventstore.Revision) ([]eventstore.Recorded, error) {
			list, err := collect(c.ReadStream(ctx, string(stream), es.ReadStreamOptions{From: es.Revision(uint64(from))}, 1))
			switch code(err) {
			case es.ErrorCodeResourceNotFound:
				return nil, nil
			case es.ErrorCodeStreamDeleted:
				return nil, eventstore.ErrStreamDeleted
			}
			return list, err
		},
	}
}

// collect returns the events of a read.
func collect(events *es.ReadStream, err error) (list []eventstore.Recorded, _ error) {
	if err != nil {
		return nil, err
	}
	defer events.Close()
	for {
		r, err := events.Recv()
		if errors.Is(err, io.EOF) {
			return list, nil
		}
		if err != nil {
			return list, err
		}
		list = append(list, recorded(r.OriginalEvent()))
	}
}

// The method in() reports whether a log contains the event at its position.
func (e seen) in(log reads) (bool, error) {
	events, err := log.all(es.Forwards, allPosition(e.position), 1)
	switch {
	case err == nil && len(events) == 0:
		return false, nil
	case err == nil && events[0].Position == e.position:
		return events[0].ID == e.id, nil
	case err == nil:
		return e.inStream(log)
	case code(err) == es.ErrorCodeNotLeader, code(err) == es.ErrorCodeConnectionClosed:
		return false, err
	}
	switch status.Code(err) {
	case codes.InvalidArgument, codes.OutOfRange: // no event begins at this position
		return false, nil
	case codes.Internal, codes.Unknown, codes.FailedPrecondition, codes.DataLoss:
		return e.amongNewest(log)
	}
	return false, err
}

// inStream looks for an event in its stream, because a read of $all does not decide. If
// the read at the event's position returned a later event, a scavenge has removed the
// event, or it is lost: a new leader begins with a record of its own, which no read
// returns. If the event is lost, its stream has another event at its revision, or ends
// before it.
func (e seen) inStream(log reads) (bool, error) {
	events, err := log.next(e.stream, e.revision)
	switch {
	case errors.Is(err, eventstore.ErrStreamDeleted):
		return true, nil
	case err != nil:
		return false, err
	case len(events) == 0:
		return false, nil
	case events[0].Revision == e.revision:
		return events[0].ID == e.id, nil
	}
	return true, nil
}

// amongNewest looks for an event among the newest events of a log, because the read at
// the event's position failed. That error may mean that no event is at this position,
// but also that the server has another problem. A problem is no loss, even if it lasts.
// If the newest events do not decide, the event's stream does.
func (e seen) amongNewest(log reads) (bool, error) {
	newest, err := log.all(es.Backwards, es.End{}, scanned)
	if err != nil {
		return false, err
	}
	for _, r := range newest {
		if r.Position == e.position {
			return r.ID == e.id, nil
		}
		if r.Position < e.position {
			return e.inStream(log)
		}
	}
	if len(newest) < scanned { // this is the whole log
		return false, nil
	}
	return e.inStream(log)
}
