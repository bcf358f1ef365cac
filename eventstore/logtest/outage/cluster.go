package outage

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/EventStore/EventStore-Client-Go/v4/protos/streams"
	"github.com/stretchr/testify/require"
)

// State is what a node of a Cluster currently is.
type State int

// These are the states of a node.
const (
	Down        State = iota // refuses connections
	Discovering              // refuses all calls, and ends its subscriptions
	Unknown                  // has no leader: refuses calls, and its subscriptions stay open and silent
	PreLeader                // like Unknown, for a moment after it is elected
	Leader
	Follower
	CatchingUp // like Follower, but its subscriptions are silent, and appends that it should forward hang
	Alone      // a leader that is cut off: it serves reads from its own log, and acknowledges no append
	Doubtful   // a leader that stores an append, but fails before it can acknowledge the append
)

func (s State) String() string {
	return [...]string{"down", "discovering", "unknown", "pre-leader", "leader", "follower", "catching up", "alone", "doubtful"}[s]
}

// Timing holds how long the steps of a cluster take.
type Timing struct {
	Election   time.Duration // from the loss of a leader to the next pre-leader
	Prelude    time.Duration // how long a node is pre-leader
	Notice     time.Duration // until a leader that is cut off notices that
	Commit     time.Duration // until a leader that is cut off gives up an append
	Forwarding time.Duration // until a node that catches up gives up an append that it should forward
	Join       time.Duration // each step of a node that starts: discovering, catching up
}

// Observed is the timing of EventStoreDB 24.6.0.
var Observed = Timing{
	Election: time.Second, Prelude: time.Second, Notice: 5 * time.Second, Commit: 2 * time.Second,
	Forwarding: 5 * time.Second, Join: 2 * time.Second,
}

// Brisk is a faster timing, for tests that go through many faults.
var Brisk = Timing{
	Election: 300 * time.Millisecond, Prelude: 100 * time.Millisecond, Notice: time.Second, Commit: 400 * time.Millisecond,
	Forwarding: time.Second, Join: 200 * time.Millisecond,
}

// Cluster behaves like a cluster of EventStoreDB nodes, as far as its clients can see.
// Its nodes are addresses in front of one embedded node, which holds the log. Each node
// answers each call according to its state. A method that changes the states returns
// when the change is complete.
//
// The cluster models these properties of EventStoreDB: one leader; gossip; elections;
// not-leader with the address of the leader; forwarded appends; appends that end without
// an acknowledgement, stored or not; subscriptions that stay open and silent; followers
// that lag; a leader that is cut off and goes on serving its own log; and the loss of
// events that clients could read.
//
// The cluster does not model replication: all nodes that agree share one log, and a
// follower lags only in its subscriptions. It has no TLS, no users, no projections and
// no read-only replicas. Elections choose the node that the test names.
type Cluster struct {
	t       testing.TB
	members []*member

	appending sync.RWMutex // see keepLog

	mu     sync.Mutex // guards the following fields, and the states of the members
	timing Timing
	shared *store // the log on which the majority agrees
	held   *Held  // waits for an append; nil if no append will be held
}

// NewCluster starts a cluster whose first node is the leader. The cluster stops when
// the test ends.
func NewCluster(t testing.TB, size int, timing Timing) *Cluster {
	t.Helper()
	c := &Cluster{t: t, timing: timing}
	c.shared = c.openStore(newDisk())
	for range size {
		m := c.newMember()
		m.state = Follower
		c.members = append(c.members, m)
	}
	c.members[0].state = Leader
	return c
}

// Address returns the connection string for clients that know all nodes.
func (c *Cluster) Address() string {
	hosts := make([]string, len(c.members))
	for i, m := range c.members {
		hosts[i] = m.proxy.Address()
	}
	return "esdb://" + strings.Join(hosts, ",") + "?tls=false"
}

// NodeAddress returns the connection string for clients that know only one node, and
// do not discover the others.
func (c *Cluster) NodeAddress(i int) string {
	return fmt.Sprintf("esdb://%s?tls=false", c.members[i].proxy.Address())
}

// Proxy returns the proxy in front of a node, for faults of the network.
func (c *Cluster) Proxy(i int) *Proxy { return c.members[i].proxy }

// Leader returns the index of the leader, or -1.
func (c *Cluster) Leader() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	for i, m := range c.members {
		if m.state == Leader && m.own == nil {
			return i
		}
	}
	return -1
}

// Calls returns how many calls a node has answered in a state, except gossip.
func (c *Cluster) Calls(i int, s State) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.members[i].calls[s]
}

// keepLog makes SetState(Alone) wait until release is called, if the call is an append. So
// the copy of the shared log that SetState makes has every acknowledged event.
func (c *Cluster) keepLog(method string) (release func()) {
	if method != streams.Streams_Append_FullMethodName {
		return func() {}
	}
	c.appending.RLock()
	return sync.OnceFunc(c.appending.RUnlock)
}

