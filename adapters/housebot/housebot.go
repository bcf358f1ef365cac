// Package housebot implements the arena's own bots. Like the bots of owners, they are
// HTTP servers that respond to /ping and play over a WebSocket. They share the code for
// the rules, the board and the requests with the arena, but they know nothing that
// other bots do not know. Start with [Handler].
package housebot

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"crypto/hmac"
	crand "crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"io"
	"log/slog"
	"maps"
	"math/rand/v2"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"nhooyr.io/websocket"

	"hexarena/domain/game"
	"hexarena/domain/match"
)

// strategy makes a bot's decisions in one match. If the returned talk is empty, the
// answer contains no talk.
type strategy interface {
	answer(r *match.Request) (a game.Action, talk string)
}

var strategies = map[string]func(*rand.Rand) strategy{
	"random":     func(rng *rand.Rand) strategy { return &random{rng: rng} },
	"greedy":     func(rng *rand.Rand) strategy { return &greedy{rng: rng} },
	"search":     func(rng *rand.Rand) strategy { return newSearcher(rng, 0) },
	"montecarlo": func(rng *rand.Rand) strategy { return newSearcher(rng, playouts) },
}

// Names lists the house bots.
func Names() []string { return slices.Sorted(maps.Keys(strategies)) }

// Options configure a bot.
type Options struct {
	Name      string            // one of Names
	PublicKey ed25519.PublicKey // the arena's key; if nil, the bot accepts unsigned upgrades
	Recipient string            // the host of the bot's URL, or <bot id>@<host>; if empty, the bot accepts upgrades for any recipient
	Think     time.Duration     // delay before each answer
	Seed      uint64            // seeds the bot's random choices, together with the match id
	Secret    []byte            // key for the bot's nonces, known only to its owner; if empty, the bot uses a random key
	Logger    *slog.Logger
}

// Handler returns the bot's HTTP handler. The handler serves all paths.
func Handler(o Options) (http.Handler, error) {
	if err := known(o.Name); err != nil {
		return nil, err
	}
	if len(o.Secret) == 0 {
		o.Secret = []byte(crand.Text())
	}
	return &server{o}, nil
}

// The function known() returns an error if no house bot has this name.
func known(name string) error {
	if strategies[name] == nil {
		return fmt.Errorf("unknown house bot %q; choose one of %s", name, strings.Join(Names(), ", "))
	}
	return nil
}

type server struct{ Options }

// ServeHTTP implements http.Handler.
func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch {
	case strings.HasSuffix(r.URL.Path, "/ping"):
		_, _ = w.Write([]byte("pong"))
	case s.PublicKey != nil && !s.verified(r.Header):
		http.Error(w, "the signature is invalid", http.StatusUnauthorized)
	default:
		s.play(w, r)
	}
}

// maxSkew is the largest accepted difference between an upgrade's timestamp and
// the bot's clock (docs/protocol.md, "Verify the upgrade").
const maxSkew = 30 * time.Second

// The method verified() checks the signature that covers the recipient. If the bot does
// not know its own recipient name, verified can check only the other signature. In that
// case, another bot could forward an upgrade that it received from the arena.
func (s *server) verified(h http.Header) bool {
	timestamp := h.Get("x-arena-timestamp")
	ms, err := strconv.ParseInt(timestamp, 10, 64)
	if err != nil || time.Since(time.UnixMilli(ms)).Abs() > maxSkew {
		return false
	}
	if s.Recipient == "" {
		return s.signed(timestamp+"."+h.Get("x-arena-match"), h.Get("x-arena-signature"))
	}
	to := h.Get("x-arena-recipient")
	text := strings.Join([]string{
		"x-arena-signature-v2", timestamp, h.Get("x-arena-match"), to,
		h.Get("x-arena-commitment"), h.Get("x-arena-beacon-round"), h.Get("x-arena-log-index"),
	}, "\n")
	return strings.HasSuffix("@"+to, "@"+s.Recipient) && s.signed(text, h.Get("x-arena-signature-v2"))
}

