// Package signedlog is the read model of the two signed trees of each mode. Both
// are Merkle trees (RFC 6962). The section "The signed log" in docs/audit.md
// defines them:
//
//   - The tree of results has one leaf for each match that the ladder has closed,
//     in ladder order. Its origin is [Origin].
//   - The ladder tree has one entry for each event of the ladder's stream,
//     including each seating. Its origin is [LadderOrigin].
//
// An auditor who has stored a head can check that a match or an event is in the
// tree, and that a later head continues the stored head. So the arena cannot
// secretly change or drop a match or a seating.
//
// The rows contain only hashes and the entries of the ladder trees. When the
// ladder closes a match, the model builds the leaf from the match's own stream.
package signedlog

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/transparency-dev/merkle/compact"
	"github.com/transparency-dev/merkle/rfc6962"

	"hexarena/domain/ladder"
	"hexarena/eventstore"
	"hexarena/projections"
)

// readTimeout is the time limit for reading the stream of one match. If the log
// is unavailable for longer, the runner retries the event.
const readTimeout = 5 * time.Second

// SignedLog is the model. It answers queries from committed rows.
type SignedLog struct {
	log   eventstore.Log
	trees map[string]*compact.Range // by name; only the runner uses them
	rows  atomic.Pointer[projections.Queries]
}

// New returns an empty signed log of the matches in log. A projections.Runner
// must load it before the first query.
func New(log eventstore.Log) *SignedLog { return &SignedLog{log: log} }

// Name implements projections.Model.
func (s *SignedLog) Name() string { return "signedlog" }

// Schema implements projections.Model. The table nodes contains the root hashes of
// all perfect subtrees of each tree. The nodes at level 0 are the leaves. The node
// at place p of level n covers 2ⁿ leaves, starting at leaf p·2ⁿ. A node never
// changes. The table entries contains the entries of the ladder trees.
func (s *SignedLog) Schema() projections.Schema {
	return projections.Schema{Version: 2, Tables: `
		CREATE TABLE leaves (match TEXT PRIMARY KEY, mode TEXT NOT NULL, place INTEGER NOT NULL) STRICT, WITHOUT ROWID;
		CREATE TABLE nodes (
			tree TEXT NOT NULL, level INTEGER NOT NULL, place INTEGER NOT NULL, hash BLOB NOT NULL,
			PRIMARY KEY (tree, level, place)
		) STRICT, WITHOUT ROWID;
		CREATE TABLE entries (mode TEXT NOT NULL, place INTEGER NOT NULL, entry BLOB NOT NULL, PRIMARY KEY (mode, place)) STRICT, WITHOUT ROWID;
	`}
}

// Filter implements projections.Model.
func (s *SignedLog) Filter() eventstore.Filter {
	return eventstore.Filter{Types: []string{
		ladder.TablesSeated{}.EventType(), ladder.RatingsChanged{}.EventType(), ladder.MatchVoided{}.EventType(),
	}}
}

// Load implements projections.Model.
func (s *SignedLog) Load(rows *sql.DB) error {
	queries, trees := projections.NewQueries(rows), map[string]*compact.Range{}
	for _, mode := range ladder.Modes {
		for _, name := range []string{resultsTree(mode), ladderTree(mode)} {
			var err error
			if trees[name], err = (tree{queries, name}).compact(context.Background()); err != nil {
				return err
			}
		}
	}
	s.trees = trees
	s.rows.Store(queries)
	return nil
}

// Apply implements projections.Model.
func (s *SignedLog) Apply(tx *projections.Tx, r eventstore.Recorded) error {
	mode, ok := ladder.ModeOf(string(r.Stream))
	if !ok {
		return nil
	}
	if !ladder.IsMode(mode) {
		return fmt.Errorf("mode %q does not exist", mode)
	}
	if next := s.trees[ladderTree(mode)].End(); uint64(r.Revision) != next {
		return fmt.Errorf("the next event of the ladder must be at revision %d", next)
	}
	ctx, cancel := context.WithTimeout(context.Background(), readTimeout)
	defer cancel()
	id, leaf, err := leafOf(ctx, s.log, r)
	if err != nil {
		return err
	}
	var hash []byte
	if leaf != nil {
		hash = rfc6962.DefaultHasher.HashLeaf(leaf)
		if err := s.addResult(tx, mode, id, hash); err != nil {
			return err
		}
	}
	return s.addEntry(tx, mode, uint64(r.Revision), Entry(uint64(r.Revision), r.Type, r.Data, hash))
}

// addResult appends the leaf of a match to the tree of results.
func (s *SignedLog) addResult(tx *projections.Tx, mode, id string, hash []byte) error {
	var place uint64
	closed, err := tx.Find("SELECT place FROM leaves WHERE match = ?", []any{id}, &place)
	switch {
	case err != nil:
		return err
	case closed:
		return fmt.Errorf("match %s was already closed", id)
	}
	name := resultsTree(mode)
	if err := tx.Exec("INSERT INTO leaves (match, mode, place) VALUES (?, ?, ?)", id, mode, s.trees[name].End()); err != nil {
		return err
	}
	return s.append(tx, name, hash)
}

// addEntry appends the entry of an event to the ladder tree.
func (s *SignedLog) addEntry(tx *projections.Tx, mode string, place uint64, entry []byte) error {
	if err := tx.Exec("INSERT INTO entries (mode, place, entry) VALUES (?, ?, ?)", mode, place, entry); err != nil {
		return err
	}
	return s.append(tx, ladderTree(mode), rfc6962.DefaultHasher.HashLeaf(entry))
}

// append appends a leaf to a tree, and stores the nodes that the leaf
// completes.
func (s *SignedLog) append(tx *projections.Tx, name string, hash []byte) error {
	var failed error
	err := s.trees[name].Append(hash, func(n compact.NodeID, hash []byte) {
		if failed == nil {
			failed = tx.Exec("INSERT INTO nodes (tree, level, place, hash) VALUES (?, ?, ?, ?)", name, n.Level, n.Index, hash)
		}
	})
	return errors.Join(failed, err)
}

// Flush implements projections.Model.
func (s *SignedLog) Flush(*projections.Tx) error { return nil }
