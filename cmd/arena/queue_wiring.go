package main

import (
	"context"
	"fmt"
	"slices"
	"time"

	"golang.org/x/sync/semaphore"

	"hexarena/adapters/api"
	"hexarena/adapters/matchmaker"
	"hexarena/domain/ladder"
	"hexarena/eventstore"
)

const (
	queueAge   = time.Second // how old a count of the waiting bots may be
	queueTime  = time.Second // how long a count waits for the log
	queueSlack = time.Minute // how long before an outage a ladder may have been read; a process that seats reads it at each tick
)

// queue implements api.Queue.
type queue struct {
	arena  *arena
	counts map[string]*queueCount // by mode
}

func newQueue(a *arena) queue {
	q := queue{a, map[string]*queueCount{}}
	for _, l := range a.ladders {
		q.counts[l.Mode()] = newQueueCount(func(ctx context.Context) (int, error) { return q.count(ctx, l) })
	}
	return q
}

// Waiting implements api.Queue.
func (q queue) Waiting(ctx context.Context, mode string) (int, error) {
	return q.counts[mode].latest(ctx)
}

// queueCount is the latest count of one mode's waiting bots. A count reads every
// active bot, so all calls within queueAge share one count. Otherwise, strangers
// could keep a core busy.
type queueCount struct {
	count    func(context.Context) (int, error)
	counting *semaphore.Weighted // held during a count; guards the fields below; unlike with a mutex, a caller stops waiting when its context ends

	at      time.Time // when the count ended; zero before the first count
	waiting int
	err     error
}

func newQueueCount(count func(context.Context) (int, error)) *queueCount {
	return &queueCount{count: count, counting: semaphore.NewWeighted(1)}
}

func (c *queueCount) latest(ctx context.Context) (int, error) {
	if err := c.counting.Acquire(ctx, 1); err != nil {
		return 0, fmt.Errorf("wait for the count of waiting bots: %w", err)
	}
	defer c.counting.Release(1)
	if c.at.IsZero() || time.Since(c.at) >= queueAge {
		c.waiting, c.err = c.count(context.WithoutCancel(ctx)) // other callers need the count too
		c.at = time.Now()
	}
	return c.waiting, c.err
}

// count returns the number of waiting bots. While this process seats, its ticks keep
// the ladders up to date. Otherwise, another process writes the ladders, so count first
// reads the new events of the ladder.
func (q queue) count(ctx context.Context, l *matchmaker.Ladder) (int, error) {
	bots, err := q.arena.directory.Candidates(ctx, l.Mode())
	if err != nil {
		return 0, err
	}
	if err := q.catchUp(ctx, l); err != nil {
		return 0, err
	}
	return l.Waiting(bots, time.Now()), nil
}

// catchUp reads the new events of a ladder that another process writes. During an outage, it
// keeps a ladder that this process read at most queueSlack before the outage. While this
// process seats, its ticks read the ladder.
func (q queue) catchUp(ctx context.Context, l *matchmaker.Ladder) error {
	age, known := l.Age()
	outage := q.arena.log.Outage()
	if known && (q.arena.seating.Load() != nil || outage > 0 && age <= outage+queueSlack) {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, queueTime)
	defer cancel()
	if err := l.CatchUp(ctx); err != nil {
		return fmt.Errorf("%w: %w", eventstore.ErrUnavailable, err)
	}
	return nil
}

// Places implements api.Queue.
func (q queue) Places(ctx context.Context, mode string, bots []ladder.Candidate) ([]api.Place, error) {
	l := q.arena.ladders[slices.Index(ladder.Modes, mode)]
	if err := q.catchUp(ctx, l); err != nil {
		return nil, err
	}
	places := make([]api.Place, len(bots))
	for i, c := range bots {
		b, restsUntil := l.Next(c)
		places[i] = api.Place{MatchID: b.Match, Ended: b.Ended, RestsUntil: restsUntil}
	}
	return places, nil
}

// NextTick implements api.Queue.
func (q queue) NextTick(now time.Time) time.Time {
	if p := q.arena.seating.Load(); p != nil {
		return p.tick.NextTick(now)
	}
	return time.Time{}
}
