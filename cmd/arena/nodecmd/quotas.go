package nodecmd

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"hexarena/eventstore/node"
	"hexarena/eventstore/node/persistent"
	"hexarena/eventstore/node/quota"
)

// The type quotas holds the limits for the clients of a read-only node. 0 means no
// limit. docs/operations.md explains the limits.
type quotas struct {
	MaxPublicConnections           int           `default:"256" help:"with --read-only: connections in total; 0 for any number"`
	MaxPublicConnectionsPerAddress int           `default:"16" help:"with --read-only: connections from one address"`
	MaxPublicCalls                 int           `default:"256" help:"with --read-only: open calls in total, such as subscriptions"`
	MaxPublicCallsPerAddress       int           `default:"32" help:"with --read-only: open calls from one address"`
	MaxGroups                      int           `default:"128" help:"with --read-only: persistent subscription groups in total"`
	MaxGroupsPerAddress            int           `default:"8" help:"with --read-only: persistent subscription groups created from one address"`
	GroupExpiry                    time.Duration `default:"72h" help:"with --read-only: delete a group when no client has used it for this long; 0 for never"`
	SharedGroups                   bool          `help:"with --read-only: clients may use, change and delete groups that were created from other addresses"`
}

func (q quotas) limits() node.Quotas {
	return node.Quotas{
		Connections: quota.Limit{Total: q.MaxPublicConnections, PerNetwork: q.MaxPublicConnectionsPerAddress},
		Calls:       quota.Limit{Total: q.MaxPublicCalls, PerNetwork: q.MaxPublicCallsPerAddress},
		Persistent: persistent.Quotas{
			Groups: quota.Limit{Total: q.MaxGroups, PerNetwork: q.MaxGroupsPerAddress},
			Expiry: q.GroupExpiry,
			Shared: q.SharedGroups,
		},
	}
}

// quotaMetrics returns metrics that show what the clients of a read-only node use.
func quotaMetrics(n *node.Node) []prometheus.Collector {
	gauge := func(name, help string, value func(node.PublicStats) int) prometheus.Collector {
		return prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: help}, func() float64 { return float64(value(n.PublicStats())) })
	}
	counter := func(name, help, label string, value func(node.PublicStats) uint64) prometheus.Collector {
		labels := prometheus.Labels{}
		if label != "" {
			labels["quota"] = label
		}
		return prometheus.NewCounterFunc(prometheus.CounterOpts{Name: name, Help: help, ConstLabels: labels}, func() float64 { return float64(value(n.PublicStats())) })
	}
	const refused, why = "arena_node_refused_total", "Connections, calls, groups and changes that quotas of the read-only node refused since the process started."
	return []prometheus.Collector{
		gauge("arena_node_public_connections", "Open connections of clients of the read-only node.", func(s node.PublicStats) int { return s.Connections }),
		gauge("arena_node_public_calls", "Open calls of clients of the read-only node.", func(s node.PublicStats) int { return s.Calls }),
		gauge("arena_node_groups", "Persistent subscription groups.", func(s node.PublicStats) int { return s.Persistent.Groups }),
		gauge("arena_node_group_consumers", "Consumers of all persistent subscription groups.", func(s node.PublicStats) int { return s.Persistent.Consumers }),
		counter("arena_node_groups_expired_total", "Groups that were deleted because no client used them.", "", func(s node.PublicStats) uint64 { return s.Persistent.Expired }),
		counter("arena_node_group_writes_delayed_total", "Checkpoints and parked messages that had to wait, because their owner had written too many.", "", func(s node.PublicStats) uint64 { return s.Persistent.DelayedWrites }),
		counter(refused, why, "connections", func(s node.PublicStats) uint64 { return s.RefusedConnections }),
		counter(refused, why, "calls", func(s node.PublicStats) uint64 { return s.RefusedCalls }),
		counter(refused, why, "groups", func(s node.PublicStats) uint64 { return s.Persistent.RefusedGroups }),
		counter(refused, why, "group_changes", func(s node.PublicStats) uint64 { return s.Persistent.RefusedChanges }),
		counter(refused, why, "group_owner", func(s node.PublicStats) uint64 { return s.Persistent.RefusedOthers }),
	}
}
