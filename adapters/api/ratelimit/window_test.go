package ratelimit

import (
	"fmt"
	"net/http"
	"net/netip"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func self(k int) int { return k }

// If the limit is N, the window accepts exactly N calls in any minute, no matter when
// the minute begins. It refuses the next call until the reported wait is over, and then
// accepts it.
func TestWindow(t *testing.T) {
	for _, begin := range []time.Duration{span, span + 59*time.Second, 1234567 * time.Millisecond} {
		t.Run(begin.String(), func(t *testing.T) {
			w := newWindow([classes]int{5}, self, -1)
			at := begin
			for i := range 5 {
				got := w.take(7, AnyCall, 1, at)
				require.Zero(t, got.over)
				require.Equal(t, 4-i, got.quotas[0].left)
				at += 300 * time.Millisecond
			}
			for range 50 {
				got := w.take(7, AnyCall, 1, at)
				require.Equal(t, AnyCall, got.over)
				require.Equal(t, begin+span-at, got.quotas[0].until)
				at += time.Second
			}
			require.Zero(t, w.take(8, AnyCall, 1, at).over, "another caller")
			require.Equal(t, AnyCall, w.take(7, AnyCall, 1, begin+span-time.Microsecond).over, "an earlier time does not turn the clock back")
			require.Equal(t, AnyCall, w.take(7, AnyCall, 1, begin+span-time.Microsecond).over)
			require.Zero(t, w.take(7, AnyCall, 1, begin+span).over)
			require.Equal(t, AnyCall, w.take(7, AnyCall, 1, begin+span).over, "only one call passes until call 2 of the 5 is a minute old")
		})
	}
}

func TestWindowWithSeveralLimits(t *testing.T) {
	w := newWindow([classes]int{6, 0, 3, 2}, self, -1)
	post, read, other := AnyCall|Write|Registration, AnyCall|MatchRead, AnyCall|Write
	require.Zero(t, w.take(1, post, 1, span).over)
	require.Zero(t, w.take(1, post, 1, span+time.Second).over)
	require.Equal(t, Registration, w.take(1, post, 1, span+2*time.Second).over)
	require.Equal(t, Write, w.take(1, other, 1, span+3*time.Second).over, "the refused registration was a write")
	require.Zero(t, w.take(1, read, 1, span+4*time.Second).over)
	got := w.take(1, post, 1, span+5*time.Second)
	require.Equal(t, Write|Registration, got.over)
	require.Zero(t, got.quotas[0].left, "every call counts as a call")
	require.Equal(t, AnyCall, w.take(1, read, 1, span+6*time.Second).over)
	require.Zero(t, w.take(1, post, 1, 2*span).over, "a minute after the first")
}

func TestWindowWithoutLimits(t *testing.T) {
	w := newWindow([classes]int{}, self, -1)
	for range 1000 {
		require.Zero(t, w.take(1, AnyCall|Write, 1, span).over)
	}
	require.Empty(t, w.young)
}

func TestWindowRefund(t *testing.T) {
	w := newWindow([classes]int{2}, self, -1)
	for range 10 {
		got := w.take(1, AnyCall, 1, span)
		require.Zero(t, got.over)
		w.refund(1, got.stamp)
	}
	require.Empty(t, w.young, "a caller without calls is not stored")
	w.take(1, AnyCall, 1, span)
	w.take(1, AnyCall, 1, span)
	refused := w.take(1, AnyCall, 1, span)
	w.refund(1, refused.stamp)
	require.Equal(t, AnyCall, w.take(1, AnyCall, 1, span).over, "a refused call is not refunded")
}

// The window accepts exactly as many concurrent calls as the limit allows.
func TestWindowConcurrentCalls(t *testing.T) {
	w := newWindow([classes]int{100}, self, -1)
	var passed atomic.Int32
	var all sync.WaitGroup
	for range 16 {
		all.Go(func() {
			for range 50 {
				if w.take(1, AnyCall, 1, span).over == 0 {
					passed.Add(1)
				}
				w.refund(2, w.take(2, AnyCall, 1, span).stamp)
			}
		})
	}
	all.Wait()
	require.EqualValues(t, 100, passed.Load())
	require.Len(t, w.young, 1)
}

// The window makes the same decisions as a model that never forgets a call.
func TestWindowAgainstAModel(t *testing.T) {
	limits := [classes]int{8, 5, 3, 2}
	rapid.Check(t, func(t *rapid.T) {
		w := newWindow(limits, self, -1)
		model := map[int][]stamp{}
		now := span.Microseconds()
		for range rapid.IntRange(1, 300).Draw(t, "calls") {
			now += rapid.SampledFrom([]int64{0, 1, 900_000, 7_000_000, 30_000_000, 59_999_999, 150_000_000}).Draw(t, "pause")
			key := rapid.IntRange(0, 3).Draw(t, "caller")
			c := AnyCall | Class(rapid.IntRange(0, 7).Draw(t, "class")<<1)
			model[key] = slices.DeleteFunc(model[key], func(s stamp) bool { return s.at() <= now-span.Microseconds() })
			var over Class
			for b, limit := range limits {
				if c.has(b) && count(model[key], b) >= limit {
					over |= 1 << b
				}
			}
			n := rapid.IntRange(1, 4).Draw(t, "counts as")
			counted := n
			if over != 0 {
				counted = 1
			}
			if c != over {
				model[key] = append(model[key], slices.Repeat([]stamp{newStamp(now, c&^over)}, counted)...)
			}
			got := w.take(key, c, n, time.Duration(now)*time.Microsecond)
			require.Equal(t, over, got.over)
			if over != 0 {
				after := 0
				for b := range limits {
					if q := got.quotas[b]; q.limit > 0 && q.left <= 0 {
						after = max(after, seconds(q.until))
					}
				}
				later := now + int64(after)*1_000_000
				for b, limit := range limits {
					n := 0
					for _, s := range model[key] {
						if s.has(b) && s.at() > later-span.Microseconds() {
							n++
						}
					}
					require.False(t, c.has(b) && n >= limit, "the call passes after the reported wait")
				}
			}
		}
	})
}

// A heavy call is accepted if at least one call is left. After that, the caller must
// wait until enough of its calls have stopped counting.
func TestWindowWithHeavyCalls(t *testing.T) {
	w := newWindow([classes]int{10}, self, -1)
	require.Zero(t, w.take(1, AnyCall, 1, span).over)
	require.Equal(t, 2, w.take(1, AnyCall, 7, span+10*time.Second).quotas[0].left)
	got := w.take(1, AnyCall, 7, span+20*time.Second)
	require.Zero(t, got.over)
	require.Equal(t, -5, got.quotas[0].left)
	require.Equal(t, 50*time.Second, got.quotas[0].until, "ten calls are left when the light call and five of the heavy call's seven no longer count")
	require.Equal(t, AnyCall, w.take(1, AnyCall, 1, 2*span+9*time.Second).over)
	require.Zero(t, w.take(1, AnyCall, 1, 2*span+10*time.Second).over)
}

// Memory stays bounded even with a million callers in a minute. A caller that was
// already over its limit is still over it afterwards.
func TestAMillionCallers(t *testing.T) {
	l := New(Defaults(), nil, func() time.Time { return time.Unix(0, 0) })
	active := keyOf(netip.MustParseAddr("192.0.2.1"))
	for range 600 {
		require.Zero(t, l.addresses.take(active, AnyCall, 1, span).over)
	}
	heap := func() int64 {
		runtime.GC()
		runtime.GC() // the second run empties the sync.Pools that earlier tests filled
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc)
	}
	before := heap()
	key := func(i int) addressKey {
		return addressKey{0x20, 1, 13, byte(i >> 24), byte(i >> 16), byte(i >> 8), byte(i), 1}
	}
	callers := 1_000_000
	if raceEnabled {
		callers = 50_000 // the race detector needs extra memory and is many times slower
	}
	for i := range callers {
		l.addresses.take(key(i), AnyCall|MatchRead, 1, span+time.Duration(i)*50*time.Microsecond)
	}
	grown := heap() - before
	t.Logf("%d addresses: %d MB", callers, grown>>20)
	require.Less(t, grown, int64(160<<20))
	require.Equal(t, AnyCall, l.addresses.take(active, AnyCall, 1, span+59*time.Second).over)
	require.Zero(t, l.addresses.take(active, AnyCall, 1, 2*span).over)

	l.addresses.take(active, AnyCall, 1, 4*span)
	l.addresses.take(active, AnyCall, 1, 5*span)
	require.Len(t, l.addresses.young, 1, "a caller that made no call is forgotten")
	require.Empty(t, l.addresses.old[key(1)])
}

