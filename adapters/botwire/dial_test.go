package botwire

import (
	"cmp"
	"context"
	"crypto/ed25519"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"hexarena/eventstore/logtest"
)

// A bot can verify the upgrade with the platform's public key. An upgrade for a match
// contains facts about the match; an upgrade for a deploy check does not. Both kinds
// name the bot and the host of its URL.
func TestSignedUpgrade(t *testing.T) {
	now := time.UnixMilli(1_757_000_000_123)
	commitment := strings.Repeat("ab", 32)
	for _, c := range []struct {
		match             string
		upgrade           Upgrade
		commitment, round []string
		index             []string
		lines             string // the lines after the recipient in the text of the second signature
	}{
		{deployCheck, Upgrade{BotID: "b-1"}, nil, nil, nil, "\n\n\n"},
		{"4d0bd6e5-match", Upgrade{BotID: "b-2", Commitment: commitment}, []string{commitment}, nil, []string{"0"}, "\n" + commitment + "\n\n0"},
		{
			"5a3bd6e5-match", Upgrade{BotID: "b-3", Commitment: commitment, BeaconRound: 1000, LogIndex: 31},
			[]string{commitment}, []string{"1000"}, []string{"31"}, "\n" + commitment + "\n1000\n31",
		},
	} {
		p := newPeer(t, (*peerConn).untilEnd)
		d := patient(Options{Key: platformKey, Now: func() time.Time { return now }})
		line, _, err := d.Dial(t.Context(), p.url+"/bot?x=1", c.match, c.upgrade, quiet)
		require.NoError(t, err)
		line.Close()

		require.Len(t, p.requests, 1)
		req := p.requests[0]
		require.Equal(t, "/bot?x=1", req.RequestURI)
		h := req.Header
		require.Equal(t, c.match, h.Get("x-arena-match"))
		require.Equal(t, "1757000000123", h.Get("x-arena-timestamp"))
		requireSigned(t, h.Get("x-arena-signature"), "1757000000123."+c.match)
		to := c.upgrade.BotID + "@" + strings.TrimPrefix(p.url, "http://")
		require.Equal(t, to, h.Get("x-arena-recipient"))
		requireSigned(t, h.Get("x-arena-signature-v2"), "x-arena-signature-v2\n1757000000123\n"+c.match+"\n"+to+c.lines)
		require.Equal(t, c.commitment, h.Values("x-arena-commitment"))
		require.Equal(t, c.round, h.Values("x-arena-beacon-round"))
		require.Equal(t, c.index, h.Values("x-arena-log-index"))
		require.Empty(t, h.Get("Sec-WebSocket-Extensions"))
		require.Empty(t, h.Get("Sec-WebSocket-Protocol"))
	}
}

func requireSigned(t *testing.T, signature, text string) {
	t.Helper()
	decoded, err := base64.StdEncoding.DecodeString(signature)
	require.NoError(t, err)
	require.True(t, ed25519.Verify(platformKey.Public().(ed25519.PublicKey), []byte(text), decoded), text)
}

func TestRecipient(t *testing.T) {
	for from, want := range map[string]string{
		"https://bots.example":           "b@bots.example",
		"https://Bots.Example:443/a?b=c": "b@bots.example",
		"http://bots.example:80":         "b@bots.example",
		"http://bots.example:443":        "b@bots.example:443",
		"https://bots.example:80":        "b@bots.example:80",
		"https://bots.example.:8443/":    "b@bots.example.:8443",
		"http://127.0.0.1:9002":          "b@127.0.0.1:9002",
		"https://[2001:DB8::1]":          "b@[2001:db8::1]",
		"https://[2001:db8::1]:8443":     "b@[2001:db8::1]:8443",
	} {
		u, err := url.Parse(from)
		require.NoError(t, err)
		require.Equal(t, want, recipient("b", u))
	}
}

