package drand

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"hexarena/domain/beacon"
)

const (
	bodyLimit    = 16 << 10 // maximum size of a response, in bytes
	maxRedirects = 3
	longCall     = 5 * time.Second // a call's time limit is the chain's period, but at least shortCall and at most longCall
	shortCall    = time.Second
)

// These are the reasons for failures.
const (
	reasonUnavailable = "unavailable" // no usable response
	reasonWrong       = "wrong"       // the round is not the requested one, or is not signed with the chain's key
)

var (
	// errNotYet reports that the relay does not have the round yet.
	errNotYet = errors.New("the relay does not have the round yet")
	// Every error about a round that the client must not use wraps errWrong.
	errWrong = errors.New("the relay sent a wrong round")
)

func reasonOf(err error) string {
	if errors.Is(err, errWrong) {
		return reasonWrong
	}
	return reasonUnavailable
}

// relay calls a server that has drand's HTTP API, for one chain.
type relay struct {
	url   string // of the chain
	chain beacon.Chain
	limit time.Duration // of one call
	http  *http.Client
}

func newRelay(url string, chain beacon.Chain) relay {
	return relay{
		url: url + "/" + chain.Hash, chain: chain,
		limit: min(max(chain.Period, shortCall), longCall),
		http:  &http.Client{CheckRedirect: sameHost},
	}
}

// sameHost allows a few redirects, but only to the same host.
func sameHost(req *http.Request, via []*http.Request) error {
	first := via[0].URL
	if len(via) > maxRedirects || req.URL.Host != first.Host || req.URL.Scheme != first.Scheme {
		return errors.New("the relay redirected the request to another host, or too often")
	}
	return nil
}

// Fetch returns a complete chain, given its hash and its key. It reads the other
// fields from the relay, and checks that the hash commits to them. Quicknet is
// built in, so Fetch does not call the relay for it.
func Fetch(ctx context.Context, url string, known beacon.Chain) (beacon.Chain, error) {
	if quicknet := beacon.Quicknet(); known.Hash == quicknet.Hash && bytes.Equal(known.PublicKey, quicknet.PublicKey) {
		return quicknet, nil
	}
	r := newRelay(url, known)
	r.limit = longCall
	text, err := r.get(ctx, "/info")
	if err != nil {
		return beacon.Chain{}, err
	}
	chain, err := beacon.ParseInfo(text)
	switch {
	case err != nil:
		return beacon.Chain{}, err
	case chain.Hash != known.Hash:
		return beacon.Chain{}, fmt.Errorf("the relay describes chain %s, not %s", chain.Hash, known.Hash)
	case !bytes.Equal(chain.PublicKey, known.PublicKey):
		return beacon.Chain{}, fmt.Errorf("the public key in --beacon-chain is not the key of chain %s", chain.Hash)
	}
	return chain, nil
}

// The method latest() returns the newest round that the relay serves.
func (r relay) latest(ctx context.Context) (beacon.Round, error) {
	return r.read(ctx, "/public/latest")
}

// round returns the round with the given number.
func (r relay) round(ctx context.Context, number uint64) (beacon.Round, error) {
	round, err := r.read(ctx, fmt.Sprintf("/public/%d", number))
	if err == nil && round.Round != number {
		return beacon.Round{}, fmt.Errorf("%w: got round %d, want round %d", errWrong, round.Round, number)
	}
	return round, err
}

// read requests a round and verifies it.
func (r relay) read(ctx context.Context, path string) (beacon.Round, error) {
	text, err := r.get(ctx, path)
	if err != nil {
		return beacon.Round{}, err
	}
	var answer struct {
		Round      uint64 `json:"round"`
		Randomness string `json:"randomness"`
		Signature  string `json:"signature"`
	}
	if err := json.Unmarshal(text, &answer); err != nil {
		return beacon.Round{}, fmt.Errorf("the relay's response is not a round: %w", err)
	}
	round := beacon.Round{Chain: r.chain.Hash, Round: answer.Round, Randomness: answer.Randomness, Signature: answer.Signature}
	if err := Verify(r.chain, round); err != nil {
		return beacon.Round{}, fmt.Errorf("%w: %w", errWrong, err)
	}
	return round, nil
}

// get returns the body of a response with status 200.
func (r relay) get(ctx context.Context, path string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, r.limit)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, r.url+path, nil)
	if err != nil {
		return nil, err
	}
	req.Header.Set("User-Agent", "hexarena")
	resp, err := r.http.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, bodyLimit+1))
	switch {
	case resp.StatusCode == http.StatusNotFound || resp.StatusCode == http.StatusTooEarly:
		return nil, fmt.Errorf("GET %s%s: status %d: %w", r.url, path, resp.StatusCode, errNotYet)
	case resp.StatusCode != http.StatusOK:
		return nil, fmt.Errorf("GET %s%s: status %d", r.url, path, resp.StatusCode)
	case err != nil:
		return nil, fmt.Errorf("GET %s%s: %w", r.url, path, err)
	case len(body) > bodyLimit:
		return nil, fmt.Errorf("GET %s%s: the response has more than %d bytes", r.url, path, bodyLimit)
	}
	return body, nil
}
