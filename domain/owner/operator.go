package owner

import "strings"

// An operator's order needs a reason and takes effect immediately, but running
// matches continue.

// Suspend keeps all of the account's bots out of matchmaking. A suspended
// account may only read. Suspend returns no event if the account is already
// suspended. It may fail with ErrNoReason or ErrOwnerGone.
func (a Account) Suspend(reason string) ([]Event, error) {
	reason, err := a.ordered(reason)
	if err != nil || a.Suspended {
		return nil, err
	}
	return []Event{Suspended{Reason: reason}}, nil
}

// Restore ends the suspension of an account. Bots that are paused or suspended
// individually stay paused. Restore may fail with the same errors as Suspend.
func (a Account) Restore(reason string) ([]Event, error) {
	reason, err := a.ordered(reason)
	if err != nil || !a.Suspended {
		return nil, err
	}
	return []Event{Restored{Reason: reason}}, nil
}

// SuspendBot keeps one bot out of matchmaking, even if its owner unpauses it.
// It returns no event if the bot is already suspended. It may fail with
// ErrNoReason, ErrOwnerGone or ErrBotUnknown.
func (a Account) SuspendBot(id, reason string) ([]Event, error) {
	b, reason, err := a.orderedBot(id, reason)
	if err != nil || b.Suspended {
		return nil, err
	}
	return []Event{BotPaused{BotID: id, By: ByOperator, Reason: reason}}, nil
}

// RestoreBot ends a bot's suspension and returns the bot to the status that its
// owner wants. It may fail with the same errors as SuspendBot.
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

// The method ordered() returns an order's reason without surrounding spaces. It
// checks that the reason is not empty and that the account exists.
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
