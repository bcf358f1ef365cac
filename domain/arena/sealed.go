package arena

import (
	"slices"
	"time"

	"hexarena/domain/event"
)

// SeedKeysSealed contains encrypted copies of seed keys that are still secret. The
// stream arena-seed-keys keeps only its last event ($maxCount 1), so each event contains
// all copies.
type SeedKeysSealed struct {
	Keys []SealedKey `json:"keys"` // in the order they were added
}

// SealedKey is an encrypted copy of a seed key. Only a process that has the arena's
// platform key can create or read it.
type SealedKey struct {
	ID     string `json:"id"`
	Sealed []byte `json:"sealed"`
}

// EventType implements Event.
func (SeedKeysSealed) EventType() string { return "SeedKeysSealed" }

// DecodeSealedKeys reads a stored event of arena-seed-keys. An unknown type is an error.
func DecodeSealedKeys(eventType string, data []byte) (Event, error) {
	switch eventType {
	case "SeedKeysSealed":
		return event.Decode[SeedKeysSealed](data)
	default:
		return nil, event.UnknownType(eventType, SealedKeysStream)
	}
}

// SealedKeys is the state of arena-seed-keys.
type SealedKeys struct {
	Keys []SealedKey // in the order they were added
}

// EvolveSealedKeys returns s after e. It never rejects an event.
func EvolveSealedKeys(s SealedKeys, e Event, _ time.Time) SealedKeys {
	if e, ok := e.(SeedKeysSealed); ok {
		return SealedKeys(e)
	}
	return s
}

// Find returns the copy of a seed key.
func (s SealedKeys) Find(id string) (SealedKey, bool) {
	for _, k := range s.Keys {
		if k.ID == id {
			return k, true
		}
	}
	return SealedKey{}, false
}

// Add adds copies of seed keys. A new copy replaces the old copy of the same key. Add
// drops the copies of keys that are published, because arena-keys contains these keys.
// It never drops a key that arena-keys does not name, because a rotation stores the copy
// before it names the key.
func (s SealedKeys) Add(keys Keys, more []SealedKey) []Event {
	if len(more) == 0 {
		return nil
	}
	kept := slices.DeleteFunc(slices.Clone(s.Keys), func(k SealedKey) bool {
		named, _ := keys.Seed(k.ID)
		return named.Revealed != nil || slices.ContainsFunc(more, func(m SealedKey) bool { return m.ID == k.ID })
	})
	return []Event{SeedKeysSealed{Keys: append(kept, more...)}}
}
