package projections

import (
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// meter counts what the metrics of a runner show. Its lock is taken last.
type meter struct {
	mu      sync.Mutex
	events  uint64
	commits uint64
	behind  time.Time // when the oldest uncommitted event arrived; zero if all are committed
}

// markBehind records that there is an event to fold.
func (m *meter) markBehind() {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.behind.IsZero() {
		m.behind = time.Now()
	}
}

// markCaughtUp records that all events are committed.
func (m *meter) markCaughtUp() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.behind = time.Time{}
}

// addCommit counts a commit of some events.
func (m *meter) addCommit(events int) {
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
	positionDesc = prometheus.NewDesc("arena_projection_position", "Log position up to which a read model has committed its rows.", []string{"projection"}, nil)
	lagDesc      = prometheus.NewDesc("arena_projection_lag_seconds", "How long a read model has been behind the log; 0 when all events are committed.", []string{"projection"}, nil)
	eventsDesc   = prometheus.NewDesc("arena_projection_events_total", "Events that a read model has folded.", []string{"projection"}, nil)
	commitsDesc  = prometheus.NewDesc("arena_projection_commits_total", "Transactions that a read model has committed.", []string{"projection"}, nil)
	stoppedDesc  = prometheus.NewDesc("arena_projection_stopped", "1 if a read model cannot fold an event or store its rows; /ready gives the reason.", []string{"projection"}, nil)
)

// Collector returns the metrics arena_projection_… of the runners. Register it
// once.
func Collector(runners ...*Runner) prometheus.Collector { return collector(runners) }

type collector []*Runner

// Describe implements prometheus.Collector.
func (c collector) Describe(to chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{positionDesc, lagDesc, eventsDesc, commitsDesc, stoppedDesc} {
		to <- d
	}
}

// Collect implements prometheus.Collector.
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