// docs/protocol.md shows upgrades that bots can use as test vectors. The arena in
// these examples has the key of the first test in RFC 8032.
func TestUpgradesOfTheProtocol(t *testing.T) {
	page, err := os.ReadFile("../../docs/protocol.md")
	require.NoError(t, err)
	_, text, found := strings.Cut(string(page), "```json\n{\"publicKey\"")
	require.True(t, found)
	text, _, _ = strings.Cut(text, "```")
	var vectors struct {
		PublicKey string
		Upgrades  []map[string]string
	}
	require.NoError(t, json.Unmarshal([]byte(`{"publicKey"`+text), &vectors))
	seed, err := hex.DecodeString("9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60")
	require.NoError(t, err)
	key := ed25519.NewKeyFromSeed(seed)
	require.Equal(t, base64.StdEncoding.EncodeToString(key.Public().(ed25519.PublicKey)), vectors.PublicKey)
	require.Len(t, vectors.Upgrades, 3)
	for _, want := range vectors.Upgrades {
		number := func(name string) uint64 {
			n, err := strconv.ParseUint(cmp.Or(want[name], "0"), 10, 64)
			require.NoError(t, err)
			return n
		}
		d := New(Options{Key: key, Now: func() time.Time { return time.UnixMilli(int64(number("x-arena-timestamp"))) }})
		bot, host, _ := strings.Cut(want["x-arena-recipient"], "@")
		h := d.signed(&url.URL{Scheme: "https", Host: host}, want["x-arena-match"], Upgrade{
			BotID: bot, Commitment: want["x-arena-commitment"], BeaconRound: number("x-arena-beacon-round"), LogIndex: number("x-arena-log-index"),
		})
		h.Del("User-Agent")
		got := map[string]string{}
		for name, values := range h {
			got[strings.ToLower(name)] = strings.Join(values, ", ")
		}
		require.Equal(t, want, got)
	}
}

func TestDialReturnsNonce(t *testing.T) {
	cases := map[string]struct {
		given []string
		want  string
	}{
		"one character":                 {[]string{"a"}, "a"},
		"every kind of valid character": {[]string{"!~azAZ09+/="}, "!~azAZ09+/="},
		"64 characters":                 {[]string{strings.Repeat("n", 64)}, strings.Repeat("n", 64)},
		"65 characters":                 {[]string{strings.Repeat("n", 65)}, ""},
		"missing":                       {nil, ""},
		"empty":                         {[]string{""}, ""},
		"a space inside":                {[]string{"a b"}, ""},
		"a tab inside":                  {[]string{"a\tb"}, ""},
		"a non-ASCII character":         {[]string{"é"}, ""},
		"two headers":                   {[]string{"a", "b"}, ""},
		"white space around the value":  {[]string{" a "}, "a"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			p := startPeer(t, nil, http.Header{"X-Arena-Nonce": c.given}, (*peerConn).untilEnd)
			line, accepted, err := p.dialer().Dial(t.Context(), p.url, "m", Upgrade{}, quiet)
			require.NoError(t, err)
			require.Equal(t, Accepted{Nonce: c.want}, accepted)
			line.Close()
		})
	}
}

func TestDialReturnsVersion(t *testing.T) {
	cases := map[string]struct {
		given []string
		want  string
	}{
		"one character":         {[]string{"1"}, "1"},
		"printable characters":  {[]string{"v1.2 ~(beta)"}, "v1.2 ~(beta)"},
		"40 characters":         {[]string{strings.Repeat("1", 40)}, strings.Repeat("1", 40)},
		"41 characters":         {[]string{strings.Repeat("1", 41)}, ""},
		"missing":               {nil, ""},
		"empty":                 {[]string{""}, ""},
		"spaces only":           {[]string{"  "}, ""},
		"a tab inside":          {[]string{"a\tb"}, ""},
		"a non-ASCII character": {[]string{"é"}, ""},
		"two headers":           {[]string{"1", "1"}, ""},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			p := startPeer(t, nil, http.Header{"X-Arena-Version": c.given}, (*peerConn).untilEnd)
			line, accepted, err := p.dialer().Dial(t.Context(), p.url, "m", Upgrade{}, quiet)
			require.NoError(t, err)
			require.Equal(t, Accepted{Version: c.want}, accepted)
			line.Close()
		})
	}
}

