package esdb

import (
	"context"
	"errors"
	"time"

	"hexarena/eventstore"

	es "github.com/EventStore/EventStore-Client-Go/v4/esdb"
	grpcmeta "google.golang.org/grpc/metadata"
)

// readAhead is the number of values that stream may receive before its caller has
// processed them.
const readAhead = 256

// retry repeats the call until the outcome is known. If necessary, it uses new
// generations of the client. It returns by the context's deadline.
//
// The parameter once gets the number of losses when the call began, for the method
// generation().
func (l *Log) retry(ctx context.Context, what string, once func(losses int64) error) error {
	var last error
	losses := l.known.losses.Load()
	for tries := 0; ; tries++ {
		if ctx.Err() != nil {
			return gaveUp(ctx, what, last)
		}
		if tries > 0 {
			l.metrics.retries.Inc()
		}
		err := once(losses)
		if err == nil || definite(err) || errors.Is(err, ErrClosed) || errors.Is(err, eventstore.ErrEventsLost) {
			return err
		}
		if ctx.Err() == nil {
			last = err // an error after the deadline would only report that the deadline has passed
		}
		if err := eventstore.Sleep(ctx, retryGap(tries)); err != nil {
			return gaveUp(ctx, what, last)
		}
	}
}

// retryGap is the wait before the next try. The wait can be short because the
// method latest limits how often new generations connect.
func retryGap(tries int) time.Duration {
	return min(250*time.Millisecond, time.Millisecond<<min(tries, 10))
}

// The function attempt() calls the client until the outcome is known. See retry.
func attempt[T any](ctx context.Context, l *Log, what string, f func(context.Context, *es.Client) (T, error)) (value T, err error) {
	err = l.retry(ctx, what, func(losses int64) error {
		g, err := l.generation(ctx, losses)
		if err != nil {
			return err
		}
		value, err = call(ctx, l, g, f)
		return l.checkHealth(g, err)
	})
	return value, err
}

// checkHealth marks a generation as healthy if the outcome of a call shows that the
// server responds. It returns err unchanged.
func (l *Log) checkHealth(g *generation, err error) error {
	if answered(err) {
		l.markHealthy(g)
	}
	return err
}

// result contains the value and the error of a call in another goroutine.
type result[T any] struct {
	value T
	err   error
}

// sendGrace is how long a call may continue to send after its deadline.
const sendGrace = 200 * time.Millisecond

// call runs f in a goroutine and returns its result. If the context ends or the
// generation retires first, call immediately returns an error. The goroutine may
// continue to run after that, because the client does not always return when its
// context ends.
//
// The context of f ends a little later. The delay avoids a data race: if an append
// is canceled while it is being sent, the client reads the response's trailers
// while gRPC writes them.
func call[T any](ctx context.Context, l *Log, g *generation, f func(context.Context, *es.Client) (T, error)) (value T, err error) {
	done := make(chan result[T], 1)
	bound, cancel := context.WithCancel(context.WithoutCancel(ctx))
	err = l.run(bound, g, cancel, func(ctx context.Context) {
		var r result[T]
		r.err = g.retireIfUseless(guarded(func() (err error) { r.value, err = f(ctx, g.client); return err }))
		done <- r
	})
	if err != nil {
		return value, err
	}
	select {
	case r := <-done:
		return r.value, r.err
	case <-ctx.Done():
		err = ctx.Err()
	case <-g.retired:
		err = g.reason()
	}
	time.AfterFunc(sendGrace, cancel)
	return value, err
}

// stream runs f in a goroutine, where f emits values. In the caller's goroutine, stream
// passes each of these values to a callback (the parameter each). stream returns when f
// ends, when the callback returns false, or when the context or the generation ends. It
// then drops the values that are still waiting.
func stream[T any](ctx context.Context, l *Log, losses int64, f func(ctx context.Context, c *es.Client, emit func(T) bool) error, each func(T) bool) error {
	g, err := l.generation(ctx, losses)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	bound, end := context.WithCancel(ctx) // also ends with the generation
	stop := context.AfterFunc(g.life, end)
	values, done := make(chan T, readAhead), make(chan error, 1)
	err = l.run(bound, g, func() { stop(); end() }, func(ctx context.Context) {
		defer close(values)
		emit := func(value T) bool {
			g.noteAnswer()
			select {
			case values <- value:
				return true
			case <-ctx.Done():
				return false
			}
		}
		done <- g.retireIfUseless(guarded(func() error { return f(ctx, g.client, emit) }))
	})
	if err != nil {
		return err
	}
	for {
		select {
		case value, more := <-values:
			if !more {
				return l.checkHealth(g, <-done)
			}
			if !each(value) {
				l.markHealthy(g)
				return nil
			}
		case <-ctx.Done():
			return ctx.Err()
		case <-g.retired:
			return g.reason()
		}
	}
}

// requiresLeader is the header that makes a follower refuse a call and name the leader.
// Without it, a follower serves reads from its own copy, which may be behind. The client
// never sends the header itself.
const requiresLeader = "requires-leader"

// The method run() starts another goroutine, which calls first f and then the function
// release. If the client takes a long time to return, the goroutine may outlive ctx and
// the generation. If the method returns an error, it has called release but not f. If
// the generation retires before the goroutine has its turn, the goroutine does not call
// f either. The caller notices the retirement itself.
func (l *Log) run(ctx context.Context, g *generation, release func(), f func(context.Context)) error {
	if !g.begin() {
		release()
		return g.reason()
	}
	c := &connecting{Context: grpcmeta.AppendToOutgoingContext(ctx, requiresLeader, "true"), generation: g}
	end := func() {
		c.done()
		release()
		g.end()
	}
	if !l.start(func() {
		defer end()
		if c.ask() {
			f(c)
		}
	}) {
		end()
		return ErrClosed
	}
	return nil
}

// The function guarded() calls f and turns a panic of the client into an error. The
// client panics when it gets a response that it does not expect.
func guarded(f func() error) (err error) {
	defer func() {
		if value := recover(); value != nil {
			err = panicked{value}
		}
	}()
	return f()
}
