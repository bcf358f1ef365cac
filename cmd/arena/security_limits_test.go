package main

import (
	"bufio"
	"context"
	"crypto/ed25519"
	"fmt"
	"io"
	"net"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// These tests check how many calls, how many bytes and how much time one caller may
// use.
func TestSecurityLimits(t *testing.T) {
	t.Parallel()
	f := newSecurityArena(t)
	trusting := newSecurityArena(t, "--trusted-proxies", "127.0.0.0/8")
	f.each(t, map[string]func(*testing.T){
		"the 601st call":                       f.the601stCall,
		"the 31st write, the 121st read":       f.theOtherLimits,
		"the 1201st file":                      f.the1201stFile,
		"a forged X-Forwarded-For":             f.aForgedForward,
		"a /64 is one caller":                  trusting.aNetworkIsOneCaller,
		"a body over the limit":                f.aBodyOverTheLimit,
		"a slow body":                          f.aBodyThatDrips,
		"endless headers":                      f.headersThatDoNotEnd,
		"endless bodies at the same time":      f.endlessBodies,
		"a cross-site call, whatever it sends": f.aCrossSiteCall,
		"CR LF and NUL in fields":              f.lineBreaksInFields,
		"names that show nothing":              f.namesThatShowNothing,
		"markup is inert":                      f.markupIsInert,
	})
}

// withinAMinute makes n calls from one new address, and returns the caller. The calls take
// less than a minute, the window of the limits, with some time left for the calls after
// them. On a very slow machine, it makes up to three attempts.
func (f *securityArena) withinAMinute(t *testing.T, n int, call func(who *caller)) *caller {
	t.Helper()
	for range 3 {
		who, begun := f.anonymous(t), time.Now()
		for range n {
			call(who)
		}
		if time.Since(begun) < 50*time.Second {
			return who
		}
	}
	require.FailNow(t, "the machine is too slow for so many calls in a minute")
	return nil
}

func (f *securityArena) the601stCall(t *testing.T) {
	who := f.withinAMinute(t, 600, func(who *caller) { who.do("GET", "/health", nil).is(200) })
	for range 3 {
		requireRetryAfter(t, who.do("GET", "/health", nil).is(429, "rate_limited"))
	}
	who.do("GET", "/nothing", nil).is(404)
	f.anonymous(t).do("GET", "/health", nil).is(200)
}

// requireRetryAfter requires that Retry-After is a whole number of seconds, and at
// most the length of the rate limit's window. The tests of adapters/api control the
// clock, and show that it is enough to wait that long.
func requireRetryAfter(t *testing.T, r *reply) {
	t.Helper()
	seconds, err := strconv.Atoi(r.header.Get("Retry-After"))
	require.NoError(t, err)
	require.True(t, seconds >= 1 && seconds <= 60, seconds)
	require.Regexp(t, `"all";r=\d+;t=\d+`, r.header.Get("RateLimit"))
	require.Contains(t, r.header.Get("RateLimit-Policy"), `"all";q=600;w=60`)
}

func (f *securityArena) theOtherLimits(t *testing.T) {
	ada := f.member(t)
	one, two := ada.newKey(everyScope()...), ada.newKey(everyScope()...)
	for i := range 28 { // with the two new keys, this makes thirty writes
		[]*caller{one, two, ada}[i%3].do("PATCH", "/me", "{}").is(200)
	}
	for _, who := range []*caller{one, two, ada} {
		requireRetryAfter(t, who.do("PATCH", "/me", "{}").is(429, "rate_limited"))
		who.do("GET", "/me", nil).is(200)
	}
	reader := f.withinAMinute(t, 120, func(who *caller) { who.do("GET", "/matches?limit=1", nil).is(200) })
	requireRetryAfter(t, reader.do("GET", "/matches/x", nil).is(429, "rate_limited"))
	reader.do("GET", "/leaderboard", nil).is(200)
}

func (f *securityArena) the1201stFile(t *testing.T) {
	file := func(who *caller) int {
		res, err := who.client.Get("http://" + f.address() + "/favicon.svg")
		require.NoError(t, err)
		defer res.Body.Close()
		_, err = io.Copy(io.Discard, res.Body)
		require.NoError(t, err)
		return res.StatusCode
	}
	who := f.withinAMinute(t, 1200, func(who *caller) { require.Equal(t, 200, file(who)) })
	require.Equal(t, 429, file(who))
	who.do("GET", "/health", nil).is(200)
}

// The function from() sets the header with the addresses that a call claims to come
// from.
func from(addresses string) func(*http.Request) {
	return func(r *http.Request) { r.Header.Set("X-Forwarded-For", addresses) }
}

func (f *securityArena) aForgedForward(t *testing.T) {
	who := f.anonymous(t)
	for i := range 30 {
		who.do("POST", "/sign-in", "{}", from(fmt.Sprintf("203.0.113.%d", i))).is(422)
	}
	for _, pretext := range []string{"203.0.113.99", "127.0.0.1", "198.51.100.1, 127.0.0.1"} {
		who.do("POST", "/sign-in", "{}", from(pretext), func(r *http.Request) {
			r.Header.Set("Forwarded", "for=203.0.113.98")
			r.Header.Set("X-Real-IP", "203.0.113.97")
		}).is(429, "rate_limited")
	}
}

// In this test, the arena listens on one IPv4 loopback address, so the callers'
// networks come from the header of a trusted proxy.
func (f *securityArena) aNetworkIsOneCaller(t *testing.T) {
	proxy := f.anonymous(t)
	call := func(address string) *reply { return proxy.do("POST", "/sign-in", "{}", from(address)) }
	for i := range 30 {
		call(fmt.Sprintf("192.0.2.%d, 2001:db8:0:1:%x::%x", i, i, i+1)).is(422) // only the last entry comes from the proxy; a caller can invent all others
	}
	call("2001:db8:0:1:ffff:ffff:ffff:ffff").is(429, "rate_limited")
	call("2001:db8:0:2::1").is(422)
	for range 30 {
		call("::ffff:192.0.2.7").is(422)
	}
	call("192.0.2.7").is(429, "rate_limited")
	call("192.0.2.8").is(422)
}

func (f *securityArena) aBodyOverTheLimit(t *testing.T) {
	ada := f.member(t)
	key := ada.newKey(everyScope()...)
	fitting := `{"name":"` + strings.Repeat("x", 65536-11) + `"}`
	key.do("PATCH", "/me", fitting).is(422)
	key.do("PATCH", "/me", fitting+" ").is(413, "body_too_large")
	f.anonymous(t).do("PATCH", "/me", fitting+" ").is(413, "body_too_large")
	key.do("PATCH", "/me", fitting+" ", func(r *http.Request) { r.ContentLength = -1 }).is(413, "body_too_large")
	require.Equal(t, 413, ada.raw("POST /keys HTTP/1.1\r\nHost: arena\r\nContent-Length: 9000000000000\r\n\r\n"), "by its declared length")
}

// The header announces a body, but only part of the body arrives, or none of it. The
// arena waits ten seconds for the body, even if it rejects the call.
func (f *securityArena) aBodyThatDrips(t *testing.T) {
	for what, c := range map[string]struct {
		head   string
		status int
	}{
		"a call":         {"POST /sign-in HTTP/1.1\r\nContent-Type: application/json\r\nContent-Length: 1000", 400},
		"too much of it": {"POST /sign-in HTTP/1.1\r\nContent-Length: 100000", 413},
		"cross-site":     {"POST /sign-in HTTP/1.1\r\nOrigin: https://evil.example\r\nContent-Length: 1000", 403},
		"to nowhere":     {"POST /nowhere HTTP/1.1\r\nContent-Length: 1000", 404},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			require.Equal(t, c.status, f.anonymous(t).raw(c.head+"\r\nHost: arena\r\n\r\n{"))
		})
	}
}

