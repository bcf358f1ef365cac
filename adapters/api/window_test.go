package api

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

// From rest N calls pass, wherever a minute begins; the N+1st does not for as
// long as it is told to wait, and then it does.
func TestWindow(t *testing.T) {
	for _, begin := range []time.Duration{span, span + 59*time.Second, 1234567 * time.Millisecond} {
		t.Run(begin.String(), func(t *testing.T) {
			w := newWindow([classes]int{5}, self, -1)
			at := begin
			for i := range 5 {
				got := w.take(7, anyCall, at)
				require.Zero(t, got.over)
				require.Equal(t, 4-i, got.quotas[0].left)
				at += 300 * time.Millisecond
			}
			for range 50 {
				got := w.take(7, anyCall, at)
				require.Equal(t, anyCall, got.over)
				require.Equal(t, begin+span-at, got.quotas[0].until)
				at += time.Second
			}
			require.Zero(t, w.take(8, anyCall, at).over, "another caller")
			require.Equal(t, anyCall, w.take(7, anyCall, begin+span-time.Microsecond).over, "time never goes back")
			require.Equal(t, anyCall, w.take(7, anyCall, begin+span-time.Microsecond).over)
			require.Zero(t, w.take(7, anyCall, begin+span).over)
			require.Equal(t, anyCall, w.take(7, anyCall, begin+span).over, "one alone, until the next of the five is a minute old")
		})
	}
}

func TestWindowOfSeveralLimits(t *testing.T) {
	w := newWindow([classes]int{6, 0, 3, 2}, self, -1)
	post, read, other := anyCall|write|registration, anyCall|matchRead, anyCall|write
	require.Zero(t, w.take(1, post, span).over)
	require.Zero(t, w.take(1, post, span+time.Second).over)
	require.Equal(t, registration, w.take(1, post, span+2*time.Second).over)
	require.Equal(t, write, w.take(1, other, span+3*time.Second).over, "the refused registration was a write")
	require.Zero(t, w.take(1, read, span+4*time.Second).over)
	got := w.take(1, post, span+5*time.Second)
	require.Equal(t, write|registration, got.over)
	require.Zero(t, got.quotas[0].left, "every call was one of all")
	require.Equal(t, anyCall, w.take(1, read, span+6*time.Second).over)
	require.Zero(t, w.take(1, post, 2*span).over, "a minute after the first")
}

func TestNoLimits(t *testing.T) {
	w := newWindow([classes]int{}, self, -1)
	for range 1000 {
		require.Zero(t, w.take(1, anyCall|write, span).over)
	}
	require.Empty(t, w.young)
}

func TestRefund(t *testing.T) {
	w := newWindow([classes]int{2}, self, -1)
	for range 10 {
		got := w.take(1, anyCall, span)
		require.Zero(t, got.over)
		w.refund(1, got.stamp)
	}
	require.Empty(t, w.young, "who is owed nothing is not kept")
	w.take(1, anyCall, span)
	w.take(1, anyCall, span)
	refused := w.take(1, anyCall, span)
	w.refund(1, refused.stamp)
	require.Equal(t, anyCall, w.take(1, anyCall, span).over, "a call that did not count is not given back")
}

// Many at once: exactly as many pass as may.
func TestWindowUnderARace(t *testing.T) {
	w := newWindow([classes]int{100}, self, -1)
	var passed atomic.Int32
	var all sync.WaitGroup
	for range 16 {
		all.Go(func() {
			for range 50 {
				if w.take(1, anyCall, span).over == 0 {
					passed.Add(1)
				}
				w.refund(2, w.take(2, anyCall, span).stamp)
			}
		})
	}
	all.Wait()
	require.EqualValues(t, 100, passed.Load())
	require.Len(t, w.young, 1)
}

// A model that forgets nothing agrees with the window, whoever calls when.
func TestWindowAgainstAModel(t *testing.T) {
	limits := [classes]int{8, 5, 3, 2}
	rapid.Check(t, func(t *rapid.T) {
		w := newWindow(limits, self, -1)
		model := map[int][]stamp{}
		now := span.Microseconds()
		for range rapid.IntRange(1, 300).Draw(t, "calls") {
			now += rapid.SampledFrom([]int64{0, 1, 900_000, 7_000_000, 30_000_000, 59_999_999, 150_000_000}).Draw(t, "pause")
			key := rapid.IntRange(0, 3).Draw(t, "caller")
			c := anyCall | class(rapid.IntRange(0, 7).Draw(t, "class")<<1)
			model[key] = slices.DeleteFunc(model[key], func(s stamp) bool { return s.at() <= now-span.Microseconds() })
			var over class
			for b, limit := range limits {
				if c.has(b) && count(model[key], b) >= limit {
					over |= 1 << b
				}
			}
			if c != over {
				model[key] = append(model[key], newStamp(now, c&^over))
			}
			got := w.take(key, c, time.Duration(now)*time.Microsecond)
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
					require.False(t, c.has(b) && n >= limit, "what is told to wait is enough")
				}
			}
		}
	})
}

