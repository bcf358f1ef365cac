package simulate

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"

	"hexarena/eventstore"
)

// Append implements eventstore.Log.
func (c *Client) Append(ctx context.Context, id eventstore.StreamID, expected eventstore.Expected, events ...eventstore.Event) (eventstore.Appended, error) {
	if err := eventstore.CheckAppend(id, expected, events); err != nil {
		return eventstore.Appended{}, err
	}
	var appended eventstore.Appended
	tries := 0
	err := c.write(ctx, id, func(ctx context.Context) error {
		var err error
		if tries++; tries > 1 && c.world.planted == PlantNewIDs {
			expected, events = eventstore.Any, c.renamed(events)
		}
		if c.world.swallows(c.process, id, events) {
			appended.Revision = eventstore.Revision(expected + eventstore.Expected(len(events)))
			return nil
		}
		stored := events
		if len(events) > 1 && c.world.planted == PlantTornAppend && strings.HasPrefix(string(id), "owner-") {
			stored = events[:1]
		}
		appended, err = c.log.store.Append(ctx, id, c.world.expected(id, expected), stored...)
		appended.Revision += eventstore.Revision(len(events) - len(stored))
		if c.world.planted == PlantRatedTwice && err == nil && events[0].Type == "RatingsChanged" {
			_, _ = c.log.store.Append(ctx, id, eventstore.Any, c.renamed(events)...)
		}
		if err == nil {
			c.world.Step("%s appends %s to %s@%d", c.process, types(events), id, appended.Revision)
			for _, e := range events {
				if c.world.detailed() {
					c.world.Step("%s: %s %s", id, e.Data, e.Metadata)
				}
			}
			if c.log.Stored != nil {
				c.log.Stored(id, appended.Revision-eventstore.Revision(len(events)-1), events)
			}
		} else {
			c.world.Step("%s fails to append %s to %s: %v", c.process, types(events), id, err)
		}
		return err
	})
	if err != nil {
		return eventstore.Appended{}, err
	}
	c.log.acknowledge(id, appended, events)
	c.see(appended.Position)
	return appended, nil
}

// renamed returns events with new ids, for planted faults.
func (c *Client) renamed(events []eventstore.Event) []eventstore.Event {
	events = slices.Clone(events)
	for i := range events {
		events[i].ID = uuid.NewSHA1(events[i].ID, []byte("again"))
	}
	return events
}

func types(events []eventstore.Event) (names []string) {
	for _, e := range events {
		if n := len(names); n == 0 || names[n-1] != e.Type {
			names = append(names, e.Type)
		}
	}
	return names
}

// SetMetadata implements eventstore.Log.
func (c *Client) SetMetadata(ctx context.Context, id eventstore.StreamID, m eventstore.StreamMetadata) error {
	return c.write(ctx, id, func(ctx context.Context) error { return c.log.store.SetMetadata(ctx, id, m) })
}

// Tombstone implements eventstore.Log.
func (c *Client) Tombstone(ctx context.Context, id eventstore.StreamID, expected eventstore.Expected) error {
	return c.write(ctx, id, func(ctx context.Context) error { return c.log.store.Tombstone(ctx, id, expected) })
}

