package main

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"hexarena/cmd/arena/demo"
	"hexarena/domain/ladder"
	"hexarena/eventstore/logtest"
	"hexarena/eventstore/logtest/outage"
	"hexarena/projections/matches"
)

// clusterDecision is the time for one decision. The loss of events lasts longer, because
// the arena believes it only after 10 s.
const clusterDecision = 8 * time.Second

// clusterPlay is two arenas that share the matches on a simulated cluster. Owners reach
// both through one proxy, as behind a load balancer. So both sign heads of the same trees.
// The embedded testArena makes its calls through this proxy.
type clusterPlay struct {
	*testArena
	t       *testing.T
	cluster *outage.Cluster
	arenas  []*testArena
	heads   []*savedHeads
	trigger *eventTrigger
	rng     *rand.Rand

	held   *outage.Held // the append during which the current fault begins; nil if a bot chose the moment
	mark   outage.Mark  // see scenario.lost
	played int          // scenarios so far
	lossy  bool         // the cluster has lost events

	owning sync.WaitGroup // owners' calls in the background
	mu     sync.Mutex     // guards writes
	writes []ownerWrite
}

// scenario is a fault of the cluster at one moment of a match or of an owner's writes.
// In each scenario, three new bots play one match.
type scenario struct {
	name   string
	at     string // the fault begins while an event of this type waits at the leader; "": at a random request to a bot
	lost   string // the first event of this type and all later ones are lost; "": no events are lost
	writes bool   // an owner makes other changes too
	fault  func(*clusterPlay)
}

// newClusterPlay starts a cluster and two arenas.
func newClusterPlay(t *testing.T) *clusterPlay {
	data := t.TempDir()
	p := &clusterPlay{t: t, cluster: outage.NewCluster(t, 3, outage.Brisk), trigger: &eventTrigger{}, rng: logtest.Random(t)}
	first := newTestArena(t, "--tick", "250ms", "--rest-standard", "1h", "--decision-standard", clusterDecision.String(),
		"--eventstore", p.cluster.Address(), "--secrets", filepath.Join(data, "secrets.json"), "--mail", "file:"+filepath.Join(data, "mail"))
	first.behindProxy()
	second := newTestArena(t, first.flags...)
	second.front = first.front
	p.arenas = []*testArena{first, second}
	p.testArena = &testArena{t: t, data: data, front: first.front}
	p.start()
	return p
}

// start starts both arenas, and watches the heads that they sign.
func (p *clusterPlay) start() {
	p.heads = nil
	for i, a := range p.arenas {
		a.start()
		p.reach(i)
		h := newSavedHeads(p.t, p.base())
		h.tree = a.address() + "/ladder/" + ladder.Standard
		h.watch(a.arena)
		p.heads = append(p.heads, h)
	}
}

// stop stops both arenas.
func (p *clusterPlay) stop() {
	for i, a := range p.arenas {
		a.stop()
		p.heads[i].watching.Wait()
	}
}

// address returns the address of the arena itself, behind its proxy.
func (s *testArena) address() string { return s.arena.await(`API on (http://\S+)`)[1] }

// reach makes the proxy pass calls to an arena.
func (p *clusterPlay) reach(i int) {
	p.arena = p.arenas[i].arena
	p.front.passTo(p.t, p.arenas[i].address())
}

// play plays a scenario until its match is rated and both arenas are ready.
func (p *clusterPlay) play(s scenario) {
	p.t.Helper()
	began := time.Now()
	p.begin(s)
	s.fault(p)
	p.settleMatch()
	p.t.Logf("%s: %v", s.name, time.Since(began).Round(time.Millisecond))
}

// begin starts a scenario, and returns at the moment of its fault. Until settleMatch
// returns, owners make their calls in the background.
func (p *clusterPlay) begin(s scenario) {
	p.t.Helper()
	p.played++
	p.lossy = p.lossy || s.lost != ""
	p.reach(p.played % 2)
	players := goodPlayers(p.t, 3, p.trigger)
	for _, b := range players {
		b.name = fmt.Sprintf("%s of match %d", b.name, p.played)
	}
	spare := newTestBot(p.t, fmt.Sprintf("spare of match %d", p.played))
	p.players = append(append(p.players, players...), spare)
	o := p.owner()
	var leaver *demo.Owner
	if s.writes {
		leaver = p.leaver()
	}
	p.held = p.hold(s.lost, s.at)
	p.owning.Go(func() {
		if s.writes && s.lost != "" {
			p.change(o, leaver, spare) // before the match, because signed heads must not cover what is lost
		}
		for _, b := range players {
			p.register(o, b)
		}
		if s.writes && s.lost == "" {
			p.change(o, leaver, spare)
		}
	})
	if s.lost != "" {
		p.await(p.held)
		p.mark = p.cluster.Mark()
		lost := p.held
		p.held = p.hold(s.at)
		lost.Release()
	}
	if p.held != nil {
		p.await(p.held)
	} else {
		p.trigger.fireAfter(p.t, 1+p.rng.IntN(200), func() {})
	}
}

// hold holds the next append of the first event type that is not empty.
func (p *clusterPlay) hold(types ...string) *outage.Held {
	for _, t := range types {
		if t != "" {
			return p.cluster.Hold(t)
		}
	}
	return nil
}

func (p *clusterPlay) await(h *outage.Held) {
	p.t.Helper()
	timer := time.NewTimer(patience)
	defer timer.Stop()
	select {
	case <-h.Arrived:
	case <-timer.C:
		require.FailNow(p.t, "the event is never appended")
	}
}

// releaseHeld releases the held append, if there is one.
func (p *clusterPlay) releaseHeld() {
	if p.held != nil {
		p.held.Release()
	}
}

// settleMatch waits until the match of a scenario is rated and both arenas are ready.
func (p *clusterPlay) settleMatch() {
	p.t.Helper()
	p.releaseHeld()
	p.owning.Wait()
	for i := range p.arenas {
		p.reach(i)
		eventually(p.t, "the arena is ready and the match is rated", func() bool {
			return p.notReady(i) == "" && p.count(matches.Completed) == p.played && p.count(matches.Running) == 0
		})
	}
}

// count returns how many matches with a status the reached arena lists, or -1 while it
// does not know.
func (p *clusterPlay) count(status string) int {
	code, body := fetch(p.t, p.base()+"/matches?limit=200&status="+status)
	var list struct{ Matches []matches.Summary }
	if code != http.StatusOK || json.Unmarshal([]byte(body), &list) != nil {
		return -1
	}
	return len(list.Matches)
}

// notReady returns why an arena is not ready, or "".
func (p *clusterPlay) notReady(i int) string {
	status, body := fetch(p.t, "http://"+p.arenas[i].arena.admin()+"/ready")
	if status == http.StatusOK {
		return ""
	}
	return body
}

// awaitNotReady waits until both arenas say why they are not ready.
func (p *clusterPlay) awaitNotReady(why string) {
	p.t.Helper()
	for i := range p.arenas {
		eventually(p.t, "not ready: "+why, func() bool { return strings.Contains(p.notReady(i), why) })
	}
}
