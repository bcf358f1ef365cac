package main

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"hexarena/eventstore/logtest"
)

// The arena dials URLs that owners choose. This test cannot reach public addresses,
// and has no host name whose address changes. TestRebinding in adapters/botwire
// covers such names. It uses its own name server, and shows that the arena checks the
// address each time it dials.
func TestSecurityDials(t *testing.T) {
	t.Parallel()
	proxy := newTrap(t)
	variables := []string{"NO_PROXY=", "no_proxy="}
	for _, name := range []string{"HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy"} {
		variables = append(variables, name+"=http://"+proxy.at)
	}
	f, strict := newSecurityArena(t), newSecurityArena(t, "--production", "--base-url", "https://arena.example")
	f.each(t, map[string]func(*testing.T){
		"production accepts only https":                             strict.httpsAndNothingBeside,
		"production accepts only public addresses, in any spelling": strict.publicAddresses,
		"production checks the addresses of a name":                 strict.whatANameStandsFor,
		"redirects are not followed":                                f.redirectsAreNotFollowed,
		"the arena is not a bot":                                    f.theArenaIsNoBot,
		"errors are general":                                        f.coarseWords,
		"closed, filtered and TLS ports look the same":              f.oneAnswerUntilConnected,
		"slow TLS":                        f.slowTLS,
		"endless headers":                 f.headersWithoutEnd,
		"a ping without an end":           f.aPingWithoutEnd,
		"registrations cannot scan ports": f.noPortScanner,
	})
	t.Run("proxy variables are ignored", func(t *testing.T) { newSecurityArenaIn(t, variables).noProxies(t, proxy) })
	t.Run("an accepted bot is checked at each dial", judgedAtEachDial)
}

// trap counts the connections that anyone opens to it.
type trap struct {
	at  string
	hit atomic.Int32
}

func newTrap(t *testing.T) *trap {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	p := &trap{at: l.Addr().String()}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			p.hit.Add(1)
			_ = c.Close()
		}
	}()
	t.Cleanup(func() { _ = l.Close(); <-done })
	return p
}

func (p *trap) port() string {
	_, port, _ := strings.Cut(p.at, ":")
	return port
}

// requireSilence requires that nobody has connected to the trap. It also connects to
// the trap itself: once the trap has closed that connection, it has counted all
// earlier ones.
func (p *trap) requireSilence(t *testing.T) {
	t.Helper()
	before := p.hit.Load()
	c, err := net.Dial("tcp", p.at)
	require.NoError(t, err)
	defer c.Close()
	_, err = c.Read(make([]byte, 1)) // wait until the trap has closed the connection
	require.ErrorIs(t, err, io.EOF)
	require.Zero(t, before, "the arena connected")
	require.EqualValues(t, 1, p.hit.Swap(0))
}

// register registers a bot at a URL. Each account may do this ten times a minute.
func (c *caller) register(botURL string) *reply {
	c.t.Helper()
	return c.do("POST", "/bots", map[string]string{"name": "bot", "mode": "standard", "url": botURL})
}

// registerEach registers a bot at each URL, with as many accounts as needed.
func (f *securityArena) registerEach(t *testing.T, urls []string, judge func(url string, got *reply)) {
	t.Helper()
	var who *caller
	for i, u := range urls {
		if i%10 == 0 {
			who = f.member(t)
		}
		judge(u, who.register(u))
	}
}

// refusedUntried requires that the arena rejected a URL without dialing it.
func refusedUntried(t *testing.T) func(string, *reply) {
	return func(url string, got *reply) {
		t.Helper()
		require.Equal(t, 422, got.status, url)
		require.Equal(t, "url_not_allowed", got.json["code"], "%s: %s", url, got.body)
		got.names("url")
	}
}

func (f *securityArena) httpsAndNothingBeside(t *testing.T) {
	trap := newTrap(t)
	f.registerEach(t, []string{
		"http://" + trap.at, "https://user@" + trap.at + "/", "https://user:password@" + trap.at, "https://" + trap.at + "/#f",
		"https://" + trap.at + "/#", "ws://" + trap.at, "wss://" + trap.at, "ftp://" + trap.at, "//" + trap.at, "file:///etc/passwd",
		"http://bots.example/", "https://user@bots.example/", "https://bots.example/#f", "https:bots.example", "https://bots.example:0/", "https:///x",
	}, refusedUntried(t))
	trap.requireSilence(t)
}

