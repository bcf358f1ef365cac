package arena

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"hexarena/domain/event"
)

// PlatformKeyPublished publishes the Ed25519 key that signs the arena's upgrade
// requests. Match ids are derived from this key.
type PlatformKeyPublished struct {
	PublicKey PublicKey `json:"publicKey"`
}

// EmailKeyAdded commits the arena to its email key. The arena derives two keys from
// the email key: one hashes the addresses in the names of email streams, and one
// encrypts sign-in tokens.
type EmailKeyAdded struct {
	Hash Hash `json:"hash"`
}

// SeedKeyAdded commits the arena to a key that server seeds are derived from.
// Tables seated after this event refer to the key by its id.
type SeedKeyAdded struct {
	ID   string `json:"id"`
	Hash Hash   `json:"hash"`
}

// SeedKeyRetired records that the arena will seat no more tables under a seed key.
type SeedKeyRetired struct {
	ID     string `json:"id"`
	Reason string `json:"reason,omitempty"` // from the operator
}

// SeedKeyPublished publishes a retired seed key once the key's last match has ended,
// so that anyone can recompute the server seeds derived from the key.
type SeedKeyPublished struct {
	ID  string      `json:"id"`
	Key RevealedKey `json:"key"`
}

// EventType implements Event.
func (PlatformKeyPublished) EventType() string { return "PlatformKeyPublished" }

// EventType implements Event.
func (EmailKeyAdded) EventType() string { return "EmailKeyAdded" }

// EventType implements Event.
func (SeedKeyAdded) EventType() string { return "SeedKeyAdded" }

// EventType implements Event.
func (SeedKeyRetired) EventType() string { return "SeedKeyRetired" }

// EventType implements Event.
func (SeedKeyPublished) EventType() string { return "SeedKeyPublished" }

// DecodeKeys reads a stored event of arena-keys. An unknown type is an error.
func DecodeKeys(eventType string, data []byte) (Event, error) {
	switch eventType {
	case "PlatformKeyPublished":
		return event.Decode[PlatformKeyPublished](data)
	case "EmailKeyAdded":
		return event.Decode[EmailKeyAdded](data)
	case "SeedKeyAdded":
		return event.Decode[SeedKeyAdded](data)
	case "SeedKeyRetired":
		return event.Decode[SeedKeyRetired](data)
	case "SeedKeyPublished":
		return event.Decode[SeedKeyPublished](data)
	default:
		return nil, event.UnknownType(eventType, KeysStream)
	}
}

// Keys is the state of arena-keys. The zero value means that the arena has
// never started.
type Keys struct {
	Platform PublicKey // the key in use; zero before the arena's first start
	Email    []Hash    // in the order they were added; the last one is in use
	Seeds    []SeedKey // in the order they were added
}

// SeedKey is the state of one seed key.
type SeedKey struct {
	ID       string
	Hash     Hash
	Added    time.Time // the time of its SeedKeyAdded
	Retired  bool
	Revealed *RevealedKey // nil until it is published
}

// EvolveKeys returns k after e. It never rejects an event, and does not change
// k.
func EvolveKeys(k Keys, e Event, at time.Time) Keys {
	switch e := e.(type) {
	case PlatformKeyPublished:
		k.Platform = e.PublicKey
	case EmailKeyAdded:
		k.Email = append(slices.Clip(k.Email), e.Hash)
	case SeedKeyAdded:
		k.Seeds = append(slices.Clip(k.Seeds), SeedKey{ID: e.ID, Hash: e.Hash, Added: at})
	case SeedKeyRetired:
		k.Seeds = changed(k.Seeds, e.ID, func(s *SeedKey) { s.Retired = true })
	case SeedKeyPublished:
		k.Seeds = changed(k.Seeds, e.ID, func(s *SeedKey) { s.Revealed = &e.Key })
	}
	return k
}

func changed(seeds []SeedKey, id string, change func(*SeedKey)) []SeedKey {
	seeds = slices.Clone(seeds)
	for i := range seeds {
		if seeds[i].ID == id {
			change(&seeds[i])
		}
	}
	return seeds
}

// Exist reports whether the arena has ever started.
func (k Keys) Exist() bool { return k.Platform != PublicKey{} }

// CurrentSeed returns the newest seed key that is not retired. New tables use
// it.
func (k Keys) CurrentSeed() (SeedKey, bool) {
	for _, s := range slices.Backward(k.Seeds) {
		if !s.Retired {
			return s, true
		}
	}
	return SeedKey{}, false
}

