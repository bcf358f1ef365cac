package rest

// Bot is a bot as its owner sees it.
type Bot struct {
	ID        string `json:"id"`
	OwnerID   string `json:"ownerId"`
	Name      string `json:"name"`
	Mode      string `json:"mode" enum:"standard,parley"`
	URL       string `json:"url" format:"uri"`
	Status    string `json:"status" enum:"active,paused"`
	CreatedAt string `json:"createdAt" format:"date-time"`
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

// LinesType is the content type of an answer in NDJSON: one JSON object on each line.
const LinesType = "application/x-ndjson"

// BotDecision is one line of the log of all decisions of a bot.
type BotDecision struct {
	Cursor   string   `json:"cursor" doc:"The position of this decision in the log. With this cursor as since, the log continues after this decision."`
	MatchID  string   `json:"matchId"`
	Decision Decision `json:"decision"`
}

// Decisions lists the decisions of one bot in one match.
type Decisions struct {
	Decisions []Decision `json:"decisions" nullable:"false"`
}
