package conformance

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"nhooyr.io/websocket"

	"hexarena/domain/game"
	"hexarena/domain/match"
	"hexarena/eventstore/logtest"
)

func TestMain(m *testing.M) { logtest.VerifyNoLeaks(m) }

// planted lists bots with one fault each. The check must find the fault, and no other
// check may fail.
var planted = []struct {
	name   string
	plant  func(b *plantedBot)
	failed string        // the only check that fails; empty if there is only advice
	advice string        // the only check with advice
	reason string        // part of the reason
	wait   time.Duration // the time for decisions; a minute unless the fault wastes it
}{
	{name: "ping says something else", plant: func(b *plantedBot) { b.ping = "hello" }, failed: "ping", reason: "not the text pong"},
	{name: "compression", plant: func(b *plantedBot) { b.upgrade = compresses }, failed: "upgrade", reason: "not a valid WebSocket upgrade"},
	{name: "rejects the arena", plant: func(b *plantedBot) { b.verify = func(*plantedBot, http.Header) bool { return false } }, failed: "upgrade", reason: "public key and the recipient"},
	{name: "wrong id", plant: replies(func(c *call) []byte { return frame(c.req.ID+1, action(c)) }), failed: "id", reason: "/id must be"},
	{name: "id as text", plant: replies(func(c *call) []byte { return fmt.Appendf(nil, `{"id":"%d","action":%s}`, c.req.ID, action(c)) }), failed: "id", reason: "got the string"},
	{name: "illegal setup", plant: onKind("setup", `{"settlement":0,"road":71}`), failed: "setup", reason: "road_not_at_settlement"},
	{name: "illegal turn", plant: onKind("turn", `{"type":"build_city","vertex":0}`), failed: "turn", reason: "illegal"},
	{name: "unknown action", plant: onKind("turn", `{"type":"pass"}`), failed: "turn", reason: "unknown_type"},
	{name: "discards the wrong number", plant: onKind("discard", `{"cards":{}}`), failed: "discard", reason: "discard_count"},
	{name: "leaves the bandit", plant: replies(func(c *call) []byte {
		if c.req.Kind != "bandit" {
			return c.good
		}
		return frame(c.req.ID, fmt.Sprintf(`{"hex":%d}`, c.req.View.Board.Bandit))
	}), failed: "bandit", reason: "bandit_must_move"},
	{name: "accepts every offer", plant: onKind("trade", `{"accept":true}`), failed: "trade", reason: "not_enough_cards"},
	{name: "late", plant: answers(func(c *call) { c.wait(1.1); c.send(c.good) }), failed: "time", reason: "ms late", wait: 2 * time.Second},
	{name: "silent", plant: answers(func(c *call) {}), failed: "time", reason: "nothing came", wait: 2 * time.Second},
	{name: "malformed JSON", plant: replies(func(c *call) []byte { return append(c.good, '}') }), failed: "json", reason: "syntax"},
	{name: "repeated key", plant: replies(func(c *call) []byte { return []byte(strings.Replace(string(c.good), `{"id"`, `{"id":1,"id"`, 1)) }), failed: "json", reason: "given twice"},
	{name: "too deep", plant: replies(func(c *call) []byte {
		return fmt.Appendf(nil, `{"id":%d,"action":%s,"notes":%s%s}`, c.req.ID, action(c), strings.Repeat("[", 70), strings.Repeat("]", 70))
	}), failed: "json", reason: "64 levels"},
	{name: "missing field", plant: onKind("setup", `{"settlement":0}`), failed: "shape", reason: "/action/road is missing"},
	{name: "wrong type", plant: onKind("trade", `{"accept":"no"}`), failed: "shape", reason: "/action/accept must be"},
	{name: "answers twice", plant: answers(func(c *call) { c.send(c.good); c.send(c.good) }), advice: "once", reason: "again"},
	{name: "closes after 10 answers", plant: answers(func(c *call) {
		c.send(c.good)
		if c.number == 10 {
			_ = c.conn.Close(websocket.StatusInternalError, "bug")
		}
	}), failed: "connection", reason: `closed by the bot with code 1011 "bug"`},
	{name: "crashes on a reconnect", plant: func(b *plantedBot) { b.upgrade = crashesAgain }, failed: "reconnect", reason: "timeout"},
	{name: "ignores a repeated id", plant: answers(func(c *call) {
		if !c.again() {
			c.send(c.good)
		}
	}), failed: "repeat", reason: "nothing came", wait: 10 * time.Second},
	{name: "crashes on unknown fields", plant: crashesIf(func(c *call) bool {
		d := json.NewDecoder(bytes.NewReader(c.frame))
		d.DisallowUnknownFields()
		return d.Decode(new(match.Request)) != nil
	}), failed: "unknown", reason: "without a close frame"},
	{name: "expects the order of fields", plant: crashesIf(func(c *call) bool { return !bytes.HasPrefix(c.frame, []byte(`{"id":`)) }), failed: "order", reason: "without a close frame"},
	{name: "ignores signatures", plant: verifies(func(*plantedBot, http.Header) bool { return true }), advice: "signature", reason: "with no signature; with the signature of another key; with a timestamp that is a minute old; with the signature for another bot"},
	{name: "ignores the recipient", plant: verifies(verifiesOld), advice: "signature", reason: "accepts connections with the signature for another bot, which forwarded it."},
	{name: "rejects with another status", plant: func(b *plantedBot) { b.verify, b.upgrade = verifies403() }, advice: "signature", reason: "but not with the status 401"},
	{name: "breaks after a bad signature", plant: verifies(breaksAfterBad()), failed: "signature", reason: "status 401"},
	{name: "over 64 KiB", plant: replies(func(c *call) []byte {
		return fmt.Appendf(nil, `{"id":%d,"action":%s,"notes":"%s"}`, c.req.ID, action(c), strings.Repeat("x", 1<<16))
	}), failed: "size", reason: "65,536"},
	{name: "binary", plant: answers(func(c *call) { _ = c.conn.Write(c.ctx, websocket.MessageBinary, c.good) }), failed: "text", reason: "binary"},
	{name: "not UTF-8", plant: replies(func(c *call) []byte {
		return fmt.Appendf(nil, "{\"id\":%d,\"action\":%s,\"notes\":\"\xff\"}", c.req.ID, action(c))
	}), failed: "text", reason: "UTF-8"},
	{name: "talks too much", plant: onKind("trade", `{"accept":false,"talk":"`+strings.Repeat("x", 241)+`"}`), failed: "talk", reason: "talk_too_long"},
	{name: "talks twice", plant: talksTwice, failed: "talk", reason: "talk_twice"},
	{name: "remembers the first board", plant: remembersFirst, failed: "matches", reason: ""},
	{name: "crashes with 4 seats", plant: crashesIf(func(c *call) bool { return c.req.View.SeatCount == 4 }), failed: "seats", reason: "without a close frame"},
	{name: "crashes with a long talk log", plant: crashesIf(func(c *call) bool { return len(c.req.View.TalkLog) == match.TalkLogLen }), failed: "talklog", reason: "without a close frame"},
	{name: "crashes with large requests", plant: crashesIf(func(c *call) bool { return len(c.frame) > 8<<10 && len(c.req.View.TalkLog) > 10 }), failed: "talklog", reason: "without a close frame"},
	{name: "crashes late in a game", plant: crashesIf(func(c *call) bool { return c.req.View.Turn > 150 }), failed: "views", reason: "without a close frame"},
	{name: "crashes in parley", plant: crashesIf(func(c *call) bool { return c.req.Mode == "parley" }), failed: "clocks", reason: "without a close frame"},
	{name: "crashes with a time bank", plant: crashesIf(func(c *call) bool { return c.req.BankMs != nil }), failed: "clocks", reason: "without a close frame"},
	{name: "no nonce", plant: nonces(func(string) string { return "" }), advice: "nonce", reason: "sends no valid x-arena-nonce"},
	{name: "a new nonce each time", plant: nonces(counting()), advice: "nonce", reason: "another nonce"},
	{name: "the same nonce always", plant: nonces(func(string) string { return "nonce" }), advice: "nonce", reason: "the same nonce"},
	{name: "no version", plant: func(b *plantedBot) { b.version = "" }, advice: "version", reason: "sends no x-arena-version"},
	{name: "invalid version", plant: func(b *plantedBot) { b.version = strings.Repeat("1", 41) }, advice: "version", reason: "ignores the x-arena-version"},
	{name: "slow", plant: answers(func(c *call) {
		if c.req.Kind == "discard" && c.req.View.SeatCount == 4 {
			c.wait(0.5)
		}
		c.send(c.good)
	}), advice: "speed", reason: "the limit is", wait: 5 * time.Second},
}