func (f *securityArena) publicAddresses(t *testing.T) {
	trap := newTrap(t)
	var urls []string
	for _, host := range []string{
		"127.0.0.1", "127.1", "2130706433", "0x7f000001", "0x7f.1", "0177.0.0.1", "017700000001", "0", "0.0.0.0", "127.0.0.1.",
		"[::]", "[::1]", "[::ffff:127.0.0.1]", "[::ffff:7f00:1]", "[64:ff9b::7f00:1]", "[64:ff9b::10.0.0.1]", "[2002:7f00:1::]", "[2002:a00:1::1]",
		"[fe80::1]", "[fc00::1]", "[fd00:ec2::254]", "[ff02::1]", "[2001:db8::1]",
		"10.0.0.1", "172.16.0.1", "192.168.0.1", "169.254.169.254", "169.254.170.2", "168.63.129.16", "100.64.0.1", "100.100.100.200",
		"192.0.2.1", "198.18.0.1", "224.0.0.1", "255.255.255.255", "localhost", "LOCALHOST", "localhost.", "bot.localhost", "arena.example",
	} {
		if urls = append(urls, "https://"+host+":"+trap.port()); host == "arena.example" {
			urls[len(urls)-1] = "https://" + host // the arena's base URL
		}
	}
	f.registerEach(t, urls, refusedUntried(t))
	trap.requireSilence(t)
}

// A bot's URL may contain a name that resolves to a private address. On most
// machines, the machine's own host name is such a name.
func (f *securityArena) whatANameStandsFor(t *testing.T) {
	trap := newTrap(t)
	inside := 0
	who := f.member(t)
	for _, name := range insideNames(t) {
		inside++
		got := who.register("https://"+name+":"+trap.port()).is(422, "deploy_check_failed")
		require.Contains(t, string(got.body), `"name":"resolve","ok":false,"detail":"the address is not allowed; `)
	}
	who.register("https://nobody.invalid/").is(422, "deploy_check_failed")
	trap.requireSilence(t)
	t.Logf("%d names resolve to private addresses on this machine", inside)
}

// insideNames returns names that resolve to private addresses on this machine.
func insideNames(t *testing.T) (names []string) {
	t.Helper()
	host, err := os.Hostname()
	require.NoError(t, err)
	for _, name := range []string{host, "ip6-localhost", "ip6-loopback"} {
		addrs, err := net.DefaultResolver.LookupNetIP(t.Context(), "ip", name)
		inside := err == nil && len(addrs) > 0
		for _, a := range addrs {
			inside = inside && (a.IsLoopback() || a.Unmap().IsLoopback() || a.IsPrivate())
		}
		if inside {
			names = append(names, name)
		}
	}
	return names
}

func (f *securityArena) redirectsAreNotFollowed(t *testing.T) {
	trap := newTrap(t)
	who := f.member(t)
	for _, status := range []int{301, 302, 303, 307, 308} {
		bot := httptest.NewServer(http.RedirectHandler("http://"+trap.at+"/", status))
		t.Cleanup(bot.Close)
		got := who.register(bot.URL).is(422, "deploy_check_failed")
		require.Contains(t, string(got.body), fmt.Sprintf("the server responded with status %d instead of 200", status))
	}
	bot := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/ping") {
			_, _ = io.WriteString(w, "pong")
			return
		}
		http.Redirect(w, r, "http://"+trap.at+"/", http.StatusTemporaryRedirect)
	}))
	t.Cleanup(bot.Close)
	got := who.register(bot.URL).is(422, "deploy_check_failed")
	require.Contains(t, string(got.body), "the server responded with status 307 instead of 101")
	trap.requireSilence(t)
}

// noProxies registers a bot at 0.0.0.0. Go never uses a proxy for loopback addresses,
// but it does not treat 0.0.0.0 as a loopback address.
func (f *securityArena) noProxies(t *testing.T, proxy *trap) {
	bot := newTestBot(t, "direct")
	f.member(t).register(strings.Replace(bot.url, "127.0.0.1", "0.0.0.0", 1)).is(201)
	f.member(t).register("http://nobody.invalid/").is(422, "deploy_check_failed")
	proxy.requireSilence(t)
}

func (f *securityArena) theArenaIsNoBot(t *testing.T) {
	var urls []string
	for _, at := range []string{f.address(), f.admin(), f.node()} {
		host, port, err := net.SplitHostPort(at)
		require.NoError(t, err)
		urls = append(urls, "http://"+at+"/bot", "http://[::ffff:"+host+"]:"+port, "http://0.0.0.0:"+port)
	}
	_, port, err := net.SplitHostPort(f.address())
	require.NoError(t, err)
	urls = append(urls, "http://127.1:"+port, "http://0x7f000001:"+port, "http://localhost:"+port, "http://LOCALHOST:"+port)
	f.registerEach(t, urls, refusedUntried(t))
}

