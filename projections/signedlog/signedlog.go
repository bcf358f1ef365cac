// Package signedlog is the read model of the signed log. The signed log of a mode
// is a Merkle tree (RFC 6962). It has one leaf for each match that the ladder has
// closed, in ladder order. An auditor who has stored a head can check that a match
// is in the tree, and that a later head continues the stored head. So the arena
// cannot change or drop a match unnoticed. "The signed log" in docs/audit.md
// defines leaves and heads.
//
// The rows contain only hashes. When the ladder closes a match, the model builds
// the leaf from the match's own stream.
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
	trees map[string]*compact.Range // by mode; only the runner uses them
	rows  atomic.Pointer[sql.DB]
}

// New returns an empty signed log of the matches in log. A projections.Runner
// must load it before the first query.
func New(log eventstore.Log) *SignedLog { return &SignedLog{log: log} }

// Name implements projections.Model.
func (s *SignedLog) Name() string { return "signedlog" }

// Schema implements projections.Model. The table nodes contains the root hashes
// of all perfect subtrees. The nodes of level 0 are the leaves. The node at
// place p of level n covers 2ⁿ leaves, starting at leaf p·2ⁿ. A node never
// changes.
func (s *SignedLog) Schema() projections.Schema {
	return projections.Schema{Version: 1, Tables: `
		CREATE TABLE leaves (match TEXT PRIMARY KEY, mode TEXT NOT NULL, place INTEGER NOT NULL) STRICT, WITHOUT ROWID;
		CREATE TABLE nodes (
			mode TEXT NOT NULL, level INTEGER NOT NULL, place INTEGER NOT NULL, hash BLOB NOT NULL,
			PRIMARY KEY (mode, level, place)
		) STRICT, WITHOUT ROWID;
	`}
}

// Filter implements projections.Model.
func (s *SignedLog) Filter() eventstore.Filter {
	return eventstore.Filter{Types: []string{ladder.RatingsChanged{}.EventType(), ladder.MatchVoided{}.EventType()}}
}

// Load implements projections.Model.
func (s *SignedLog) Load(rows *sql.DB) error {
	trees := map[string]*compact.Range{}
	for _, mode := range ladder.Modes {
		var err error
		if trees[mode], err = readTree(context.Background(), rows, mode); err != nil {
			return err
		}
	}
	s.trees = trees
	s.rows.Store(rows)
	return nil
}

// Apply implements projections.Model.
func (s *SignedLog) Apply(tx *projections.Tx, r eventstore.Recorded) error {
	mode, ok := ladder.ModeOf(string(r.Stream))
	if !ok {
		return nil
	}
	if s.trees[mode] == nil {
		return fmt.Errorf("mode %q does not exist", mode)
	}
	ctx, cancel := context.WithTimeout(context.Background(), readTimeout)
	defer cancel()
	id, leaf, err := leafOf(ctx, s.log, r)
	if err != nil || leaf == nil {
		return err
	}
	return s.add(tx, mode, id, leaf)
}

// add appends the leaf of a match.
func (s *SignedLog) add(tx *projections.Tx, mode, id string, leaf []byte) error {
	var place uint64
	closed, err := tx.Find("SELECT place FROM leaves WHERE match = ?", []any{id}, &place)
	switch {
	case err != nil:
		return err
	case closed:
		return fmt.Errorf("match %s was closed before", id)
	}
	tree := s.trees[mode]
	if err := tx.Exec("INSERT INTO leaves (match, mode, place) VALUES (?, ?, ?)", id, mode, tree.End()); err != nil {
		return err
	}
	var failed error
	err = tree.Append(rfc6962.DefaultHasher.HashLeaf(leaf), func(n compact.NodeID, hash []byte) {
		if failed == nil {
			failed = tx.Exec("INSERT INTO nodes (mode, level, place, hash) VALUES (?, ?, ?, ?)", mode, n.Level, n.Index, hash)
		}
	})
	return errors.Join(failed, err)
}

// Flush implements projections.Model.
func (s *SignedLog) Flush(*projections.Tx) error { return nil }