// write sends a write, and receives the answer. Like the real client, it sends the write
// again if the outcome is unknown, until ctx ends.
func (c *Client) write(ctx context.Context, id eventstore.StreamID, store func(context.Context) error) error {
	w, stream := c.world, string(id)
	losses := c.lossCount()
	for {
		if c.lossCount() != losses {
			return fmt.Errorf("write %s: %w", stream, eventstore.ErrEventsLost)
		}
		if c.At(BeforeAppend, stream); c.isDead() {
			return errDead
		}
		if err := c.travel(ctx, "write", stream); err != nil {
			return err
		}
		if w.Happens(LostRequest, c.process, stream) {
			if err := c.resend(ctx, stream); err != nil {
				return err
			}
			continue
		}
		if w.Happens(DelayedRequest, c.process, stream) {
			c.storeLater(stream, store)
			return c.giveUp(ctx, stream)
		}
		lossesOfLog := c.log.lossCount()
		err := store(context.WithoutCancel(ctx))
		if w.Happens(RepeatedRequest, c.process, stream) {
			c.storeLater(stream, store)
		}
		if c.At(AfterAppend, stream); c.isDead() {
			return errDead
		}
		lost := w.Happens(LostAnswer, c.process, stream)
		if err := c.travel(ctx, "written", stream); err != nil {
			return err
		}
		if c.log.lossCount() != lossesOfLog {
			continue // the connection broke, so the answer did not arrive
		}
		if lost {
			if w.DrawNow("gives up", c.process, stream).IntN(2) == 0 {
				return c.giveUp(ctx, stream)
			}
			if err := c.resend(ctx, stream); err != nil {
				return err
			}
			continue
		}
		if c.At(AfterAnswer, stream); c.isDead() {
			return errDead
		}
		return err
	}
}

// resend waits until the client sends a write again.
func (c *Client) resend(ctx context.Context, stream string) error {
	if err := c.world.Sleep(ctx, time.Millisecond, time.Second, "resend", c.process, stream); err != nil {
		return unavailable(ctx, []string{"write", stream})
	}
	return nil
}

// giveUp ends a write whose outcome stays unknown.
func (c *Client) giveUp(ctx context.Context, stream string) error {
	if err := c.world.Sleep(ctx, time.Millisecond, 6*time.Second, "give up", c.process, stream); err != nil {
		return unavailable(ctx, []string{"write", stream})
	}
	return fmt.Errorf("write %s: the answer is lost: %w", stream, eventstore.ErrUnavailable)
}

// storeLater makes the log get a write later.
func (c *Client) storeLater(stream string, store func(context.Context) error) {
	ctx := context.Background()
	go func() {
		_ = c.world.Sleep(ctx, time.Millisecond, 10*time.Second, "late", c.process, stream) // ctx never ends
		_ = store(ctx)                                                                      // nobody waits for the outcome
	}()
}

// Read implements eventstore.Log.
func (c *Client) Read(ctx context.Context, id eventstore.StreamID, from eventstore.Revision, opt eventstore.ReadOptions) iter.Seq2[eventstore.Recorded, error] {
	return c.read(ctx, string(id), "read "+string(id)+" "+strconv.FormatUint(uint64(from), 10), func() iter.Seq2[eventstore.Recorded, error] {
		return c.log.store.Read(ctx, id, from, opt)
	})
}

// ReadAll implements eventstore.Log.
func (c *Client) ReadAll(ctx context.Context, from eventstore.Position, opt eventstore.ReadOptions) iter.Seq2[eventstore.Recorded, error] {
	return c.read(ctx, "$all", "read all "+strconv.FormatUint(uint64(from), 10), func() iter.Seq2[eventstore.Recorded, error] {
		return c.log.store.ReadAll(ctx, from, opt)
	})
}

func (c *Client) read(ctx context.Context, stream, what string, open func() iter.Seq2[eventstore.Recorded, error]) iter.Seq2[eventstore.Recorded, error] {
	return func(yield func(eventstore.Recorded, error) bool) {
		if c.At(BeforeRead, stream); c.isDead() {
			yield(eventstore.Recorded{}, errDead)
			return
		}
		if err := c.travel(ctx, what); err != nil {
			yield(eventstore.Recorded{}, err)
			return
		}
		left, quiet := -1, false
		if c.world.sprouts(PlantShortRead, c.process, what) {
			left, quiet = c.world.DrawNow("events", c.process, what).IntN(20), true
		} else if c.world.Happens(FailedRead, c.process, what) {
			left = c.world.DrawNow("events", c.process, what).IntN(4)
		}
		for r, err := range open() {
			if left == 0 {
				break
			}
			left--
			c.see(r.Position)
			if !yield(r, err) || err != nil {
				return
			}
		}
		if left >= 0 && !quiet {
			yield(eventstore.Recorded{}, fmt.Errorf("%s: %w", what, eventstore.ErrUnavailable))
		}
	}
}

