package projections

import (
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// meter contains the values of a runner's metrics.
type meter struct {
	events  atomic.Uint64
	commits atomic.Uint64
	behind  atomic.Pointer[time.Time] // when the oldest uncommitted event arrived; nil if all events are committed
}

// markBehind records that an event is waiting to be folded.
func (m *meter) markBehind() {
	if m.behind.Load() == nil {
		now := time.Now()
		m.behind.Store(&now)
	}
}

// markCaughtUp records that all events are committed.
func (m *meter) markCaughtUp() { m.behind.Store(nil) }

func (m *meter) lag() time.Duration {
	if behind := m.behind.Load(); behind != nil {
		return time.Since(*behind)
	}
	return 0
}

var (
	positionDesc = prometheus.NewDesc("arena_projection_position", "Log position up to which a read model has committed its rows.", []string{"projection"}, nil)
	lagDesc      = prometheus.NewDesc("arena_projection_lag_seconds", "How long a read model has been behind the log; 0 when all events are committed.", []string{"projection"}, nil)
	eventsDesc   = prometheus.NewDesc("arena_projection_events_total", "Events that a read model has folded.", []string{"projection"}, nil)
	commitsDesc  = prometheus.NewDesc("arena_projection_commits_total", "Transactions that a read model has committed.", []string{"projection"}, nil)
	stoppedDesc  = prometheus.NewDesc("arena_projection_stopped", "1 if a read model cannot fold an event or store its rows; /ready gives the reason.", []string{"projection"}, nil)
)

// Collector returns a Prometheus collector with the metrics arena_projection_…
// of the runners. Register it once.
func Collector(runners ...*Runner) prometheus.Collector { return collector(runners) }

type collector []*Runner

// Describe implements prometheus.Collector.
func (c collector) Describe(to chan<- *prometheus.Desc) { prometheus.DescribeByCollect(c, to) }

// Collect implements prometheus.Collector.
func (c collector) Collect(to chan<- prometheus.Metric) {
	for _, r := range c {
		stopped := 0.0
		if r.Err() != nil {
			stopped = 1
		}
		name := r.Name()
		to <- prometheus.MustNewConstMetric(positionDesc, prometheus.GaugeValue, float64(r.Position()), name)
		to <- prometheus.MustNewConstMetric(lagDesc, prometheus.GaugeValue, r.meter.lag().Seconds(), name)
		to <- prometheus.MustNewConstMetric(eventsDesc, prometheus.CounterValue, float64(r.meter.events.Load()), name)
		to <- prometheus.MustNewConstMetric(commitsDesc, prometheus.CounterValue, float64(r.meter.commits.Load()), name)
		to <- prometheus.MustNewConstMetric(stoppedDesc, prometheus.GaugeValue, stopped, name)
	}
}