// FuzzNonce checks that nonceOf returns a nonce unchanged if it is valid, and an empty
// string otherwise.
func FuzzNonce(f *testing.F) {
	for _, seed := range []string{"", "a", "a b", "é", strings.Repeat("~", 64), strings.Repeat("!", 65), "\x00", "\x7f"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, given string) {
		got := nonceOf(http.Header{"X-Arena-Nonce": {given}})
		fine := len(given) >= 1 && len(given) <= 64 &&
			!strings.ContainsFunc(given, func(r rune) bool { return r < 0x21 || r > 0x7E })
		if fine {
			require.Equal(t, given, got)
		} else {
			require.Empty(t, got)
		}
	})
}

// Dial rejects an invalid 101 response without waiting for the body.
func TestDialRejectsInvalidUpgrades(t *testing.T) {
	cases := map[string]http.Header{
		"the wrong accept key":                    {"Sec-WebSocket-Accept": {"AAAAAAAAAAAAAAAAAAAAAAAAAAA="}},
		"two accept keys":                         {"X": {"y\r\nSec-WebSocket-Accept: another"}},
		"a subprotocol":                           {"Sec-WebSocket-Protocol": {"chat"}},
		"a second subprotocol after an empty one": {"Sec-WebSocket-Protocol": {"", "chat"}},
		"an extension":                            {"Sec-WebSocket-Extensions": {"permessage-deflate"}},
		"an old extension name":                   {"Sec-WebSocket-Extensions": {"x-webkit-deflate-frame"}},
		"an empty extension header":               {"Sec-WebSocket-Extensions": {""}},
	}
	for name, more := range cases {
		t.Run(name, func(t *testing.T) {
			p := startPeer(t, nil, more, (*peerConn).deaf)
			_, _, err := p.dialer().Dial(t.Context(), p.url, "m", Upgrade{}, quiet)
			require.EqualError(t, err, errUpgrade.words)
			require.False(t, notAllowed(err))
		})
	}
}

// The function raw() starts a server that sends the text answer on each connection.
func raw(t *testing.T, answer string) string {
	url, _ := rawAsked(t, answer)
	return url
}

// rawAsked starts a server like raw. It also returns the channel asked, which is closed
// when the first bytes of a request arrive.
func rawAsked(t *testing.T, answer string) (url string, asked <-chan struct{}) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	var conns sync.WaitGroup
	came := make(chan struct{})
	first := sync.OnceFunc(func() { close(came) })
	conns.Go(func() {
		for {
			c, err := ln.Accept()
			if err != nil {
				return
			}
			conns.Go(func() { _, _ = io.WriteString(c, answer) })
			conns.Go(func() {
				defer c.Close()
				if n, _ := c.Read(make([]byte, 1)); n > 0 {
					first()
				}
				_, _ = io.Copy(io.Discard, c)
			})
		}
	})
	t.Cleanup(func() { _ = ln.Close(); conns.Wait() })
	return "http://" + ln.Addr().String(), came
}

// The method outwaited() makes a call that should fail only because the dialer's time
// limit, d.patience, expires. On a busy machine, a short limit may already expire
// during an earlier step, which causes a different error. In that case, outwaited
// doubles the limit and repeats the call.
func (d *Dialer) outwaited(call func() error, want string) error {
	for d.patience = 200 * time.Millisecond; ; d.patience *= 2 {
		err := call()
		if err != nil && err.Error() == want || d.patience > hangGuard {
			return err
		}
	}
}