func TestFindsPlantedFaults(t *testing.T) {
	t.Parallel()
	require.Greater(t, len(planted), 25)
	for _, fault := range planted {
		t.Run(fault.name, func(t *testing.T) {
			t.Parallel()
			b := goodBot()
			fault.plant(b)
			o := Options{Decision: time.Minute}
			if fault.wait > 0 {
				o.Decision = fault.wait
			}
			requireOnly(t, check(t, b.serve(t), o), fault.failed, fault.advice, fault.reason)
		})
	}
}

// requireOnly requires that at most one check fails and at most one has advice. Bots are
// slow if the machine is busy, so unexpected advice about speed counts as passed.
func requireOnly(t *testing.T, r *Report, failed, advice, reason string) {
	t.Helper()
	if c := r.check("speed"); c.Result == Advice && advice != "speed" {
		c.Result = Passed
		r.Advice, r.Passed = r.Advice-1, r.Passed+1
	}
	var out bytes.Buffer
	require.NoError(t, r.Print(&out))
	for _, c := range r.Checks {
		switch c.Result {
		case Failed:
			require.Equal(t, failed, c.ID, out.String())
			require.NotEmpty(t, c.Exchanges)
			require.NotEmpty(t, c.Breaks)
			require.Contains(t, c.Exchanges[0].Reason, reason)
		case Advice:
			require.Equal(t, advice, c.ID, out.String())
			require.Contains(t, c.Detail, reason)
		case NotChecked:
			require.NotEmpty(t, c.Detail)
		}
	}
	require.Equal(t, failed != "", r.Failed == 1, out.String())
	require.Equal(t, advice != "", r.Advice == 1, out.String())
}

