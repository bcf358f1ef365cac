// Package readmodels lists all read models in one place. The service queries the
// fields of a Set. Commands that treat all models the same way use All.
package readmodels

import (
	"hexarena/eventstore"
	"hexarena/projections"
	"hexarena/projections/directory"
	"hexarena/projections/health"
	"hexarena/projections/leaderboard"
	"hexarena/projections/matches"
	"hexarena/projections/signedlog"
)

// Set contains one instance of each read model.
type Set struct {
	Directory   *directory.Directory
	Matches     *matches.Matches
	Leaderboard *leaderboard.Leaderboard
	SignedLog   *signedlog.SignedLog
	Health      *health.Health
}

// New returns empty read models for a log.
func New(log eventstore.Log) Set {
	return Set{directory.New(), matches.New(), leaderboard.New(), signedlog.New(log), health.New()}
}

// All returns the models of the set.
func (s Set) All() []projections.Model {
	return []projections.Model{s.Directory, s.Matches, s.Leaderboard, s.SignedLog, s.Health}
}
