package main

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"hexarena/eventstore/logtest"
	"hexarena/eventstore/logtest/outage"
)

// clusterFaults contains faults of a cluster that lose no acknowledged event.
var clusterFaults = map[string]func(*outage.Cluster){
	"leader killed":    func(c *outage.Cluster) { c.Start(c.KillLeader(nextLeader(c))) },
	"leader cut off":   func(c *outage.Cluster) { c.Heal(c.CutOffLeader(nextLeader(c))) },
	"quorum lost":      func(c *outage.Cluster) { was := c.Leader(); c.LoseQuorum(); c.RegainQuorum(was) },
	"leader paused":    func(c *outage.Cluster) { c.Resume(c.Pause(nextLeader(c))) },
	"leader resigned":  func(c *outage.Cluster) { c.Resign(c.Leader()); c.Resign(nextLeader(c)) },
	"appends in doubt": func(c *outage.Cluster) { c.SetState(c.Leader(), outage.Doubtful); c.Elect((c.Leader() + 2) % 3) },
}

func nextLeader(c *outage.Cluster) int { return (max(c.Leader(), 0) + 1) % 3 }

// An arena plays on a simulated cluster while its nodes fail: at the start of matches, in
// the middle of them, and at their end. No bot gets a strike, no match's history forks,
// each match is rated once, and all matches end.
func TestClusterFaultsCauseNoStrikes(t *testing.T) {
	for name, fault := range clusterFaults {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			playOnCluster(t, fault, fault)
		})
	}
	t.Run("all", func(t *testing.T) {
		t.Parallel()
		var all []func(*outage.Cluster)
		for _, fault := range clusterFaults {
			all = append(all, fault)
		}
		playOnCluster(t, all...)
	})
}

func playOnCluster(t *testing.T, faults ...func(*outage.Cluster)) {
	rng := logtest.Random(t)
	f := &eventTrigger{}
	c := outage.NewCluster(t, 3, outage.Brisk)
	s := newTestArena(t, "--tick", "250ms", "--rest-standard", "0s", "--decision-standard", "5s", "--eventstore", c.Address())
	s.start()
	s.join(goodPlayers(t, 8, f)...)
	for _, fault := range faults {
		f.fireAfter(t, 1+rng.IntN(300), func() {})
		fault(c)
		_, goesOn := s.resumed(f.next())
		require.True(t, goesOn, "the arena must not exit")
	}
	s.retire()
	s.finish(0)
	s.stop()
	c.Save(filepath.Join(s.data, "node"))
	h := readHistory(t, s.data)
	compared, claims := h.audit(t, s.players)
	require.NotEmpty(t, h.order)
	t.Logf("%d faults, %d matches rated, %d claims, %d public events as in runs without faults, no strike", len(faults), len(h.order), claims, compared)
}
