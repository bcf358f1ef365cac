package housebot

import (
	"context"
	"crypto/ed25519"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"nhooyr.io/websocket"

	"hexarena/domain/board"
	"hexarena/domain/game"
	"hexarena/domain/match"
	"hexarena/domain/match/matchtest"
	"hexarena/domain/seed"
)

// The house bots give only legal answers. Together, they trade, talk and play every
// kind of card.
func TestHouseBotsPlayByTheRules(t *testing.T) {
	played := map[string]int{}
	wins := map[string]int{}
	for n := range uint64(32) {
		seats := 3 + int(n%2)
		m, _ := matchtest.Start(seed.Seed{byte(n), 1}, seats)
		var bots []strategy
		var names []string
		for s := range seats {
			name := Names()[(s+int(n/2))%4]
			names = append(names, name)
			bots = append(bots, quickly(name, rand.New(rand.NewPCG(n, uint64(s)))))
		}
		for !m.Over() {
			var outcomes []match.Outcome
			for _, d := range m.Asks() {
				outcomes = append(outcomes, match.Outcome{Decision: d.ID, Frame: ask(t, bots[d.Seat], m, d)})
			}
			events, err := m.Settle(outcomes)
			require.NoError(t, err)
			for _, e := range events {
				kind, _, data := match.Publish(e)
				require.NotContains(t, []string{"illegal", "timeout"}, kind, "%+v", data)
				played[kind]++
				if a, ok := e.(match.ActionPlayed); ok {
					var action struct{ Type, Talk string }
					require.NoError(t, json.Unmarshal(a.Action, &action))
					played[action.Type]++
					if action.Talk != "" {
						played["talk"]++
					}
				}
			}
			m = match.EvolveAll(m, events)
		}
		for s, p := range m.End.Placements {
			if p == 1 {
				wins[names[s]]++
			}
		}
	}
	t.Log(played, wins)
	for _, what := range []string{"trade", "talk", "steal", "award", "play_knight", "play_roadworks", "play_windfall", "play_embargo", "bank_trade", "build_city"} {
		require.Positive(t, played[what], what)
	}
	require.Greater(t, wins["greedy"], wins["random"])
	require.Greater(t, wins["search"], wins["greedy"])
}

// The function quickly() returns a strategy. The bot montecarlo makes only few playouts.
func quickly(name string, rng *rand.Rand) strategy {
	if name == "montecarlo" {
		return newSearcher(rng, 12)
	}
	return strategies[name](rng)
}

// A bot with the same seed gives the same answers to the same requests.
func TestBotsAreDeterministic(t *testing.T) {
	for _, name := range Names() {
		m, _ := matchtest.Start(seed.Seed{5}, 4)
		var bots, twins []strategy
		for s := range uint64(4) {
			bots = append(bots, quickly(name, rand.New(rand.NewPCG(1, s))))
			twins = append(twins, quickly(name, rand.New(rand.NewPCG(1, s))))
		}
		for !m.Over() && m.Game.Turn < 24 {
			var outcomes []match.Outcome
			for _, d := range m.Asks() {
				frame := ask(t, bots[d.Seat], m, d)
				require.Equal(t, string(frame), string(ask(t, twins[d.Seat], m, d)))
				outcomes = append(outcomes, match.Outcome{Decision: d.ID, Frame: frame})
			}
			next, _, err := m.Advance(outcomes)
			require.NoError(t, err)
			m = next
		}
	}
}

// A bot gives the same answer in two games that look the same to its seat. In the second
// game, the other seats have other cards, and the deck and the dice are different.
func TestBotsSeeOnlyTheirView(t *testing.T) {
	for _, name := range Names() {
		m, _ := matchtest.Start(seed.Seed{6}, 4)
		rng := rand.New(rand.NewPCG(2, 3))
		player := matchtest.Player{Below: rng.IntN, Build: true}
		kinds, different := map[string]int{}, 0
		for n := uint64(0); !m.Over() && m.Game.Turn < 40; n++ {
			var outcomes []match.Outcome
			for _, d := range m.Asks() {
				other := m
				other.Game = disguised(m.Game, uint8(d.Seat), rng)
				require.Equal(t, m.Request(d), other.Request(d))
				if m.Game.Hands != other.Game.Hands {
					different++
				}
				want := ask(t, quickly(name, rand.New(rand.NewPCG(n, 4))), m, d)
				require.Equal(t, string(want), string(ask(t, quickly(name, rand.New(rand.NewPCG(n, 4))), other, d)))
				kinds[d.Kind.String()]++
				outcomes = append(outcomes, player.Answer(&m, d))
			}
			next, _, err := m.Advance(outcomes)
			require.NoError(t, err)
			m = next
		}
		require.Greater(t, different, 20)
		for _, kind := range []string{"setup", "turn", "bandit"} {
			require.Positive(t, kinds[kind], kind)
		}
	}
}

