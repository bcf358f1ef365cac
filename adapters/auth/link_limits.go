package auth

import (
	"hash/maphash"
	"slices"
	"sync"
	"time"
)

// The limits on the sign-in links for one address within linkWindow
// (docs/adr/0040-strangers-block-no-sign-in-and-take-no-key.md). Strangers and
// browsers that have signed in with the address before have separate allowances,
// so that strangers cannot keep an owner out.
const (
	linksPerRequester = 5  // to one stranger's network, or to one known browser
	linksPerAddress   = 20 // to all strangers together, or to all known browsers together
	linkWindow        = time.Hour
)

// linkLimits counts sign-in links in memory, because a stranger's request must not
// append to the log. It is safe for concurrent use.
type linkLimits struct {
	mu         sync.Mutex
	requesters *tally
	addresses  *tally
}

func newLinkLimits() *linkLimits {
	return &linkLimits{requesters: newTally(), addresses: newTally()}
}

// take counts a link. It returns false, and counts nothing, if the link is over a
// limit. allowance names the allowance that the requester shares with others.
func (l *linkLimits) take(address, allowance, requester string, now time.Time) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	shared := allowance + " " + address
	byRequester, byAddress := l.requesters.bucket(shared+" "+requester, now), l.addresses.bucket(shared, now)
	if len(*byRequester) >= linksPerRequester || len(*byAddress) >= linksPerAddress {
		return false
	}
	*byRequester, *byAddress = append(*byRequester, now), append(*byAddress, now)
	return true
}

// tallyBuckets bounds the memory of a tally: about 30 MB if every bucket is full.
// A caller that may make 30 calls a minute fills 1,800 places in an hour. So 700
// such callers are needed before buckets are full on average.
const tallyBuckets = 1 << 16

// tally stores the times of the recent links, in a fixed number of buckets. Keys
// with the same bucket share their limit. The seed is random, so nobody can find
// such keys.
type tally struct {
	seed    maphash.Seed
	buckets [][]time.Time
}

func newTally() *tally {
	return &tally{seed: maphash.MakeSeed(), buckets: make([][]time.Time, tallyBuckets)}
}

// bucket returns the bucket of a key, without the links that no longer count.
func (t *tally) bucket(key string, now time.Time) *[]time.Time {
	b := &t.buckets[maphash.String(t.seed, key)%tallyBuckets]
	*b = slices.DeleteFunc(*b, func(at time.Time) bool { return now.Sub(at) >= linkWindow })
	return b
}