// pour writes until the peer stops reading, or until it has written 64 MiB. It
// returns the number of bytes that it wrote and the first line of the response.
func pour(ctx context.Context, at, head, chunk string) (int, string) {
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", at)
	if err != nil {
		return 0, err.Error()
	}
	defer conn.Close()
	answered := make(chan string, 1)
	go func() {
		b, _ := bufio.NewReader(conn).ReadString('\n') // empty if the connection was reset
		answered <- b
	}()
	sent, err := io.WriteString(conn, head)
	for err == nil && sent < 64<<20 {
		var n int
		n, err = io.WriteString(conn, chunk)
		sent += n
	}
	if err == nil {
		return sent, ""
	}
	return sent, <-answered
}

func (f *securityArena) headersThatDoNotEnd(t *testing.T) {
	sent, answer := pour(t.Context(), f.address(), "GET /health HTTP/1.1\r\nHost: arena\r\n", "X-Padding: "+strings.Repeat("x", 1<<16)+"\r\n")
	require.Less(t, sent, 10<<20)
	t.Logf("%d bytes of headers were sent, most of them into the kernel's buffers: %s", sent, strings.TrimSpace(answer))
	long := f.anonymous(t).raw("GET /health HTTP/1.1\r\nHost: arena\r\nX-Padding: " + strings.Repeat("x", 40<<10) + "\r\n\r\n")
	require.Equal(t, http.StatusRequestHeaderFieldsTooLarge, long)
	t.Run("headers have ten seconds", func(t *testing.T) {
		t.Parallel()
		conn, err := net.Dial("tcp", f.address())
		require.NoError(t, err)
		defer conn.Close()
		_, err = io.WriteString(conn, "GET /health HTTP/1.1\r\nHost: arena\r\n")
		require.NoError(t, err)
		answer, err := io.ReadAll(conn) // until the arena closes the connection
		require.NoError(t, err)
		require.NotContains(t, string(answer), "200 OK")
	})
}

