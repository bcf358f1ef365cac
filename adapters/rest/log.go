package rest

// Inclusion proves that a match is a leaf in the tree of the signed log.
type Inclusion struct {
	Index  uint64   `json:"index" doc:"The leaf's position, counted from 0."`
	Size   uint64   `json:"size" doc:"The size of the tree to which the proof applies."`
	Hashes [][]byte `json:"hashes" nullable:"false" doc:"The audit path (RFC 6962, 2.1.1), from the leaf's sibling up."`
}

// Consistency proves that the signed log of the later size begins with the log
// of the earlier size.
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
