// Package rest declares the types of the arena's REST interface, which are the JSON
// bodies of requests and responses. The API encodes and describes these types, and the
// web pages and the command line decode them, so that each type is declared only once.
//
// If a type is also a row of a read model, the read model declares it, and this package
// contains an alias, such as [MatchSummary] or [LeaderboardRow]. The huma library uses
// the struct tags to describe a field, and adapters/rest/binding uses them to parse the
// field. The package knows nothing about HTTP or the rules.
package rest

import (
	"time"

	"hexarena/domain/beacon"
	"hexarena/projections/frames"
	"hexarena/projections/leaderboard"
	"hexarena/projections/live"
	"hexarena/projections/matches"
	"hexarena/projections/seats"
)

type (
	// MatchSummary is a match in a list.
	MatchSummary = matches.Summary
	// MatchPlayer is a bot in a MatchSummary.
	MatchPlayer = matches.Player
	// MatchSeat describes what one seat did in an ended match.
	MatchSeat = seats.Seat
	// LiveMatch is a running match in a list.
	LiveMatch = live.Match
	// Decision is one decision of a bot, for its owner.
	Decision = frames.Decision
	// LeaderboardRow is a bot's row in a ranking.
	LeaderboardRow = leaderboard.Row
)

// timeFormat is the format of every time in a response: RFC 3339 in UTC, with
// milliseconds.
const timeFormat = "2006-01-02T15:04:05.000Z"

// FormatTime formats a time in the format that all responses use.
func FormatTime(t time.Time) string { return t.UTC().Format(timeFormat) }

// FormatTimeOrNull is like FormatTime, but returns nil for the zero time. In JSON, nil
// becomes null.
func FormatTimeOrNull(t time.Time) *string {
	if t.IsZero() {
		return nil
	}
	text := FormatTime(t)
	return &text
}

// Health is the response to GET /health.
type Health struct {
	Status string `json:"status" enum:"ok"`
}

// Arena is the response to GET /.well-known/arena.json.
type Arena struct {
	PublicKey string       `json:"publicKey" doc:"Base64 of the raw 32 bytes of the platform's Ed25519 public key."`
	Beacon    *beacon.Info `json:"beacon,omitempty" doc:"The drand chain whose rounds become part of the seeds; absent if the arena has no beacon."`
}

// Changelog lists the changes for owners, newest first.
type Changelog struct {
	Entries []ChangelogEntry `json:"entries"`
}

// ChangelogEntry lists the changes of one day.
type ChangelogEntry struct {
	Date    string   `json:"date" format:"date"`
	Changes []string `json:"changes" doc:"One entry for each change."`
}
