package secrets

// SeedKeyIDs returns the ids of the seed keys that this process has.
func (s Secrets) SeedKeyIDs() (ids []string) {
	for _, k := range s.current.Load().file.SeedKeys {
		ids = append(ids, k.ID)
	}
	return ids
}