// SetState changes the state of a node. A node that is Down refuses connections.
func (c *Cluster) SetState(i int, s State) {
	m := c.members[i]
	if s == Alone {
		c.appending.Lock()
		defer c.appending.Unlock()
	}
	c.mu.Lock()
	was := m.state
	m.state = s
	switch {
	case s != Alone && s != Unknown:
		m.own = nil // the node drops what it took alone
	case s == Alone && m.own == nil:
		m.own = c.openStore(c.shared.disk.copy())
	}
	close(m.changed)
	m.changed = make(chan struct{})
	c.mu.Unlock()
	switch {
	case s == Down:
		m.proxy.Set(Refused)
	case was == Down:
		m.proxy.Set(None)
	}
}

// SetLag sets how long a follower's subscriptions are behind.
func (c *Cluster) SetLag(i int, lag time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.members[i].lag = lag
}

// setOthers changes the state of all nodes that are up, except one.
func (c *Cluster) setOthers(except int, s State) {
	for i := range c.members {
		if i != except && c.state(i) != Down {
			c.SetState(i, s)
		}
	}
}

func (c *Cluster) state(i int) State {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.members[i].state
}

// Elect makes a node the leader. The other nodes that are up follow it.
func (c *Cluster) Elect(i int) {
	c.pause(c.timing.Election)
	c.setOthers(i, Follower)
	c.SetState(i, PreLeader)
	c.pause(c.timing.Prelude)
	c.SetState(i, Leader)
}

// Start starts a node that is down. It joins as a follower.
func (c *Cluster) Start(i int) {
	c.SetState(i, Discovering)
	c.pause(c.timing.Join)
	c.SetState(i, CatchingUp)
	c.pause(c.timing.Join)
	c.SetState(i, Follower)
}

// KillLeader kills the leader, and elects another node. It returns the killed node.
func (c *Cluster) KillLeader(next int) (killed int) {
	killed = c.Leader()
	c.SetState(killed, Down)
	c.setOthers(killed, Unknown)
	c.Elect(next)
	return killed
}

// CutOffLeader cuts the leader off from the other nodes, but not from the clients. The
// others elect another node. It returns the old leader, which has noticed by then that
// it is cut off. Heal ends the cut.
func (c *Cluster) CutOffLeader(next int) (old int) {
	old = c.Leader()
	c.SetState(old, Alone)
	c.setOthers(old, CatchingUp)
	c.pause(c.timing.Notice)
	c.SetState(next, Leader)
	for i := range c.members {
		if i != next && i != old && c.state(i) != Down {
			c.SetState(i, Follower)
		}
	}
	c.SetState(old, Unknown)
	return old
}

// Heal ends the cut of a node. The node drops what it took alone, ends its process, and
// joins as a follower.
func (c *Cluster) Heal(i int) {
	c.SetState(i, Down)
	c.pause(c.timing.Join)
	c.Start(i)
}

// LoseQuorum kills all nodes except the leader, which soon notices that it is alone.
// RegainQuorum ends the outage.
func (c *Cluster) LoseQuorum() {
	leader := c.Leader()
	c.SetState(leader, Alone)
	for i := range c.members {
		if i != leader {
			c.SetState(i, Down)
		}
	}
	c.pause(c.timing.Commit)
	c.SetState(leader, Unknown)
}

// RegainQuorum starts the nodes that are down, and elects a node. A node that was alone
// drops its own log.
func (c *Cluster) RegainQuorum(leader int) {
	for i := range c.members {
		c.SetState(i, Discovering)
	}
	c.pause(c.timing.Join)
	c.Elect(leader)
}

// Pause stops the leader as SIGSTOP does: its connections stay open, and nothing passes.
// The others elect another node. It returns the paused node. Resume ends the pause.
func (c *Cluster) Pause(next int) (paused int) {
	paused = c.Leader()
	c.Proxy(paused).Set(Hung)
	c.SetState(paused, Unknown)
	c.setOthers(paused, Unknown)
	c.Elect(next)
	c.SetState(paused, Unknown) // Elect made it a follower
	return paused
}

// Resume lets a paused node run again. It finds that the others have moved on, ends
// its process, and joins as a follower.
func (c *Cluster) Resume(i int) {
	c.Proxy(i).Set(None)
	c.Heal(i)
}

// Resign makes the leader give up its role. The given node is elected, which may be
// the same one.
func (c *Cluster) Resign(next int) {
	for i := range c.members {
		if c.state(i) != Down {
			c.SetState(i, Unknown)
		}
	}
	c.Elect(next)
}

// Mark is a copy of the log, to which Rewind returns.
type Mark struct{ disk disk }

// Mark copies the log.
func (c *Cluster) Mark() Mark {
	c.mu.Lock()
	defer c.mu.Unlock()
	return Mark{c.shared.disk.copy()}
}

// Rewind elects a node whose log ends at a mark. The other nodes end their processes to
// drop what they have after the mark, even if clients have read it.
func (c *Cluster) Rewind(m Mark, leader int) {
	for i := range c.members {
		c.SetState(i, Down)
	}
	c.mu.Lock()
	c.shared = c.openStore(m.disk.copy())
	c.mu.Unlock()
	c.SetState(leader, Discovering)
	c.Elect(leader)
	for i := range c.members {
		if i != leader {
			c.Start(i)
		}
	}
}

func (c *Cluster) pause(d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-c.t.Context().Done():
		require.NoError(c.t, c.t.Context().Err())
	}
}
