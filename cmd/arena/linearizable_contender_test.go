package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/google/uuid"

	"hexarena/eventstore"
)

// contender is a client that competes with other clients for the same streams. It
// records its calls in a history. Only one goroutine may use it.
type contender struct {
	client   int
	log      eventstore.Log
	history  *history
	chance   *rand.Rand
	streams  []eventstore.StreamID
	patience time.Duration // the longest time limit for a call

	heads map[eventstore.StreamID]eventstore.Expected // the last known revisions
}

// step makes one random call: a read or an append. The append expects the last known
// revision, an older revision, NoStream or Any. If the outcome of an append is
// unknown, the contender retries the same append half of the time. step returns only
// errors that no client should ever see.
func (c *contender) step(ctx context.Context) error {
	if c.heads == nil {
		c.heads = make(map[eventstore.StreamID]eventstore.Expected)
	}
	id := c.streams[c.chance.IntN(len(c.streams))]
	call, cancel, _ := c.deadline(ctx)
	defer cancel()
	switch n := c.chance.IntN(10); {
	case n < 6:
		return c.append(ctx, call, id)
	default:
		at, err := c.history.read(call, c.client, c.log, id, n < 8)
		if err == nil {
			c.heads[id] = at
		}
		return unexpected(err)
	}
}

func (c *contender) append(ctx, call context.Context, id eventstore.StreamID) error {
	events := make([]eventstore.Event, 1+c.chance.IntN(3))
	for i := range events {
		events[i] = eventstore.Event{ID: uuid.New(), Type: "Contended", Data: fmt.Appendf(nil, `{"client":%d}`, c.client)}
	}
	again := func() (context.Context, context.CancelFunc, bool) {
		if ctx.Err() != nil || c.chance.IntN(2) == 0 {
			return nil, nil, false
		}
		return c.deadline(ctx)
	}
	appended, err := c.history.append(call, c.client, c.log, again, id, c.expected(id), events...)
	if err == nil {
		c.heads[id] = eventstore.At(appended.Revision)
	}
	return unexpected(err)
}

func (c *contender) expected(id eventstore.StreamID) eventstore.Expected {
	head, known := c.heads[id]
	if !known {
		head = eventstore.NoStream
	}
	switch c.chance.IntN(10) {
	case 0:
		return eventstore.NoStream
	case 1, 2:
		return eventstore.Any
	case 3:
		return max(eventstore.NoStream, head-1)
	}
	return head
}

// deadline sets a random time limit for the next call. Some limits are about as long
// as a call takes, so some calls are canceled while they are in progress.
func (c *contender) deadline(ctx context.Context) (context.Context, context.CancelFunc, bool) {
	longest := c.patience
	if c.chance.IntN(4) == 0 {
		longest /= 200
	}
	ctx, cancel := context.WithTimeout(ctx, time.Duration(1+c.chance.Int64N(int64(longest))))
	return ctx, cancel, true
}

// The function unexpected() returns nil if err is an error that a contender must
// expect. Otherwise it returns err.
func unexpected(err error) error {
	if outcomeUnknown(err) || eventstore.IsWrongVersion(err) {
		return nil
	}
	return err
}
