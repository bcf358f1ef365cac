// Package seed derives everything random in a match from its 32-byte seed: board,
// seating, dice, deck and steals. Each has its own stream of draws ("Randomness that
// anyone can check" in docs/architecture.md). It also derives the server seed, its
// commitment and the joint seed, so that anyone can recompute them. It knows nothing
// about the rules of play.
package seed

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"

	"hexarena/domain/board"
)

// Seed determines everything random in one match.
type Seed [32]byte

// String returns the seed in lower-case hex.
func (s Seed) String() string { return hex.EncodeToString(s[:]) }

// MarshalJSON writes the seed in lower-case hex.
func (s Seed) MarshalJSON() ([]byte, error) { return json.Marshal(s.String()) }

// UnmarshalJSON reads 64 lower-case hex digits.
func (s *Seed) UnmarshalJSON(b []byte) error {
	var text string
	if err := json.Unmarshal(b, &text); err != nil {
		return err
	}
	parsed, err := Parse(text)
	*s = parsed
	return err
}

// Parse reads a seed from 64 lower-case hex digits.
func Parse(text string) (Seed, error) {
	var s Seed
	b, err := hex.DecodeString(text)
	if err != nil || len(b) != len(s) || hex.EncodeToString(b) != text {
		return Seed{}, fmt.Errorf("seed %q: want 64 lower-case hex digits", text)
	}
	copy(s[:], b)
	return s, nil
}

// Server derives the arena's part of a match's seed from the arena's seed key.
func Server(seedKey []byte, matchID string) Seed {
	mac := hmac.New(sha256.New, seedKey)
	mac.Write([]byte(matchID))
	return Seed(mac.Sum(nil))
}

// Commitment returns the SHA-256 of the server seed. The arena publishes it before it
// opens any connection to a bot.
func Commitment(serverSeed Seed) Seed { return sha256.Sum256(serverSeed[:]) }

// Joint returns the seed of a match. It mixes the nonces of the bots, in table
// order, into the server seed.
func Joint(serverSeed Seed, nonces []string) Seed {
	h := sha256.New()
	h.Write(serverSeed[:])
	for _, nonce := range nonces {
		h.Write([]byte{0})
		h.Write([]byte(nonce))
	}
	return Seed(h.Sum(nil))
}

// WithBeacon returns the seed of a match whose table names a round of a beacon.
// It mixes the randomness of that round into the server seed. It uses no
// nonces, because a bot that colludes with the operator could choose its nonce
// after the round appears.
func WithBeacon(serverSeed Seed, randomness [sha256.Size]byte) Seed {
	h := sha256.New()
	h.Write([]byte("hexarena/seed/2\x00"))
	h.Write(serverSeed[:])
	h.Write(randomness[:])
	return Seed(h.Sum(nil))
}

// Purpose names one of a seed's streams of draws.
type Purpose string

// The purposes for which a seed is used.
const (
	BoardResources Purpose = "board/resources"
	BoardTokens    Purpose = "board/tokens"
	Seats          Purpose = "seats"
	Dice           Purpose = "dice"
	Deck           Purpose = "deck"
	Steal          Purpose = "steal"
)

// Stream yields the draws for one purpose. It is a value without pointers: a copy
// continues from the position of the original.
type Stream struct {
	next  uint64 // index of the next draw
	block [sha256.Size]byte
}

// drawsPerBlock is the number of uint32 values in one SHA-256 hash.
const drawsPerBlock = sha256.Size / 4

// Uniform returns the next number in 0..n-1. All numbers are equally likely. n
// must be above zero. Always call the methods of a stream with the same seed
// and purpose.
func (st *Stream) Uniform(s *Seed, p Purpose, n uint32) uint32 {
	for {
		draw := st.Draw(s, p)
		if rest := draw % n; draw-rest <= -n { // the n draws from draw-rest on are all below 2³²
			return rest
		}
	}
}

// Draw returns the next 32 bits of the stream. Unlike Uniform, it never skips a draw.
func (st *Stream) Draw(s *Seed, p Purpose) uint32 {
	i := st.next % drawsPerBlock
	if i == 0 {
		st.block = blockOf(s, p, st.next/drawsPerBlock)
	}
	st.next++
	return binary.BigEndian.Uint32(st.block[4*i:])
}

// blockOf is SHA-256(seed ‖ 0 ‖ purpose ‖ 0 ‖ block as uint64, big-endian).
func blockOf(s *Seed, p Purpose, block uint64) [sha256.Size]byte {
	var buf [64]byte
	b := append(buf[:0], s[:]...)
	b = append(b, 0)
	b = append(b, p...)
	b = append(b, 0)
	b = binary.BigEndian.AppendUint64(b, block)
	return sha256.Sum256(b)
}

// shuffle applies a Fisher–Yates shuffle to n items, from the last index down.
func shuffle(s *Seed, p Purpose, n int, swap func(i, j int)) {
	var st Stream
	for i := n - 1; i > 0; i-- {
		swap(i, int(st.Uniform(s, p, uint32(i+1))))
	}
}

// Layout shuffles the resources, then the tokens. It then goes through the hexes
// in ascending order and lays a resource on each, and a token on each except the
// desert.
func (s Seed) Layout() board.Layout {
	l := board.Layout{Resources: [board.Hexes]board.Resource{
		board.Brick, board.Brick, board.Brick,
		board.Lumber, board.Lumber, board.Lumber, board.Lumber,
		board.Wool, board.Wool, board.Wool, board.Wool,
		board.Grain, board.Grain, board.Grain, board.Grain,
		board.Ore, board.Ore, board.Ore,
		board.Desert,
	}}
	shuffle(&s, BoardResources, len(l.Resources), func(i, j int) {
		l.Resources[i], l.Resources[j] = l.Resources[j], l.Resources[i]
	})
	tokens := [...]uint8{2, 3, 3, 4, 4, 5, 5, 6, 6, 8, 8, 9, 9, 10, 10, 11, 11, 12}
	shuffle(&s, BoardTokens, len(tokens), func(i, j int) { tokens[i], tokens[j] = tokens[j], tokens[i] })
	next := 0
	for h, r := range l.Resources {
		if r != board.Desert {
			l.Tokens[h] = tokens[next]
			next++
		}
	}
	return l
}

// Seating returns, for each seat, the index that the seat's bot has at the table.
func (s Seed) Seating(seats int) []int {
	order := make([]int, seats)
	for i := range order {
		order[i] = i
	}
	shuffle(&s, Seats, seats, func(i, j int) { order[i], order[j] = order[j], order[i] })
	return order
}

// ShuffleDeck shuffles the cards of a deck in place. Players draw from index 0.
func (s Seed) ShuffleDeck(cards []uint8) {
	shuffle(&s, Deck, len(cards), func(i, j int) { cards[i], cards[j] = cards[j], cards[i] })
}