// The function disguised() returns a game with other hidden cards, which looks the same
// to a seat.
func disguised(g game.State, seat uint8, rng *rand.Rand) game.State {
	h := game.Hidden{Hands: g.Hands, Devs: g.Devs, Bought: g.Bought, Seed: seed.Seed{byte(rng.Uint64())}}
	for other := range g.Seats {
		if other != seat {
			rng.Shuffle(board.Resources, func(i, j int) {
				h.Hands[other][i], h.Hands[other][j] = h.Hands[other][j], h.Hands[other][i]
			})
			rng.Shuffle(game.DevKinds, func(i, j int) {
				h.Devs[other][i], h.Devs[other][j] = h.Devs[other][j], h.Devs[other][i]
			})
		}
	}
	for range g.Deck {
		h.Deck = append(h.Deck, game.DevCard(rng.IntN(game.DevKinds)))
	}
	g.Hide(&h)
	return g
}

// BenchmarkDecision measures the decisions of one seat in a whole match.
func BenchmarkDecision(b *testing.B) {
	for _, name := range Names() {
		b.Run(name, func(b *testing.B) {
			requests := requestsOf(b)
			bot := strategies[name](rand.New(rand.NewPCG(1, 2)))
			for n := 0; b.Loop(); n++ {
				bot.answer(&requests[n%len(requests)])
			}
		})
	}
}

// requestsOf returns the requests to one seat in a match of the bot search.
func requestsOf(b *testing.B) (requests []match.Request) {
	b.Helper()
	m, _ := matchtest.Start(seed.Seed{8}, 4)
	var bots []strategy
	for s := range uint64(4) {
		bots = append(bots, strategies["search"](rand.New(rand.NewPCG(1, s))))
	}
	for !m.Over() {
		var outcomes []match.Outcome
		for _, d := range m.Asks() {
			r := m.Request(d)
			if d.Seat == 0 {
				requests = append(requests, r)
			}
			answer := respond(bots[d.Seat], &r)
			outcomes = append(outcomes, match.Outcome{Decision: d.ID, Frame: matchtest.Frame(d.ID, answer.Action)})
		}
		next, _, err := m.Advance(outcomes)
		require.NoError(b, err)
		m = next
	}
	return requests
}

// ask sends a request to a bot and returns the answer. Both the request and the answer
// go through JSON, as they would over a socket.
func ask(t *testing.T, bot strategy, m match.Match, d match.Decision) []byte {
	t.Helper()
	r := m.Request(d)
	var got match.Request
	require.NoError(t, json.Unmarshal(r.AppendJSON(nil), &got))
	frame, err := json.Marshal(respond(bot, &got))
	require.NoError(t, err)
	return frame
}

// The function signed() returns the headers of an upgrade for a match and a recipient.
func signed(key ed25519.PrivateKey, matchID, recipient string) http.Header {
	timestamp := fmt.Sprint(time.Now().UnixMilli())
	sign := func(text string) string { return base64.StdEncoding.EncodeToString(ed25519.Sign(key, []byte(text))) }
	return http.Header{
		"X-Arena-Match": {matchID}, "X-Arena-Timestamp": {timestamp}, "X-Arena-Signature": {sign(timestamp + "." + matchID)},
		"X-Arena-Recipient": {recipient}, "X-Arena-Commitment": {"ab"}, "X-Arena-Beacon-Round": {"7"},
		"X-Arena-Signature-V2": {sign("x-arena-signature-v2\n" + timestamp + "\n" + matchID + "\n" + recipient + "\nab\n7\n")},
	}
}

