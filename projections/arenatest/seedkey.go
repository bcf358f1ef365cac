package arenatest

// SeedKey returns the seed key of every arena of this package by its id, as
// the arena's secrets do.
func SeedKey(id string) ([]byte, bool) { return seedKey, id == seedKeyID }
