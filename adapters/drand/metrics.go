package drand

import (
	"maps"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

var (
	upDesc       = prometheus.NewDesc("arena_beacon_up", "1 if the newest round is recent enough to seat tables, otherwise 0.", nil, nil)
	newestDesc   = prometheus.NewDesc("arena_beacon_newest_round", "Number of the newest round that the arena has verified; 0 before the first one.", nil, nil)
	ageDesc      = prometheus.NewDesc("arena_beacon_age_seconds", "Time since the newest verified round appeared; absent before the first one.", nil, nil)
	waitingDesc  = prometheus.NewDesc("arena_beacon_waiting_matches", "Matches that are waiting for their round.", nil, nil)
	failuresDesc = prometheus.NewDesc("arena_beacon_failures_total", "Failed calls to the relay, by reason.", []string{"reason"}, nil)
)

// Describe implements prometheus.Collector.
func (c *Client) Describe(to chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{upDesc, newestDesc, ageDesc, waitingDesc, failuresDesc} {
		to <- d
	}
}

// Collect implements prometheus.Collector.
func (c *Client) Collect(to chan<- prometheus.Metric) {
	c.mu.Lock()
	newest, waiting, failures := c.newest, 0, maps.Clone(c.failures)
	for _, w := range c.waiting {
		waiting += w.callers
	}
	c.mu.Unlock()
	now, up := time.Now(), 1.0
	if c.stale(now, newest) != nil {
		up = 0
	}
	to <- prometheus.MustNewConstMetric(upDesc, prometheus.GaugeValue, up)
	to <- prometheus.MustNewConstMetric(newestDesc, prometheus.GaugeValue, float64(newest))
	if newest > 0 {
		age := now.Sub(c.options.Chain.Time(newest))
		to <- prometheus.MustNewConstMetric(ageDesc, prometheus.GaugeValue, age.Seconds())
	}
	to <- prometheus.MustNewConstMetric(waitingDesc, prometheus.GaugeValue, float64(waiting))
	for reason, n := range failures {
		to <- prometheus.MustNewConstMetric(failuresDesc, prometheus.CounterValue, float64(n), reason)
	}
}
