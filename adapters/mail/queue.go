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

const (
	queueLimit = 1000            // letters in the queue, with those that are being sent
	maxSending = 4               // letters that are being sent at once
	lastTime   = 5 * time.Second // for the last tries after run's context ends

	firstPause = time.Second // before the first retry; each later one is four times as long
	longPause  = 4 * time.Minute
)

var errQueueFull = errors.New("too many mails wait to be sent; try again later")

// queue holds letters until they are delivered or useless. A crash loses them: an
// owner who receives no link asks for another one.
type queue struct {
	deliver func(context.Context, letter) error
	wake    chan struct{} // holds an element if a letter may be due

	mu      sync.Mutex // guards the fields below
	waiting []*pending
	sending int // number of letters that are being sent
}

// pending is a letter with the time of its next try.
type pending struct {
	letter
	due   time.Time
	pause time.Duration
}

func newQueue(deliver func(context.Context, letter) error) *queue {
	return &queue{deliver: deliver, wake: make(chan struct{}, 1)}
}

// add queues a letter, which run delivers.
func (q *queue) add(l letter) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.waiting)+q.sending >= queueLimit {
		return errQueueFull
	}
	q.waiting = append(q.waiting, &pending{letter: l, due: time.Now(), pause: firstPause})
	q.wakeUp()
	return nil
}

func (q *queue) wakeUp() {
	select {
	case q.wake <- struct{}{}:
	default:
	}
}

// run delivers letters until ctx ends. Then it tries the waiting letters once more,
// and gives those that are being sent up to lastTime.
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

// take removes the letter that is due first and returns it. It returns nil if no
// letter is due or maxSending are being sent.
func (q *queue) take(now time.Time) *pending {
	q.mu.Lock()
	defer q.mu.Unlock()
	i := q.first()
	if i < 0 || q.sending >= maxSending || now.Before(q.waiting[i].due) {
		return nil
	}
	p := q.waiting[i]
	q.waiting = slices.Delete(q.waiting, i, i+1)
	q.sending++
	return p
}

// first returns the index of the letter that is due first, or -1.
func (q *queue) first() int {
	first := -1
	for i, p := range q.waiting {
		if first < 0 || p.due.Before(q.waiting[first].due) {
			first = i
		}
	}
	return first
}

// untilDue returns the time until run must look again.
func (q *queue) untilDue(now time.Time) time.Duration {
	q.mu.Lock()
	defer q.mu.Unlock()
	i := q.first()
	if i < 0 || q.sending >= maxSending {
		return time.Hour
	}
	return max(0, q.waiting[i].due.Sub(now))
}

// try delivers a letter. If it fails, the letter is queued again while it is useful.
func (q *queue) try(ctx context.Context, p *pending, logger *slog.Logger) {
	err := q.deliver(ctx, p.letter)
	p.due = time.Now().Add(p.pause)
	p.pause = min(4*p.pause, longPause)
	var r *refusal
	permanent := errors.As(err, &r) && r.permanent
	again := err != nil && !permanent && p.due.Before(p.until)
	if err != nil {
		logger.WarnContext(ctx, "mail not delivered", slog.Any("error", err), slog.Bool("again", again))
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	q.sending--
	if again {
		q.waiting = append(q.waiting, p)
	}
	q.wakeUp()
}

// lastTry tries the waiting letters once more, one after the other, until ctx ends.
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
		logger.WarnContext(ctx, "mails not delivered before the stop", slog.Int("mails", lost))
	}
}

// serverMailer sends mail to a server.
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
