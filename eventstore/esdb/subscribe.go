package esdb

import (
	"context"
	"errors"
	"iter"
	"math"
	"time"

	es "github.com/EventStore/EventStore-Client-Go/v4/esdb"

	"hexarena/eventstore"
)

// window is how many events in a row that the filter leaves out make a
// checkpoint.
const window = 256

// Subscribe yields what is stored and then what comes; see eventstore.Log. The
// client's subscriptions end with their connection: this one goes on over the
// next, behind the last event or checkpoint it yielded.
func (l *Log) Subscribe(ctx context.Context, after eventstore.Position, filter eventstore.Filter) iter.Seq2[eventstore.Message, error] {
	return func(yield func(eventstore.Message, error) bool) {
		lag, leave := l.metrics.follow(filter)
		defer leave()
		sub := subscription{filter: filter, after: after, yield: yield, metrics: l.metrics, lag: lag}
		const what = "subscribe to $all"
		err := l.retry(ctx, what, func() error {
			if sub.after == eventstore.EndPosition {
				if err := sub.pin(ctx, l); err != nil {
					return err
				}
			}
			return sub.follow(ctx, l)
		})
		if err != nil && ctx.Err() == nil {
			yield(eventstore.Message{}, translate(what, err))
		}
	}
}

// subscription is how far a subscriber has come.
type subscription struct {
	filter  eventstore.Filter
	after   eventstore.Position
	yield   func(eventstore.Message, error) bool
	metrics *metrics
	lag     *lag
}

// arrival is a message, and how far the subscription has come with it. One
// that is nothing to the subscriber has none.
type arrival struct {
	message eventstore.Message
	at      eventstore.Position // 0: no further
	came    time.Time
}

// pin replaces the log's end by a position, so that a resumption does not
// begin at a later end.
func (s *subscription) pin(ctx context.Context, l *Log) error {
	head := eventstore.Position(0)
	err := stream(ctx, l, func(ctx context.Context, c *es.Client, emit func(eventstore.Recorded) bool) error {
		events, err := c.ReadAll(ctx, es.ReadAllOptions{Direction: es.Backwards, From: es.End{}}, 1)
		return drain(events, err, emit)
	}, func(r eventstore.Recorded) bool { head = r.Position; return true })
	if err == nil {
		s.after = head
	}
	return err
}

// follow hands over what comes until the subscription is dropped, or the
// subscriber leaves: then there is no error.
func (s *subscription) follow(ctx context.Context, l *Log) error {
	opts, link := s.options(), s.lag.connection()
	defer s.lag.dropped()
	return stream(ctx, l, func(ctx context.Context, c *es.Client, emit func(arrival) bool) error {
		sub, err := c.SubscribeToAll(ctx, opts)
		if err != nil {
			return err
		}
		defer sub.Close()
		for {
			event := sub.Recv()
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

// take yields one message, and says whether to go on.
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
		s.metrics.events.WithLabelValues(eventsSubscribed).Inc()
	}
	return s.yield(a.message, nil)
}

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

// options leave to the server what it can leave out. It takes one filter: types,
// else the prefixes of streams, else that an event is no system event.
func (s *subscription) options() es.SubscribeToAllOptions {
	filter := es.SubscriptionFilter{Type: es.EventFilterType, Regex: `^[^$]`}
	switch {
	case len(s.filter.Types) > 0:
		filter = es.SubscriptionFilter{Type: es.EventFilterType, Prefixes: s.filter.Types}
	case len(s.filter.StreamPrefixes) > 0:
		filter = es.SubscriptionFilter{Type: es.StreamFilterType, Prefixes: s.filter.StreamPrefixes}
	}
	return es.SubscribeToAllOptions{
		From:               place(s.after),
		MaxSearchWindow:    window,
		CheckpointInterval: 1,
		Filter:             &filter,
	}
}

// dropped is why a subscription has ended; it never ends by itself.
func dropped(err error) error {
	if err == nil {
		return errors.New("the subscription was dropped")
	}
	return err
}