// coarseWords checks that the arena's messages do not repeat any text from a bot's
// server.
func (f *securityArena) coarseWords(t *testing.T) {
	const secret = "ERR-internal-secret"
	who := f.member(t)
	for _, handler := range []http.HandlerFunc{
		func(w http.ResponseWriter, _ *http.Request) { http.Error(w, secret, http.StatusInternalServerError) },
		func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, secret) },
		func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set(secret, secret)
			w.WriteHeader(http.StatusTeapot)
		},
		func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) },
	} {
		bot := httptest.NewServer(handler)
		t.Cleanup(bot.Close)
		require.NotContains(t, string(who.register(bot.URL).is(422, "deploy_check_failed").body), secret)
	}
	require.NotContains(t, f.arena.err.String(), secret)
}

// oneAnswerUntilConnected registers bots at ports where a TCP or TLS connection fails
// in different ways. The response is the same for all of them, and each failed step
// takes longer than the time limit for a connection. So the timing reveals nothing
// either.
func (f *securityArena) oneAnswerUntilConnected(t *testing.T) {
	untrusted := httptest.NewTLSServer(http.NotFoundHandler())
	t.Cleanup(untrusted.Close)
	plain := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(plain.Close)
	silent, _ := tarpit(t, func(c net.Conn) string { return fmt.Sprint(io.Copy(io.Discard, c)) })
	closing, _ := tarpit(t, func(net.Conn) string { return "" })
	urls := map[string]string{
		"closed": "http://" + logtest.ClosedAddress(t), "closed, with TLS": "https://" + logtest.ClosedAddress(t), "no TLS": strings.Replace(plain.URL, "http:", "https:", 1),
		"silent TLS": "https://" + silent, "closes before TLS": "https://" + closing, "untrusted certificate": untrusted.URL,
	}
	if filtered := filteredPort(t); filtered != "" {
		urls["filtered"], urls["filtered, with TLS"] = "http://"+filtered, "https://"+filtered
	}
	for name, at := range urls {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := f.member(t).register(at).is(422, "deploy_check_failed")
			require.Equal(t, "the bot did not pass the deploy check at the step ping: no connection could be made; "+
				"check that the bot is running, and check its port and, for https, its certificate", got.json["detail"])
			steps := got.json["steps"].([]any)
			require.GreaterOrEqual(t, steps[len(steps)-1].(map[string]any)["elapsedMs"], 5100.0)
		})
	}
}

// filteredPort returns the address of a listener that does not respond to a
// handshake, because its queue is full. On systems that respond anyway, filteredPort
// returns "".
func filteredPort(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { _ = l.Close() })
	raw, err := l.(*net.TCPListener).SyscallConn()
	require.NoError(t, err)
	if !shortQueue(raw) {
		return ""
	}
	full := 0
	for range 16 {
		ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
		c, err := new(net.Dialer).DialContext(ctx, "tcp", l.Addr().String())
		cancel()
		if err == nil {
			full = 0
			t.Cleanup(func() { _ = c.Close() })
			continue
		}
		if full++; full == 2 { // after one failure, perhaps only this process was slow
			return l.Addr().String()
		}
	}
	return ""
}

// tarpit accepts connections and calls the function serve() for each connection. It
// sends the result of each call to the returned channel.
func tarpit(t *testing.T, serve func(net.Conn) string) (at string, ended <-chan string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	told, done := make(chan string, 16), make(chan struct{})
	go func() {
		defer close(done)
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			_ = c.SetDeadline(time.Now().Add(patience))
			told <- serve(c)
			_ = c.Close()
		}
	}()
	t.Cleanup(func() { _ = l.Close(); <-done })
	return l.Addr().String(), told
}

// slowTLS registers a bot whose server reads the TLS hello, but sends nothing.
func (f *securityArena) slowTLS(t *testing.T) {
	at, ended := tarpit(t, func(c net.Conn) string {
		_, err := io.Copy(io.Discard, c) // until the arena closes the connection
		return fmt.Sprint(err)
	})
	got := f.member(t).register("https://"+at).is(422, "deploy_check_failed")
	require.Contains(t, string(got.body), `"detail":"no connection could be made; `)
	require.NotContains(t, <-ended, "timeout", "the arena has hung up")
}