// Subscribe implements eventstore.Log. Two subscriptions of a process with the same
// filter get an event at the same time, so their order does not matter.
func (c *Client) Subscribe(ctx context.Context, after eventstore.Position, filter eventstore.Filter) iter.Seq2[eventstore.Message, error] {
	return func(yield func(eventstore.Message, error) bool) {
		if after == eventstore.EndPosition {
			var err error
			if after, err = eventstore.Head(ctx, c); err != nil {
				return // only ctx or the process ends it
			}
		}
		name := filter.String()
		losses := c.lossCount()
		for {
			after, err := c.follow(ctx, after, filter, yield)
			if ctx.Err() != nil || c.isDead() || errors.Is(err, errEnough) {
				if c.isDead() {
					<-ctx.Done() // a killed process hears nothing more
				}
				return
			}
			if c.lossCount() != losses {
				yield(eventstore.Message{}, fmt.Errorf("subscribe to %s after %d: %w", name, after, eventstore.ErrEventsLost))
				return
			}
		}
	}
}

// errEnough means that a subscriber wants no more messages.
var errEnough = errors.New("the subscriber has ended the subscription")

// follow delivers messages until the subscription ends. If the log has lost events, it
// returns the position up to which the subscriber has got messages.
func (c *Client) follow(ctx context.Context, after eventstore.Position, filter eventstore.Filter, yield func(eventstore.Message, error) bool) (eventstore.Position, error) {
	name := filter.String()
	if err := c.travel(ctx, "subscribe", name); err != nil {
		return after, err
	}
	var sent time.Time
	stored, caughtUp, losses := 0, false, c.log.lossCount()
	for m, err := range c.log.store.Subscribe(ctx, after, filter) {
		if errors.Is(err, eventstore.ErrEventsLost) {
			return after, err
		}
		switch {
		case c.waits(m, &sent, &stored, caughtUp):
			if err := c.deliver(ctx, name); err != nil {
				return after, err
			}
		case caughtUp && m.Event != nil:
			// Otherwise, it would depend on the scheduler whether a read model commits each
			// event of an append, or all of them.
			if err := c.world.SleepUntil(ctx, time.Now().Add(1), hash(c.world.seed, []string{"next", c.process, name})); err != nil {
				return after, err
			}
		}
		if c.log.lossCount() != losses {
			return after, eventstore.ErrEventsLost
		}
		caughtUp = caughtUp || m.CaughtUp
		if m.Event != nil {
			after = m.Event.Position
			if c.world.skips(c.process, name, m.Event) {
				continue
			}
		}
		after = max(after, m.Checkpoint)
		c.see(after)
		if !yield(m, err) || err != nil {
			return after, errEnough
		}
	}
	return after, nil
}

// waits reports whether a message needs time of its own. Events of the same append come
// almost together, and so do the stored events at the beginning of a subscription.
func (c *Client) waits(m eventstore.Message, sent *time.Time, stored *int, caughtUp bool) bool {
	if !caughtUp {
		*stored++
		return *stored%burst == 0 || m.CaughtUp
	}
	if m.Event == nil {
		return false
	}
	same := m.Event.Created.Equal(*sent)
	*sent = m.Event.Created
	return !same
}

// deliver waits until a message arrives. It returns an error if ctx or the process ends.
func (c *Client) deliver(ctx context.Context, name string) error {
	if c.world.Happens(SilentStream, c.process, name) {
		if err := c.world.Sleep(ctx, time.Second, silence, "silent", c.process, name); err != nil {
			return err
		}
	}
	return c.travel(ctx, "deliver", name)
}

// Collector returns the metrics of the connection: it has none.
func (*Client) Collector() prometheus.Collector { return prometheus.NewRegistry() }