// In endlessBodies, each of 64 callers sends a body that does not end.
func (f *securityArena) endlessBodies(t *testing.T) {
	before := f.heap(t)
	const senders = 64
	type outcome struct {
		sent   int
		answer string
	}
	done := make(chan outcome)
	chunk := "10000\r\n" + strings.Repeat("x", 1<<16) + "\r\n"
	for range senders {
		go func() {
			sent, answer := pour(t.Context(), f.address(), "POST /keys HTTP/1.1\r\nHost: arena\r\nTransfer-Encoding: chunked\r\n\r\n", chunk)
			done <- outcome{sent, answer}
		}()
	}
	total, most := 0, int64(0)
	for range senders {
		o := <-done
		total += o.sent
		most = max(most, f.heap(t)) // the other senders may still send
		require.Less(t, o.sent, 64<<20, "the arena continues to read it")
		if o.answer != "" { // empty if the connection was reset first
			require.Contains(t, o.answer, "413")
		}
	}
	t.Logf("%d MiB sent; heap in use before %d KiB, at most %d KiB", total>>20, before>>10, most>>10)
	require.Less(t, most, before+64<<20)
}

var heapInUse = regexp.MustCompile(`(?m)^go_memstats_heap_inuse_bytes (\S+)$`)

// heap returns how much heap memory the arena uses after a garbage collection, in bytes.
func (f *securityArena) heap(t *testing.T) int64 {
	t.Helper()
	status, _ := fetch(t, "http://"+f.admin()+"/debug/pprof/heap?gc=1")
	require.Equal(t, http.StatusOK, status)
	res, err := http.Get("http://" + f.admin() + "/metrics")
	require.NoError(t, err)
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	require.NoError(t, err)
	bytes, err := strconv.ParseFloat(heapInUse.FindStringSubmatch(string(body))[1], 64)
	require.NoError(t, err)
	return int64(bytes)
}

func (f *securityArena) aCrossSiteCall(t *testing.T) {
	ada := f.member(t)
	marks := map[string]func(*http.Request){
		"Sec-Fetch-Site":            func(r *http.Request) { r.Header.Set("Sec-Fetch-Site", "cross-site") },
		"Sec-Fetch-Site: same-site": func(r *http.Request) { r.Header.Set("Sec-Fetch-Site", "same-site") },
		"Origin":                    func(r *http.Request) { r.Header.Set("Origin", "https://evil.example") },
		"Origin: null":              func(r *http.Request) { r.Header.Set("Origin", "null") },
	}
	for mark, edit := range marks {
		for _, kind := range []string{"application/json", "application/x-www-form-urlencoded", "text/plain", "multipart/form-data; boundary=x", ""} {
			got := ada.do("PATCH", "/me", `{"name":"stolen"}`, edit, func(r *http.Request) {
				if r.Header.Set("Content-Type", kind); kind == "" {
					r.Header.Del("Content-Type")
				}
			})
			require.Equal(t, 403, got.status, "%s, %s", mark, kind)
		}
		ada.do("POST", "/sign-out", nil, edit).is(403, "cross_site")
	}
	require.Empty(t, ada.do("GET", "/me", nil, marks["Origin"]).is(200).json["name"])
	own := f.anonymous(t)
	own.cookie = ada.cookie
	own.do("PATCH", "/me", `{}`, func(r *http.Request) {
		r.Header.Set("Sec-Fetch-Site", "same-origin")
		r.Header.Set("Origin", f.base())
	}).is(200)
}

