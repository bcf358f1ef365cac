package esdb

import (
	"context"
	"errors"
	"iter"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"hexarena/eventstore"
)

// metrics count what a Log does, as an operator wants to see it. Its lock is
// taken last and holds nobody up.
type metrics struct {
	appends, reads, events                         *prometheus.CounterVec
	conflicts, retries, reconnects, failedConnects prometheus.Counter
	appendTime, readTime                           prometheus.Histogram

	mu            sync.Mutex
	connected     bool          // once, at least
	awaySince     time.Time     // zero while the log is there
	away          time.Duration // of outages that are over
	subscriptions map[*lag]struct{}
}

// The results of a call.
const (
	resultDone        = "done"
	resultConflict    = "conflict"    // the stream was at another revision
	resultRefused     = "refused"     // for any other reason; no retrying mends it
	resultUnavailable = "unavailable" // the deadline came first
	resultCancelled   = "cancelled"   // the caller went away, or the log was closed
)

var results = []string{resultDone, resultConflict, resultRefused, resultUnavailable, resultCancelled}

// What becomes of events.
const (
	eventsAppended   = "appended"
	eventsRead       = "read"
	eventsSubscribed = "subscribed"
)

// seconds are the upper bounds of the histograms' buckets.
var seconds = []float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30}

var (
	availableDesc     = prometheus.NewDesc("arena_log_available", "1 while the event store answers, 0 while it is away.", nil, nil)
	awayDesc          = prometheus.NewDesc("arena_log_unavailable_seconds_total", "Time during which the event store was away, the current outage included.", nil, nil)
	subscriptionsDesc = prometheus.NewDesc("arena_log_subscriptions", "Subscriptions that are open, by the prefixes of their streams and their types.", []string{"filter"}, nil)
	lagDesc           = prometheus.NewDesc("arena_log_subscription_lag_seconds", "How long the subscription furthest behind has had something to take: 0 while all has been handed over.", []string{"filter"}, nil)
)

func newMetrics() *metrics {
	counter := func(name, help string) prometheus.Counter {
		return prometheus.NewCounter(prometheus.CounterOpts{Name: name, Help: help})
	}
	vector := func(name, help, label string, values ...string) *prometheus.CounterVec {
		v := prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, []string{label})
		for _, value := range values {
			v.WithLabelValues(value) // shown from the start
		}
		return v
	}
	histogram := func(name, help string) prometheus.Histogram {
		return prometheus.NewHistogram(prometheus.HistogramOpts{Name: name, Help: help, Buckets: seconds})
	}
	return &metrics{
		appends:        vector("arena_log_appends_total", "Appends, tombstones and settings of metadata, by result.", "result", results...),
		reads:          vector("arena_log_reads_total", "Reads of streams and of $all, by result.", "result", resultDone, resultRefused, resultUnavailable, resultCancelled),
		events:         vector("arena_log_events_total", "Events that were appended, read, or handed to subscribers.", "how", eventsAppended, eventsRead, eventsSubscribed),
		conflicts:      counter("arena_log_conflicts_total", "Writes that met a stream at another revision than they expected."),
		retries:        counter("arena_log_retries_total", "Calls that were sent again, since their outcome was unknown."),
		reconnects:     counter("arena_log_reconnects_total", "Connections to the event store after the first one."),
		failedConnects: counter("arena_log_connect_failures_total", "Attempts to connect that failed."),
		appendTime:     histogram("arena_log_append_seconds", "Time of an append, its retries included."),
		readTime:       histogram("arena_log_read_seconds", "Time until a read had its first event, or its end."),
		subscriptions:  make(map[*lag]struct{}),
	}
}

// Collector is what a log measures, named arena_log_…, to be registered once.
func (l *Log) Collector() prometheus.Collector { return l.metrics }

func (m *metrics) parts() []prometheus.Collector {
	return []prometheus.Collector{m.appends, m.reads, m.events, m.conflicts, m.retries, m.reconnects, m.failedConnects, m.appendTime, m.readTime}
}

// Describe is prometheus.Collector's.
func (m *metrics) Describe(to chan<- *prometheus.Desc) {
	for _, part := range m.parts() {
		part.Describe(to)
	}
	for _, d := range []*prometheus.Desc{availableDesc, awayDesc, subscriptionsDesc, lagDesc} {
		to <- d
	}
}

// Collect is prometheus.Collector's.
func (m *metrics) Collect(to chan<- prometheus.Metric) {
	for _, part := range m.parts() {
		part.Collect(to)
	}
	available, away := m.availability()
	to <- prometheus.MustNewConstMetric(availableDesc, prometheus.GaugeValue, available)
	to <- prometheus.MustNewConstMetric(awayDesc, prometheus.CounterValue, away.Seconds())
	open, behind := m.lags()
	for filter, n := range open {
		to <- prometheus.MustNewConstMetric(subscriptionsDesc, prometheus.GaugeValue, float64(n), filter)
		to <- prometheus.MustNewConstMetric(lagDesc, prometheus.GaugeValue, behind[filter].Seconds(), filter)
	}
}

// connect notes that a generation is connected, or could not be.
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

// setAway notes that the log has gone away, or is back.
func (m *metrics) setAway(away bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	switch {
	case away && m.awaySince.IsZero():
		m.awaySince = time.Now()
	case !away && !m.awaySince.IsZero():
		m.away += time.Since(m.awaySince)
		m.awaySince = time.Time{}
	}
}

func (m *metrics) availability() (available float64, away time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !m.awaySince.IsZero() {
		return 0, m.away + time.Since(m.awaySince)
	}
	if m.connected {
		available = 1
	}
	return available, m.away
}

// wrote counts a write of n events that took since began.
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

// read counts a read while it goes on. The reader's own time is left out: what
// is measured ends with the first event.
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