// A million callers within a minute: the memory is bounded, and one that was
// limited before them is limited after them.
func TestAMillionCallers(t *testing.T) {
	l := newLimiter(Options{Limits: SpecifiedLimits(), Now: func() time.Time { return time.Unix(0, 0) }})
	active := keyOf(netip.MustParseAddr("192.0.2.1"))
	for range 600 {
		require.Zero(t, l.addresses.take(active, anyCall, span).over)
	}
	heap := func() int64 {
		runtime.GC()
		runtime.GC() // pools that earlier tests have filled are empty after the second
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc)
	}
	before := heap()
	key := func(i int) addressKey {
		return addressKey{0x20, 1, 13, byte(i >> 24), byte(i >> 16), byte(i >> 8), byte(i), 1}
	}
	callers := 1_000_000
	if RaceEnabled {
		callers = 50_000 // its memory is not ours, and its time is many times that
	}
	for i := range callers {
		l.addresses.take(key(i), anyCall|matchRead, span+time.Duration(i)*50*time.Microsecond)
	}
	grown := heap() - before
	t.Logf("%d addresses: %d MB", callers, grown>>20)
	require.Less(t, grown, int64(160<<20))
	require.Equal(t, anyCall, l.addresses.take(active, anyCall, span+59*time.Second).over)
	require.Zero(t, l.addresses.take(active, anyCall, 2*span).over)

	l.addresses.take(active, anyCall, 4*span)
	l.addresses.take(active, anyCall, 5*span)
	require.Len(t, l.addresses.young, 1, "who is gone is forgotten")
	require.Empty(t, l.addresses.old[key(1)])
}

// Where there are too many callers, those that are new share with their
// network, and those that were there keep what is theirs.
func TestTooManyCallers(t *testing.T) {
	w := newWindow([classes]int{3}, addressKey.network, addressKey{0xff})
	w.keys = 8
	at := func(text string) addressKey { return keyOf(netip.MustParseAddr(text)) }
	for i := range 8 {
		w.take(at(fmt.Sprintf("198.51.100.%d", i)), anyCall, span)
	}
	for range 3 {
		require.Zero(t, w.take(at("203.0.113.1"), anyCall, span).over)
	}
	require.Equal(t, anyCall, w.take(at("203.0.9.9"), anyCall, span).over, "its /16 shares")
	require.Zero(t, w.take(at("198.51.100.3"), anyCall, span).over)
	for range 3 {
		require.Zero(t, w.take(at("2001:db8::1"), anyCall, span).over, "the last of all")
	}
	require.Equal(t, anyCall, w.take(at("2001:db9::1"), anyCall, span).over)
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
		"no proxy":                       {"192.0.2.1:999", nil, "192.0.2.1"},
		"no proxy, a claim":              {"192.0.2.1:999", []string{"198.51.100.7"}, "192.0.2.1"},
		"a proxy":                        {"10.1.2.3:999", []string{"198.51.100.7"}, "198.51.100.7"},
		"a proxy in IPv6's spelling":     {"[::ffff:10.1.2.3]:999", []string{"198.51.100.7"}, "198.51.100.7"},
		"a proxy in IPv6":                {"[fd00::1%eth0]:999", []string{"2001:db8::1"}, "2001:db8::1"},
		"a claim before the proxy's own": {"10.1.2.3:999", []string{"203.0.113.9, 198.51.100.7"}, "198.51.100.7"},
		"in a header of its own":         {"10.1.2.3:999", []string{"203.0.113.9", "198.51.100.7"}, "198.51.100.7"},
		"two proxies":                    {"10.1.2.3:999", []string{"203.0.113.9, 198.51.100.7 ,10.9.9.9"}, "198.51.100.7"},
		"proxies alone":                  {"10.1.2.3:999", []string{"10.4.4.4, 10.9.9.9"}, "10.4.4.4"},
		"a proxy that says nothing":      {"10.1.2.3:999", nil, "10.1.2.3"},
		"nonsense":                       {"10.1.2.3:999", []string{"unknown"}, "10.1.2.3"},
		"nonsense before an address":     {"10.1.2.3:999", []string{"x, 10.9.9.9"}, "10.9.9.9"},
		"with a port":                    {"10.1.2.3:999", []string{"198.51.100.7:1234"}, "198.51.100.7"},
		"with a port, IPv6":              {"10.1.2.3:999", []string{"[2001:db8::1]:1234"}, "2001:db8::1"},
		"in brackets":                    {"10.1.2.3:999", []string{"[2001:db8::1]"}, "2001:db8::1"},
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