func TestDialFailureTexts(t *testing.T) {
	head := "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
	waits := map[string]bool{"headers without an end": true, "no answer": true}
	cases := map[string]struct{ answer, want string }{
		"200":                    {"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi", "the server responded with status 200 instead of 101"},
		"401":                    {"HTTP/1.1 401 Unauthorized\r\n\r\n", "the server responded with status 401 instead of 101"},
		"an incomplete body":     {"HTTP/1.1 404 Not Found\r\nContent-Length: 9999\r\n\r\nx", "the server responded with status 404 instead of 101"},
		"a redirect":             {"HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:1/\r\n\r\n", "the server responded with status 302 instead of 101"},
		"not HTTP":               {"220 smtp.example ESMTP\r\n", errAnswer.words},
		"10 MB of headers":       {head + strings.Repeat("X-Fill: "+strings.Repeat("x", 1000)+"\r\n", 10_000), errAnswer.words},
		"17 KiB of headers":      {head + "X: " + strings.Repeat("x", 17<<10) + "\r\n\r\n", errAnswer.words},
		"headers without an end": {head, errAnswer.words},
		"no answer":              {"", errAnswer.words},
		"many interim responses": {strings.Repeat("HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n", 10_000), errAnswer.words},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := patient(Options{Key: platformKey})
			url := raw(t, c.answer)
			dial := func() error {
				_, _, err := d.Dial(t.Context(), url, "m", Upgrade{}, quiet)
				return err
			}
			if waits[name] {
				require.EqualError(t, d.outwaited(dial, c.want), c.want)
				return
			}
			require.EqualError(t, dial(), c.want)
		})
	}
}

// If a peer sends bytes before it receives the request, the dialer treats them as the
// response. It must not log these bytes.
func TestBytesBeforeTheRequestAreNotLogged(t *testing.T) {
	var logged strings.Builder
	slog.SetDefault(slog.New(slog.NewTextHandler(&logged, nil))) // net/http logs here too
	defer slog.SetDefault(slog.New(slog.NewTextHandler(os.Stderr, nil)))
	early := make(chan struct{})
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	go func() {
		defer close(early)
		c, err := ln.Accept()
		if err != nil {
			return
		}
		defer c.Close()
		_, _ = io.WriteString(c, "HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n")
		_, _ = io.Copy(io.Discard, c)
	}()
	_, _, err = patient(Options{Key: platformKey}).Dial(t.Context(), "http://"+ln.Addr().String(), "m", Upgrade{}, quiet)
	require.EqualError(t, err, "the server responded with status 403 instead of 101")
	require.NoError(t, ln.Close())
	<-early
	require.Empty(t, logged.String())
}

func TestHandshakeTimeIsFiveSeconds(t *testing.T) {
	require.Equal(t, 5*time.Second, New(Options{}).patience)
}

// The server accepts connections but never starts TLS.
func TestDialGivesUpOnSlowTLS(t *testing.T) {
	d := patient(Options{Key: platformKey})
	url := strings.Replace(raw(t, ""), "http:", "https:", 1)
	dial := func() error {
		_, _, err := d.Dial(t.Context(), url, "m", Upgrade{}, quiet)
		return err
	}
	require.EqualError(t, d.outwaited(dial, errConnect.words), errConnect.words)
	ping := func() error { return failed(d.run(t.Context(), url, d.ping)) }
	require.EqualError(t, d.outwaited(ping, errConnect.words), errConnect.words)
}

func TestDialRejectsUntrustedCertificate(t *testing.T) {
	p := newTLSPeer(t, (*peerConn).deaf)
	_, _, err := patient(Options{Key: platformKey}).Dial(t.Context(), p.url, "m", Upgrade{}, quiet)
	require.EqualError(t, err, errConnect.words)
	require.Empty(t, p.requests)
}