// If there are too many callers, new callers share the key of their network.
// Known callers keep their own keys.
func TestTooManyCallers(t *testing.T) {
	w := newWindow([classes]int{3}, addressKey.network, addressKey{0xff})
	w.keys = 8
	at := func(text string) addressKey { return keyOf(netip.MustParseAddr(text)) }
	for i := range 8 {
		w.take(at(fmt.Sprintf("198.51.100.%d", i)), AnyCall, 1, span)
	}
	for range 3 {
		require.Zero(t, w.take(at("203.0.113.1"), AnyCall, 1, span).over)
	}
	require.Equal(t, AnyCall, w.take(at("203.0.9.9"), AnyCall, 1, span).over, "the addresses of a /16 share a key")
	require.Zero(t, w.take(at("198.51.100.3"), AnyCall, 1, span).over)
	for range 3 {
		require.Zero(t, w.take(at("2001:db8::1"), AnyCall, 1, span).over, "all other callers share the last key")
	}
	require.Equal(t, AnyCall, w.take(at("2001:db9::1"), AnyCall, 1, span).over)
	require.LessOrEqual(t, len(w.young)+len(w.old), 10)
}

func TestKeyOf(t *testing.T) {
	key := func(text string) addressKey { return keyOf(netip.MustParseAddr(text)) }
	require.Equal(t, key("192.0.2.1"), key("::ffff:192.0.2.1"))
	require.NotEqual(t, key("192.0.2.1"), key("192.0.2.2"))
	require.Equal(t, key("2001:db8:0:1::1"), key("2001:db8:0:1:ffff:ffff:ffff:ffff"))
	require.NotEqual(t, key("2001:db8:0:1::1"), key("2001:db8:0:2::1"))
	require.Equal(t, key("fe80::1%eth0"), key("fe80::2"))
	require.Equal(t, addressKey{}, keyOf(netip.Addr{}))
	require.Equal(t, key("192.0.2.1").network(), key("192.0.9.9").network())
	require.NotEqual(t, key("192.0.2.1").network(), key("192.1.2.1").network())
	require.Equal(t, key("2001:db8:1::").network(), key("2001:db8:2::").network())
	require.NotEqual(t, key("2001:db8::").network(), key("2001:db9::").network())
}

