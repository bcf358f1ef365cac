package botwire

import (
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"nhooyr.io/websocket"

	"hexarena/adapters/rest"
	"hexarena/eventstore/logtest"
)

// bot returns the handler of a valid bot. It sends each request to the channel seen.
func bot(t *testing.T, seen chan<- *http.Request) http.Handler {
	var calls sync.WaitGroup // an HTTP server does not wait for its WebSocket handlers, so the test does
	t.Cleanup(calls.Wait)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		calls.Add(1)
		defer calls.Done()
		seen <- r
		if strings.HasSuffix(r.URL.Path, "/ping") {
			_, _ = io.WriteString(w, "pong\n")
			return
		}
		if c, err := websocket.Accept(w, r, nil); err == nil {
			_, _, _ = c.Read(r.Context())
			_ = c.CloseNow()
		}
	})
}

// All steps succeed. Only the upgrade is signed.
func TestCheckPasses(t *testing.T) {
	seen := make(chan *http.Request, 2)
	srv := httptest.NewServer(bot(t, seen))
	defer srv.Close()
	steps := slices.Collect(patient(Options{Key: platformKey}).Check(t.Context(), "bot-1", srv.URL+"/my/bot/?token=a%2Fb"))
	require.Len(t, steps, 3)
	for i, name := range []string{"resolve", "ping", "upgrade"} {
		require.Equal(t, name, steps[i].Name)
		require.True(t, steps[i].OK, steps[i].Detail)
		require.NotEmpty(t, steps[i].Detail)
	}
	ping, upgrade := <-seen, <-seen
	require.Equal(t, "/my/bot/ping?token=a%2Fb", ping.RequestURI)
	require.Equal(t, http.MethodGet, ping.Method)
	for name := range ping.Header {
		require.False(t, strings.HasPrefix(strings.ToLower(name), "x-arena"), name)
	}
	require.Equal(t, "/my/bot/?token=a%2Fb", upgrade.RequestURI)
	require.Equal(t, "deploy-check", upgrade.Header.Get("x-arena-match"))
	require.NotEmpty(t, upgrade.Header.Get("x-arena-signature"))
	require.Equal(t, "bot-1@"+srv.Listener.Addr().String(), upgrade.Header.Get("x-arena-recipient"))
	require.NotEmpty(t, upgrade.Header.Get("x-arena-signature-v2"))
	require.Empty(t, upgrade.Header.Values("x-arena-commitment"))
}

func TestCheckStopsAtTheFirstFailure(t *testing.T) {
	pingOnly := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "pong") }))
	defer pingOnly.Close()
	unknown := httptest.NewServer(http.NotFoundHandler())
	defer unknown.Close()
	cases := map[string]struct {
		url, step, detail string
	}{
		"a URL that is not allowed":      {"ftp://x", "resolve", "the URL must be an http or https URL"},
		"an address that is not allowed": {"http://169.254.169.254/", "resolve", errAddress.words},
		"a closed port":                  {"http://" + logtest.ClosedAddress(t), "ping", errConnect.words},
		"ping is not found":              {unknown.URL, "ping", "the server responded with status 404 instead of 200"},
		"no WebSocket":                   {pingOnly.URL, "upgrade", "the server responded with status 200 instead of 101"},
	}
	for name, c := range cases {
		steps := slices.Collect(patient(Options{Key: platformKey}).Check(t.Context(), "bot-1", c.url))
		last := steps[len(steps)-1]
		for _, s := range steps[:len(steps)-1] {
			require.True(t, s.OK, name)
		}
		require.Equal(t, rest.Step{Name: c.step, Detail: c.detail, ElapsedMs: last.ElapsedMs}, last, name)
	}
}

// For a closed port, a slow port and a filtered port, the step fails with the same
// message and after the same time. Otherwise, an owner could scan networks through the
// arena.
func TestStepsThatCannotConnectTakeTheSameTime(t *testing.T) {
	for name, answer := range map[string]func(context.Context) error{
		"closed":       func(context.Context) error { return syscall.ECONNREFUSED },
		"slow":         func(context.Context) error { <-time.After(3 * time.Second); return syscall.EHOSTUNREACH },
		"filtered":     func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() },
		"not allowed":  func(context.Context) error { return errAddress },
		"not resolved": func(context.Context) error { return &net.DNSError{} },
	} {
		synctest.Test(t, func(t *testing.T) {
			d := New(Options{Key: platformKey, Now: time.Now})
			d.net.ControlContext = func(ctx context.Context, _, _ string, _ syscall.RawConn) error { return answer(ctx) }
			steps := slices.Collect(d.Check(t.Context(), "bot-1", "http://127.0.0.1:9"))
			require.Len(t, steps, 2, name)
			require.Equal(t, "ping", steps[1].Name, name)
			require.EqualValues(t, 5100, steps[1].ElapsedMs, name)
		})
	}
}

