// Package beacon describes drand, a public source of randomness: its chains,
// the times of its rounds, and the data from which anyone can check a round. It
// does no I/O. Package adapters/drand fetches rounds and checks their
// signatures.
package beacon

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"
)

// Scheme is the only signature scheme that the arena accepts: BLS12-381, with
// signatures in G1 and keys in G2.
const Scheme = "bls-unchained-g1-rfc9380"

// The sizes of a chain's hash, a public key and a signature, in bytes.
const (
	HashSize      = sha256.Size
	KeySize       = 96
	SignatureSize = 48
)

// Margin is the number of periods between a tick and the round that its seatings name.
// The arena also stops seating tables while the newest round that it knows is more than
// Margin periods old.
const Margin = 2

// Chain is one drand chain. Its hash commits to all other fields.
type Chain struct {
	Hash      string // hex
	PublicKey []byte // compressed, KeySize bytes
	Period    time.Duration
	Genesis   time.Time // the time of round 1
	GroupHash []byte
	ID        string // the name of the chain, such as "quicknet"
}

// Quicknet returns drand's public chain with a period of 3 s.
func Quicknet() Chain {
	c := Chain{
		Hash:    "52db9ba70e0cc0f6eaf7803dd07447a1f5477735fd3f661792ba94600c84e971",
		Period:  3 * time.Second,
		Genesis: time.Unix(1692803367, 0).UTC(),
		ID:      "quicknet",
	}
	c.PublicKey, _ = hex.DecodeString("83cf0f2896adee7eb8b5f01fcad3912212c437e0073e911fb90022d3e760183c" +
		"8c4b450b6a0a6c3ac6a5776a2d1064510d1fec758c921cc22b0e17e63aaf4bcb5ed66304de9cf809bd274ca73bab4af5a6e9c76a4bc09e76eae8991ef5ece45a")
	c.GroupHash, _ = hex.DecodeString("f477d5c89f21a17c863a7f937c6a6d15859414d2be09cd448d4279af331c5d3e")
	return c
}

// Info is a chain as drand's HTTP API shows it (GET /{hash}/info). Binary
// fields are in hex, and times are in seconds.
type Info struct {
	PublicKey   string   `json:"public_key" doc:"The key that signs the rounds, in hex."`
	Period      int64    `json:"period" doc:"The time from one round to the next, in seconds."`
	GenesisTime int64    `json:"genesis_time" doc:"The Unix time of round 1."`
	Hash        string   `json:"hash" doc:"The chain's hash, in hex. It commits to the other fields."`
	GroupHash   string   `json:"groupHash"`
	SchemeID    string   `json:"schemeID"`
	Metadata    Metadata `json:"metadata"`
}

// Metadata contains the name of a chain, such as "quicknet".
type Metadata struct {
	BeaconID string `json:"beaconID"`
}

// Info returns the chain as drand's HTTP API shows it.
func (c Chain) Info() Info {
	i := Info{
		PublicKey: hex.EncodeToString(c.PublicKey), Period: int64(c.Period / time.Second), GenesisTime: c.Genesis.Unix(),
		Hash: c.Hash, GroupHash: hex.EncodeToString(c.GroupHash), SchemeID: Scheme,
	}
	i.Metadata.BeaconID = c.ID
	return i
}

// errInfo begins every error of ParseInfo.
var errInfo = errors.New("not a drand chain that the arena can use")

// ParseInfo reads a chain from the JSON of an Info. It checks that the chain's
// hash commits to all other fields.
func ParseInfo(text []byte) (Chain, error) {
	var i Info
	if err := json.Unmarshal(text, &i); err != nil {
		return Chain{}, fmt.Errorf("%w: %w", errInfo, err)
	}
	key, err1 := hex.DecodeString(i.PublicKey)
	group, err2 := hex.DecodeString(i.GroupHash)
	if err := errors.Join(err1, err2); err != nil {
		return Chain{}, fmt.Errorf("%w: %w", errInfo, err)
	}
	c := Chain{
		Hash: i.Hash, PublicKey: key, Period: time.Duration(i.Period) * time.Second,
		Genesis: time.Unix(i.GenesisTime, 0).UTC(), GroupHash: group, ID: i.Metadata.BeaconID,
	}
	switch {
	case i.SchemeID != Scheme:
		return Chain{}, fmt.Errorf("%w: its scheme is %q, not %s", errInfo, i.SchemeID, Scheme)
	case i.Period < 1 || i.Period > 3600:
		return Chain{}, fmt.Errorf("%w: its period is %d s, not 1 to 3600", errInfo, i.Period)
	case len(key) != KeySize:
		return Chain{}, fmt.Errorf("%w: its key has %d bytes, not %d", errInfo, len(key), KeySize)
	case c.computeHash() != c.Hash:
		return Chain{}, fmt.Errorf("%w: its hash is %s, but its other fields give %s", errInfo, i.Hash, c.computeHash())
	}
	return c, nil
}

