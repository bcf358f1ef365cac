// Package arena decides the events of an arena's own streams. The streams
// record the arena's keys, the process that plays on its log, and its drains.
// The events contain public keys, hashes of keys and retired seed keys. They contain
// a key that is still secret only in encrypted form. The package reads neither the
// secrets file nor the clock, and encrypts nothing.
package arena

// The streams of an arena. A log belongs to one arena, so each of these streams
// exists exactly once.
const (
	KeysStream       = "arena-keys"
	SealedKeysStream = "arena-seed-keys"
	PlayerStream     = "arena-player"
	OperationsStream = "arena-operations"
)

// Event is a fact of one of these streams. EventType returns the name of its
// type in the log. This name never changes.
type Event interface{ EventType() string }
