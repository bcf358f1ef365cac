package auth

import (
	"hash/maphash"
	"slices"
	"sync"
	"time"
)

// These constants limit the number of sign-in links for one address within linkWindow
// (docs/adr/0040-strangers-block-no-sign-in-and-take-no-key.md). Browsers that have
// signed in with the address before have their own allowance, so that strangers cannot
// keep an owner out.
const (
	linksPerRequester = 5  // requested from one stranger's network, or by one known browser
	linksPerAddress   = 20 // requested by all strangers together, or by all known browsers together
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

// take counts a link. If the link would exceed a limit, the method counts nothing and
// returns false. The parameter allowance names a group of requesters: strangers or
// known browsers. All requesters of a group share linksPerAddress.
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

// tallyBuckets bounds the memory of a tally: about 30 MB if every bucket is full. With
// 20 places in each bucket, a tally has about 1.3 million places. A caller that makes
// 30 calls a minute fills 1,800 places in an hour, so it would take about 700 such
// callers to fill them all.
const tallyBuckets = 1 << 16

// tally stores the times of recent links in a fixed number of buckets. Keys that fall
// into the same bucket share its limit. The hash seed is random, so nobody can predict
// which keys share a bucket.
type tally struct {
	hash    func(key string) uint64
	buckets [][]time.Time // nil before the first link
}

func newTally() *tally {
	seed := maphash.MakeSeed()
	return &tally{hash: func(key string) uint64 { return maphash.String(seed, key) }}
}

// bucket returns the bucket of a key, after removing links that are older than
// linkWindow.
func (t *tally) bucket(key string, now time.Time) *[]time.Time {
	if t.buckets == nil {
		t.buckets = make([][]time.Time, tallyBuckets)
	}
	b := &t.buckets[t.hash(key)%tallyBuckets]
	*b = slices.DeleteFunc(*b, func(at time.Time) bool { return now.Sub(at) >= linkWindow })
	return b
}
