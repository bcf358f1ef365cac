package esdb

import (
	"context"
	"errors"
	"time"

	es "github.com/EventStore/EventStore-Client-Go/v4/esdb"
)

// ahead is how many values of a stream may wait for their reader.
const ahead = 256

// retry calls once until the server has decided, over as many generations as
// it takes, and returns by the context's deadline.
func (l *Log) retry(ctx context.Context, what string, once func() error) error {
	var last error
	for tries := 0; ; tries++ {
		if ctx.Err() != nil {
			return gaveUp(ctx, what, last)
		}
		if tries > 0 {
			l.metrics.retries.Inc()
		}
		err := once()
		if err == nil || definite(err) || errors.Is(err, ErrClosed) {
			return err
		}
		if ctx.Err() == nil {
			last = err
		}
		if err := wait(ctx, retryGap(tries)); err != nil {
			return gaveUp(ctx, what, last)
		}
	}
}

// retryGap is the wait before a further try. It is short, since the gap
// between generations is kept elsewhere.
func retryGap(tries int) time.Duration {
	return min(250*time.Millisecond, time.Millisecond<<min(tries, 10))
}

// attempt calls the client until the server has decided; see retry.
func attempt[T any](ctx context.Context, l *Log, what string, f func(context.Context, *es.Client) (T, error)) (value T, err error) {
	err = l.retry(ctx, what, func() error {
		g, err := l.generation(ctx)
		if err != nil {
			return err
		}
		value, err = call(ctx, l, g, f)
		if answered(err) {
			l.sound(g)
		}
		return err
	})
	return value, err
}

// answer is what a goroutine hands back.
type answer[T any] struct {
	value T
	err   error
}

// call runs f in a goroutine and waits for it no longer than the context and
// the generation last.
func call[T any](ctx context.Context, l *Log, g *generation, f func(context.Context, *es.Client) (T, error)) (T, error) {
	done := make(chan answer[T], 1)
	err := l.run(ctx, g, lingering, func(ctx context.Context) {
		var a answer[T]
		a.err = g.note(guarded(func() (err error) { a.value, err = f(ctx, g.client); return err }))
		done <- a
	})
	if err != nil {
		return answer[T]{}.value, err
	}
	select {
	case a := <-done:
		return a.value, a.err
	case <-ctx.Done():
		return answer[T]{}.value, ctx.Err()
	case <-g.retired:
		return answer[T]{}.value, g.why()
	}
}

// stream runs f in a goroutine and hands what it emits to each, on the
// caller's own, until f ends, each returns false, or the context or the
// generation ends: what was emitted but not handed over by then is dropped.
func stream[T any](ctx context.Context, l *Log, f func(ctx context.Context, c *es.Client, emit func(T) bool) error, each func(T) bool) error {
	g, err := l.generation(ctx)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	values, result := make(chan T, ahead), make(chan error, 1)
	err = l.run(ctx, g, atOnce, func(ctx context.Context) {
		defer close(values)
		emit := func(value T) bool {
			g.hear()
			select {
			case values <- value:
				return true
			case <-ctx.Done():
				return false
			}
		}
		result <- g.note(guarded(func() error { return f(ctx, g.client, emit) }))
	})
	if err != nil {
		return err
	}
	for {
		select {
		case value, more := <-values:
			if !more {
				return l.heardOut(g, <-result)
			}
			if !each(value) {
				l.sound(g)
				return nil
			}
		case <-ctx.Done():
			return ctx.Err()
		case <-g.retired:
			return g.why()
		}
	}
}

func (l *Log) heardOut(g *generation, err error) error {
	if answered(err) {
		l.sound(g)
	}
	return err
}

// run calls f in a goroutine, with the context that bind makes of ctx. The
// goroutine may outlast ctx and the generation by as long as the client takes.
func (l *Log) run(ctx context.Context, g *generation, bind binder, f func(context.Context)) error {
	if !g.begin() {
		return g.why()
	}
	ctx, release := bind(ctx, g)
	asking := newAsking(ctx, g)
	end := func() {
		asking.done()
		release()
		g.end()
	}
	if !l.start(func() { defer end(); f(asking) }) {
		end()
		return ErrClosed
	}
	return nil
}

// binder makes the context that the client is called with. It ends when it is
// released, and with ctx or the generation, at once or a little later.
type binder func(ctx context.Context, g *generation) (bound context.Context, release func())

// atOnce ends with ctx and with the generation.
func atOnce(ctx context.Context, g *generation) (context.Context, func()) {
	ctx, cancel := context.WithCancel(ctx)
	stop := context.AfterFunc(g.life, cancel)
	return ctx, func() { stop(); cancel() }
}

// linger is how long a call may take to send what it has to.
const linger = 200 * time.Millisecond

// lingering ends a little after ctx or the generation has. Nobody waits for
// the call any more; but an append that is cancelled while it is being sent
// makes the client read the answer's trailers while gRPC writes them.
func lingering(ctx context.Context, g *generation) (context.Context, func()) {
	bound, cancel := context.WithCancel(context.WithoutCancel(ctx))
	later := func() { time.AfterFunc(linger, cancel) }
	stopCall, stopLife := context.AfterFunc(ctx, later), context.AfterFunc(g.life, later)
	return bound, func() { stopCall(); stopLife(); cancel() }
}

// guarded turns a panic of the client into an error.
func guarded(f func() error) (err error) {
	defer func() {
		if value := recover(); value != nil {
			err = panicked{value}
		}
	}()
	return f()
}
