package esdb

import (
	"context"
	"errors"
	"log/slog"
	"time"

	es "github.com/EventStore/EventStore-Client-Go/v4/esdb"
)

// pace is how patient the supervision is.
type pace struct {
	silence  time.Duration // calls under way and nothing heard for so long: ask whether the server is there
	probe    time.Duration // how long it may take to answer that
	firstGap time.Duration // between a generation that failed and the next one; doubles …
	lastGap  time.Duration // … up to here
}

// With defaultPace a server that answers again is in use within 5 s: at worst
// a probe was begun just before.
var defaultPace = pace{silence: 2 * time.Second, probe: 2 * time.Second, firstGap: 50 * time.Millisecond, lastGap: time.Second}

// generation returns the generation in use once it is connected. Callers share
// it; where it was retired, the first to come makes the next one.
func (l *Log) generation(ctx context.Context) (*generation, error) {
	g, err := l.latest()
	if err != nil {
		return nil, err
	}
	select {
	case <-g.ready:
		return g, g.why()
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-l.closing.Done():
		return nil, ErrClosed
	}
}

func (l *Log) latest() (*generation, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return nil, ErrClosed
	}
	if l.current == nil || l.current.why() != nil {
		l.made++
		g := newGeneration(l.made)
		gap := l.gap()
		l.current = g
		l.failures++
		l.running.Go(func() { l.tend(g, gap) })
	}
	return l.current, nil
}

// gap is how long to wait before the next generation. l.mu is held.
func (l *Log) gap() time.Duration {
	if l.failures == 0 {
		return 0
	}
	return min(l.pace.lastGap, l.pace.firstGap<<min(l.failures-1, 10))
}

// sound notes that a generation was of use, so that the next one need not wait.
func (l *Log) sound(g *generation) {
	g.hear()
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.current == g && l.failures > 0 {
		l.failures = 0
	}
}

// tend is a generation's life, from its connecting to its retirement.
func (l *Log) tend(g *generation, gap time.Duration) {
	defer g.end()
	err := l.connect(g, gap)
	l.metrics.connect(err)
	if err != nil {
		g.retire(err)
		l.report(g, err)
		close(g.ready)
		return
	}
	g.hear()
	l.report(g, nil) // before a call can succeed
	close(g.ready)
	l.watch(g)
	l.report(g, g.why())
}

// report logs when the event store goes away and when it is back, once each. A
// generation may learn that it was retired after the next one has connected:
// then its report is out of date.
func (l *Log) report(g *generation, cause error) {
	l.reporting.Lock()
	defer l.reporting.Unlock()
	if g.number < l.reported {
		return
	}
	l.reported = g.number
	was, away := l.away, cause != nil
	l.away = away
	if was == away || errors.Is(cause, ErrClosed) {
		return
	}
	l.metrics.setAway(away)
	if away {
		l.logger.Warn("the event store is away", slog.String("cause", describe(cause)))
		return
	}
	l.logger.Info("the event store is back")
}

// connect makes the client find its server. No call has been let in yet, so
// that nobody waits for a client that fails: it could not be freed.
func (l *Log) connect(g *generation, gap time.Duration) error {
	if err := wait(l.closing, gap); err != nil {
		return ErrClosed
	}
	config := l.config
	config.Logger = g.log(l.logger)
	client, err := l.dial(config)
	g.client = client
	return err
}

// dial makes a client that has found its server. With an error, too, there may
// be a client to close.
func dial(config es.Configuration) (*es.Client, error) {
	client, err := es.NewClient(&config)
	if err != nil {
		return nil, err
	}
	_, err = client.GetServerVersion()
	return client, err
}

// watch returns when the generation is retired, and retires it when the server
// is silent while calls are under way, or when the log is closed. A call may be
// slow: what counts is whether the server answers anything.
func (l *Log) watch(g *generation) {
	tick := time.NewTicker(l.pace.silence / 4)
	defer tick.Stop()
	for {
		select {
		case <-g.retired:
			return
		case <-l.closing.Done():
			g.retire(ErrClosed)
			return
		case <-tick.C:
			if g.working() && g.silence() >= l.pace.silence && !l.answers(g) {
				g.retire(errSilent)
			}
		}
	}
}

// answers asks the server for anything at all.
func (l *Log) answers(g *generation) bool {
	ctx, cancel := context.WithTimeout(l.closing, l.pace.probe)
	defer cancel()
	began := time.Since(g.base)
	_, err := call(ctx, l, g, func(ctx context.Context, c *es.Client) (struct{}, error) {
		return struct{}{}, l.probe(ctx, c)
	})
	if answered(err) {
		g.hear()
	}
	return time.Duration(g.heard.Load()) > began
}

// probe reads one event, wherever the log ends.
func probe(ctx context.Context, c *es.Client) error {
	stream, err := c.ReadAll(ctx, es.ReadAllOptions{Direction: es.Backwards, From: es.End{}}, 1)
	if err != nil {
		return err
	}
	defer stream.Close()
	_, err = stream.Recv()
	return ended(err)
}

func wait(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return ctx.Err()
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