func TestServer(t *testing.T) {
	public, private, err := ed25519.GenerateKey(nil)
	require.NoError(t, err)
	// This is a published test vector for HMAC-SHA256 with the key "Jefe" (RFC 4231,
	// test case 2).
	const id, nonce = "what do ya want for nothing?", "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843"
	h, err := Handler(Options{Name: "greedy", PublicKey: public, Secret: []byte("Jefe"), Logger: slog.New(slog.DiscardHandler)})
	require.NoError(t, err)
	srv := httptest.NewServer(h)
	defer srv.Close()

	res, err := http.Get(srv.URL + "/ping")
	require.NoError(t, err)
	body, err := io.ReadAll(res.Body)
	require.NoError(t, err)
	require.NoError(t, res.Body.Close())
	require.Equal(t, "pong", string(body))

	dial := func(at time.Time) (*websocket.Conn, *http.Response, error) {
		timestamp := fmt.Sprint(at.UnixMilli())
		signature := ed25519.Sign(private, []byte(timestamp+"."+id))
		return websocket.Dial(t.Context(), "ws"+strings.TrimPrefix(srv.URL, "http"), &websocket.DialOptions{HTTPHeader: http.Header{
			"X-Arena-Match": {id}, "X-Arena-Timestamp": {timestamp}, "X-Arena-Signature": {base64.StdEncoding.EncodeToString(signature)},
		}})
	}
	_, res, err = dial(time.Now().Add(-time.Minute))
	require.Error(t, err)
	require.Equal(t, http.StatusUnauthorized, res.StatusCode)

	conn, res, err := dial(time.Now())
	require.NoError(t, err)
	defer conn.CloseNow()
	require.Equal(t, []string{nonce}, res.Header.Values("x-arena-nonce"))
	m, _ := matchtest.Start(seed.Seed{1}, 3)
	r := m.Request(m.Asks()[0])
	r.DeadlineMs = 5000
	require.NoError(t, conn.Write(context.Background(), websocket.MessageText, r.AppendJSON(nil)))
	_, frame, err := conn.Read(t.Context())
	require.NoError(t, err)
	events, err := m.Settle([]match.Outcome{{Decision: 1, Frame: frame}})
	require.NoError(t, err)
	require.False(t, events[0].(match.ActionPlayed).Default)

	// A bot that knows its recipient rejects an upgrade that was signed for another
	// bot or for no recipient.
	for recipient, want := range map[string][]int{
		"":                       {101, 101, 101, 101, 101},
		"bots.example":           {401, 101, 101, 401, 401},
		"bot-1@bots.example":     {401, 101, 401, 401, 401},
		"bot-1@bots.example:444": {401, 401, 401, 101, 401},
	} {
		h, err := Handler(Options{Name: "greedy", PublicKey: public, Recipient: recipient, Logger: slog.New(slog.DiscardHandler)})
		require.NoError(t, err)
		srv := httptest.NewServer(h)
		defer srv.Close()
		for i, to := range []string{"", "bot-1@bots.example", "bot-2@bots.example", "bot-1@bots.example:444", "bot-1@evil-bots.example"} {
			h := signed(private, "m", to)
			conn, res, err := websocket.Dial(t.Context(), "ws"+strings.TrimPrefix(srv.URL, "http"), &websocket.DialOptions{HTTPHeader: h})
			require.NotNil(t, res, "%v", err)
			require.Equal(t, want[i], res.StatusCode, "%s for %s", to, recipient)
			if err == nil {
				require.NoError(t, conn.CloseNow())
			}
			if recipient != "" {
				h.Set("X-Arena-Log-Index", "1")
				_, res, err = websocket.Dial(t.Context(), "ws"+strings.TrimPrefix(srv.URL, "http"), &websocket.DialOptions{HTTPHeader: h})
				require.Error(t, err)
				require.Equal(t, http.StatusUnauthorized, res.StatusCode, "a changed header")
			}
		}
	}

	// Bots without a given secret use different random secrets.
	nonces := map[string]bool{}
	for range 2 {
		h, err := Handler(Options{Name: "random", Logger: slog.New(slog.DiscardHandler)})
		require.NoError(t, err)
		srv := httptest.NewServer(h)
		defer srv.Close()
		conn, res, err := websocket.Dial(t.Context(), "ws"+strings.TrimPrefix(srv.URL, "http"), nil)
		require.NoError(t, err)
		defer conn.CloseNow()
		require.Len(t, res.Header.Get("x-arena-nonce"), 64)
		nonces[res.Header.Get("x-arena-nonce")] = true
	}
	require.Len(t, nonces, 2)

	_, err = Handler(Options{Name: "cheater"})
	require.ErrorContains(t, err, "greedy, montecarlo, random, search")
}

// Bots that search play over a socket like all others. A socket belongs to one match, and
// the search remembers what it saw in it.
func TestSearchersPlayOverASocket(t *testing.T) {
	names := []string{"search", "montecarlo", "greedy"}
	conns := make([]*websocket.Conn, len(names))
	for seat, name := range names {
		h, err := Handler(Options{Name: name, Logger: slog.New(slog.DiscardHandler)})
		require.NoError(t, err)
		srv := httptest.NewServer(h)
		defer srv.Close()
		conn, _, err := websocket.Dial(t.Context(), "ws"+strings.TrimPrefix(srv.URL, "http"), nil)
		require.NoError(t, err)
		defer conn.CloseNow()
		conns[seat] = conn
	}
	m, _ := matchtest.Start(seed.Seed{1}, len(names))
	answered := make([]int, len(names))
	for !m.Over() && min(answered[0], answered[1]) < 50 {
		var outcomes []match.Outcome
		for _, d := range m.Asks() {
			r := m.Request(d)
			r.DeadlineMs = 60_000
			require.NoError(t, conns[d.Seat].Write(t.Context(), websocket.MessageText, r.AppendJSON(nil)))
			_, frame, err := conns[d.Seat].Read(t.Context())
			require.NoError(t, err)
			outcomes = append(outcomes, match.Outcome{Decision: d.ID, Frame: frame, Heard: true})
			answered[d.Seat]++
		}
		next, events, err := m.Advance(outcomes)
		require.NoError(t, err)
		require.Equal(t, m.Strikes, next.Strikes, "an answer was rejected: %v", events)
		m = next
	}
	require.GreaterOrEqual(t, min(answered[0], answered[1]), 50)
}
