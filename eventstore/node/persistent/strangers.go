package persistent

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"sync/atomic"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/peer"

	"hexarena/eventstore/node/quota"
	"hexarena/eventstore/node/wire"
)

// Quotas limit the groups on a read-only node, to which anyone can connect.
type Quotas struct {
	Groups quota.Limit
	Expiry time.Duration // a group without a consumer expires after this time; 0 means never
	Shared bool          // anyone may join, change and delete anyone's groups
}

// These limits apply to a stranger's group and its consumers, in addition to the Quotas.
// A stranger is a client of a read-only node.
const (
	strangersBuffer   = 1 << 10 // waiting messages of a group
	strangersInFlight = 1 << 8  // unanswered messages of a consumer
	strangersReason   = 1 << 8  // maximum size of a reason for parking, in bytes
	strangersEntry    = 2 << 10 // bytes of a group's configuration

	expiryInterval = time.Minute // how often the node looks for expired groups
)

// These are the maximum rates of writes to the log. Each change to a group writes the
// configuration of all groups. A group also writes checkpoints and links to parked
// messages.
var (
	changesOfAll     = quota.Rate{Burst: 300, Every: 12 * time.Second}
	changesOfNetwork = quota.Rate{Burst: 60, Every: time.Minute}
	writesOfAll      = quota.Rate{Burst: 10_000, Every: 50 * time.Millisecond}
	writesOfNetwork  = quota.Rate{Burst: 1_000, Every: time.Second}
)

// The type strangers holds the quotas, the secret and the counters for the clients of a
// read-only node.
type strangers struct {
	Quotas
	secret  []byte // the key for the tags of networks
	changes *quota.Meter
	writes  *quota.Meter

	expired, refusedGroups, refusedOthers atomic.Uint64
}

func newStrangers(q Quotas) *strangers {
	return &strangers{
		Quotas:  q,
		changes: quota.NewMeter(changesOfAll, changesOfNetwork),
		writes:  quota.NewMeter(writesOfAll, writesOfNetwork),
	}
}

// Public returns the same service for strangers. Call Expose first.
func (p Service) Public() Service {
	p.public = true
	return p
}

// Expose prepares the service for strangers. The secret must stay the same as long
// as the log exists. Expose also starts a goroutine that deletes groups that nobody
// uses, until the node closes.
func (p Service) Expose(secret []byte) {
	p.groups.strangers.secret = secret
	if !p.Life.Enter() {
		return
	}
	go func() {
		defer p.Life.Leave()
		p.groups.expireAll()
	}()
}

// caller is the client of a call. The field owner is the tag of its network. It is
// empty for a trusted client, which may do everything. The tag is stored in the
// configuration of the groups that the client creates. Everyone can read this
// configuration, so the tag must not reveal the network's address.
type caller struct {
	owner  string
	shared bool
}

func (p Service) caller(ctx context.Context) caller {
	if !p.public {
		return caller{}
	}
	network := ""
	if from, ok := peer.FromContext(ctx); ok {
		network = quota.Network(from.Addr)
	}
	tag := hmac.New(sha256.New, p.groups.strangers.secret)
	_, _ = tag.Write([]byte(network)) // never fails
	return caller{owner: hex.EncodeToString(tag.Sum(nil)[:8]), shared: p.groups.strangers.Shared}
}

func (c caller) trusted() bool { return c.owner == "" }

func (c caller) owns(g *group) bool {
	return c.trusted() || c.shared || c.owner == g.config.Owner
}

// mayJoin rejects consumers that would take messages from a group of another network.
// Anyone may join a group that a trusted client created.
func (p Service) mayJoin(ctx context.Context, g *group) error {
	if c := p.caller(ctx); g.config.Owner != "" && !c.owns(g) {
		return p.groups.strangers.refuseOther(g)
	}
	return nil
}

func (p Service) largestConsumer() int {
	if p.public {
		return strangersInFlight
	}
	return groupInFlight
}

