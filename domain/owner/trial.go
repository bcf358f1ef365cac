package owner

import (
	"errors"
	"fmt"
	"time"
)

// TrialLimit is how many trials an owner may order within TrialWindow
// (docs/protocol.md, "Trials").
const (
	TrialLimit  = 10
	TrialWindow = time.Hour
)

// The outcomes of a trial. For the first three, the game was played.
const (
	TrialCompleted = "completed"
	TrialWallClock = "wall_clock"
	TrialOperator  = "operator"
	TrialInMatch   = "in_match" // the bot was still in a match that began before its pause
	TrialDraining  = "draining" // an operator is draining the arena
	TrialExpired   = "expired"  // no process could play the trial in time
)

// The errors of a trial.
var (
	ErrBotNotPaused = errors.New("the bot is active: pause it first, because a bot is in only one game at a time")
	ErrBotInTrial   = errors.New("the bot is in a trial: wait until the trial has ended")
)

// TrialLimitError rejects a trial because the owner has ordered TrialLimit trials
// within TrialWindow.
type TrialLimitError struct {
	Wait time.Duration // until the owner may order the next one
}

func (e *TrialLimitError) Error() string {
	return fmt.Sprintf("more than %d trials within an hour", TrialLimit)
}

// Trial is the latest trial of a bot. The zero value means that the bot had none.
type Trial struct {
	ID        string
	OrderedAt time.Time
	EndedAt   time.Time
	Outcome   string // empty until the trial has ended
}

// Open reports whether the trial has been ordered and has not ended.
func (t Trial) Open() bool { return t.ID != "" && t.Outcome == "" }

// OrderTrial orders a trial of a paused bot under a new id. It may fail with
// ErrBotUnknown, ErrBotSuspended, ErrBotNotPaused, ErrBotInTrial or a
// *TrialLimitError.
func (a Account) OrderTrial(botID, trialID string, now time.Time) ([]Event, error) {
	b, ok := a.Bot(botID)
	switch {
	case !ok:
		return nil, ErrBotUnknown
	case b.Suspended || a.Suspended:
		return nil, ErrBotSuspended
	case b.PausedBy == "":
		return nil, ErrBotNotPaused
	case b.Trial.Open():
		return nil, ErrBotInTrial
	}
	recent := without(a.trials, func(at time.Time) bool { return now.Sub(at) >= TrialWindow })
	if len(recent) >= TrialLimit {
		return nil, &TrialLimitError{Wait: recent[len(recent)-TrialLimit].Add(TrialWindow).Sub(now)}
	}
	return []Event{TrialOrdered{BotID: botID, TrialID: trialID}}, nil
}

// EndTrial ends a trial with one of the outcomes. It returns no event if the bot was
// removed or the trial has ended.
func (a Account) EndTrial(botID, trialID, outcome string) []Event {
	if b, ok := a.Bot(botID); !ok || b.Trial.ID != trialID || !b.Trial.Open() {
		return nil
	}
	return []Event{TrialEnded{BotID: botID, TrialID: trialID, Outcome: outcome}}
}

// evolveTrial returns the bots after an event about the trial of one of them.
func (a Account) evolveTrial(e Event, at time.Time) []Bot {
	switch e := e.(type) {
	case TrialOrdered:
		return changeBot(a.Bots, e.BotID, func(b *Bot) { b.Trial = Trial{ID: e.TrialID, OrderedAt: at} })
	case TrialEnded:
		return changeBot(a.Bots, e.BotID, func(b *Bot) { b.Trial.EndedAt, b.Trial.Outcome = at, e.Outcome })
	}
	return a.Bots
}