// A closed port and a filtered port cause the same error. If the errors differed, an
// owner could scan networks through the arena.
func TestClosedAndFilteredPortsGiveOneError(t *testing.T) {
	closed := "http://" + logtest.ClosedAddress(t)
	d := patient(Options{Key: platformKey})
	_, _, err := d.Dial(t.Context(), closed, "m", Upgrade{}, quiet)
	require.EqualError(t, err, errConnect.words)

	d.patience = 50 * time.Millisecond
	d.net.ControlContext = func(ctx context.Context, _, _ string, _ syscall.RawConn) error {
		<-ctx.Done() // as if no reply ever arrived
		return ctx.Err()
	}
	_, _, err = d.Dial(t.Context(), closed, "m", Upgrade{}, quiet)
	require.EqualError(t, err, errConnect.words)
}

// A redirect must not send the signature or a ping to another server.
func TestRedirectsAreNotFollowed(t *testing.T) {
	var hits atomic.Int32
	elsewhere := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { hits.Add(1) }))
	defer elsewhere.Close()
	bot := httptest.NewServer(http.RedirectHandler(elsewhere.URL, http.StatusTemporaryRedirect))
	defer bot.Close()
	d := patient(Options{Key: platformKey})
	_, _, err := d.Dial(t.Context(), bot.URL, "m", Upgrade{}, quiet)
	require.EqualError(t, err, "the server responded with status 307 instead of 101")
	require.EqualError(t, failed(d.run(t.Context(), bot.URL, d.ping)), "the server responded with status 307 instead of 200")
	require.Zero(t, hits.Load())
}

// The dialer ignores the proxies that environment variables name, because a proxy would
// bypass the guard.
func TestProxyVariablesAreIgnored(t *testing.T) {
	var hits atomic.Int32
	proxy := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { hits.Add(1) }))
	defer proxy.Close()
	for _, name := range []string{"HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy"} {
		t.Setenv(name, proxy.URL)
	}
	newPeer(t, (*peerConn).untilEnd).dial(t, quiet)
	require.Zero(t, hits.Load())
}

// A dial ends when its context ends. TestMain checks that no goroutines are left.
func TestDialEndsWithItsContext(t *testing.T) {
	url, asked := rawAsked(t, "")
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	go func() {
		select {
		case <-asked:
		case <-ctx.Done():
		}
		cancel()
	}()
	_, _, err := patient(Options{Key: platformKey}).Dial(ctx, url, "m", Upgrade{}, quiet)
	require.EqualError(t, err, errAnswer.words)
}

func TestDialRejectsTheArenaItself(t *testing.T) {
	var hits atomic.Int32
	arena := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { hits.Add(1) }))
	defer arena.Close()
	own := netip.MustParseAddrPort(arena.Listener.Addr().String())
	d := patient(Options{Key: platformKey, Own: []netip.AddrPort{own}})
	for _, host := range []string{"127.0.0.1", "localhost", "0.0.0.0", "[::ffff:127.0.0.1]"} {
		url := "http://" + host + ":" + strconv.Itoa(int(own.Port()))
		_, _, err := d.Dial(t.Context(), url, "m", Upgrade{}, quiet)
		require.Error(t, err, host)
		if host != "localhost" { // localhost may resolve to ::1 first, where nothing listens
			require.True(t, notAllowed(err), host)
		}
	}
	require.Zero(t, hits.Load())
}

// Errors and logs do not contain the URL, because the URL may contain its
// owner's secrets.
func TestErrorsAndLogsHoldNoURL(t *testing.T) {
	var logged strings.Builder
	d := patient(Options{Key: platformKey, Logger: slog.New(slog.NewTextHandler(&logged, nil))})
	d.patience = 100 * time.Millisecond
	secret := raw(t, "") + "/secret-path"
	_, _, err := d.Dial(t.Context(), secret, "m", Upgrade{}, quiet)
	require.NotContains(t, err.Error(), "127.0.0.1")
	require.NotContains(t, err.Error(), "secret")

	d.patience = hangGuard
	p := newPeer(t, says(masked("x")))
	line, _, err := d.Dial(t.Context(), p.url+"/secret-path", "m-77", Upgrade{}, quiet)
	require.NoError(t, err)
	<-line.done
	require.Contains(t, logged.String(), "m-77")
	require.NotContains(t, logged.String(), "secret")
}
