// Package arena decides the events of one arena's own streams: the keys that it
// signs and seeds with, which process plays on its log, and when it drains. It
// holds only public keys and hashes, never a secret. It knows neither the secrets
// file nor the clock.
package arena

// The streams of an arena. They are singletons: one log, one arena.
const (
	KeysStream       = "arena-keys"
	PlayerStream     = "arena-player"
	OperationsStream = "arena-operations"
)

// Event is a fact of one of these streams. The names that EventType returns
// are what the log stores forever.
type Event interface{ EventType() string }
