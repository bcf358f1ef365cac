package main

import (
	"encoding/json"
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"hexarena/eventstore/logtest/outage"
	"hexarena/projections/matches"
)

// These are the moments at which a fault begins: the leader has received an event of
// this type, but has not stored it yet. Without a moment, a fault begins at a random
// request to a bot.
const (
	whenSeated  = "TablesSeated"
	whenStarted = "MatchStarted"
	whenOver    = "GameEnded"
	whenRated   = "RatingsChanged"
)

// clusterLines contains scenarios, each line for one cluster. Every kind of fault occurs
// while a table is seated, during play, at the end of a match, and during an owner's
// writes.
var clusterLines = map[string][]scenario{
	"leaders change": {
		{name: "the leader is killed while a table is seated", at: whenSeated, fault: leaderKilled},
		{name: "leaders resign again and again during play", fault: leadersFlap},
		{name: "a rating is stored without an acknowledgement", at: whenRated, fault: appendInDoubt},
		{name: "all nodes restart while an owner writes", at: "BotUrlChanged", writes: true, fault: rollingRestart},
	},
	"nodes are stale": {
		{name: "the leader is cut off while a table is seated", at: whenSeated, fault: leaderCutOff},
		{name: "the arenas are on a follower that lags during play", fault: followerStale},
		{name: "the leader is cut off at the end of a game", at: whenOver, fault: leaderCutOff},
		{name: "the leader is cut off while an owner writes", at: "BotPaused", writes: true, fault: leaderCutOff},
	},
	"outages": {
		{name: "the quorum is lost at the start of a match", at: whenStarted, fault: quorumLost},
		{name: "the quorum is lost during play", fault: quorumLost},
		{name: "the quorum is lost between the end of a game and its rating", at: whenRated, fault: quorumLost},
		{name: "the quorum is lost while an owner writes", at: "ApiKeyRegistered", writes: true, fault: quorumLost},
	},
	"silence": {
		{name: "subscriptions become silent while a table is seated", at: whenSeated, fault: subscriptionsSilent},
		{name: "the leader is paused during play", fault: leaderPaused},
		{name: "subscriptions become silent at the end of a game", at: whenOver, fault: subscriptionsSilent},
		{name: "subscriptions become silent while an owner writes", at: "BotUnpaused", writes: true, fault: subscriptionsSilent},
	},
	"events of owners and of a start are lost": {
		{name: "an owner's writes are lost", lost: "BotUrlChanged", at: "BotRemoved", writes: true, fault: eventsLost},
		{name: "the start of a match is lost", lost: whenStarted, fault: eventsLost},
	},
	"events of a game are lost": {
		{name: "a part of a game is lost", lost: "DiceRolled", fault: eventsLost},
		{name: "the end of a game is lost before its rating", lost: whenOver, at: whenRated, fault: eventsLost},
	},
	"combinations": {
		{name: "while a table is seated, subscriptions become silent, and the leader is cut off", at: whenSeated, fault: all(subscriptionsSilent, leaderCutOff)},
		{name: "during play, leaders flap, are paused and stale, and the quorum is lost", fault: all(leadersFlap, leaderPaused, followerStale, quorumLost)},
		{name: "at the end of a game, an append is in doubt, and leaders are killed and flap", at: whenOver, fault: all(appendInDoubt, leaderKilled, leadersFlap)},
		{name: "while an owner writes, the quorum is lost, and subscriptions become silent", at: "ApiKeyRevoked", writes: true, fault: all(quorumLost, subscriptionsSilent, leaderKilled)},
	},
	"combinations with lost events": {
		{name: "subscriptions become silent, and a seating that no head covers is lost", at: whenSeated, fault: seatingLost},
		{name: "a part of a game is lost, and the next leader is cut off and lags", lost: "DiceRolled", fault: all(eventsLost, leaderCutOff, followerStale)},
	},
}

// Two arenas play on a simulated cluster, and their owners make changes, while its nodes
// fail. See clusterPlay.judge.
func TestClusterScenarios(t *testing.T) {
	for name, line := range clusterLines {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newClusterPlay(t)
			for _, s := range line {
				p.play(s)
			}
			p.judge()
		})
	}
}

func nextLeader(c *outage.Cluster) int { return (max(c.Leader(), 0) + 1) % 3 }