// If the caller's context ends, Check returns without waiting for the step to end.
func TestCheckEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		d := New(Options{Key: platformKey, Now: time.Now})
		d.net.ControlContext = func(context.Context, string, string, syscall.RawConn) error { return syscall.ECONNREFUSED }
		steps := slices.Collect(d.Check(ctx, "bot-1", "http://127.0.0.1:9"))
		require.EqualValues(t, 1000, steps[1].ElapsedMs)
	})
}

func TestPing(t *testing.T) {
	answer := func(status, body string) string {
		return "HTTP/1.1 " + status + "\r\nConnection: close\r\n\r\n" + body
	}
	sized := func(body, length string) string {
		return "HTTP/1.1 200 OK\r\nContent-Length: " + length + "\r\n\r\n" + body
	}
	cases := map[string]struct{ answer, want string }{
		"pong":                    {sized("pong", "4"), ""},
		"pong with white space":   {sized(" \tpong\r\n", "8"), ""},
		"pong in chunks":          {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\npo\r\n2\r\nng\r\n0\r\n\r\n", ""},
		"pong padded to 16 bytes": {sized("pong            ", "16"), ""},
		"pong padded to 17 bytes": {sized("pong             ", "17"), errPong.words},
		"upper-case Pong":         {sized("Pong", "4"), errPong.words},
		"pong!":                   {sized("pong!", "5"), errPong.words},
		"pong in quotes":          {sized(`"pong"`, "6"), errPong.words},
		"an empty body":           {sized("", "0"), errPong.words},
		"status 201":              {answer("201 Created", "pong"), "the server responded with status 201 instead of 200"},
		"status 500":              {answer("500 Oops", "pong"), "the server responded with status 500 instead of 200"},
		"status 101":              {"HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\npong", "the server responded with status 101 instead of 200"},
		"an endless body":         {answer("200 OK", strings.Repeat("pong", 1<<20)), errPong.words},
		"a body that never ends":  {sized("po", "4"), errPong.words},
		"a gzip header":           {"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 4\r\n\r\npong", ""},
		"10 MB of headers":        {"HTTP/1.1 200 OK\r\n" + strings.Repeat("X: "+strings.Repeat("x", 1000)+"\r\n", 10_000), errAnswer.words},
		"not HTTP":                {"220 smtp.example\r\n", errAnswer.words},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := patient(Options{Key: platformKey})
			url := raw(t, c.answer)
			ping := func() error { return failed(d.run(t.Context(), url, d.ping)) }
			var err error
			if name == "a body that never ends" {
				err = d.outwaited(ping, c.want)
			} else {
				err = ping()
			}
			if c.want == "" {
				require.NoError(t, err)
				return
			}
			require.EqualError(t, err, c.want)
		})
	}
}

func TestPingURL(t *testing.T) {
	for from, want := range map[string]string{
		"https://h":             "https://h/ping",
		"https://h/":            "https://h/ping",
		"https://h/a":           "https://h/a/ping",
		"https://h/a/":          "https://h/a/ping",
		"https://h/a//":         "https://h/a/ping",
		"https://h/a%2Fb/?x=/":  "https://h/a%2Fb/ping?x=/",
		"https://h/a/../b?q":    "https://h/a/../b/ping?q",
		"https://h:1?":          "https://h:1/ping?",
		"https://h/%70ing?x=%y": "https://h/%70ing/ping?x=%y",
	} {
		u, err := url.Parse(from)
		require.NoError(t, err)
		require.Equal(t, want, pingURL(u))
	}
}

// The function failed() returns the error of a probe.
func failed(_ string, err error) error { return err }

// The owner learns from the deploy check whether the arena shows the bot's version.
func TestCheckTellsWhetherTheVersionIsValid(t *testing.T) {
	for want, given := range map[string][]string{
		"the signed upgrade was accepted":                                   nil,
		"the signed upgrade was accepted, and the response names a version": {"1.0 beta"},
		"the signed upgrade was accepted, but the arena ignores the x-arena-version in the response: send it once, with 1 to 40 printable ASCII characters": {strings.Repeat("1", 41)},
	} {
		answers := bot(t, make(chan *http.Request, 2))
		srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header()["X-Arena-Version"] = given
			answers.ServeHTTP(w, r)
		}))
		defer srv.Close()
		steps := slices.Collect(patient(Options{Key: platformKey}).Check(t.Context(), "bot", srv.URL))
		require.Len(t, steps, 3)
		require.True(t, steps[2].OK)
		require.Equal(t, want, steps[2].Detail)
	}
}
