// Package ratelimit counts the calls from addresses and accounts, and refuses
// calls over a limit. "Rate limits" in docs/protocol.md lists the limits.
//
// [Limiter.CountAddress] counts a call before any part of the call is verified. Once
// the caller is known, [Limiter.CountAccount] counts the call against the account
// instead. Both methods set the RateLimit headers of the response.
package ratelimit

import (
	"fmt"
	"hash/maphash"
	"math"
	"net/http"
	"net/netip"
	"strconv"
	"sync"
	"time"

	"hexarena/adapters/rest/problem"
)

// Limits contains the number of calls that a caller may make within any 60 seconds. 0
// means no limit. Verified calls count against the account, and all other calls against
// the address.
type Limits struct {
	Registrations int // bot registrations, changes of a bot's URL, and deploy checks
	Writes        int // every method except GET
	MatchReads    int
	All           int
	Files         int // style sheets, scripts and images of web pages, which count against no other limit
	Streams       int // streams that an address may have open at the same time
}

// Defaults returns the limits of a public arena.
func Defaults() Limits {
	return Limits{Registrations: 10, Writes: 30, MatchReads: 120, All: 600, Files: 1200, Streams: 20}
}

// There is one class of calls for each limit.
const (
	AnyCall Class = 1 << iota
	MatchRead
	Write
	Registration
	File
)

// The variable policies contains the names of the limits in headers and in errors, in
// the order of the classes.
var policies = [classes]struct{ name, calls string }{
	{"all", "calls"}, {"match-reads", "reads of matches"}, {"writes", "writes"}, {"registrations", "registrations, changes of a bot's URL or deploy checks"},
	{"files", "files of web pages"},
}

func (l Limits) byClass() [classes]int {
	return [classes]int{l.All, l.MatchReads, l.Writes, l.Registrations, l.Files}
}

// Limiter counts calls and open streams. It is safe for concurrent use.
type Limiter struct {
	now       func() time.Time
	began     time.Time
	trusted   []netip.Prefix
	addresses *window[addressKey]
	accounts  *window[string]

	maxStreams int // 0 means no limit
	mu         sync.Mutex
	streams    map[addressKey]int
}

// New returns a Limiter. The Limiter trusts the X-Forwarded-For header only in requests
// from a trusted proxy.
func New(l Limits, trusted []netip.Prefix, now func() time.Time) *Limiter {
	return &Limiter{
		now: now, began: now(), trusted: trusted,
		addresses:  newWindow(l.byClass(), addressKey.network, addressKey{0xff}),
		accounts:   newWindow(l.byClass(), accountPool, ""),
		maxStreams: l.Streams, streams: map[addressKey]int{},
	}
}

// sinceStart returns the current time on the clock of the windows. When the limiter is
// created, that clock already shows one span, so subtracting a span never gives a
// negative time.
func (l *Limiter) sinceStart() time.Duration { return max(0, l.now().Sub(l.began)) + span }

var poolSeed = maphash.MakeSeed()

// accountPool returns one of a thousand keys. Accounts share these keys when
// there are too many callers.
func accountPool(ownerID string) string {
	return "pool " + strconv.FormatUint(maphash.String(poolSeed, ownerID)%1000, 10)
}

// Counted is a call that was counted against its address.
type Counted struct {
	address addressKey
	stamp   stamp
}

// CountAddress counts a call as n calls from the caller's address. If the call is over
// a limit, the error is a *problem.RateLimited.
func (l *Limiter) CountAddress(h http.Header, r *http.Request, c Class, n int) (Counted, error) {
	address := keyOf(clientAddress(r, l.trusted))
	t := l.addresses.take(address, c, n, l.sinceStart())
	return Counted{address, t.stamp}, t.report(h)
}

// CountAccount counts a call against an account, and stops counting it against the
// address.
func (l *Limiter) CountAccount(h http.Header, ownerID string, c Class, atAddress Counted) error {
	l.addresses.refund(atAddress.address, atAddress.stamp)
	return l.accounts.take(ownerID, c, 1, l.sinceStart()).report(h)
}

// CountMore counts a verified call as n additional calls against its account.
func (l *Limiter) CountMore(h http.Header, ownerID string, c Class, n int) error {
	return l.accounts.take(ownerID, c, n, l.sinceStart()).report(h)
}

// Network identifies the network of the client that sent a request. It returns the
// address in IPv4, and the /64 network in IPv6.
func (l *Limiter) Network(r *http.Request) string {
	key := keyOf(clientAddress(r, l.trusted))
	return string(key[:])
}

// streamRetry is the Retry-After value, in seconds, for a caller that has too
// many open streams.
const streamRetry = 10

// OpenStream counts a stream against its reader's address. The caller must call
// the returned function when the stream has ended.
func (l *Limiter) OpenStream(r *http.Request) (closed func(), err error) {
	address := keyOf(clientAddress(r, l.trusted))
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.maxStreams > 0 && l.streams[address] >= l.maxStreams {
		return nil, &problem.RateLimited{Streams: l.maxStreams, After: streamRetry}
	}
	l.streams[address]++
	return func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		if l.streams[address]--; l.streams[address] == 0 {
			delete(l.streams, address)
		}
	}, nil
}

// report writes the number of remaining calls to the header, and returns an error if
// the call is over a limit.
func (t taken) report(h http.Header) error {
	setQuotas(h, t.quotas)
	if t.over == 0 {
		return nil
	}
	e := &problem.RateLimited{}
	for b, q := range t.quotas {
		if t.over.has(b) {
			e.Limits = append(e.Limits, fmt.Sprintf("%d %s", q.limit, policies[b].calls))
		}
		if q.limit > 0 && q.left <= 0 {
			e.After = max(e.After, seconds(q.until))
		}
	}
	return e
}

// setQuotas writes the header fields of draft-ietf-httpapi-ratelimit-headers.
// They list the policies that apply to a call. For each policy, they contain
// the number of remaining calls, and the seconds until that number rises.
func setQuotas(h http.Header, quotas [classes]quota) {
	var policy, left []byte
	for b, q := range quotas {
		if q.limit == 0 {
			continue
		}
		policy = fmt.Appendf(separated(policy), "%q;q=%d;w=%d", policies[b].name, q.limit, int(span.Seconds()))
		left = fmt.Appendf(separated(left), "%q;r=%d;t=%d", policies[b].name, max(0, q.left), seconds(q.until))
	}
	if policy != nil {
		h.Set("RateLimit-Policy", string(policy))
		h.Set("RateLimit", string(left))
	}
}

func separated(list []byte) []byte {
	if len(list) > 0 {
		return append(list, ", "...)
	}
	return list
}

// The function seconds() returns d in seconds. It rounds up, so that a caller who waits
// that long is accepted.
func seconds(d time.Duration) int { return max(1, int(math.Ceil(d.Seconds()))) }
