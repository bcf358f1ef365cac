package main

import "github.com/prometheus/client_golang/prometheus"

// The method collectors() returns the metrics of the matches that this process plays.
func (p *player) collectors(seats func() bool, maxMatches int) []prometheus.Collector {
	gauge := func(name, help string, value func() float64) prometheus.Collector {
		return prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: help}, value)
	}
	counter := func(name, help string, value func() uint64) prometheus.Collector {
		return prometheus.NewCounterFunc(prometheus.CounterOpts{Name: name, Help: help}, func() float64 { return float64(value()) })
	}
	return []prometheus.Collector{
		gauge("arena_members", "Processes that play and that this process considers alive, including itself.", func() float64 { return float64(len(p.members.List())) }),
		gauge("arena_matches_running", "Matches that this process plays.", func() float64 { return float64(p.referee.Running()) }),
		gauge("arena_matches_max", "Matches that this process plays at most (--max-matches).", func() float64 { return float64(maxMatches) }),
		gauge("arena_seats_tables", "1 if this process holds the lease and seats tables.", func() float64 { return number(seats()) }),
		gauge("arena_calls_bots", "1 if this process may call bots: it has stored a heartbeat within the last 8 s.", func() float64 { return number(p.members.Gate() == nil) }),
		counter("arena_handovers_total", "Matches that this process has taken over from other processes.", p.members.Handovers),
		counter("arena_fenced_appends_total", "Appends that the log rejected because another process had taken over the match.", p.referee.Fenced),
	}
}

func number(b bool) float64 {
	if b {
		return 1
	}
	return 0
}
