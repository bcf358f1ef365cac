// Package readmodels lists the read models, for who folds or looks at all of
// them alike. It knows no more of them than that they are there. The service
// answers from them, and so makes its own.
package readmodels

import (
	"hexarena/eventstore"
	"hexarena/projections"
	"hexarena/projections/directory"
	"hexarena/projections/leaderboard"
	"hexarena/projections/matches"
	"hexarena/projections/signedlog"
)

// All are the read models of a log, each anew.
func All(log eventstore.Log) []projections.Model {
	return []projections.Model{directory.New(), matches.New(), leaderboard.New(), signedlog.New(log)}
}
