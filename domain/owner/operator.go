package owner

import "strings"

// What an operator orders takes effect at once, and says why. Matches that are
// on go on.

// Suspend keeps all of the account's bots out of matchmaking and the account
// from writing; while it is suspended there is nothing to do. Its refusals are
// ErrNoReason and ErrOwnerGone.
func (a Account) Suspend(reason string) ([]Event, error) {
	reason, err := a.ordered(reason)
	if err != nil || a.Suspended {
		return nil, err
	}
	return []Event{Suspended{Reason: reason}}, nil
}

// Restore takes that back: bots are again what they were. Its refusals are
// those of Suspend.
func (a Account) Restore(reason string) ([]Event, error) {
	reason, err := a.ordered(reason)
	if err != nil || !a.Suspended {
		return nil, err
	}
	return []Event{Restored{Reason: reason}}, nil
}

// SuspendBot keeps one bot out of matchmaking, whatever its owner wants; while
// it is suspended there is nothing to do. Its refusals are ErrNoReason,
// ErrOwnerGone and ErrBotUnknown.
func (a Account) SuspendBot(id, reason string) ([]Event, error) {
	b, reason, err := a.orderedBot(id, reason)
	if err != nil || b.Suspended {
		return nil, err
	}
	return []Event{BotPaused{BotID: id, By: ByOperator, Reason: reason}}, nil
}

// RestoreBot takes that back: the bot is again what its owner wants it to be.
// Its refusals are those of SuspendBot.
func (a Account) RestoreBot(id, reason string) ([]Event, error) {
	b, reason, err := a.orderedBot(id, reason)
	if err != nil || !b.Suspended {
		return nil, err
	}
	return []Event{BotUnpaused{BotID: id, By: ByOperator, Reason: reason}}, nil
}

func (a Account) orderedBot(id, reason string) (Bot, string, error) {
	reason, err := a.ordered(reason)
	if err != nil {
		return Bot{}, "", err
	}
	b, ok := a.Bot(id)
	if !ok {
		return Bot{}, "", ErrBotUnknown
	}
	return b, reason, nil
}

// ordered checks an order's reason, white space at its ends aside, and that
// there is an account to carry it out on.
func (a Account) ordered(reason string) (string, error) {
	reason = strings.TrimSpace(reason)
	switch {
	case reason == "":
		return "", ErrNoReason
	case !a.Exists():
		return "", ErrOwnerGone
	}
	return reason, nil
}
