package esdb

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"hexarena/eventstore"

	es "github.com/EventStore/EventStore-Client-Go/v4/esdb"
)

// pace holds the timeouts that supervise uses.
type pace struct {
	silence  time.Duration // probe the server if running calls get no response for this long
	probe    time.Duration // timeout of the probe
	firstGap time.Duration // wait between a failed generation and the next one; it doubles with each failure
	lastGap  time.Duration // longest wait
	settle   time.Duration // log a change of the availability after it has lasted this long
	doubt    time.Duration // events are lost if a leader without them is found for this long
}

// With defaultPace, calls succeed within 5 s after an outage ends, even if a probe
// or a discovery began just before that.
var defaultPace = pace{silence: 2 * time.Second, probe: 2 * time.Second, firstGap: 50 * time.Millisecond, lastGap: time.Second,
	settle: time.Second, doubt: 10 * time.Second}

// generation waits until the current generation is connected and returns it. It returns
// eventstore.ErrEventsLost if the log has lost events since there were the given number
// of losses.
func (l *Log) generation(ctx context.Context, losses int64) (*generation, error) {
	g, err := l.latest()
	if err != nil {
		return nil, err
	}
	select {
	case <-g.ready:
		if err := g.reason(); err != nil || g.losses == losses {
			return g, err
		}
		return nil, eventstore.ErrEventsLost
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-l.closing.Done():
		return nil, ErrClosed
	}
}

// latest returns the current generation. If it is retired, latest starts the next
// one, so that all callers share one new connection.
func (l *Log) latest() (*generation, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return nil, ErrClosed
	}
	if l.current == nil || l.current.reason() != nil {
		l.made++
		g := newGeneration(l.made)
		gap, config := l.gap(), l.nextConfig()
		l.current = g
		l.failures++
		l.running.Go(func() { l.supervise(g, gap, config) })
	}
	return l.current, nil
}

// nextConfig returns the configuration for the next generation. If the current one
// retired because another node is the leader, the next one connects to that node. The
// caller holds l.mu.
func (l *Log) nextConfig() es.Configuration {
	config := l.config
	var moved *notLeader
	if l.current != nil && errors.As(l.current.reason(), &moved) {
		config.Address, config.GossipSeeds, config.DnsDiscover = moved.leader.String(), nil, false
	}
	return config
}

// gap returns the wait before the next generation connects. The caller holds l.mu.
func (l *Log) gap() time.Duration {
	if l.failures == 0 {
		return 0
	}
	return min(l.pace.lastGap, l.pace.firstGap<<min(l.failures-1, 10))
}

// markHealthy records that the server responded to a call of this generation. The
// next generation then connects without a wait.
func (l *Log) markHealthy(g *generation) {
	g.noteAnswer()
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.current == g && l.failures > 0 {
		l.failures = 0
	}
}

// supervise connects a generation and watches it until the generation retires.
func (l *Log) supervise(g *generation, gap time.Duration, config es.Configuration) {
	defer g.end()
	err := l.connect(g, gap, config)
	l.metrics.connect(err)
	if err != nil {
		g.retire(err)
		l.report(g, err)
		close(g.ready)
		return
	}
	g.noteAnswer()
	g.losses = l.known.losses.Load()
	l.report(g, nil) // reports before any call can succeed, so that the log lines are in order
	close(g.ready)
	l.watch(g)
	l.report(g, g.reason())
}

// The method report() records that the server became unavailable or available again. A
// generation may report its retirement after the next one has connected. The method
// ignores such a report, because it is out of date. During a rolling restart, the server
// comes and goes several times in a second. So the change is logged only after it has
// lasted for a while.
func (l *Log) report(g *generation, cause error) {
	l.reporting.Lock()
	defer l.reporting.Unlock()
	if g.number < l.reported {
		return
	}
	l.reported = g.number
	before, unavailable := l.unavailable, cause != nil
	l.unavailable = unavailable
	if before == unavailable || errors.Is(cause, ErrClosed) {
		return
	}
	l.metrics.setUnavailable(unavailable)
	if unavailable {
		l.cause = cause
	}
	if l.settling != nil {
		l.settling.Stop()
	}
	l.settling = time.AfterFunc(l.pace.settle, l.logAvailability)
}

// logAvailability logs whether the server is available, if it has not logged that yet.
func (l *Log) logAvailability() {
	l.reporting.Lock()
	defer l.reporting.Unlock()
	if l.logged == l.unavailable || l.closing.Err() != nil {
		return
	}
	l.logged = l.unavailable
	if l.unavailable {
		l.logger.Warn("the event store is unavailable; calls wait and retry until their deadlines", slog.String("cause", describe(l.cause)))
		return
	}
	l.logger.Info("the event store is available again")
}

// Outage returns how long the log has been unavailable, or 0 if it is available. It
// ignores an outage that has just begun, because a cluster that elects a leader is
// unavailable for a moment.
func (l *Log) Outage() time.Duration {
	if d := l.metrics.outage(); d >= l.pace.settle {
		return d
	}
	return 0
}

// connect makes the client find its server. No call may use the client earlier,
// because a call can block forever if the client's discovery fails. A node without a
// leader accepts connections but serves nothing, so connect also probes the server.
func (l *Log) connect(g *generation, gap time.Duration, config es.Configuration) error {
	if err := eventstore.Sleep(l.closing, gap); err != nil {
		return ErrClosed
	}
	config.Logger = g.log(l.logger)
	client, err := l.dial(config)
	g.client = client
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(l.closing, l.pace.probe)
	defer cancel()
	_, err = call(ctx, l, g, func(ctx context.Context, c *es.Client) (struct{}, error) {
		return struct{}{}, l.checkLog(ctx, c)
	})
	switch {
	case answered(err):
		return nil
	case l.closing.Err() != nil:
		return ErrClosed
	case ctx.Err() != nil:
		return errSilent
	}
	return err
}

// dial returns a client that has found its server. It may return a client
// together with an error. The caller must close the client in that case too.
func dial(config es.Configuration) (*es.Client, error) {
	client, err := es.NewClient(&config)
	if err != nil {
		return nil, err
	}
	_, err = client.GetServerVersion()
	return client, err
}

// watch returns when the generation retires. It retires the generation when the log
// closes, or when the server is silent while calls are running. A slow call is not
// enough to retire a generation: watch first probes the server, and any response
// shows that the server is alive.
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
			if g.busy() && g.silence() >= l.pace.silence && !l.answers(g) {
				g.retire(errSilent)
			}
		}
	}
}

// The method answers() probes the server and reports whether the server sent any
// response during the probe.
func (l *Log) answers(g *generation) bool {
	ctx, cancel := context.WithTimeout(l.closing, l.pace.probe)
	defer cancel()
	began := time.Since(g.base)
	_, err := call(ctx, l, g, func(ctx context.Context, c *es.Client) (struct{}, error) {
		return struct{}{}, l.probe(ctx, c)
	})
	if answered(err) {
		g.noteAnswer()
	}
	return time.Duration(g.heard.Load()) > began
}

// probe reads the last event of the log.
func probe(ctx context.Context, c *es.Client) error {
	stream, err := c.ReadAll(ctx, es.ReadAllOptions{Direction: es.Backwards, From: es.End{}}, 1)
	if err != nil {
		return err
	}
	defer stream.Close()
	_, err = stream.Recv()
	return ended(err)
}