func TestGoodBotsPass(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"greedy", "random"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := goodBot()
			b.player = name
			r := check(t, b.serve(t), Options{})
			requireOnly(t, r, "", "", "")
			require.Equal(t, len(checks)-1, r.Passed) // all but the memory
		})
	}
	t.Run("written from the protocol", func(t *testing.T) {
		t.Parallel()
		server := httptest.NewServer(stranger{})
		t.Cleanup(server.Close)
		requireOnly(t, check(t, server.URL, Options{}), "", "signature", "with no signature")
	})
}

func TestFindsMaskedFrames(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(stranger{masked: true})
	t.Cleanup(server.Close)
	r := check(t, server.URL, Options{})
	require.Equal(t, 1, r.Failed)
	require.Contains(t, r.check("websocket").Exchanges[0].Reason, "violated the WebSocket protocol")
}

func TestFindsGrowingMemory(t *testing.T) {
	t.Parallel()
	for grows, failed := range map[uint64]string{0: "", 1 << 20: "memory"} {
		used := uint64(50 << 20)
		b := goodBot()
		r := check(t, b.serve(t), Options{Memory: func() (uint64, bool) { used += grows; return used, true }})
		requireOnly(t, r, failed, "", "KiB for each match")
	}
	unknown := check(t, goodBot().serve(t), Options{Memory: func() (uint64, bool) { return 0, false }})
	require.Contains(t, unknown.check("memory").Detail, "this system does not tell")
}