// Seed returns the seed key with the given id.
func (k Keys) Seed(id string) (SeedKey, bool) {
	for _, s := range k.Seeds {
		if s.ID == id {
			return s, true
		}
	}
	return SeedKey{}, false
}

// Secret returns the seed keys that have not been published: the key in use, and the
// retired keys that unfinished matches may need.
func (k Keys) Secret() []SeedKey {
	return slices.DeleteFunc(slices.Clone(k.Seeds), func(s SeedKey) bool { return s.Revealed != nil })
}

// Held describes an arena's secrets without revealing them.
type Held struct {
	Platform PublicKey
	Email    Hash
	Seeds    []HeldSeed // in the order they were added
}

// HeldSeed describes a seed key in the secrets.
type HeldSeed struct {
	ID   string
	Hash Hash
}

// The errors of FirstStart.
var (
	ErrStartedBefore = errors.New("the arena has started before: arena-keys already lists its keys")
	ErrNoPlatformKey = errors.New("the secrets hold no platform key")
	ErrNoSeedKey     = errors.New("the secrets hold no seed key")
)

// FirstStart returns the events that commit a new arena to its keys.
func (k Keys) FirstStart(h Held) ([]Event, error) {
	switch {
	case k.Exist():
		return nil, ErrStartedBefore
	case h.Platform == PublicKey{}:
		return nil, ErrNoPlatformKey
	case len(h.Seeds) == 0:
		return nil, ErrNoSeedKey
	}
	events := []Event{PlatformKeyPublished{PublicKey: h.Platform}, EmailKeyAdded{Hash: h.Email}}
	for _, s := range h.Seeds {
		events = append(events, SeedKeyAdded(s))
	}
	return events, nil
}

// ErrKeyKnown rejects a rotation to a key that is already in arena-keys.
var ErrKeyKnown = errors.New("the seed key is already in arena-keys")

// Rotate puts a new seed key into use and retires all others. New tables then use
// only the new key.
func (k Keys) Rotate(to HeldSeed, reason string) ([]Event, error) {
	reason = strings.TrimSpace(reason)
	if reason == "" {
		return nil, ErrNoReason
	}
	if slices.ContainsFunc(k.Seeds, func(s SeedKey) bool { return s.ID == to.ID || s.Hash == to.Hash }) {
		return nil, ErrKeyKnown
	}
	events := []Event{SeedKeyAdded(to)}
	for _, s := range k.Seeds {
		if !s.Retired {
			events = append(events, SeedKeyRetired{ID: s.ID, Reason: reason})
		}
	}
	return events, nil
}

// MissingSeedKeyError reports that the secrets lack a seed key in use.
type MissingSeedKeyError struct{ ID string }

func (e *MissingSeedKeyError) Error() string {
	return fmt.Sprintf("the seed key %q is missing, but the log still uses it", e.ID)
}

// Check returns a one-line error if an arena with the secrets h must not start on the
// log. h must have the log's platform key and email key. A player also needs every seed
// key in use. If it lacks such a key, and everything else is correct, the error is a
// *MissingSeedKeyError. The player may then start, but may not seat tables. h may also
// contain keys that are not in the log yet, because a rotation writes the secrets file
// before it appends to the log.
func (k Keys) Check(h Held, player bool) error {
	if h.Platform != k.Platform {
		return fmt.Errorf("the platform key is %s, but the log names %s", h.Platform, k.Platform)
	}
	if len(k.Email) == 0 || h.Email != k.Email[len(k.Email)-1] {
		return errors.New("the email key does not match the log")
	}
	if player {
		return k.checkSeeds(h.Seeds)
	}
	return nil
}

func (k Keys) checkSeeds(held []HeldSeed) error {
	if _, ok := k.CurrentSeed(); !ok {
		return errors.New("the log has no seed key in use: all are retired")
	}
	var missing error
	for _, s := range k.Seeds {
		i := slices.IndexFunc(held, func(h HeldSeed) bool { return h.ID == s.ID })
		switch {
		case s.Retired:
		case i < 0:
			missing = &MissingSeedKeyError{s.ID}
		case held[i].Hash != s.Hash:
			return fmt.Errorf("the seed key %q does not match the log", s.ID)
		}
	}
	return missing
}
