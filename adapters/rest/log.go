package rest

// Inclusion is a proof that a match is a leaf in the tree of the signed log.
type Inclusion struct {
	Index  uint64   `json:"index" doc:"The leaf's position, counted from 0."`
	Size   uint64   `json:"size" doc:"The size of the tree to which the proof applies."`
	Hashes [][]byte `json:"hashes" nullable:"false" doc:"The audit path (RFC 6962, 2.1.1), from the leaf's sibling up."`
}

// Consistency is a proof that the signed log at the later size begins with the log at
// the earlier size.
type Consistency struct {
	From   int      `json:"from"`
	To     int      `json:"to"`
	Hashes [][]byte `json:"hashes" nullable:"false" doc:"The consistency proof (RFC 6962, 2.1.2)."`
}

// SeedKey describes a key from which server seeds are derived.
type SeedKey struct {
	ID   string  `json:"id"`
	Hash string  `json:"hash" doc:"SHA-256 of the key, in hex."`
	Key  *string `json:"key" doc:"The key in hex; null until the arena publishes it, after the last match that uses it."`
}

// SeedKeys lists the seed keys in the order in which they came into use.
type SeedKeys struct {
	Keys []SeedKey `json:"keys" nullable:"false" doc:"The seed keys, in the order in which they came into use."`
}

// LadderEvents is one page of the events of a mode's ladder, in order.
type LadderEvents struct {
	Mode   string        `json:"mode"`
	Size   int           `json:"size" doc:"The number of events in the ladder when the page was read."`
	Events []LadderEvent `json:"events" nullable:"false"`
	Next   *int          `json:"next" doc:"Send this value as the parameter \"from\" to get the next page; null at the end of the ladder."`
}

// LadderEvent is an event of a ladder, as the arena stored it.
type LadderEvent struct {
	Revision int    `json:"revision" doc:"The event's place in the ladder, counted from 0, and the index of its entry in the ladder's tree."`
	Type     string `json:"type" enum:"TablesSeated,RatingsChanged,MatchVoided"`
	At       string `json:"at" format:"date-time" doc:"The time at which the arena decided the event."`
	Data     string `json:"data" doc:"The event's data, which is JSON, exactly as stored. The entry in the ladder's tree contains the SHA-256 of this data."`
}
