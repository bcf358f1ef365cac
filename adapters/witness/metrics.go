package witness

import (
	"errors"
	"sync/atomic"

	"github.com/prometheus/client_golang/prometheus"
)

// The variable reasons lists the values of the label "why".
var reasons = []struct {
	why string
	err error
}{
	{"unreachable", errUnreachable},
	{"unknown_log", errUnknownLog},
	{"wrong_key", errWrongKey},
	{"inconsistent", errInconsistent},
	{"ahead", errAhead},
	{"invalid", errInvalid},
	{"rejected", errRejected},
	{"arena", nil}, // the arena could not build the request
}

// The type failures counts failures by reason.
type failures []atomic.Uint64

func newFailures() failures { return make(failures, len(reasons)) }

func (f failures) count(err error) {
	for i, r := range reasons {
		if r.err == nil || errors.Is(err, r.err) {
			f[i].Add(1)
			return
		}
	}
}

var (
	sizeDesc     = prometheus.NewDesc("arena_witness_cosigned_size", "Size of the newest head of the ladder tree that a witness has cosigned since the process started.", []string{"witness", "mode"}, nil)
	failuresDesc = prometheus.NewDesc("arena_witness_failures_total", "Heads that a witness did not cosign, by reason.", []string{"witness", "mode", "why"}, nil)
)

// Collector returns a Prometheus collector with the metrics arena_witness_…. Register
// it once.
func (c *Client) Collector() prometheus.Collector { return collector{c} }

type collector struct{ c *Client }

// Describe implements prometheus.Collector.
func (c collector) Describe(to chan<- *prometheus.Desc) { to <- sizeDesc; to <- failuresDesc }

// Collect implements prometheus.Collector.
func (c collector) Collect(to chan<- prometheus.Metric) {
	for mode, t := range c.c.trees {
		for _, p := range t.peers {
			to <- prometheus.MustNewConstMetric(sizeDesc, prometheus.GaugeValue, float64(p.cosigned.Load()), p.Name(), mode)
			for i, r := range reasons {
				to <- prometheus.MustNewConstMetric(failuresDesc, prometheus.CounterValue, float64(p.failures[i].Load()), p.Name(), mode, r.why)
			}
		}
	}
}
