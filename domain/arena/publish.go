package arena

import "slices"

// Unpublished returns the retired seed keys that have not been published yet.
func (k Keys) Unpublished() []SeedKey {
	return slices.DeleteFunc(slices.Clone(k.Seeds), func(s SeedKey) bool { return !s.Retired || s.Revealed != nil })
}

// Publish returns events that publish retired seed keys. It skips a key if the key is
// missing from the secrets or an unfinished match still needs it. The function held()
// returns a key from the secrets by its id. The parameter needed is the set of the ids
// of the keys that unfinished matches use.
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
