package mail

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"time"

	gomail "github.com/wneessen/go-mail"
)

// How much mail waits at most, how many mails are on their way at once, and how
// long Run goes on after its end.
const (
	queueLimit = 1000
	carriers   = 4
	lastTime   = 5 * time.Second
)

// The pauses between tries: the first, and the longest; each is four times the
// one before.
const (
	firstPause = time.Second
	longPause  = 4 * time.Minute
)

var errQueueFull = errors.New("too many mails wait to be sent")

// queue holds letters until they are delivered or of no more use. What waits is
// lost with the process: who waits for a link asks for another.
type queue struct {
	deliver func(context.Context, letter) error
	wake    chan struct{} // holds an element if something may be due

	mu      sync.Mutex // guards what follows
	waiting []*pending
	busy    int // letters on their way
}

// pending is a letter and when it is tried next.
type pending struct {
	letter
	due   time.Time
	pause time.Duration
}

func newQueue(deliver func(context.Context, letter) error) *queue {
	return &queue{deliver: deliver, wake: make(chan struct{}, 1)}
}

// add takes a letter in, to be delivered by run.
func (q *queue) add(l letter) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.waiting)+q.busy >= queueLimit {
		return errQueueFull
	}
	q.waiting = append(q.waiting, &pending{letter: l, due: time.Now(), pause: firstPause})
	q.stir()
	return nil
}

func (q *queue) stir() {
	select {
	case q.wake <- struct{}{}:
	default:
	}
}

// run delivers until ctx ends. Then what waits is tried once more, and what is
// on its way has a moment to arrive.
func (q *queue) run(ctx context.Context, logger *slog.Logger) {
	sending, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	var all sync.WaitGroup
	timer := time.NewTimer(0)
	defer timer.Stop()
	for ctx.Err() == nil {
		for p := q.take(time.Now()); p != nil; p = q.take(time.Now()) {
			all.Go(func() { q.try(sending, p, logger) })
		}
		timer.Reset(q.untilDue(time.Now()))
		select {
		case <-ctx.Done():
		case <-q.wake:
		case <-timer.C:
		}
	}
	last := time.AfterFunc(lastTime, cancel)
	defer last.Stop()
	q.lastTry(sending, logger)
	all.Wait()
}

// take returns the letter that is due first, if one is and a carrier is free.
func (q *queue) take(now time.Time) *pending {
	q.mu.Lock()
	defer q.mu.Unlock()
	i := q.first()
	if i < 0 || q.busy >= carriers || now.Before(q.waiting[i].due) {
		return nil
	}
	p := q.waiting[i]
	q.waiting = slices.Delete(q.waiting, i, i+1)
	q.busy++
	return p
}

// first is the index of the letter that is due first, or -1.
func (q *queue) first() int {
	first := -1
	for i, p := range q.waiting {
		if first < 0 || p.due.Before(q.waiting[first].due) {
			first = i
		}
	}
	return first
}

// untilDue is how long run may wait without being woken.
func (q *queue) untilDue(now time.Time) time.Duration {
	q.mu.Lock()
	defer q.mu.Unlock()
	i := q.first()
	if i < 0 || q.busy >= carriers {
		return time.Hour
	}
	return max(0, q.waiting[i].due.Sub(now))
}

// try delivers a letter, or has it tried again while it is of use.
func (q *queue) try(ctx context.Context, p *pending, logger *slog.Logger) {
	err := q.deliver(ctx, p.letter)
	p.due = time.Now().Add(p.pause)
	p.pause = min(4*p.pause, longPause)
	var r *refusal
	forGood := errors.As(err, &r) && r.forGood
	again := err != nil && !forGood && p.due.Before(p.until)
	if err != nil {
		logger.WarnContext(ctx, "a mail was not delivered", slog.Any("error", err), slog.Bool("again", again))
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	q.busy--
	if again {
		q.waiting = append(q.waiting, p)
	}
	q.stir()
}

// lastTry tries what waits once more, one after the other, until ctx ends.
func (q *queue) lastTry(ctx context.Context, logger *slog.Logger) {
	q.mu.Lock()
	left := q.waiting
	q.waiting = nil
	q.mu.Unlock()
	lost := 0
	for _, p := range left {
		if ctx.Err() != nil || q.deliver(ctx, p.letter) != nil {
			lost++
		}
	}
	if lost > 0 {
		logger.WarnContext(ctx, "mails were not delivered before the stop", slog.Int("mails", lost))
	}
}

// serverMailer hands mail to a server.
type serverMailer struct {
	writer writer
	server *server
	queue  *queue
}

func newServerMailer(s *server, w writer) *serverMailer {
	return &serverMailer{writer: w, server: s, queue: newQueue(s.deliver)}
}

// SendSignInLink implements Mailer.
func (m *serverMailer) SendSignInLink(_ context.Context, to, link string, until time.Time) error {
	l := m.writer.signInLink(to, link, until)
	if _, err := l.message(gomail.NoEncoding, l.named); err != nil {
		return err
	}
	return m.queue.add(l)
}

// SendBotPaused implements Mailer.
func (m *serverMailer) SendBotPaused(ctx context.Context, to string, b BotPaused) error {
	return m.server.deliver(ctx, m.writer.botPaused(to, b))
}

// Run implements Mailer.
func (m *serverMailer) Run(ctx context.Context, logger *slog.Logger) { m.queue.run(ctx, logger) }