// computeHash returns the hash that drand computes from the other fields.
func (c Chain) computeHash() string {
	h := sha256.New()
	var n [12]byte
	binary.BigEndian.PutUint32(n[:4], uint32(c.Period/time.Second))
	binary.BigEndian.PutUint64(n[4:], uint64(c.Genesis.Unix()))
	h.Write(n[:])
	h.Write(c.PublicKey)
	h.Write(c.GroupHash)
	if c.ID != "" && c.ID != "default" { // drand leaves out the name of its first chain
		h.Write([]byte(c.ID))
	}
	return hex.EncodeToString(h.Sum(nil))
}

// WithHash computes the chain's hash and returns the chain with it. Tests use
// WithHash to make their own chains.
func (c Chain) WithHash() Chain {
	c.Hash = c.computeHash()
	return c
}

// Time returns the time at which a round appears. Round 1 appears at the chain's
// genesis. Round 0 does not exist. The result is wrong for rounds centuries after the
// genesis, because the difference overflows a time.Duration.
func (c Chain) Time(round uint64) time.Time {
	if round == 0 {
		return time.Time{}
	}
	return c.Genesis.Add(time.Duration(round-1) * c.Period)
}

// Newest returns the newest round that exists at the given time, or 0 before
// the first round.
func (c Chain) Newest(at time.Time) uint64 {
	if at.Before(c.Genesis) {
		return 0
	}
	return uint64(at.Sub(c.Genesis)/c.Period) + 1
}

// After returns the round that a seating at the given tick names: the first
// round that appears at least Margin periods after the tick.
func (c Chain) After(tick time.Time) uint64 {
	return c.first(tick.Add(Margin * c.Period))
}

// first returns the first round that appears at or after the given time.
func (c Chain) first(at time.Time) uint64 {
	round := max(1, c.Newest(at))
	if c.Time(round).Before(at) {
		round++
	}
	return round
}

// Named identifies a round before it exists.
type Named struct {
	Chain string `json:"chain"` // the chain's hash
	Round uint64 `json:"round"`
}

// Round is a round with its signature. The signature covers the round's number,
// so it proves the randomness to anyone who knows the chain's key.
type Round struct {
	Chain      string `json:"chain" doc:"The hash of the drand chain."`
	Round      uint64 `json:"round"`
	Randomness string `json:"randomness" doc:"SHA-256 of the signature, in hex."`
	Signature  string `json:"signature" doc:"The BLS signature of the round, in hex."`
}

// NewRound returns a round from its signature.
func NewRound(n Named, signature []byte) Round {
	sum := sha256.Sum256(signature)
	return Round{Chain: n.Chain, Round: n.Round, Randomness: hex.EncodeToString(sum[:]), Signature: hex.EncodeToString(signature)}
}

// Decode returns the signature and the randomness of r. It returns an error if
// the randomness is not the SHA-256 of the signature. It does not check the
// signature.
func (r Round) Decode() (signature []byte, randomness [sha256.Size]byte, err error) {
	signature, err = hex.DecodeString(r.Signature)
	if err != nil || len(signature) != SignatureSize || strings.ToLower(r.Signature) != r.Signature {
		return nil, randomness, fmt.Errorf("the signature of round %d is not %d bytes in lower-case hex", r.Round, SignatureSize)
	}
	randomness = sha256.Sum256(signature)
	if hex.EncodeToString(randomness[:]) != r.Randomness {
		return nil, randomness, fmt.Errorf("the randomness of round %d is not the SHA-256 of its signature", r.Round)
	}
	return signature, randomness, nil
}

// Message returns the bytes that the signature of a round covers.
func Message(round uint64) []byte {
	sum := sha256.Sum256(binary.BigEndian.AppendUint64(nil, round))
	return sum[:]
}