// A bot that stays down after a crash is named once, and the other checks say why they
// were not made.
func TestStopsWhenTheBotIsDown(t *testing.T) {
	t.Parallel()
	b := goodBot()
	crashesIf(func(c *call) bool { return c.req.View.SeatCount == 4 })(b)
	var down atomic.Bool
	crash := b.answer
	b.answer = func(c *call) {
		if c.req.View.SeatCount == 4 {
			down.Store(true)
		}
		crash(c)
	}
	url := b.serve(t)
	r := check(t, url, Options{Address: func(context.Context) (string, error) {
		if down.Load() {
			return "", errors.New("nothing listens")
		}
		return url, nil
	}})
	requireOnly(t, r, "seats", "", "without a close frame")
	require.Contains(t, r.check("order").Detail, "accepts no connections any more, since the check seats")
}

func TestReportsWhatThereIsWhenStopped(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	b := goodBot()
	b.answer = func(c *call) {
		if c.req.View.SeatCount == 4 {
			cancel()
		}
		c.send(c.good)
	}
	url := b.serve(t)
	r, err := Run(ctx, Options{Key: testKey, Decision: time.Minute, Limit: time.Hour, Address: func(context.Context) (string, error) { return url, nil }})
	require.NoError(t, err)
	require.True(t, r.Interrupted)
	require.Zero(t, r.Failed)
	require.Equal(t, Passed, r.check("setup").Result)
	require.Equal(t, "the run was stopped", r.check("unknown").Detail)
}

// The positions cover all kinds and both phases at tables of both sizes.
func TestPositionsCoverTheProtocol(t *testing.T) {
	t.Parallel()
	for _, seats := range []int{3, 4} {
		kinds := map[game.Kind]int{}
		for _, p := range choose(positionsOf(seats, false), ordinary) {
			kinds[p.d.Kind]++
			require.Equal(t, seats, p.m.View(p.d.Seat).SeatCount)
		}
		require.Len(t, kinds, 5)
		require.GreaterOrEqual(t, kinds[game.KindSetup], 2)
		var empty, rich, late, offered, resigned bool
		for _, p := range choose(positionsOf(seats, false), unusual) {
			v := p.m.View(p.d.Seat)
			empty, rich, late = empty || cards(&v) == 0, rich || cards(&v) > 15, late || v.Turn > 150
			offered = offered || targeted(&v) > 0
		}
		for _, p := range positionsOf(seats, false) {
			resigned = resigned || p.m.Resigned[0]
		}
		require.Equal(t, []bool{true, true, true, true, true}, []bool{empty, rich, late, offered, resigned}, seats)
	}
	longest := 0
	for _, p := range positionsOf(3, true) {
		req := p.m.Request(p.d)
		longest = max(longest, len(req.AppendJSON(nil)))
	}
	require.Greater(t, longest, 8<<10)
}

func TestExtendedRequestsDecode(t *testing.T) {
	t.Parallel()
	for _, p := range positionsOf(3, true)[:500] {
		req := p.m.Request(p.d)
		for _, text := range [][]byte{extended(&req), reordered(&req)} {
			var again match.Request
			require.NoError(t, json.Unmarshal(text, &again))
			require.Equal(t, string(req.AppendJSON(nil)), string(again.AppendJSON(nil)))
		}
		require.Contains(t, string(extended(&req)), addedFields)
	}
}

// The faults.

func frame(id int, action string) []byte {
	return fmt.Appendf(nil, `{"id":%d,"action":%s}`, id, action)
}

func action(c *call) string {
	var good match.Response
	if err := json.Unmarshal(c.good, &good); err != nil {
		panic(err)
	}
	return string(good.Action)
}

func answers(answer func(*call)) func(*plantedBot) { return func(b *plantedBot) { b.answer = answer } }

func replies(reply func(*call) []byte) func(*plantedBot) {
	return answers(func(c *call) { c.send(reply(c)) })
}

