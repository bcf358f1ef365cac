package conformance

import (
	"cmp"
	"context"
	"crypto/ed25519"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"nhooyr.io/websocket"

	"hexarena/adapters/housebot"
	"hexarena/domain/match"
)

var testKey = ed25519.NewKeyFromSeed(make([]byte, ed25519.SeedSize))

// plantedBot is a good bot that may have one fault. It plays like a house bot.
type plantedBot struct {
	// upgrade may handle an upgrade. It returns false if the bot must accept it.
	upgrade func(b *plantedBot, w http.ResponseWriter, r *http.Request) bool
	answer  func(c *call)
	verify  func(b *plantedBot, h http.Header) bool
	nonce   func(matchID string) string
	version string
	ping    string
	player  string

	recipient string

	mu       sync.Mutex // guards the fields below
	upgrades map[string]int
	first    *match.Request // ever
	seen     map[string]map[int]bool
}

// call is a request to the bot, with the good answer.
type call struct {
	b      *plantedBot
	ctx    context.Context
	conn   *websocket.Conn
	frame  []byte
	req    match.Request
	good   []byte
	number int // on this connection, from 1
}

func (c *call) send(answer []byte) { _ = c.conn.Write(c.ctx, websocket.MessageText, answer) }

// crash ends the connection as a program does that has crashed.
func (c *call) crash() { _ = c.conn.CloseNow() }

// wait waits for a part of the request's time.
func (c *call) wait(part float64) {
	timer := time.NewTimer(time.Duration(part * float64(c.req.DeadlineMs) * float64(time.Millisecond)))
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-c.ctx.Done():
	}
}

// serve starts the bot and returns its URL.
func (b *plantedBot) serve(t *testing.T) string {
	b.upgrades, b.seen = map[string]int{}, map[string]map[int]bool{}
	server := httptest.NewServer(b)
	t.Cleanup(server.Close)
	b.recipient = strings.TrimPrefix(server.URL, "http://")
	return server.URL
}

func (b *plantedBot) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if strings.HasSuffix(r.URL.Path, "/ping") {
		_, _ = w.Write([]byte(b.ping))
		return
	}
	if !b.verify(b, r.Header) {
		w.WriteHeader(http.StatusUnauthorized)
		return
	}
	if b.upgrade != nil && b.upgrade(b, w, r) {
		return
	}
	id := r.Header.Get("x-arena-match")
	if nonce := b.nonce(id); nonce != "" {
		w.Header().Set("x-arena-nonce", nonce)
	}
	if b.version != "" {
		w.Header().Set("x-arena-version", b.version)
	}
	conn, err := websocket.Accept(w, r, nil)
	if err != nil {
		return
	}
	defer conn.CloseNow()
	conn.SetReadLimit(1 << 20)
	player, err := housebot.NewPlayer(b.player, 1, "same")
	if err != nil {
		panic(err)
	}
	for number := 1; ; number++ {
		_, frame, err := conn.Read(r.Context())
		if err != nil {
			return
		}
		c := &call{b: b, ctx: r.Context(), conn: conn, frame: frame, number: number}
		if err := json.Unmarshal(frame, &c.req); err != nil {
			panic(err)
		}
		c.good = player.AnswerRequest(&c.req)
		b.answer(c)
	}
}

// goodBot returns a bot without a fault.
func goodBot() *plantedBot {
	return &plantedBot{
		answer:  func(c *call) { c.send(c.good) },
		verify:  verifiesAll,
		nonce:   func(id string) string { return housebot.Nonce([]byte("secret"), id) },
		version: "1", ping: "pong", player: "greedy",
	}
}

func verifiesAll(b *plantedBot, h http.Header) bool {
	lines := []string{"x-arena-signature-v2"}
	for _, name := range []string{"timestamp", "match", "recipient", "commitment", "beacon-round", "log-index"} {
		lines = append(lines, h.Get("x-arena-"+name))
	}
	return fresh(h) && strings.HasSuffix(h.Get("x-arena-recipient"), "@"+b.recipient) &&
		signed(strings.Join(lines, "\n"), h.Get("x-arena-signature-v2"))
}

// verifiesOld checks only the older signature, which does not cover the recipient.
func verifiesOld(_ *plantedBot, h http.Header) bool {
	return fresh(h) && signed(h.Get("x-arena-timestamp")+"."+h.Get("x-arena-match"), h.Get("x-arena-signature"))
}

func fresh(h http.Header) bool {
	ms, err := strconv.ParseInt(h.Get("x-arena-timestamp"), 10, 64)
	return err == nil && time.Since(time.UnixMilli(ms)).Abs() <= 30*time.Second
}

func signed(text, signature string) bool {
	decoded, err := base64.StdEncoding.DecodeString(signature)
	return err == nil && ed25519.Verify(testKey.Public().(ed25519.PublicKey), []byte(text), decoded)
}

// check checks a bot at a URL.
func check(t *testing.T, url string, o Options) *Report {
	t.Helper()
	o.Bot, o.BotID, o.Key, o.Limit = "the bot", "an-id", testKey, time.Hour
	o.Decision = cmp.Or(o.Decision, time.Minute)
	if o.Address == nil {
		o.Address = func(context.Context) (string, error) { return url, nil }
	}
	report, err := Run(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	return report
}