// The function all() returns a fault that consists of several faults.
func all(faults ...func(*clusterPlay)) func(*clusterPlay) {
	return func(p *clusterPlay) {
		for _, fault := range faults {
			fault(p)
		}
	}
}

func leaderKilled(p *clusterPlay) { p.cluster.Start(p.cluster.KillLeader(nextLeader(p.cluster))) }

func leaderCutOff(p *clusterPlay) { p.cluster.Heal(p.cluster.CutOffLeader(nextLeader(p.cluster))) }

func leaderPaused(p *clusterPlay) { p.cluster.Resume(p.cluster.Pause(nextLeader(p.cluster))) }

func leadersFlap(p *clusterPlay) {
	for range 3 {
		p.cluster.Resign(p.cluster.Leader())
		p.cluster.Resign(nextLeader(p.cluster))
	}
}

// appendInDoubt lets the leader store appends without an acknowledgement, and then fail.
func appendInDoubt(p *clusterPlay) {
	was := p.cluster.Leader()
	p.cluster.SetState(was, outage.Doubtful)
	p.cluster.Elect((was + 2) % 3)
}

// followerStale makes the leader a follower whose subscriptions lag, and another
// follower catch up.
func followerStale(p *clusterPlay) {
	was, next := p.cluster.Leader(), nextLeader(p.cluster)
	p.cluster.SetLag(was, time.Second)
	p.cluster.Resign(next)
	p.cluster.SetState((next+1)%3, outage.CatchingUp)
	pause(time.Second)
	p.cluster.SetLag(was, 0)
	p.cluster.SetState((next+1)%3, outage.Follower)
}

func rollingRestart(p *clusterPlay) {
	for i := range 3 {
		if p.cluster.Leader() == i {
			p.cluster.KillLeader(nextLeader(p.cluster))
		} else {
			p.cluster.SetState(i, outage.Down)
		}
		p.cluster.Start(i)
	}
}

// subscriptionsSilent makes all subscriptions that receive an event within a second
// silent forever.
func subscriptionsSilent(p *clusterPlay) {
	for i := range 3 {
		p.cluster.SetLag(i, time.Hour)
	}
	p.releaseHeld()
	pause(time.Second)
	for i := range 3 {
		p.cluster.SetLag(i, 0)
	}
}

// quorumLost makes the log unavailable. Both arenas say so in /ready, and still serve the
// running matches that they know.
func quorumLost(p *clusterPlay) {
	shown := make([]string, len(p.arenas)) // the id of a running match that the arena has shown
	for i := range p.arenas {
		p.reach(i)
		for _, m := range p.list(matches.Running) {
			if status, _ := fetch(p.t, p.base()+"/matches/"+m.ID); status == http.StatusOK {
				shown[i] = m.ID
			}
		}
	}
	was := p.cluster.Leader()
	p.cluster.LoseQuorum()
	p.awaitNotReady("the log has been unavailable for")
	for i, id := range shown {
		p.reach(i)
		in := func(list []matches.Summary) bool {
			return slices.ContainsFunc(list, func(m matches.Summary) bool { return m.ID == id })
		}
		if !in(p.list(matches.Running)) {
			require.True(p.t, id == "" || in(append(p.list(matches.Completed), p.list(matches.Aborted)...)), "%s has disappeared", id)
			continue // it ended before the log became unavailable
		}
		status, body := fetch(p.t, p.base()+"/matches/"+id)
		require.Equal(p.t, http.StatusOK, status, body)
		var record struct {
			Status       string
			StaleSeconds float64
		}
		require.NoError(p.t, json.Unmarshal([]byte(body), &record))
		require.Positive(p.t, record.StaleSeconds, "%s: %s", id, record.Status)
	}
	p.cluster.RegainQuorum(was)
}

// eventsLost elects a leader that does not have the events after the mark.
func eventsLost(p *clusterPlay) { p.cluster.Rewind(p.mark, nextLeader(p.cluster)) }

// seatingLost loses a seating before a subscription can receive it.
func seatingLost(p *clusterPlay) {
	p.lossy = true
	p.mark = p.cluster.Mark()
	for i := range 3 {
		p.cluster.SetLag(i, time.Hour)
	}
	assigned := p.hold("MatchesAssigned")
	p.releaseHeld()
	p.await(assigned)
	eventsLost(p)
	for i := range 3 {
		p.cluster.SetLag(i, 0)
	}
}
