package verify

import (
	"context"
	"crypto/ed25519"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"

	"hexarena/adapters/drand"
	"hexarena/adapters/rest"
	"hexarena/domain/audit"
	"hexarena/domain/beacon"
	"hexarena/domain/seed"
)

// The type facts holds the data that an arena publishes about itself in
// /.well-known/arena.json.
type facts struct {
	platformKey string // base64
	beacon      []byte // the JSON of its beacon chain; nil without a beacon
}

func fetchFacts(ctx context.Context, c calls) (f facts, err error) {
	var body struct {
		PublicKey string
		Beacon    json.RawMessage
	}
	found, err := c.getJSON(ctx, "/.well-known/arena.json", &body)
	if err != nil {
		return f, fmt.Errorf("read the platform key: %w", err)
	}
	if !found || body.PublicKey == "" {
		return f, errors.New("read the platform key: the arena's response contains no key")
	}
	return facts{platformKey: body.PublicKey, beacon: body.Beacon}, nil
}

// fetchSeedKeys returns the arena's seed keys by id, or nil if the arena does not
// list them.
func fetchSeedKeys(ctx context.Context, c calls) (map[string]audit.SeedKey, error) {
	var body rest.SeedKeys
	found, err := c.getJSON(ctx, "/log/keys", &body)
	if err != nil || !found {
		return nil, err
	}
	keys := map[string]audit.SeedKey{}
	for _, k := range body.Keys {
		known := audit.SeedKey{}
		if known.Hash, err = seed.Parse(k.Hash); err != nil {
			return nil, fmt.Errorf("/log/keys: the hash of key %s: %w", k.ID, err)
		}
		if k.Key != nil {
			if known.Key, err = hex.DecodeString(*k.Key); err != nil {
				return nil, fmt.Errorf("/log/keys: key %s: %w", k.ID, err)
			}
		}
		keys[k.ID] = known
	}
	return keys, nil
}

// The method beacons() returns the chain that --beacon-chain names. The flag contains
// only the hash and the key of a chain. The period and the first round come from the
// arena, which is safe because the hash commits to them. If the arena does not supply
// them, verify does not check the times of rounds.
func (c *Cmd) beacons(f facts) ([]audit.Beacon, error) {
	chain, err := drand.ParseChain(c.BeaconChain)
	if err != nil {
		return nil, fmt.Errorf("--beacon-chain %q: %w", c.BeaconChain, err)
	}
	if chain.Period == 0 && f.beacon != nil {
		shown, err := beacon.ParseInfo(f.beacon)
		if err != nil {
			return nil, fmt.Errorf("/.well-known/arena.json: %w", err)
		}
		if shown.Hash == chain.Hash && string(shown.PublicKey) == string(chain.PublicKey) {
			chain = shown
		}
	}
	return []audit.Beacon{{Chain: chain, Verify: drand.Verify}}, nil
}

func ed25519Key(text string) (ed25519.PublicKey, error) {
	key, err := base64.StdEncoding.DecodeString(text)
	if err != nil || len(key) != ed25519.PublicKeySize {
		return nil, errors.New("the arena's platform key is not an Ed25519 key")
	}
	return key, nil
}
