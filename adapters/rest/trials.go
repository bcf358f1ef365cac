package rest

// The statuses of a trial.
const (
	TrialWaiting = "waiting"
	TrialRunning = "running"
	TrialEnded   = "ended"
)

// Trial is an unrated game of a bot against house bots. Only the bot's owner sees it.
type Trial struct {
	ID        string  `json:"id"`
	BotID     string  `json:"botId"`
	Mode      string  `json:"mode" enum:"standard,parley"`
	Status    string  `json:"status" enum:"waiting,running,ended"`
	Outcome   *string `json:"outcome" doc:"Null until the trial has ended. completed, wall_clock and operator mean that the game was played, and ended like a match with this reason. in_match, draining and expired mean that the game was not played to the end."`
	StartedAt *string `json:"startedAt" format:"date-time"`
	EndedAt   *string `json:"endedAt" format:"date-time"`
	Seat      *int    `json:"seat" doc:"The bot's seat; null until the game has started."`
	Turns     int     `json:"turns"`

	Players   []TrialPlayer   `json:"players" nullable:"false" doc:"In seat order; empty until the game has started."`
	Decisions []TrialKind     `json:"decisions" nullable:"false" doc:"The bot's decisions by kind, in the order in which the game first asked for them."`
	Strikes   []TrialDecision `json:"strikes" nullable:"false" doc:"The bot's decisions that caused a strike."`
	Resigned  bool            `json:"resigned" doc:"Whether the bot got its third strike and therefore resigned."`
	Latency   *TrialLatency   `json:"latency" doc:"Null until the bot has had a decision."`
	Events    int             `json:"events" doc:"The number of public events so far."`
}

// TrialPlayer is a player in a trial.
type TrialPlayer struct {
	Seat      int    `json:"seat"`
	BotID     string `json:"botId" doc:"For a house bot, house-1, house-2 or house-3."`
	BotName   string `json:"botName"`
	Score     int    `json:"score" doc:"The points that everybody can see; once the game has ended, all points."`
	Placement *int   `json:"placement" doc:"Null until the game has ended with placements."`
}

// TrialKind counts the decisions of one kind.
type TrialKind struct {
	Kind     string `json:"kind" enum:"setup,turn,discard,bandit,trade"`
	Played   int    `json:"played"`
	Timeouts int    `json:"timeouts"`
	Illegal  int    `json:"illegal"`
}

// TrialLatency says how long the bot took for its decisions, in milliseconds. A timeout
// counts as the time until the decision closed.
type TrialLatency struct {
	P50Ms int64 `json:"p50Ms"`
	P95Ms int64 `json:"p95Ms"`
	MaxMs int64 `json:"maxMs"`
}

// TrialDecision is one decision of the bot in a trial. The trial's decision log also
// contains the request and the answer.
type TrialDecision struct {
	ID        int     `json:"id"`
	Seq       int     `json:"seq" doc:"The seq of the event that closed the decision."`
	Kind      string  `json:"kind" enum:"setup,turn,discard,bandit,trade"`
	Outcome   string  `json:"outcome" enum:"played,timeout,illegal"`
	ElapsedMs int64   `json:"elapsedMs"`
	Code      *string `json:"code" doc:"Why the decision failed: the code of the fault, the cause of the timeout, or the reason why the answer was illegal; null if the decision did not fail."`
	Message   *string `json:"message" doc:"The code as a sentence, if there is one."`
	Strikes   int     `json:"strikes" doc:"The seat's strikes after this decision."`
	Resigned  bool    `json:"resigned" doc:"Whether this decision's strike was the third one, which made the seat resign."`
}

// BotTrial is the latest trial of a bot.
type BotTrial struct {
	ID        string  `json:"id"`
	OrderedAt string  `json:"orderedAt" format:"date-time"`
	EndedAt   *string `json:"endedAt" format:"date-time"`
	Outcome   *string `json:"outcome" doc:"Null until the trial has ended. Trial explains the outcomes."`
}