// The function sending() returns a server that writes the first string once, and then
// keeps writing the second one. It stops when the arena closes the connection, or after
// 64 MiB.
func sending(head, again string) func(net.Conn) string {
	return func(c net.Conn) string {
		_, _ = c.Read(make([]byte, 4096)) // the request
		sent, err := io.WriteString(c, head)
		for err == nil && sent < 64<<20 {
			var n int
			n, err = io.WriteString(c, again)
			sent += n
		}
		if err == nil {
			return "the arena read everything"
		}
		return "cut"
	}
}

func (f *securityArena) headersWithoutEnd(t *testing.T) {
	at, ended := tarpit(t, sending("HTTP/1.1 200 OK\r\n", "X-Padding: "+strings.Repeat("x", 1<<16)+"\r\n"))
	got := f.member(t).register("http://"+at).is(422, "deploy_check_failed")
	require.Contains(t, string(got.body), `"detail":"the server sent no usable HTTP response in time"`)
	require.Equal(t, "cut", <-ended)
}

func (f *securityArena) aPingWithoutEnd(t *testing.T) {
	at, ended := tarpit(t, sending("HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\npong", strings.Repeat(" ", 1<<16)))
	got := f.member(t).register("http://"+at).is(422, "deploy_check_failed")
	require.Contains(t, string(got.body), `"detail":"the body is not the text pong"`)
	require.Equal(t, "cut", <-ended)
}

func (f *securityArena) noPortScanner(t *testing.T) {
	ada := f.member(t)
	key := ada.newKey()
	bot := newTestBot(t, "scanner").url
	id := ada.register(bot).is(201).json["id"].(string)
	trap := newTrap(t)
	noBot := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(noBot.Close)
	for i := range 3 {
		ada.do("PATCH", "/bots/"+id, map[string]string{"url": fmt.Sprintf("%s/%d", bot, i)}).is(200)
		key.do("POST", "/bots/"+id+"/check", nil).is(200)
		key.register(noBot.URL).is(422, "deploy_check_failed")
	}
	for _, who := range []*caller{ada, key} {
		for _, refused := range []*reply{
			who.register("http://" + trap.at), who.do("PATCH", "/bots/"+id, map[string]string{"url": "http://" + trap.at}),
			who.do("POST", "/bots/"+id+"/check", nil),
		} {
			requireRetryAfter(t, refused.is(429, "rate_limited"))
		}
		who.do("PATCH", "/bots/"+id, map[string]string{"name": "renamed"}).is(200)
	}
	trap.requireSilence(t)
}

// Once private addresses are forbidden, an arena no longer dials registered bots at
// such addresses, neither for checks nor for matches. In a match, each decision of
// such a bot then costs a strike.
func judgedAtEachDial(t *testing.T) {
	f := newSecurityArena(t)
	ada := f.member(t)
	key := ada.newKey()
	var bots []string
	var dialled atomic.Int32
	for i := range 4 {
		p := newTestBot(t, fmt.Sprint("bot-", i))
		bot := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { dialled.Add(1); p.ServeHTTP(w, r) }))
		t.Cleanup(bot.Close)
		bots = append(bots, key.register(bot.URL).is(201).json["id"].(string))
	}
	f.stop()
	dialled.Store(0)

	f.start("--production", "--base-url", "https://arena.example", "--tick", "250ms")
	late := key.elsewhere(f.address())
	f.public(t, "/matches", func(page string) bool { return strings.Contains(page, `"status":"completed"`) })
	check := late.do("POST", "/bots/"+bots[0]+"/check", nil).is(200)
	require.Equal(t, false, check.json["ok"])
	matches := late.do("GET", "/matches?status=completed", nil).is(200).json["matches"].([]any)
	record := string(late.do("GET", "/matches/"+matches[0].(map[string]any)["id"].(string), nil).is(200).body)
	require.Equal(t, 4, strings.Count(record, `"kind":"resign"`))
	require.GreaterOrEqual(t, strings.Count(record, `"cause":"dropped"`), 12, "three strikes for each seat")
	require.Zero(t, dialled.Load(), "the arena called no bot")
}

// The method public() reads a page repeatedly until the function holds() returns true
// for it.
func (f *securityArena) public(t *testing.T, path string, holds func(page string) bool) {
	t.Helper()
	eventually(t, path, func() bool { return holds(string(f.anonymous(t).do("GET", path, nil).is(200).body)) })
}
