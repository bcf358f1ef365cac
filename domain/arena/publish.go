package arena

// Unpublished are the retired seed keys that nobody has been shown yet.
func (k Keys) Unpublished() []SeedKey {
	var list []SeedKey
	for _, s := range k.Seeds {
		if s.Retired && s.Revealed == nil {
			list = append(list, s)
		}
	}
	return list
}

// Publish shows the retired seed keys that are held and that no match needs any
// more: needed says of which ones matches are unfinished.
func (k Keys) Publish(held func(id string) ([]byte, bool), needed map[string]bool) []Event {
	var events []Event
	for _, s := range k.Unpublished() {
		key, ok := held(s.ID)
		if ok && !needed[s.ID] && len(key) == len(RevealedKey{}) && HashOf(key) == s.Hash {
			events = append(events, SeedKeyPublished{ID: s.ID, Key: RevealedKey(key)})
		}
	}
	return events
}
