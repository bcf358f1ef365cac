package owner

import (
	"slices"
	"time"
)

// BotLimit is how many active bots an account may have in one mode.
const BotLimit = 5

// Status of a bot.
type Status string

// The statuses (specification, "Bot status").
const (
	Active Status = "active"
	Paused Status = "paused"
)

// Bot is a registered bot.
type Bot struct {
	ID        string
	Name      string
	Mode      string
	URL       string
	Status    Status
	CreatedAt time.Time
}

// Bot returns one of the account's bots that have not been removed.
func (a Account) Bot(id string) (Bot, bool) {
	i := slices.IndexFunc(a.Bots, func(b Bot) bool { return b.ID == id })
	if i < 0 {
		return Bot{}, false
	}
	return a.Bots[i], true
}

// NewBot is a bot to register, its fields checked.
type NewBot struct{ Name, Mode, URL string }

// ParseBot checks the fields of a bot to register; its error names each that
// is wrong.
func ParseBot(name, mode, url string) (NewBot, error) {
	name, nameErr := ParseName(name)
	url, urlErr := ParseURL(url)
	var modeErr error
	if !ValidMode(mode) {
		modeErr = Invalid("mode", "must be "+ModeStandard+" or "+ModeParley)
	}
	if err := Together(nameErr, modeErr, urlErr); err != nil {
		return NewBot{}, err
	}
	return NewBot{Name: name, Mode: mode, URL: url}, nil
}

// RegisterBot adds an active bot under a new id. Its refusal is ErrBotLimit.
func (a Account) RegisterBot(id string, b NewBot) ([]Event, error) {
	if a.activeBots(b.Mode) >= BotLimit {
		return nil, ErrBotLimit
	}
	return []Event{BotRegistered{BotID: id, Name: b.Name, Mode: b.Mode, URL: b.URL}}, nil
}

// BotChange is what to change of a bot, its fields checked; nil leaves a field
// as it is.
type BotChange struct {
	Name   *string
	URL    *string
	Status *Status
}

// ParseBotChange checks the fields of a change; its error names each that is
// wrong.
func ParseBotChange(name, url, status *string) (BotChange, error) {
	var c BotChange
	var errs [3]error
	if name != nil {
		var parsed string
		parsed, errs[0] = ParseName(*name)
		c.Name = &parsed
	}
	if url != nil {
		_, errs[1] = ParseURL(*url)
		c.URL = url
	}
	if status != nil {
		s := Status(*status)
		c.Status = &s
		if s != Active && s != Paused {
			errs[2] = Invalid("status", "must be active or paused")
		}
	}
	if err := Together(errs[:]...); err != nil {
		return BotChange{}, err
	}
	return c, nil
}

// ChangeBot changes a bot for its owner; what is as wanted already causes
// nothing. Its refusals are ErrBotUnknown and, for a bot to become active,
// ErrBotLimit.
func (a Account) ChangeBot(id string, c BotChange) ([]Event, error) {
	b, ok := a.Bot(id)
	if !ok {
		return nil, ErrBotUnknown
	}
	var events []Event
	if c.Name != nil && *c.Name != b.Name {
		events = append(events, BotRenamed{BotID: id, Name: *c.Name})
	}
	if c.URL != nil && *c.URL != b.URL {
		events = append(events, BotURLChanged{BotID: id, URL: *c.URL})
	}
	switch {
	case c.Status == nil || *c.Status == b.Status:
		return events, nil
	case *c.Status == Paused:
		return append(events, BotPaused{BotID: id, By: ByOwner}), nil
	case a.activeBots(b.Mode) >= BotLimit:
		return nil, ErrBotLimit
	default:
		return append(events, BotUnpaused{BotID: id}), nil
	}
}

// PauseBot pauses a bot for someone other than its owner (ByOperator or
// ByMisses); one that is paused stays so. Its refusal is ErrBotUnknown.
func (a Account) PauseBot(id, by string) ([]Event, error) {
	b, ok := a.Bot(id)
	switch {
	case !ok:
		return nil, ErrBotUnknown
	case b.Status == Paused:
		return nil, nil
	}
	return []Event{BotPaused{BotID: id, By: by}}, nil
}

// RemoveBot removes a bot for good. Its refusal is ErrBotUnknown.
func (a Account) RemoveBot(id string) ([]Event, error) {
	if _, ok := a.Bot(id); !ok {
		return nil, ErrBotUnknown
	}
	return []Event{BotRemoved{BotID: id}}, nil
}

func (a Account) activeBots(mode string) int {
	n := 0
	for _, b := range a.Bots {
		if b.Mode == mode && b.Status == Active {
			n++
		}
	}
	return n
}
