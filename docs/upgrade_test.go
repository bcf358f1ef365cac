package docs_test

import (
	"bytes"
	"crypto/ed25519"
	"encoding/base64"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"nhooyr.io/websocket"
)

// arenaKey is the key of the arena that calls the bots.
var arenaKey = ed25519.NewKeyFromSeed(bytes.Repeat([]byte{3}, ed25519.SeedSize))

// The bots of the quick start accept the upgrades that the arena signed for them, and
// no others. If ARENA_RECIPIENT is not set, the recipient's host must be the address
// that the bot prints.
func TestTheQuickStartsBotsAcceptOnlyTheArena(t *testing.T) {
	builds := map[string]func(*testing.T) *exec.Cmd{"Python": pythonBot, "Go": goBot, "TypeScript": typeScriptBot}
	for _, kit := range kits {
		builds["the kit in "+kit.language] = func(t *testing.T) *exec.Cmd { return kitBot(t, kit.language) }
	}
	for name, build := range builds {
		t.Run(name, func(t *testing.T) {
			bot := build(t)
			bot.Env = append(os.Environ(), "ARENA_PUBLIC_KEY="+base64.StdEncoding.EncodeToString(arenaKey.Public().(ed25519.PublicKey)))
			known := exec.CommandContext(t.Context(), bot.Path, bot.Args[1:]...)
			known.Dir, known.Env = bot.Dir, append(bot.Env, "ARENA_RECIPIENT=bot-1@bots.example")

			anyBot := startBot(t, bot)
			host := strings.TrimPrefix(anyBot.url, "http://")
			acceptsOnlyTheArena(t, anyBot.url, "bot-7@"+host)
			require.Equal(t, http.StatusUnauthorized, dialed(t, anyBot.url, upgrade("bot-7@evil."+host)))
			require.Equal(t, http.StatusUnauthorized, dialed(t, anyBot.url, upgrade("bot-7@"+host+".evil")))

			thisBot := startBot(t, known)
			acceptsOnlyTheArena(t, thisBot.url, "bot-1@bots.example")
			require.Equal(t, http.StatusUnauthorized, dialed(t, thisBot.url, upgrade("bot-2@bots.example")), "another bot at this host")
			require.Equal(t, http.StatusUnauthorized, dialed(t, thisBot.url, upgrade("robot-1@bots.example")))
		})
	}
}

// acceptsOnlyTheArena requires that a bot accepts all kinds of upgrades for a
// recipient, and rejects each of them once any part of it is changed.
func acceptsOnlyTheArena(t *testing.T, url, recipient string) {
	t.Helper()
	commitment := strings.Repeat("ab", 32)
	for name, age := range map[string]time.Duration{"a clock 20 s behind": 20 * time.Second, "a clock 20 s ahead of us": -20 * time.Second} {
		require.Equal(t, http.StatusSwitchingProtocols, dialed(t, url, upgrade(recipient, "x-arena-timestamp", stamp(age))), name)
	}
	for name, h := range map[string]http.Header{
		"a deploy check":        upgrade(recipient, "x-arena-match", "deploy-check"),
		"a match":               upgrade(recipient, "x-arena-commitment", commitment, "x-arena-log-index", "0"),
		"a match with a beacon": upgrade(recipient, "x-arena-commitment", commitment, "x-arena-log-index", "31", "x-arena-beacon-round", "77"),
	} {
		require.Equal(t, http.StatusSwitchingProtocols, dialed(t, url, h), name)
	}
	for name, h := range map[string]http.Header{
		"an hour ago":             upgrade(recipient, "x-arena-timestamp", stamp(time.Hour)),
		"in an hour":              upgrade(recipient, "x-arena-timestamp", stamp(-time.Hour)),
		"a time without a number": upgrade(recipient, "x-arena-timestamp", "now"),
		"for another host":        upgrade("bot-7@other.example"),
		"for nobody":              upgrade(""),
		"no headers":              {},
	} {
		require.Equal(t, http.StatusUnauthorized, dialed(t, url, h), name)
	}
	for _, name := range signedHeaders {
		for _, value := range []string{"", "1", "deploy-check"} {
			h := upgrade(recipient, "x-arena-commitment", commitment, "x-arena-log-index", "31", "x-arena-beacon-round", "77")
			h.Set(name, value)
			require.Equal(t, http.StatusUnauthorized, dialed(t, url, h), "%s is %q", name, value)
		}
	}
	for _, signature := range []string{"", "!", "AAAA", base64.StdEncoding.EncodeToString(make([]byte, ed25519.SignatureSize)), upgrade(recipient).Get("x-arena-signature")} {
		h := upgrade(recipient)
		h.Set("x-arena-signature-v2", signature)
		require.Equal(t, http.StatusUnauthorized, dialed(t, url, h), "the signature is %q", signature)
	}
}

var signedHeaders = []string{
	"x-arena-timestamp", "x-arena-match", "x-arena-recipient", "x-arena-commitment", "x-arena-beacon-round", "x-arena-log-index",
}

// upgrade returns the headers of an upgrade that the arena signs for a recipient. The
// parameter more contains additional headers, as alternating names and values.
func upgrade(recipient string, more ...string) http.Header {
	h := http.Header{}
	h.Set("x-arena-timestamp", stamp(0))
	h.Set("x-arena-match", "m")
	h.Set("x-arena-recipient", recipient)
	for i := 0; i < len(more); i += 2 {
		h.Set(more[i], more[i+1])
	}
	text := "x-arena-signature-v2"
	for _, name := range signedHeaders {
		text += "\n" + h.Get(name)
	}
	sign := func(name, text string) {
		h.Set(name, base64.StdEncoding.EncodeToString(ed25519.Sign(arenaKey, []byte(text))))
	}
	sign("x-arena-signature", h.Get("x-arena-timestamp")+"."+h.Get("x-arena-match"))
	sign("x-arena-signature-v2", text)
	return h
}

// stamp returns the current timestamp minus the given duration.
func stamp(ago time.Duration) string { return fmt.Sprint(time.Now().Add(-ago).UnixMilli()) }

// The function dialed() opens a socket to a bot with the given headers, and returns the
// status.
func dialed(t *testing.T, url string, h http.Header) int {
	t.Helper()
	line, answer, err := websocket.Dial(t.Context(), url, &websocket.DialOptions{HTTPHeader: h})
	require.NotNil(t, answer, "%v", err)
	if err == nil {
		require.NoError(t, line.CloseNow())
	}
	return answer.StatusCode
}
