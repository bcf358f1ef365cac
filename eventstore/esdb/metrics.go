package esdb

import (
	"context"
	"errors"
	"iter"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"hexarena/eventstore"
)

// metrics holds the metrics of a Log. A goroutine that needs several locks takes mu
// last, and holds it only briefly.
type metrics struct {
	registry                                                       *prometheus.Registry
	appends, reads, events                                         *prometheus.CounterVec
	conflicts, retries, reconnects, failedConnects, losses, silent prometheus.Counter
	appendTime, readTime                                           prometheus.Histogram

	mu            sync.Mutex
	connected     bool          // whether the log has been connected at least once
	outageSince   time.Time     // zero while the log is available
	outages       time.Duration // total of past outages
	subscriptions map[*lag]struct{}
}

// The results of a call.
const (
	resultDone        = "done"
	resultConflict    = "conflict"    // the stream was at a different revision
	resultRefused     = "refused"     // any other decision of the server
	resultUnavailable = "unavailable" // no answer before the deadline
	resultCancelled   = "cancelled"   // the caller cancelled the call or closed the log
)

var results = []string{resultDone, resultConflict, resultRefused, resultUnavailable, resultCancelled}

// These are the values of the label "how" of arena_log_events_total.
const (
	eventsAppended   = "appended"
	eventsRead       = "read"
	eventsSubscribed = "subscribed"
)

// The list seconds contains the upper bounds of the histograms' buckets.
var seconds = []float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30}

func newMetrics() *metrics {
	registry := prometheus.NewRegistry()
	auto := promauto.With(registry)
	counter := func(name, help string) prometheus.Counter {
		return auto.NewCounter(prometheus.CounterOpts{Name: name, Help: help})
	}
	vector := func(name, help, label string, values ...string) *prometheus.CounterVec {
		v := auto.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, []string{label})
		for _, value := range values {
			v.WithLabelValues(value) // so that the value is exported even before the first call
		}
		return v
	}
	histogram := func(name, help string) prometheus.Histogram {
		return auto.NewHistogram(prometheus.HistogramOpts{Name: name, Help: help, Buckets: seconds})
	}
	m := &metrics{
		registry:       registry,
		appends:        vector("arena_log_appends_total", "Appends, tombstones and metadata changes, by result.", "result", results...),
		reads:          vector("arena_log_reads_total", "Reads of streams and of $all, by result.", "result", resultDone, resultRefused, resultUnavailable, resultCancelled),
		events:         vector("arena_log_events_total", "Events that were appended, read, or delivered to subscribers.", "how", eventsAppended, eventsRead, eventsSubscribed),
		conflicts:      counter("arena_log_conflicts_total", "Writes that failed because the stream was not at the expected revision."),
		retries:        counter("arena_log_retries_total", "Calls that were sent again because their outcome was unknown."),
		reconnects:     counter("arena_log_reconnects_total", "Connections to the event store after the first one."),
		failedConnects: counter("arena_log_connect_failures_total", "Failed attempts to connect."),
		losses:         counter("arena_log_losses_total", "How often the event store has lost events that this process knew."),
		silent:         counter("arena_log_silent_subscriptions_total", "Subscriptions that were replaced because the event store sent nothing although the log had new events for them."),
		appendTime:     histogram("arena_log_append_seconds", "Time of an append, including its retries."),
		readTime:       histogram("arena_log_read_seconds", "Time until a read returns its first event, or ends without events."),
		subscriptions:  make(map[*lag]struct{}),
	}
	auto.NewGaugeFunc(prometheus.GaugeOpts{Name: "arena_log_available", Help: "1 while the event store responds, 0 while it is unavailable."}, m.available)
	auto.NewGaugeFunc(prometheus.GaugeOpts{Name: "arena_log_outage_seconds", Help: "How long the event store has been unavailable; 0 while it responds."}, func() float64 { return m.outage().Seconds() })
	auto.NewCounterFunc(prometheus.CounterOpts{Name: "arena_log_unavailable_seconds_total", Help: "Total time of outages of the event store, including the current one."}, m.outageSeconds)
	registry.MustRegister(lagCollector{m})
	return m
}

// Collector returns the metrics of the log, named arena_log_…. Register it once.
func (l *Log) Collector() prometheus.Collector { return l.metrics.registry }

// connect counts an attempt to connect.
func (m *metrics) connect(err error) {
	switch {
	case err != nil && !errors.Is(err, ErrClosed):
		m.failedConnects.Inc()
	case err == nil:
		m.mu.Lock()
		again := m.connected
		m.connected = true
		m.mu.Unlock()
		if again {
			m.reconnects.Inc()
		}
	}
}

// setUnavailable records the beginning or the end of an outage.
func (m *metrics) setUnavailable(unavailable bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	switch {
	case unavailable && m.outageSince.IsZero():
		m.outageSince = time.Now()
	case !unavailable && !m.outageSince.IsZero():
		m.outages += time.Since(m.outageSince)
		m.outageSince = time.Time{}
	}
}

// The method available() returns 1 if the log is available and 0 if not.
func (m *metrics) available() float64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.connected && m.outageSince.IsZero() {
		return 1
	}
	return 0
}

// The method outage() returns how long the current outage has lasted, or 0.
func (m *metrics) outage() time.Duration {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.outageSince.IsZero() {
		return 0
	}
	return time.Since(m.outageSince)
}

func (m *metrics) outageSeconds() float64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	total := m.outages
	if !m.outageSince.IsZero() {
		total += time.Since(m.outageSince)
	}
	return total.Seconds()
}

// The method wrote() counts a write of n events and records how long it took.
func (m *metrics) wrote(began time.Time, n int, err error) {
	result := resultOf(err)
	m.appends.WithLabelValues(result).Inc()
	m.appendTime.Observe(time.Since(began).Seconds())
	switch result {
	case resultDone:
		m.events.WithLabelValues(eventsAppended).Add(float64(n))
	case resultConflict:
		m.conflicts.Inc()
	}
}

// read counts the events that a read yields. It measures only the time until the
// first event, because the time until a later event also depends on the caller.
func (m *metrics) read(events iter.Seq2[eventstore.Recorded, error]) iter.Seq2[eventstore.Recorded, error] {
	return func(yield func(eventstore.Recorded, error) bool) {
		began, n := time.Now(), 0
		var failure error
		for r, err := range events {
			if n == 0 {
				m.readTime.Observe(time.Since(began).Seconds())
			}
			n++
			failure = err
			if !yield(r, err) {
				break
			}
		}
		if n == 0 {
			m.readTime.Observe(time.Since(began).Seconds())
		}
		if failure != nil {
			n--
		}
		m.events.WithLabelValues(eventsRead).Add(float64(n))
		m.reads.WithLabelValues(resultOf(failure)).Inc()
	}
}

func resultOf(err error) string {
	switch {
	case err == nil:
		return resultDone
	case eventstore.IsWrongVersion(err):
		return resultConflict
	case errors.Is(err, eventstore.ErrUnavailable):
		return resultUnavailable
	case errors.Is(err, context.Canceled), errors.Is(err, ErrClosed):
		return resultCancelled
	}
	return resultRefused
}
