package logtest

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/google/uuid"

	"hexarena/eventstore"
)

// Contender is a client that competes with others for the same streams, and
// records what it does. It is one goroutine's.
type Contender struct {
	Client   int
	Log      eventstore.Log
	History  *History
	Chance   *rand.Rand
	Streams  []eventstore.StreamID
	Patience time.Duration // the longest deadline of a call

	heads map[eventstore.StreamID]eventstore.Expected // as last heard of
}

// Step does one thing, drawn by chance: an append at what the contender takes
// for the head, at no stream, at any revision or at an older one; or a read.
// What it is not told the outcome of it tries again, half of the time. Its
// error is one that no client should meet.
func (c *Contender) Step(ctx context.Context) error {
	if c.heads == nil {
		c.heads = make(map[eventstore.StreamID]eventstore.Expected)
	}
	id := c.Streams[c.Chance.IntN(len(c.Streams))]
	call, cancel, _ := c.deadline(ctx)
	defer cancel()
	switch n := c.Chance.IntN(10); {
	case n < 6:
		return c.append(ctx, call, id)
	default:
		at, err := c.History.Read(call, c.Client, c.Log, id, n < 8)
		if err == nil {
			c.heads[id] = at
		}
		return expectable(err)
	}
}

func (c *Contender) append(ctx, call context.Context, id eventstore.StreamID) error {
	events := make([]eventstore.Event, 1+c.Chance.IntN(3))
	for i := range events {
		events[i] = eventstore.Event{ID: uuid.New(), Type: "Contended", Data: fmt.Appendf(nil, `{"client":%d}`, c.Client)}
	}
	again := func() (context.Context, context.CancelFunc, bool) {
		if ctx.Err() != nil || c.Chance.IntN(2) == 0 {
			return nil, nil, false
		}
		return c.deadline(ctx)
	}
	appended, err := c.History.Append(call, c.Client, c.Log, again, id, c.expected(id), events...)
	if err == nil {
		c.heads[id] = eventstore.At(appended.Revision)
	}
	return expectable(err)
}

func (c *Contender) expected(id eventstore.StreamID) eventstore.Expected {
	head, known := c.heads[id]
	if !known {
		head = eventstore.NoStream
	}
	switch c.Chance.IntN(10) {
	case 0:
		return eventstore.NoStream
	case 1, 2:
		return eventstore.Any
	case 3:
		return max(eventstore.NoStream, head-1)
	}
	return head
}

// deadline draws how long the next call may take: now and then hardly longer
// than it does.
func (c *Contender) deadline(ctx context.Context) (context.Context, context.CancelFunc, bool) {
	longest := c.Patience
	if c.Chance.IntN(4) == 0 {
		longest /= 200
	}
	ctx, cancel := context.WithTimeout(ctx, time.Duration(1+c.Chance.Int64N(int64(longest))))
	return ctx, cancel, true
}

// expectable passes over the errors that a contender must reckon with.
func expectable(err error) error {
	if unknown(err) || eventstore.IsWrongVersion(err) {
		return nil
	}
	return err
}
