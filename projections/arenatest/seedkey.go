package arenatest

// SeedKey returns the seed key of these arenas by its id, as adapters/secrets does.
func SeedKey(id string) ([]byte, bool) { return seedKey, id == seedKeyID }