func onKind(kind, bad string) func(*plantedBot) {
	return replies(func(c *call) []byte {
		if c.req.Kind == kind {
			return frame(c.req.ID, bad)
		}
		return c.good
	})
}

func crashesIf(bad func(*call) bool) func(*plantedBot) {
	return answers(func(c *call) {
		if bad(c) {
			c.crash()
			return
		}
		c.send(c.good)
	})
}

func verifies(verify func(*plantedBot, http.Header) bool) func(*plantedBot) {
	return func(b *plantedBot) { b.verify = verify }
}

func nonces(nonce func(string) string) func(*plantedBot) {
	return func(b *plantedBot) { b.nonce = nonce }
}

func compresses(_ *plantedBot, w http.ResponseWriter, r *http.Request) bool {
	w.Header().Set("Sec-WebSocket-Extensions", "permessage-deflate")
	return false
}

// crashesAgain crashes if a match has a second connection.
func crashesAgain(b *plantedBot, _ http.ResponseWriter, r *http.Request) bool {
	b.mu.Lock()
	id := r.Header.Get("x-arena-match")
	b.upgrades[id]++
	again := id != "deploy-check" && b.upgrades[id] > 1
	b.mu.Unlock()
	if again {
		panic(http.ErrAbortHandler)
	}
	return false
}

func verifies403() (func(*plantedBot, http.Header) bool, func(*plantedBot, http.ResponseWriter, *http.Request) bool) {
	return func(*plantedBot, http.Header) bool { return true }, func(b *plantedBot, w http.ResponseWriter, r *http.Request) bool {
		if verifiesAll(b, r.Header) {
			return false
		}
		w.WriteHeader(http.StatusForbidden)
		return true
	}
}

// breaksAfterBad rejects everything after the first bad signature.
func breaksAfterBad() func(*plantedBot, http.Header) bool {
	broken := map[*plantedBot]bool{}
	return func(b *plantedBot, h http.Header) bool {
		b.mu.Lock()
		defer b.mu.Unlock()
		broken[b] = broken[b] || !verifiesAll(b, h)
		return !broken[b]
	}
}

// again reports whether the bot has answered the same request before.
func (c *call) again() bool {
	c.b.mu.Lock()
	defer c.b.mu.Unlock()
	seen := c.b.seen[c.req.MatchID]
	if seen == nil {
		seen = map[int]bool{}
		c.b.seen[c.req.MatchID] = seen
	}
	before := seen[c.req.ID]
	seen[c.req.ID] = true
	return before
}

// talksTwice talks with every action that may talk.
func talksTwice(b *plantedBot) {
	b.answer = func(c *call) {
		kind, _ := game.ParseKind(c.req.Kind)
		_, a, err := match.ReadFrame(kind, c.good)
		if err != nil {
			panic(err)
		}
		if match.MayTalk(a.Action.Type) {
			c.send(frame(c.req.ID, string(match.WithTalk(match.ActionJSON(a.Action), "Hello"))))
			return
		}
		c.send(c.good)
	}
}

// remembersFirst believes that the bot has the same seat, with the same towns, in every
// match.
func remembersFirst(b *plantedBot) {
	b.answer = func(c *call) {
		c.b.mu.Lock()
		if c.b.first == nil {
			c.b.first = &c.req
		}
		first := c.b.first
		c.b.mu.Unlock()
		if c.req.Kind == "setup" && c.req.MatchID != first.MatchID && len(c.req.View.Towns) > 0 {
			c.send(frame(c.req.ID, fmt.Sprintf(`{"settlement":%d,"road":0}`, c.req.View.Towns[0].Vertex)))
			return
		}
		c.send(c.good)
	}
}

// counting returns a nonce that nobody has seen before.
func counting() func(string) string {
	n := make(chan int, 1)
	n <- 0
	return func(string) string {
		next := <-n + 1
		n <- next
		return fmt.Sprint("nonce-", next)
	}
}
