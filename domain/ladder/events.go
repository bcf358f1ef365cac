package ladder

import (
	"time"

	"hexarena/domain/beacon"
	"hexarena/domain/event"
	"hexarena/domain/rating"
	"hexarena/domain/seed"
)

// Event is a fact of a ladder's stream. EventType returns the name of its type
// in the log. This name never changes.
type Event interface{ EventType() string }

// MaxTables is the largest number of tables in one TablesSeated.
const MaxTables = 500

// Table is a table that was seated. The match id and the commitment are derived
// from three values: the revision of the table's event, the table's index in
// that event, and the seed key.
type Table struct {
	MatchID    string    `json:"matchId"`
	Bots       []string  `json:"bots"` // 3 or 4, in ladder order
	Commitment seed.Seed `json:"commitment"`
}

// TablesSeated opens matches and puts bots into them.
type TablesSeated struct {
	Tick    time.Time `json:"tick"` // the time at which the bots' rest was checked; UTC, in milliseconds
	SeedKey string    `json:"seedKey"`
	Tables  []Table   `json:"tables"`

	// The fields below are missing from events that older arenas stored.

	RestMs     int64         `json:"restMs,omitempty"`     // the usual rest time; 0 if bots need no rest, or if the event is older than this field
	Candidates []Candidate   `json:"candidates,omitempty"` // the bots that could be seated, in ladder order; any that were not seated come last
	Beacon     *beacon.Named `json:"beacon,omitempty"`     // the beacon round that the seeds use; nil if the arena has no beacon
}

// RatedSeat is the result of a match for one of its bots.
type RatedSeat struct {
	BotID     string        `json:"botId"`
	Placement int           `json:"placement"` // 1 is the best; ties share a placement
	Before    rating.Rating `json:"before"`
	After     rating.Rating `json:"after"`
	Missed    bool          `json:"missed"` // the bot did not answer at all during the match
}

// RatingsChanged completes a match. Its seats are in the table order of the
// TablesSeated event, not in the order of the match's seats. Only in this order does
// rating.Rate reproduce the ratings to the last bit.
type RatingsChanged struct {
	MatchID string      `json:"match"`
	Seats   []RatedSeat `json:"seats"`
}

// The reasons why a match is voided.
const (
	WhyWallClock = "wall_clock"
	WhyOperator  = "operator"
	WhyBeacon    = "beacon" // the round that the table names did not appear in time; the bots do not rest
)

// MatchVoided ends a match without ratings.
type MatchVoided struct {
	MatchID string `json:"match"`
	Why     string `json:"why"` // wall_clock, operator or beacon
}

// EventType implements Event.
func (TablesSeated) EventType() string { return "TablesSeated" }

// EventType implements Event.
func (RatingsChanged) EventType() string { return "RatingsChanged" }

// EventType implements Event.
func (MatchVoided) EventType() string { return "MatchVoided" }

// Decode reads a stored event. An unknown type is an error.
func Decode(eventType string, data []byte) (Event, error) {
	switch eventType {
	case "TablesSeated":
		return event.Decode[TablesSeated](data)
	case "RatingsChanged":
		return event.Decode[RatingsChanged](data)
	case "MatchVoided":
		return event.Decode[MatchVoided](data)
	default:
		return nil, event.UnknownType(eventType, "a ladder stream")
	}
}
