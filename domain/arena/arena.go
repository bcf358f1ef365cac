// Package arena decides the events of an arena's own streams. They record the
// keys that sign for the arena and seed its matches, the process that plays on
// its log, and its drains. The package holds only public keys and hashes, never
// a secret. It knows neither the secrets file nor the clock.
package arena

// The streams of an arena. A log has one of each, because it belongs to one
// arena.
const (
	KeysStream       = "arena-keys"
	PlayerStream     = "arena-player"
	OperationsStream = "arena-operations"
)

// Event is a fact of one of these streams. The names that EventType returns
// are what the log stores forever.
type Event interface{ EventType() string }
