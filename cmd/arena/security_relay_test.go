package main

import (
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"nhooyr.io/websocket"
)

// A hostile bot sends the headers of its own upgrade request to other bots. A bot
// that checks the recipient rejects them, but still plays in the arena's matches. If a
// bot checks only the signature of the timestamp and the match, it accepts them.
func TestSecurityRelay(t *testing.T) {
	t.Parallel()
	f := newSecurityArena(t, "--tick", "250ms")
	key := f.anonymous(t).do("GET", "/.well-known/arena.json", nil).is(200).json["publicKey"].(string)
	got := make(chan http.Header, 16)
	relay := newTestBot(t, "relay")
	relay.upgrade = func(h http.Header) {
		select {
		case got <- h.Clone():
		default:
		}
	}
	careful := publicBot(t, "--public-key", key, "--recipient")
	careless := launch(t, "bot", "greedy", "--listen", "127.0.0.1:0", "--public-key", key).await(`(http://\S+)\n`)[1]
	who := f.member(t)
	ids := map[string]string{}
	for _, at := range []string{careful, careless, relay.url} {
		ids[at] = who.register(at).is(201).json["id"].(string)
	}

	h := <-got
	require.Equal(t, ids[relay.url]+"@"+strings.TrimPrefix(relay.url, "http://"), h.Get("x-arena-recipient"))
	require.Equal(t, http.StatusUnauthorized, relayed(t, careful, h))
	require.Equal(t, http.StatusSwitchingProtocols, relayed(t, careless, h))
	named := h.Clone()
	named.Set("x-arena-recipient", ids[careful]+"@"+strings.TrimPrefix(careful, "http://"))
	require.Equal(t, http.StatusUnauthorized, relayed(t, careful, named), "the signature names another recipient")
	named.Del("x-arena-signature-v2")
	require.Equal(t, http.StatusUnauthorized, relayed(t, careful, named), "the older signature is not enough")

	matchID := h.Get("x-arena-match")
	f.public(t, "/matches?status=completed", func(page string) bool { return strings.Contains(page, matchID) })
	record := string(f.anonymous(t).do("GET", "/matches/"+matchID, nil).is(200).body)
	require.Contains(t, record, ids[careful])
	require.NotContains(t, record, `"cause":"dropped"`)
}

// publicBot starts a house bot behind a gateway, like the bots of a public arena. It
// passes the gateway's host as the value of the last flag, and returns the gateway's
// URL.
func publicBot(t *testing.T, flags ...string) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	flags = append([]string{"bot", "greedy", "--listen", "127.0.0.1:0"}, append(flags, l.Addr().String())...)
	bot, err := url.Parse(launch(t, flags...).await(`(http://\S+)\n`)[1])
	require.NoError(t, err)
	gateway := &httptest.Server{Listener: l, Config: &http.Server{Handler: httputil.NewSingleHostReverseProxy(bot)}}
	gateway.Start()
	t.Cleanup(gateway.Close)
	return gateway.URL
}

// The function relayed() sends the headers of an upgrade request by the arena to a bot,
// and returns the status of the bot's response.
func relayed(t *testing.T, bot string, upgrade http.Header) int {
	t.Helper()
	h := http.Header{}
	for name, values := range upgrade {
		if strings.HasPrefix(name, "X-Arena-") {
			h[name] = values
		}
	}
	line, answer, err := websocket.Dial(t.Context(), bot, &websocket.DialOptions{HTTPHeader: h})
	require.NotNil(t, answer, "%v", err)
	if err == nil {
		require.NoError(t, line.CloseNow())
	}
	return answer.StatusCode
}
