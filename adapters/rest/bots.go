package rest

import "hexarena/domain/health"

// Bot is a bot as its owner sees it.
type Bot struct {
	ID        string `json:"id"`
	OwnerID   string `json:"ownerId"`
	Name      string `json:"name"`
	Mode      string `json:"mode" enum:"standard,parley"`
	URL       string `json:"url" format:"uri"`
	Status    string `json:"status" enum:"active,paused"`
	CreatedAt string `json:"createdAt" format:"date-time"`

	Health  *BotHealth  `json:"health" doc:"Whether the bot works. Null while the arena cannot tell."`
	Seating *BotSeating `json:"seating" doc:"When the bot gets its next table. Null while the arena cannot tell."`
	Trial   *BotTrial   `json:"trial" doc:"The bot's latest trial; null if it had none."`
}

// BotHealth says whether a bot works (docs/protocol.md, "Health").
type BotHealth struct {
	State     string    `json:"state" enum:"untested,ok,failing,unreachable"`
	Since     string    `json:"since" format:"date-time" doc:"When the state began. For an untested bot, this is its registration."`
	LastError *BotError `json:"lastError" doc:"The latest failed decision, or null."`
	Recent    BotRecent `json:"recent"`
}

// BotError is a failed decision.
type BotError struct {
	MatchID string `json:"matchId"`
	Seq     int    `json:"seq" minimum:"1" doc:"The seq of the event in the match."`
	At      string `json:"at" format:"date-time"`
	Code    string `json:"code" doc:"The code of the fault, the reason why the answer was illegal, or the cause of the timeout if nothing more is known."`
	Message string `json:"message" doc:"The error as a sentence."`
}

// BotRecent counts what went wrong in a bot's last matches.
type BotRecent = health.Recent

// The states of BotSeating.
const (
	SeatingSuspended = "suspended"
	SeatingPaused    = "paused"
	SeatingPlaying   = "playing"
	SeatingResting   = "resting"
	SeatingWaiting   = "waiting"
)

// BotSeating says when a bot gets its next table. If several states apply, State is the
// first of them in the list of constants above.
type BotSeating struct {
	State   string  `json:"state" enum:"suspended,paused,playing,resting,waiting"`
	Since   *string `json:"since" format:"date-time" doc:"When the state began; null for playing."`
	Until   *string `json:"until" format:"date-time" doc:"When the rest ends; null for other states."`
	MatchID *string `json:"matchId" doc:"The match that the bot plays; null for other states."`
	Reason  *string `json:"reason" doc:"Why the operator suspended the bot or the account; null for other states, and if the operator gave no reason."`
}

// Words describes the seating in words, such as "resting until 14:03". The
// function clock() formats a time.
func (s BotSeating) Words(clock func(time string) string) string {
	switch {
	case s.Reason != nil:
		return s.State + ": " + *s.Reason
	case s.Until != nil:
		return s.State + " until " + clock(*s.Until)
	case s.Since == nil:
		return s.State
	case s.State == SeatingWaiting:
		return "waiting for a table since " + clock(*s.Since)
	}
	return s.State + " since " + clock(*s.Since)
}

// Bots lists an account's bots.
type Bots struct {
	Bots []Bot `json:"bots" nullable:"false"`
}

// NewBot registers a bot.
type NewBot struct {
	Name string `json:"name" minLength:"1" maxLength:"40"`
	Mode string `json:"mode" enum:"standard,parley"`
	URL  string `json:"url" format:"uri"`

	Status *string `json:"status,omitempty" enum:"active,paused" doc:"Default: active."`
}

// BotPatch is a change of a bot. Absent fields do not change.
type BotPatch struct {
	Name   *string `json:"name,omitempty" minLength:"1" maxLength:"40"`
	URL    *string `json:"url,omitempty" format:"uri"`
	Status *string `json:"status,omitempty" enum:"active,paused"`
}

// Check is the result of a deploy check.
type Check struct {
	OK    bool   `json:"ok"`
	Steps []Step `json:"steps" nullable:"false"`
}

// Step is one step of a deploy check.
type Step struct {
	Name      string `json:"name"`
	OK        bool   `json:"ok"`
	Detail    string `json:"detail"` // a sentence for the owner
	ElapsedMs int64  `json:"elapsedMs"`
}

// StepWriter is an optional interface of an http.ResponseWriter, like http.Flusher. A
// caller in the same process implements StepWriter to follow a deploy check. The API
// calls WriteStep when a step ends, before it writes the response.
type StepWriter interface {
	WriteStep(Step)
}

// LinesType is the content type of a response in NDJSON, which has one JSON object on
// each line.
const LinesType = "application/x-ndjson"

// BotDecision is one line of the log that contains all decisions of a bot.
type BotDecision struct {
	Cursor   string   `json:"cursor" doc:"The position of this decision in the log. Send it as the parameter since to get the decisions that follow."`
	MatchID  string   `json:"matchId"`
	Decision Decision `json:"decision"`
}

// Decisions lists the decisions of one bot in one match.
type Decisions struct {
	Decisions []Decision `json:"decisions" nullable:"false"`
}
