package export

import (
	"encoding/json"
	"time"

	"hexarena/domain/match"
)

// The types below are the rows of the tables (docs/analysts.md, "As tables"). New
// columns may be added only after the existing columns. A column is never renamed, and
// its meaning never changes. A field with a pointer type is a column that may be null.

// Match is a row of the table matches: an ended match.
type Match struct {
	MatchID    string  `json:"match_id" parquet:"match_id"`
	Mode       string  `json:"mode" parquet:"mode,dict"`
	Position   int64   `json:"position" parquet:"position"`
	Status     string  `json:"status" parquet:"status,dict"`
	Reason     string  `json:"reason" parquet:"reason,dict"`
	Rules      int32   `json:"rules" parquet:"rules"`
	Seats      int32   `json:"seats" parquet:"seats"`
	Turns      int32   `json:"turns" parquet:"turns"`
	Events     int32   `json:"events" parquet:"events"`
	Decisions  int32   `json:"decisions" parquet:"decisions"`
	StartedAt  instant `json:"started_at" parquet:"started_at,timestamp(millisecond)"`
	EndedAt    instant `json:"ended_at" parquet:"ended_at,timestamp(millisecond)"`
	Commitment string  `json:"commitment" parquet:"commitment"`
	Seed       string  `json:"seed" parquet:"seed"`
	ServerSeed string  `json:"server_seed" parquet:"server_seed"`
	SeedKey    string  `json:"seed_key" parquet:"seed_key,dict"`
}

// Seat is a row of the table seats: one bot in one match. OwnerID is empty if the owner
// has deleted the account.
type Seat struct {
	MatchID    string `json:"match_id" parquet:"match_id,dict"`
	Seat       int32  `json:"seat" parquet:"seat"`
	BotID      string `json:"bot_id" parquet:"bot_id,dict"`
	BotName    string `json:"bot_name" parquet:"bot_name,dict"`
	OwnerID    string `json:"owner_id" parquet:"owner_id,dict"`
	Placement  *int32 `json:"placement" parquet:"placement,optional"`
	Score      *int32 `json:"score" parquet:"score,optional"`
	Missed     *bool  `json:"missed" parquet:"missed,optional"`
	Resigned   bool   `json:"resigned" parquet:"resigned"`
	Strikes    int32  `json:"strikes" parquet:"strikes"`
	Decisions  int32  `json:"decisions" parquet:"decisions"`
	ThinkingMs int64  `json:"thinking_ms" parquet:"thinking_ms"`
	Nonce      string `json:"nonce" parquet:"nonce"`

	// These columns are null in rows that a version of the program without them wrote.
	Received    *int32  `json:"received" parquet:"received,optional"`
	Expected36  *int32  `json:"expected36" parquet:"expected36,optional"`
	Blocked     *int32  `json:"blocked" parquet:"blocked,optional"`
	Discarded   *int32  `json:"discarded" parquet:"discarded,optional"`
	Stole       *int32  `json:"stole" parquet:"stole,optional"`
	Stolen      *int32  `json:"stolen" parquet:"stolen,optional"`
	OpeningPips *int32  `json:"opening_pips" parquet:"opening_pips,optional"`
	Version     *string `json:"version" parquet:"version,optional,dict"`
}

// Event is a row of the table events: a public event of a match.
type Event struct {
	MatchID string  `json:"match_id" parquet:"match_id,dict"`
	Seq     int32   `json:"seq" parquet:"seq"`
	At      instant `json:"at" parquet:"at,timestamp(millisecond)"`
	Turn    int32   `json:"turn" parquet:"turn"`
	Kind    string  `json:"kind" parquet:"kind,dict"`
	Seat    *int32  `json:"seat" parquet:"seat,optional"`
	Data    object  `json:"data" parquet:"data"`
}

