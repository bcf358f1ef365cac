package api

import (
	"fmt"
	"hash/maphash"
	"math"
	"net/http"
	"net/netip"
	"strconv"
	"strings"
	"time"
)

// Limits are how many calls a caller may make within any 60 s
// (specification, "Limits"); 0 is no limit. A caller is an account, once it is
// verified, else an address.
type Limits struct {
	Registrations int // and changes of a bot's URL, and deploy checks
	Writes        int // everything but GET
	MatchReads    int
	All           int
	Streams       int // open at a time, by address
}

// SpecifiedLimits are those of the specification.
func SpecifiedLimits() Limits {
	return Limits{Registrations: 10, Writes: 30, MatchReads: 120, All: 600, Streams: 20}
}

// The classes of calls.
const (
	anyCall class = 1 << iota
	matchRead
	write
	registration
)

// policies are the names of the limits, in headers and in refusals.
var policies = [classes]struct{ name, calls string }{
	{"all", "calls"}, {"match-reads", "reads of matches"}, {"writes", "writes"}, {"registrations", "registrations, changes of a bot's URL or deploy checks"},
}

func (l Limits) byClass() [classes]int {
	return [classes]int{l.All, l.MatchReads, l.Writes, l.Registrations}
}

// limiter counts the calls of addresses and of accounts.
type limiter struct {
	began     time.Time
	trusted   []netip.Prefix
	addresses *window[addressKey]
	accounts  *window[string]
}

func newLimiter(o Options) *limiter {
	return &limiter{
		began: o.Now(), trusted: o.TrustedProxies,
		addresses: newWindow(o.Limits.byClass(), addressKey.network, addressKey{0xff}),
		accounts:  newWindow(o.Limits.byClass(), accountPool, ""),
	}
}

// since is the time of a call as the windows count it.
func (l *limiter) since(now time.Time) time.Duration { return max(0, now.Sub(l.began)) + span }

var poolSeed = maphash.MakeSeed()

// accountPool spreads accounts over a thousand pools.
func accountPool(ownerID string) string {
	return "pool " + strconv.FormatUint(maphash.String(poolSeed, ownerID)%1000, 10)
}

// limitAddress counts a call against its address, before anything of it is
// verified.
func (c *call) limitAddress() (taken, error) {
	if c.within() {
		return taken{}, nil
	}
	c.address = keyOf(clientAddress(c.request, c.server.limits.trusted))
	t := c.server.limits.addresses.take(c.address, c.class, c.server.limits.since(c.meta.At))
	return t, c.limited(t)
}

// limitAccount counts a verified call against the caller's account in place of
// its address.
func (c *call) limitAccount(atAddress taken) error {
	if c.within() {
		return nil
	}
	l := c.server.limits
	l.addresses.refund(c.address, atAddress.stamp)
	return c.limited(l.accounts.take(c.caller.OwnerID, c.class, l.since(c.meta.At)))
}

// limited tells the caller what is left of its limits, and refuses the call if
// it is over one.
func (c *call) limited(t taken) error {
	setQuotas(c.header(), t.quotas)
	if t.over == 0 {
		return nil
	}
	e := &rateLimited{}
	for b, q := range t.quotas {
		if t.over.has(b) {
			e.limits = append(e.limits, fmt.Sprintf("%d %s", q.limit, policies[b].calls))
		}
		if q.limit > 0 && q.left <= 0 {
			e.after = max(e.after, seconds(q.until))
		}
	}
	return e
}

// setQuotas writes the fields of draft-ietf-httpapi-ratelimit-headers: the
// policies that a call falls under, and for each how many further calls it
// leaves for how many seconds.
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

// seconds rounds up, so that who waits them has waited enough.
func seconds(d time.Duration) int { return max(1, int(math.Ceil(d.Seconds()))) }

// rateLimited refuses a call for now.
type rateLimited struct {
	limits []string // that the call is over
	open   int      // streams, where these are too many
	after  int      // seconds, after which one such call passes
}

func (e *rateLimited) Error() string {
	if e.open > 0 {
		return fmt.Sprintf("%d streams are open from this address: close one, or try again in %d s", e.open, e.after)
	}
	return fmt.Sprintf("more than %s within 60 s: try again in %d s", strings.Join(e.limits, " and "), e.after)
}
func (e *rateLimited) Unwrap() error { return errRateLimited }