func TestClientAddress(t *testing.T) {
	proxies := []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("fd00::/8")}
	for name, c := range map[string]struct {
		peer      string
		forwarded []string
		want      string
	}{
		"no proxy":                         {"192.0.2.1:999", nil, "192.0.2.1"},
		"no proxy, a false claim":          {"192.0.2.1:999", []string{"198.51.100.7"}, "192.0.2.1"},
		"a proxy":                          {"10.1.2.3:999", []string{"198.51.100.7"}, "198.51.100.7"},
		"a proxy, IPv4 mapped to IPv6":     {"[::ffff:10.1.2.3]:999", []string{"198.51.100.7"}, "198.51.100.7"},
		"a proxy in IPv6":                  {"[fd00::1%eth0]:999", []string{"2001:db8::1"}, "2001:db8::1"},
		"a claim before the proxy's entry": {"10.1.2.3:999", []string{"203.0.113.9, 198.51.100.7"}, "198.51.100.7"},
		"in a second header":               {"10.1.2.3:999", []string{"203.0.113.9", "198.51.100.7"}, "198.51.100.7"},
		"two proxies":                      {"10.1.2.3:999", []string{"203.0.113.9, 198.51.100.7 ,10.9.9.9"}, "198.51.100.7"},
		"only proxies":                     {"10.1.2.3:999", []string{"10.4.4.4, 10.9.9.9"}, "10.4.4.4"},
		"a proxy without the header":       {"10.1.2.3:999", nil, "10.1.2.3"},
		"not an address":                   {"10.1.2.3:999", []string{"unknown"}, "10.1.2.3"},
		"not an address before a proxy":    {"10.1.2.3:999", []string{"x, 10.9.9.9"}, "10.9.9.9"},
		"with a port":                      {"10.1.2.3:999", []string{"198.51.100.7:1234"}, "198.51.100.7"},
		"with a port, IPv6":                {"10.1.2.3:999", []string{"[2001:db8::1]:1234"}, "2001:db8::1"},
		"in brackets":                      {"10.1.2.3:999", []string{"[2001:db8::1]"}, "2001:db8::1"},
	} {
		t.Run(name, func(t *testing.T) {
			r := &http.Request{RemoteAddr: c.peer, Header: http.Header{"X-Forwarded-For": c.forwarded}}
			require.Equal(t, c.want, clientAddress(r, proxies).String())
		})
	}
	require.False(t, clientAddress(&http.Request{RemoteAddr: "@"}, proxies).IsValid())
}

func FuzzClientAddress(f *testing.F) {
	for _, hops := range []string{"", "10.0.0.1", "a, b", "[::1]:5, 10.0.0.1", ",,,", "fe80::1%25x"} {
		f.Add(hops)
	}
	proxies := []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")}
	f.Fuzz(func(t *testing.T, hops string) {
		r := &http.Request{RemoteAddr: "10.0.0.1:1", Header: http.Header{"X-Forwarded-For": {hops}}}
		require.True(t, clientAddress(r, proxies).IsValid())
		r.RemoteAddr = "192.0.2.1:1"
		require.Equal(t, "192.0.2.1", clientAddress(r, proxies).String())
	})
}
