package esdb

import (
	"context"
	"errors"
	"iter"
	"math"
	"sync"
	"time"

	es "github.com/EventStore/EventStore-Client-Go/v4/esdb"

	"hexarena/eventstore"
)

// checkpointEvery is the number of consecutive events that the filter leaves out
// before the server sends a checkpoint.
const checkpointEvery = 256

// Subscribe yields the stored events and then new ones. See eventstore.Log. The
// client's subscriptions end when their connection ends. Subscribe continues on the
// next connection, after the last event or checkpoint that it received.
func (l *Log) Subscribe(ctx context.Context, after eventstore.Position, filter eventstore.Filter) iter.Seq2[eventstore.Message, error] {
	return func(yield func(eventstore.Message, error) bool) {
		lag, leave := l.metrics.follow(filter)
		defer leave()
		sub := subscription{filter: filter, after: after, yield: yield, metrics: l.metrics, known: &l.known, lag: lag}
		const what = "subscribe to $all"
		var err error
		if after == eventstore.EndPosition {
			sub.after, err = l.end(ctx)
		}
		if err == nil {
			err = l.retry(ctx, what, func(losses int64) error { return sub.follow(ctx, l, losses) })
		}
		if err != nil && ctx.Err() == nil {
			yield(eventstore.Message{}, translate(what, err))
		}
	}
}

// end returns the position of the last event, or 0 if the log is empty. A
// subscription from the end begins at this position. Asking the server for the end
// again after an outage would skip the events that were appended during the outage.
func (l *Log) end(ctx context.Context) (eventstore.Position, error) {
	for e, err := range l.stored(ctx, es.End{}, es.Backwards, func() uint64 { return 1 }) {
		if err != nil {
			return 0, err
		}
		return eventstore.Position(e.Position.Commit), nil
	}
	return 0, nil
}

// subscription holds the progress of one subscriber.
type subscription struct {
	filter  eventstore.Filter
	after   eventstore.Position
	yield   func(eventstore.Message, error) bool
	metrics *metrics
	known   *known
	lag     *lag
}

// arrival is a message of the client's subscription. The field message is empty
// if the arrival contains nothing for the subscriber.
type arrival struct {
	message eventstore.Message
	at      eventstore.Position // the subscription has received all events up to this position; 0 if unchanged
	came    time.Time
}

// follow yields messages until the server drops the subscription. If the
// subscriber stops first, follow returns nil.
func (s *subscription) follow(ctx context.Context, l *Log, losses int64) error {
	opts, after, link := s.options(), s.after, s.lag.connection()
	defer s.lag.dropped()
	return stream(ctx, l, losses, func(ctx context.Context, c *es.Client, emit func(arrival) bool) error {
		sub, end, err := subscribe(ctx, l, c, opts)
		if err != nil {
			return err
		}
		defer end()
		r := &reception{filter: s.filter, at: after}
		ctx, cancel := context.WithCancel(ctx)
		var watching sync.WaitGroup
		watching.Go(func() { r.watch(ctx, l, func() { sub.Close() }) })
		defer watching.Wait()
		defer cancel()
		for {
			r.wait()
			event := sub.Recv()
			r.receive(positionOf(event))
			if event.SubscriptionDropped != nil {
				return dropped(event.SubscriptionDropped.Error)
			}
			a := arrived(event, s.filter)
			a.came = s.lag.came(link)
			if !emit(a) {
				return ctx.Err()
			}
		}
	}, s.take)
}

var errUnconfirmed = errors.New("the node does not confirm the subscription")

// subscribe subscribes and waits for the node's confirmation. A node without a leader may
// never send one, so subscribe gives up when the subscription would count as silent.
func subscribe(ctx context.Context, l *Log, c *es.Client, opts es.SubscribeToAllOptions) (sub *es.Subscription, end func(), err error) {
	bound, cancel := context.WithCancel(ctx)
	silent := time.AfterFunc(2*l.pace.silence, cancel)
	sub, err = c.SubscribeToAll(bound, opts)
	silent.Stop()
	if err == nil {
		return sub, func() { sub.Close(); cancel() }, nil
	}
	if bound.Err() != nil && ctx.Err() == nil {
		l.metrics.silent.Inc()
		err = errUnconfirmed
	}
	cancel()
	return nil, nil, err
}

// take yields one message and reports whether the subscriber wants more.
func (s *subscription) take(a arrival) bool {
	defer s.lag.took(a.came, a.message.CaughtUp)
	if a.at != 0 && a.at <= s.after {
		return true
	}
	s.after = max(s.after, a.at)
	if a.message == (eventstore.Message{}) {
		return true
	}
	if a.message.Event != nil {
		s.known.see(a.message.Event)
		s.metrics.events.WithLabelValues(eventsSubscribed).Inc()
	}
	return s.yield(a.message, nil)
}

// arrived converts a message from the client.
func arrived(event *es.SubscriptionEvent, filter eventstore.Filter) arrival {
	switch {
	case event.EventAppeared != nil:
		r := recorded(event.EventAppeared.OriginalEvent())
		if system(r.Type) || !filter.Selects(r.Stream, r.Type) {
			return arrival{at: r.Position}
		}
		return arrival{message: eventstore.Message{Event: &r}, at: r.Position}
	case event.CheckPointReached != nil && event.CheckPointReached.Commit != math.MaxUint64:
		at := eventstore.Position(event.CheckPointReached.Commit)
		return arrival{message: eventstore.Message{Checkpoint: at}, at: at}
	case event.CaughtUp != nil:
		return arrival{message: eventstore.Message{CaughtUp: true}}
	}
	return arrival{}
}

// The method options() returns the options that make the server filter as much as it can.
// The server accepts only one filter: the list of types if there is one, or else the list
// of stream prefixes. If neither is given, the filter only excludes system events.
func (s *subscription) options() es.SubscribeToAllOptions {
	filter := es.SubscriptionFilter{Type: es.EventFilterType, Regex: `^[^$]`}
	switch {
	case len(s.filter.Types) > 0:
		filter = es.SubscriptionFilter{Type: es.EventFilterType, Prefixes: s.filter.Types}
	case len(s.filter.StreamPrefixes) > 0:
		filter = es.SubscriptionFilter{Type: es.StreamFilterType, Prefixes: s.filter.StreamPrefixes}
	}
	return es.SubscribeToAllOptions{
		From:               allPosition(s.after),
		MaxSearchWindow:    checkpointEvery,
		CheckpointInterval: 1,
		Filter:             &filter,
	}
}

// The function dropped() returns the error for the end of a subscription. A
// subscription never ends without a reason, so the result is an error even if the
// client's error is nil.
func dropped(err error) error {
	if err == nil {
		return errors.New("the server dropped the subscription")
	}
	return err
}
