package drand

import (
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/cloudflare/circl/sign/bls"

	"hexarena/domain/beacon"
)

// These are the errors of Verify and of Client.Await.
var (
	// ErrChain reports a round of another chain.
	ErrChain = errors.New("the round belongs to another chain")
	// ErrSignature reports that a round's signature is not valid under the chain's key.
	ErrSignature = errors.New("the signature is not valid under the key of the chain")
)

// mostVerified is the maximum number of rounds that Verify remembers.
const mostVerified = 1024

// verified contains rounds that Verify has accepted. The matches of a tick share a round,
// and a check takes more than a millisecond.
var verified = struct {
	mu     sync.Mutex
	rounds map[signedRound]bool
}{rounds: map[signedRound]bool{}}

// signedRound is all that a check depends on.
type signedRound struct {
	key   string // of the chain
	round beacon.Round
}

// Verify checks that the round is signed with the chain's key, and that the randomness
// follows from the signature. It uses only the chain's hash and public key.
func Verify(chain beacon.Chain, r beacon.Round) error {
	if r.Chain != chain.Hash {
		return fmt.Errorf("round %d of chain %q: %w, not to %q", r.Round, r.Chain, ErrChain, chain.Hash)
	}
	id := signedRound{string(chain.PublicKey), r}
	verified.mu.Lock()
	known := verified.rounds[id]
	verified.mu.Unlock()
	if known {
		return nil
	}
	if err := check(chain, r); err != nil {
		return err
	}
	verified.mu.Lock()
	defer verified.mu.Unlock()
	if len(verified.rounds) >= mostVerified {
		clear(verified.rounds)
	}
	verified.rounds[id] = true
	return nil
}

func check(chain beacon.Chain, r beacon.Round) error {
	signature, _, err := r.Decode()
	if err != nil {
		return err
	}
	key, err := publicKey(chain.PublicKey)
	if err != nil {
		return err
	}
	if !bls.Verify(key, beacon.Message(r.Round), signature) {
		return fmt.Errorf("round %d: %w", r.Round, ErrSignature)
	}
	return nil
}

// publicKey decodes the key of a chain. The error does not say where the key came
// from.
func publicKey(key []byte) (*bls.PublicKey[bls.KeyG2SigG1], error) {
	decoded := new(bls.PublicKey[bls.KeyG2SigG1])
	if len(key) != beacon.KeySize || decoded.UnmarshalBinary(key) != nil || !decoded.Validate() {
		return nil, errors.New("the key of the chain is not a compressed point of BLS12-381 in G2")
	}
	return decoded, nil
}

// ParseChain reads the value of the flag --beacon-chain: either quicknet, or a chain's
// hash and public key in hex, joined by a colon. In the second case, the other fields
// of the returned chain are empty. Verify does not need them, and Fetch reads them from
// the relay.
func ParseChain(text string) (beacon.Chain, error) {
	if text == "quicknet" {
		return beacon.Quicknet(), nil
	}
	hash, keyText, ok := strings.Cut(strings.ToLower(text), ":")
	rawHash, err1 := hex.DecodeString(hash)
	key, err2 := hex.DecodeString(keyText)
	if !ok || err1 != nil || err2 != nil || len(rawHash) != beacon.HashSize {
		return beacon.Chain{}, fmt.Errorf("want quicknet, or HASH:PUBLICKEY with %d and %d hex digits", 2*beacon.HashSize, 2*beacon.KeySize)
	}
	if _, err := publicKey(key); err != nil {
		return beacon.Chain{}, err
	}
	return beacon.Chain{Hash: hash, PublicKey: key}, nil
}
