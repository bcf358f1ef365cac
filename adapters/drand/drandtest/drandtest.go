// Package drandtest provides a drand chain for tests, with real BLS keys. A [Relay]
// computes each round when the round is due. [Relay.Fail] makes the relay misbehave.
package drandtest

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/cloudflare/circl/sign/bls"

	"hexarena/domain/beacon"
)

// Fault is a way in which a relay misbehaves.
type Fault int

// These are the faults of a relay.
const (
	None            Fault = iota
	Late                  // rounds that become due after the call to Fail are missing
	WrongSignature        // another round's signature
	WrongRound            // the relay sends an old round instead of the requested one
	WrongRandomness       // the signature is valid, but the randomness is not its hash
	Forked                // another key signs
	Down                  // every response has status 503
	Slow                  // the relay does not respond until the client cancels its request
	Oversized             // responses are too long
	Redirecting           // responses are redirects to another host
)

// oldRounds is the distance, in rounds, between the requested round and the round that
// a relay with the fault WrongRound sends instead.
const oldRounds = 100

// Relay is an HTTP handler with drand's API for one chain. It is safe for
// concurrent use.
type Relay struct {
	chain      beacon.Chain
	key, other *bls.PrivateKey[bls.KeyG2SigG1]

	mu       sync.Mutex // guards the fields below
	fault    Fault
	since    time.Time // when the fault began
	requests []string  // paths after the chain's hash
}

// New returns a relay whose chain began an hour ago. The period must be whole
// seconds. Relays with different names have different keys.
func New(name string, period time.Duration) *Relay {
	r := &Relay{key: newKey(name), other: newKey("fork of " + name)}
	public, err := r.key.PublicKey().MarshalBinary()
	if err != nil {
		panic(err) // cannot happen, because a key that was just made can be encoded
	}
	group := sha256.Sum256([]byte(name))
	r.chain = beacon.Chain{
		PublicKey: public, Period: period, GroupHash: group[:], ID: name,
		Genesis: time.Now().Add(-time.Hour).Truncate(time.Second).UTC(),
	}.WithHash()
	return r
}

func newKey(name string) *bls.PrivateKey[bls.KeyG2SigG1] {
	secret := sha256.Sum256([]byte(name))
	key, err := bls.KeyGen[bls.KeyG2SigG1](secret[:], nil, nil)
	if err != nil {
		panic(err) // the secret is long enough
	}
	return key
}

// Chain returns the relay's chain.
func (r *Relay) Chain() beacon.Chain { return r.chain }

// Flag returns the value of --beacon-chain that describes the chain.
func (r *Relay) Flag() string { return r.chain.Hash + ":" + hex.EncodeToString(r.chain.PublicKey) }

// Round signs a round, even if it is not due.
func (r *Relay) Round(number uint64) beacon.Round { return sign(r.key, r.chain, number) }

func sign(key *bls.PrivateKey[bls.KeyG2SigG1], chain beacon.Chain, number uint64) beacon.Round {
	return beacon.NewRound(beacon.Named{Chain: chain.Hash, Round: number}, bls.Sign(key, beacon.Message(number)))
}

// Fail makes the relay misbehave in the given way. Fail(None) makes it behave again.
func (r *Relay) Fail(f Fault) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.fault, r.since = f, time.Now()
}

// Requests returns the part of each request's path that follows the chain's hash.
func (r *Relay) Requests() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]string(nil), r.requests...)
}

// ServeHTTP implements http.Handler.
func (r *Relay) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	path, ok := strings.CutPrefix(req.URL.Path, "/"+r.chain.Hash+"/")
	r.mu.Lock()
	fault, newest := r.fault, r.chain.Newest(time.Now())
	if fault == Late {
		newest = r.chain.Newest(r.since)
	}
	r.requests = append(r.requests, path)
	r.mu.Unlock()
	number, err := strconv.ParseUint(strings.TrimPrefix(path, "public/"), 10, 64)
	if path == "public/latest" {
		number, err = newest, nil
	}
	switch {
	case fault == Down:
		http.Error(w, "down", http.StatusServiceUnavailable)
	case fault == Slow:
		<-req.Context().Done()
	case fault == Oversized:
		fmt.Fprintf(w, `{"padding":"%s"}`, strings.Repeat("x", 64<<10))
	case fault == Redirecting:
		http.Redirect(w, req, "http://elsewhere.example/"+path, http.StatusFound)
	case ok && path == "info":
		r.write(w, r.chain.Info())
	case !ok || err != nil || number == 0:
		http.NotFound(w, req)
	case number > newest:
		http.Error(w, "not yet", http.StatusTooEarly)
	default:
		r.write(w, r.response(number, fault))
	}
}

// response returns a round in the form in which drand's HTTP API sends it.
func (r *Relay) response(number uint64, f Fault) map[string]any {
	round := r.Round(number)
	switch f {
	case WrongSignature:
		round = r.Round(number + 1)
		round.Round = number
	case WrongRound:
		round = r.Round(max(number, oldRounds+1) - oldRounds)
	case WrongRandomness:
		round.Randomness = r.Round(number + 1).Randomness
	case Forked:
		round = sign(r.other, r.chain, number)
	}
	return map[string]any{"round": round.Round, "randomness": round.Randomness, "signature": round.Signature}
}

func (*Relay) write(w http.ResponseWriter, answer any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(answer)
}