func (f *securityArena) lineBreaksInFields(t *testing.T) {
	ada := f.member(t)
	bot := newTestBot(t, "plain").url
	for _, end := range []string{"\r\n", "\n", "\r", "\x00", "\u2028", "\u202e", "\ufeff"} {
		f.anonymous(t).do("POST", "/sign-in", map[string]string{"email": "ada@example.org" + end + "Bcc: eve@example.org"}).is(422, "invalid").names("email")
		ada.do("PATCH", "/me", map[string]string{"name": "ada" + end + "x"}).is(422, "invalid").names("name")
		ada.do("POST", "/keys", map[string]string{"name": "a" + end + "b", "publicKey": ""}).is(422, "invalid").names("name")
	}
	for _, name := range []string{"\u202egnp.exe", "a\x00b", "a\u200bb", " \t ", strings.Repeat("x", 41)} {
		ada.do("POST", "/bots", map[string]string{"name": name, "mode": "standard", "url": bot}).is(422, "invalid").names("name")
	}
	require.Empty(t, f.mails.to("eve@example.org"))
}

func (f *securityArena) namesThatShowNothing(t *testing.T) {
	ada, bob := f.member(t), f.member(t)
	bot := newTestBot(t, "plain").url
	public, _, err := ed25519.GenerateKey(nil)
	require.NoError(t, err)
	for _, name := range []string{
		"\u3164", "\u2800", "\uffa0", "\u115f\u1160", "\u034f", "\ufe0f", "\u17b4\u17b5", "\U000e0100", "\U0001d159", "\U00013441",
		"\u3164 \u2800\u3000\u00a0\u3164", "\u2800\u0301", "\ufffc", "\ue000",
	} {
		ada.do("POST", "/keys", map[string]any{"name": name, "publicKey": public}).is(422, "invalid").names("name")
		bob.do("PATCH", "/me", map[string]string{"name": name + name + name}).is(422, "invalid").names("name")
	}
	for _, name := range []string{"\u3164", "\u2800", "\u3164\u2800"} {
		ada.do("POST", "/bots", map[string]string{"name": name, "mode": "standard", "url": bot}).is(422, "invalid").names("name")
	}
	key := ada.do("POST", "/keys", map[string]any{"name": "❤\ufe0f", "publicKey": public}).is(201)
	require.Equal(t, "❤\ufe0f", key.json["name"])
}

// A name may contain markup, but it has no effect: the API's responses are JSON and
// have that content type. The sign-in pages escape their input, and their
// Content-Security-Policy allows no inline scripts.
func (f *securityArena) markupIsInert(t *testing.T) {
	const script = `<script>alert(1)</script>`
	ada := f.member(t)
	ada.do("POST", "/bots", map[string]string{"name": script, "mode": "standard", "url": newTestBot(t, script).url}).is(201)
	listed := ada.do("GET", "/bots", nil).is(200)
	require.Equal(t, "application/json", listed.header.Get("Content-Type"))
	require.Equal(t, "nosniff", listed.header.Get("X-Content-Type-Options"))
	require.NotContains(t, string(listed.body), "<script")
	who := f.anonymous(t)
	for _, target := range []string{"/sign-in/confirm?token=%22%3E%3Cscript%3Ealert(1)%3C/script%3E", "/sign-in", "/sign-in?sent=1"} {
		page := who.do("GET", target, nil).is(200)
		require.Contains(t, page.header.Get("Content-Type"), "text/html")
		require.Contains(t, page.header.Get("Content-Security-Policy"), "default-src 'none'")
		require.NotContains(t, page.header.Get("Content-Security-Policy"), "unsafe")
		require.NotContains(t, string(page.body), script)
	}
	refused := who.do("POST", "/sign-in", "email="+script, func(r *http.Request) { r.Header.Set("Content-Type", "application/x-www-form-urlencoded") })
	require.NotContains(t, string(refused.is(422).body), script)
}
