package projections

import (
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// meter is what an operator wants to see of a runner. Its lock is taken last.
type meter struct {
	mu      sync.Mutex
	events  uint64
	commits uint64
	behind  time.Time // since when something waits to be committed; zero: nothing does
}

// fell notes that there is something to fold.
func (m *meter) fell() {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.behind.IsZero() {
		m.behind = time.Now()
	}
}

// caughtUp notes that all that came is committed.
func (m *meter) caughtUp() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.behind = time.Time{}
}

// folded notes a commit of so many events.
func (m *meter) folded(events int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.events += uint64(events)
	m.commits++
}

func (m *meter) read() (events, commits uint64, lag time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !m.behind.IsZero() {
		lag = time.Since(m.behind)
	}
	return m.events, m.commits, lag
}

var (
	positionDesc = prometheus.NewDesc("arena_projection_position", "Position of the log up to which a read model is committed.", []string{"projection"}, nil)
	lagDesc      = prometheus.NewDesc("arena_projection_lag_seconds", "How long a read model has had something to fold: 0 while all that came is committed.", []string{"projection"}, nil)
	eventsDesc   = prometheus.NewDesc("arena_projection_events_total", "Events that a read model has folded.", []string{"projection"}, nil)
	commitsDesc  = prometheus.NewDesc("arena_projection_commits_total", "Transactions in which it has stored what it folded.", []string{"projection"}, nil)
	stoppedDesc  = prometheus.NewDesc("arena_projection_stopped", "1 where a read model has met something that it cannot fold or store; /ready says what.", []string{"projection"}, nil)
)

// Collector is what runners measure, named arena_projection_…, to be registered
// once.
func Collector(runners ...*Runner) prometheus.Collector { return collector(runners) }

type collector []*Runner

// Describe is prometheus.Collector's.
func (c collector) Describe(to chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{positionDesc, lagDesc, eventsDesc, commitsDesc, stoppedDesc} {
		to <- d
	}
}

// Collect is prometheus.Collector's.
func (c collector) Collect(to chan<- prometheus.Metric) {
	for _, r := range c {
		events, commits, lag := r.meter.read()
		stopped := 0.0
		if r.Err() != nil {
			stopped = 1
		}
		name := r.Name()
		to <- prometheus.MustNewConstMetric(positionDesc, prometheus.GaugeValue, float64(r.Position()), name)
		to <- prometheus.MustNewConstMetric(lagDesc, prometheus.GaugeValue, lag.Seconds(), name)
		to <- prometheus.MustNewConstMetric(eventsDesc, prometheus.CounterValue, float64(events), name)
		to <- prometheus.MustNewConstMetric(commitsDesc, prometheus.CounterValue, float64(commits), name)
		to <- prometheus.MustNewConstMetric(stoppedDesc, prometheus.GaugeValue, stopped, name)
	}
}