// Decision is a row of the table decisions: one decision that a bot was asked
// to make.
type Decision struct {
	MatchID   string  `json:"match_id" parquet:"match_id,dict"`
	Seat      int32   `json:"seat" parquet:"seat"`
	Decision  int32   `json:"decision" parquet:"decision"`
	Seq       int32   `json:"seq" parquet:"seq"`
	At        instant `json:"at" parquet:"at,timestamp(millisecond)"`
	Turn      int32   `json:"turn" parquet:"turn"`
	Kind      string  `json:"kind" parquet:"kind,dict"`
	Outcome   string  `json:"outcome" parquet:"outcome,dict"`
	Cause     *string `json:"cause" parquet:"cause,optional,dict"`
	Reason    *string `json:"reason" parquet:"reason,optional,dict"`
	ElapsedMs int64   `json:"elapsed_ms" parquet:"elapsed_ms"`
	Answer    *string `json:"answer" parquet:"answer,optional"`
	Action    object  `json:"action" parquet:"action"`
}

// Trade is a row of the table trades: a trade between two seats.
type Trade struct {
	MatchID    string  `json:"match_id" parquet:"match_id,dict"`
	Seq        int32   `json:"seq" parquet:"seq"`
	At         instant `json:"at" parquet:"at,timestamp(millisecond)"`
	Turn       int32   `json:"turn" parquet:"turn"`
	From       int32   `json:"from_seat" parquet:"from_seat"`
	To         int32   `json:"to_seat" parquet:"to_seat"`
	GiveBrick  int32   `json:"give_brick" parquet:"give_brick"`
	GiveLumber int32   `json:"give_lumber" parquet:"give_lumber"`
	GiveWool   int32   `json:"give_wool" parquet:"give_wool"`
	GiveGrain  int32   `json:"give_grain" parquet:"give_grain"`
	GiveOre    int32   `json:"give_ore" parquet:"give_ore"`
	GetBrick   int32   `json:"get_brick" parquet:"get_brick"`
	GetLumber  int32   `json:"get_lumber" parquet:"get_lumber"`
	GetWool    int32   `json:"get_wool" parquet:"get_wool"`
	GetGrain   int32   `json:"get_grain" parquet:"get_grain"`
	GetOre     int32   `json:"get_ore" parquet:"get_ore"`
}

// RatingChange is a row of the table rating_changes: the effect of a completed
// match on a bot.
type RatingChange struct {
	MatchID      string  `json:"match_id" parquet:"match_id"`
	Mode         string  `json:"mode" parquet:"mode,dict"`
	Position     int64   `json:"position" parquet:"position"`
	EndedAt      instant `json:"ended_at" parquet:"ended_at,timestamp(millisecond)"`
	BotID        string  `json:"bot_id" parquet:"bot_id,dict"`
	Placement    int32   `json:"placement" parquet:"placement"`
	MuBefore     float64 `json:"mu_before" parquet:"mu_before"`
	SigmaBefore  float64 `json:"sigma_before" parquet:"sigma_before"`
	MuAfter      float64 `json:"mu_after" parquet:"mu_after"`
	SigmaAfter   float64 `json:"sigma_after" parquet:"sigma_after"`
	RatingBefore float64 `json:"rating_before" parquet:"rating_before"`
	RatingAfter  float64 `json:"rating_after" parquet:"rating_after"`
}

// instant is a time in Unix milliseconds. In JSON, it is encoded in the format of RFC
// 3339.
type instant int64

func instantOf(t time.Time) instant { return instant(t.UnixMilli()) }

// MarshalJSON implements json.Marshaler.
func (i instant) MarshalJSON() ([]byte, error) {
	b := append(make([]byte, 0, len(match.TimeFormat)+4), '"')
	return append(time.UnixMilli(int64(i)).UTC().AppendFormat(b, match.TimeFormat), '"'), nil
}

// object is a JSON value. A Parquet file stores it as text.
type object string

// MarshalJSON implements json.Marshaler.
func (o object) MarshalJSON() ([]byte, error) {
	return json.RawMessage(o).MarshalJSON()
}

// The type rows contains the rows of one match, for all tables.
type rows struct {
	matches       []Match
	seats         []Seat
	events        []Event
	decisions     []Decision
	trades        []Trade
	ratingChanges []RatingChange
	stored        int // the number of events in the match's stream
}