func (s *server) signed(text, signature string) bool {
	decoded, err := base64.StdEncoding.DecodeString(signature)
	return err == nil && ed25519.Verify(s.PublicKey, []byte(text), decoded)
}

// maxRequest is the maximum size of a decision request, in bytes.
const maxRequest = 1 << 20

// Version is the version that the house bots name. Raise it if a strategy changes.
const Version = "2"

// Nonce returns the bot's share of a match's seed: the HMAC-SHA256 of the match id
// under the bot's secret, in hex. The owner can compute the nonce again later and
// compare it with the match's proof (docs/audit.md, "An owner's notes").
func Nonce(secret []byte, matchID string) string {
	h := hmac.New(sha256.New, secret)
	_, _ = io.WriteString(h, matchID) // never fails
	return hex.EncodeToString(h.Sum(nil))
}

func (s *server) play(w http.ResponseWriter, r *http.Request) {
	id := r.Header.Get("x-arena-match")
	w.Header().Set("x-arena-nonce", Nonce(s.Secret, id))
	w.Header().Set("x-arena-version", Version)
	conn, err := websocket.Accept(w, r, nil)
	if err != nil {
		return
	}
	defer conn.CloseNow()
	conn.SetReadLimit(maxRequest)
	player := newPlayer(s.Name, s.Seed, id)
	var frame bytes.Buffer // reused, because the library reads a large message in one piece only into a large buffer
	for {
		_, message, err := conn.Reader(r.Context())
		if err != nil {
			return
		}
		frame.Reset()
		if _, err := frame.ReadFrom(message); err != nil {
			return
		}
		if err := s.reply(r.Context(), conn, player, frame.Bytes()); err != nil {
			s.Logger.Warn("could not answer a decision request", "match", id, "error", err)
			return
		}
	}
}

func (s *server) reply(ctx context.Context, conn *websocket.Conn, player *Player, frame []byte) error {
	req, answer, err := player.answer(frame)
	if err != nil {
		return err
	}
	if s.Think > 0 {
		think := time.NewTimer(min(s.Think, time.Duration(req.DeadlineMs)*time.Millisecond/2))
		defer think.Stop()
		select {
		case <-think.C:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return conn.Write(ctx, websocket.MessageText, answer)
}

// Player plays one match for a house bot, without a socket.
type Player struct {
	strategy strategy
	requests match.RequestScanner
}

// NewPlayer returns a player that decides like the house bot with the given name, which
// must be in Names. The seed and the match id determine the player's random choices.
func NewPlayer(name string, seed uint64, matchID string) (*Player, error) {
	if err := known(name); err != nil {
		return nil, err
	}
	return newPlayer(name, seed, matchID), nil
}

func newPlayer(name string, seed uint64, matchID string) *Player {
	hash := fnv.New64a()
	_, _ = io.WriteString(hash, matchID) // never fails
	return &Player{strategy: strategies[name](rand.New(rand.NewPCG(seed, hash.Sum64())))}
}

// Answer takes a frame with a request, and returns the frame with the answer.
func (p *Player) Answer(frame []byte) ([]byte, error) {
	_, answer, err := p.answer(frame)
	return answer, err
}

func (p *Player) answer(frame []byte) (req match.Request, answer []byte, err error) {
	req, ok := p.requests.Scan(frame)
	if !ok {
		req = match.Request{}
		if err := json.Unmarshal(frame, &req); err != nil {
			return req, nil, fmt.Errorf("decode the request: %w", err)
		}
	}
	return req, p.AnswerRequest(&req), nil
}

// AnswerRequest is like Answer, but takes a request that is not encoded. It does not
// change the request.
func (p *Player) AnswerRequest(r *match.Request) []byte {
	answer := respond(p.strategy, r)
	return fmt.Appendf(nil, `{"id":%d,"action":%s}`, answer.ID, answer.Action)
}

// respond asks a strategy for an action, and returns the answer that the bot sends.
func respond(s strategy, r *match.Request) match.Response {
	a, talk := s.answer(r)
	action := match.ActionJSON(a)
	if talk != "" {
		action = match.WithTalk(action, talk)
	}
	return match.Response{ID: r.ID, Action: action}
}
