package mail

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/semaphore"
)

const (
	queueLimit = 1000            // letters in the queue, including those that are being sent
	maxSending = 4               // letters that are being sent at the same time
	lastTime   = 5 * time.Second // time limit for the last attempts after the context of run has ended

	firstPause = time.Second // pause before the first retry; each later pause is four times as long
	longPause  = 4 * time.Minute
)

var errQueueFull = errors.New("too many emails are waiting to be sent; try again later")

// queue stores letters in memory until they are delivered or useless. A crash loses the
// queued letters, but an owner who does not receive a link can request another one.
type queue struct {
	deliver func(context.Context, letter) error
	added   chan letter         // letters that run has not taken from the queue yet
	slots   *semaphore.Weighted // one slot for each letter in the queue
	sending *semaphore.Weighted
}

func newQueue(deliver func(context.Context, letter) error) *queue {
	return &queue{
		deliver: deliver, added: make(chan letter, queueLimit),
		slots: semaphore.NewWeighted(queueLimit), sending: semaphore.NewWeighted(maxSending),
	}
}

// add puts a letter into the queue. The method run() delivers it later.
func (q *queue) add(l letter) error {
	if !q.slots.TryAcquire(1) {
		return errQueueFull
	}
	q.added <- l // never blocks, because the channel can hold one letter for each slot
	return nil
}

// run delivers letters until ctx ends. After that, it spends up to lastTime trying to
// deliver each remaining letter once more.
func (q *queue) run(ctx context.Context, logger *slog.Logger) {
	sending, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	var all sync.WaitGroup
	var lost atomic.Int64
	for ctx.Err() == nil || len(q.added) > 0 {
		select {
		case l := <-q.added:
			all.Go(func() {
				defer q.slots.Release(1)
				if !q.send(sending, l, ctx.Done(), logger) {
					lost.Add(1)
				}
			})
		case <-ctx.Done():
		}
	}
	last := time.AfterFunc(lastTime, cancel)
	defer last.Stop()
	all.Wait()
	if n := lost.Load(); n > 0 {
		logger.WarnContext(ctx, "emails not delivered before the shutdown", slog.Int64("mails", n))
	}
}

// send tries to deliver a letter until it succeeds or the letter is useless. When stop
// is closed, send tries only once more, and returns false if that attempt fails.
func (q *queue) send(ctx context.Context, l letter, stop <-chan struct{}, logger *slog.Logger) bool {
	for pause := firstPause; ; pause = min(4*pause, longPause) {
		err := q.try(ctx, l)
		if err == nil {
			return true
		}
		var r *refusal
		permanent := errors.As(err, &r) && r.permanent
		again := !permanent && time.Now().Add(pause).Before(l.until)
		logger.WarnContext(ctx, "email not delivered", slog.Any("error", err), slog.Bool("again", again))
		if !again {
			return true
		}
		select {
		case <-time.After(pause):
		case <-stop:
			return q.try(ctx, l) == nil
		}
	}
}

// try waits until fewer than maxSending letters are being sent, and then tries
// to deliver a letter.
func (q *queue) try(ctx context.Context, l letter) error {
	if err := q.sending.Acquire(ctx, 1); err != nil {
		return err
	}
	defer q.sending.Release(1)
	return q.deliver(ctx, l)
}
