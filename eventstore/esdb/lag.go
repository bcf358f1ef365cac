package esdb

import (
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"hexarena/eventstore"
)

// lag measures how long a subscriber has been behind the log, on the monotonic
// clock of this process. For a subscriber that is not live, this is the time since
// it was last live. For a live subscriber, it is the age of the oldest message that
// has arrived but that the subscriber has not taken.
type lag struct {
	filter string

	mu      sync.Mutex
	link    int       // number of the current connection; messages of earlier connections are ignored
	live    bool      // whether the subscriber has caught up on the current connection
	behind  time.Time // while not live: the time when it stopped being live
	waiting int       // messages that have arrived but that the subscriber has not taken
	oldest  time.Time // while messages wait: a time at or before the arrival of the oldest message
}

// follow registers a subscription. The caller calls leave when the subscription
// ends.
func (m *metrics) follow(filter eventstore.Filter) (s *lag, leave func()) {
	s = &lag{filter: filter.String(), behind: time.Now()}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.subscriptions[s] = struct{}{}
	return s, func() {
		m.mu.Lock()
		defer m.mu.Unlock()
		delete(m.subscriptions, s)
	}
}

// lagCollector exports the number and the lag of the subscriptions by filter.
type lagCollector struct{ *metrics }

var (
	subscriptionsDesc = prometheus.NewDesc("arena_log_subscriptions", "Open subscriptions by their filter (stream prefixes and event types).", []string{"filter"}, nil)
	lagDesc           = prometheus.NewDesc("arena_log_subscription_lag_seconds", "How long the slowest subscription with this filter has been behind: 0 if it has received all messages.", []string{"filter"}, nil)
)

// Describe implements prometheus.Collector.
func (c lagCollector) Describe(to chan<- *prometheus.Desc) {
	to <- subscriptionsDesc
	to <- lagDesc
}

// Collect implements prometheus.Collector.
func (c lagCollector) Collect(to chan<- prometheus.Metric) {
	open, behind := c.lags()
	for filter, n := range open {
		to <- prometheus.MustNewConstMetric(subscriptionsDesc, prometheus.GaugeValue, float64(n), filter)
		to <- prometheus.MustNewConstMetric(lagDesc, prometheus.GaugeValue, behind[filter].Seconds(), filter)
	}
}

// The method lags() returns the number of open subscriptions and the longest lag of
// each filter.
func (m *metrics) lags() (open map[string]int, behind map[string]time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	open, behind = make(map[string]int), make(map[string]time.Duration)
	for s := range m.subscriptions {
		open[s.filter]++
		behind[s.filter] = max(behind[s.filter], s.lag())
	}
	return open, behind
}

func (s *lag) lag() time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case !s.live:
		return time.Since(s.behind)
	case s.waiting > 0:
		return time.Since(s.oldest)
	}
	return 0
}

// connection returns the number of the current connection.
func (s *lag) connection() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.link
}

// The method came() records that a message arrived on a connection, and returns the
// time of arrival.
func (s *lag) came(link int) time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	if link != s.link {
		return now
	}
	if s.waiting == 0 {
		s.oldest = now
	}
	s.waiting++
	return now
}

// The method took() records that the subscriber has taken a message of the current
// connection. All messages that are still waiting arrived later.
func (s *lag) took(came time.Time, caughtUp bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.waiting--
	s.oldest = came
	s.live = s.live || caughtUp
}

// The method dropped() records that the subscription has lost its connection and the
// messages that were waiting.
func (s *lag) dropped() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.live {
		s.live, s.behind = false, time.Now()
		if s.waiting > 0 {
			s.behind = s.oldest
		}
	}
	s.waiting = 0
	s.link++
}
