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

// metrics are the metrics of a Log. A goroutine takes their lock after all other
// locks and holds it briefly.
type metrics struct {
	appends, reads, events                         *prometheus.CounterVec
	conflicts, retries, reconnects, failedConnects prometheus.Counter
	appendTime, readTime                           prometheus.Histogram

	mu            sync.Mutex
	connected     bool          // at least once
	outageSince   time.Time     // zero while the log is available
	outages       time.Duration // total of past outages
	subscriptions map[*lag]struct{}
}

// The results of a call.
const (
	resultDone        = "done"
	resultConflict    = "conflict"    // the stream was at another revision
	resultRefused     = "refused"     // any other decision of the server
	resultUnavailable = "unavailable" // no answer before the deadline
	resultCancelled   = "cancelled"   // the caller cancelled the call or closed the log
)

var results = []string{resultDone, resultConflict, resultRefused, resultUnavailable, resultCancelled}

// The values of the label "how" of arena_log_events_total.
const (
	eventsAppended   = "appended"
	eventsRead       = "read"
	eventsSubscribed = "subscribed"
)

// seconds are the upper bounds of the buckets of the histograms.
var seconds = []float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30}

var (
	availableDesc     = prometheus.NewDesc("arena_log_available", "1 while the event store answers, 0 while it is unavailable.", nil, nil)
	outagesDesc       = prometheus.NewDesc("arena_log_unavailable_seconds_total", "Total time of outages of the event store, including the current one.", nil, nil)
	subscriptionsDesc = prometheus.NewDesc("arena_log_subscriptions", "Open subscriptions by their filter: prefixes of streams and event types.", []string{"filter"}, nil)
	lagDesc           = prometheus.NewDesc("arena_log_subscription_lag_seconds", "How long the slowest subscription with this filter has been behind: 0 if it has taken all messages.", []string{"filter"}, nil)
)

func newMetrics() *metrics {
	counter := func(name, help string) prometheus.Counter {
		return prometheus.NewCounter(prometheus.CounterOpts{Name: name, Help: help})
	}
	vector := func(name, help, label string, values ...string) *prometheus.CounterVec {
		v := prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, []string{label})
		for _, value := range values {
			v.WithLabelValues(value) // so that it is exported before the first call
		}
		return v
	}
	histogram := func(name, help string) prometheus.Histogram {
		return prometheus.NewHistogram(prometheus.HistogramOpts{Name: name, Help: help, Buckets: seconds})
	}
	return &metrics{
		appends:        vector("arena_log_appends_total", "Appends, tombstones and changes of metadata by result.", "result", results...),
		reads:          vector("arena_log_reads_total", "Reads of streams and of $all by result.", "result", resultDone, resultRefused, resultUnavailable, resultCancelled),
		events:         vector("arena_log_events_total", "Events that were appended, read, or delivered to subscribers.", "how", eventsAppended, eventsRead, eventsSubscribed),
		conflicts:      counter("arena_log_conflicts_total", "Writes that expected another revision than the stream had."),
		retries:        counter("arena_log_retries_total", "Calls that were sent again because their outcome was unknown."),
		reconnects:     counter("arena_log_reconnects_total", "Connections to the event store after the first one."),
		failedConnects: counter("arena_log_connect_failures_total", "Attempts to connect that failed."),
		appendTime:     histogram("arena_log_append_seconds", "Time of an append, including its retries."),
		readTime:       histogram("arena_log_read_seconds", "Time until the first event of a read, or its end."),
		subscriptions:  make(map[*lag]struct{}),
	}
}

// Collector returns the metrics of the log, named arena_log_…. Register it once.
func (l *Log) Collector() prometheus.Collector { return l.metrics }

func (m *metrics) parts() []prometheus.Collector {
	return []prometheus.Collector{m.appends, m.reads, m.events, m.conflicts, m.retries, m.reconnects, m.failedConnects, m.appendTime, m.readTime}
}

// Describe implements prometheus.Collector.
func (m *metrics) Describe(to chan<- *prometheus.Desc) {
	for _, part := range m.parts() {
		part.Describe(to)
	}
	for _, d := range []*prometheus.Desc{availableDesc, outagesDesc, subscriptionsDesc, lagDesc} {
		to <- d
	}
}

// Collect implements prometheus.Collector.
func (m *metrics) Collect(to chan<- prometheus.Metric) {
	for _, part := range m.parts() {
		part.Collect(to)
	}
	available, outages := m.availability()
	to <- prometheus.MustNewConstMetric(availableDesc, prometheus.GaugeValue, available)
	to <- prometheus.MustNewConstMetric(outagesDesc, prometheus.CounterValue, outages.Seconds())
	open, behind := m.lags()
	for filter, n := range open {
		to <- prometheus.MustNewConstMetric(subscriptionsDesc, prometheus.GaugeValue, float64(n), filter)
		to <- prometheus.MustNewConstMetric(lagDesc, prometheus.GaugeValue, behind[filter].Seconds(), filter)
	}
}

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

// setUnavailable notes the begin or the end of an outage.
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

func (m *metrics) availability() (available float64, outages time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !m.outageSince.IsZero() {
		return 0, m.outages + time.Since(m.outageSince)
	}
	if m.connected {
		available = 1
	}
	return available, m.outages
}

// wrote counts a write of n events that began at a time.
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

// read counts the events of a read as they pass. The measured time ends with the
// first event, because later events also wait for their reader.
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