// mayCreate applies the quotas to a new group. The caller holds the lock.
func (s *groups) mayCreate(by caller, c *groupConfig) error {
	if by.trusted() {
		return nil
	}
	own := 0
	for _, g := range s.loaded {
		if g.config.Owner == by.owner {
			own++
		}
	}
	if q := s.strangers.Groups; !q.Allows(len(s.loaded), own) {
		s.strangers.refusedGroups.Add(1)
		return wire.RefuseQuota("the node has %d persistent subscriptions, %d of them from your network; it allows %d in total and %d from one network; delete one that you do not need",
			len(s.loaded), own, q.Total, q.PerNetwork)
	}
	return s.strangers.mayConfigure(by, c)
}

// mayChange rejects changes to a group of another network.
func (s *groups) mayChange(by caller, g *group) error {
	if !by.owns(g) {
		return s.strangers.refuseOther(g)
	}
	return s.strangers.mayConfigure(by, &g.config)
}

// mayConfigure limits the size of a group's configuration and the rate of changes.
func (s *strangers) mayConfigure(by caller, c *groupConfig) error {
	if by.trusted() {
		return nil
	}
	encoded, err := json.Marshal(c)
	if err != nil {
		return err
	}
	if len(encoded) > strangersEntry {
		return wire.Invalid("the settings of the persistent subscription take up %d bytes, but the limit is %d; use shorter names or a shorter filter", len(encoded), strangersEntry)
	}
	if wait := s.changes.Take(by.owner, 1, time.Now()); wait > 0 {
		return wire.RefuseQuota("too many changes to persistent subscriptions; try again in %s", wait.Round(time.Second))
	}
	return nil
}

func (s *strangers) refuseOther(g *group) error {
	s.refusedOthers.Add(1)
	return wire.Refuse(codes.PermissionDenied,
		"Access Denied: the persistent subscription "+g.config.key()+" belongs to another network; create one with a different group name", "access-denied")
}

// mayWrite reports whether the group may write n events now, and deducts them from its
// owner's allowance if the owner is a stranger. If the allowance is used up, the group
// continues without writing and tries again later. Nothing is lost, because the
// messages stay unfinished. The caller holds the group's lock.
func (g *group) mayWrite(n int) bool {
	if g.config.Owner == "" {
		return true
	}
	now := time.Now()
	if now.Before(g.paused) {
		return false
	}
	wait := g.writes.Take(g.config.Owner, n, now)
	g.paused = now.Add(wait)
	return wait == 0
}

// expireAll deletes expired groups until the node closes.
func (s *groups) expireAll() {
	for s.Life.Ready() == nil {
		if err := s.expire(time.Now()); err != nil && s.Life.Ready() == nil {
			s.Logger.Error("could not delete the expired persistent subscriptions", "error", err)
		}
		select {
		case <-time.After(min(expiryInterval, max(s.strangers.Expiry/10, time.Millisecond))):
		case <-s.Life.Open().Done():
		}
	}
}

// expire deletes groups that have had no consumers for too long.
func (s *groups) expire(now time.Time) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.load(); err != nil || s.strangers.Expiry <= 0 {
		return err
	}
	for _, g := range s.loaded {
		if !g.unusedSince(now.Add(-s.strangers.Expiry)) {
			continue
		}
		if err := s.delete(s.Life.Open(), g); err != nil {
			return err
		}
		s.strangers.expired.Add(1)
		s.Logger.Info("deleted a persistent subscription that nobody used", "group", g.config.key())
	}
	return nil
}

func (g *group) unusedSince(t time.Time) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return len(g.consumers) == 0 && g.left.Before(t)
}

// Stats describes the groups and counts how often a quota has applied since the node
// was opened.
type Stats struct {
	Groups, Consumers int
	Expired           uint64
	RefusedGroups     uint64 // groups beyond the quota
	RefusedChanges    uint64 // changes beyond the rate
	RefusedOthers     uint64 // rejected uses of groups that belong to others
	DelayedWrites     uint64 // group writes that had to wait
}

// Stats returns the counts so far.
func (p Service) Stats() Stats {
	s := p.groups.strangers
	return Stats{
		Groups: int(p.groups.count.Load()), Consumers: int(p.groups.consumers.Load()), Expired: s.expired.Load(),
		RefusedGroups: s.refusedGroups.Load(), RefusedChanges: s.changes.Refused(),
		RefusedOthers: s.refusedOthers.Load(), DelayedWrites: s.writes.Refused(),
	}
}
