package owner

import (
	"slices"
	"strings"
	"time"

	"hexarena/domain/ladder"
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
	Status    Status // what it reads: that of a suspended bot or account is Paused
	CreatedAt time.Time

	StatusSince time.Time // when Status last changed
	PausedBy    string    // ByOwner or ByMisses, also beneath a suspension; empty: not
	Suspended   bool      // by the operator, apart from its account
	Notified    bool      // its owner has been told of the latest pause by misses
}

// NoticeOwed says whether the bot's owner is still to be told that the arena
// has paused it.
func (b Bot) NoticeOwed() bool { return b.PausedBy == ByMisses && !b.Notified }

// settled returns b with the status that follows from who keeps it out.
func (b Bot) settled(accountSuspended bool, at time.Time) Bot {
	status := Active
	if b.PausedBy != "" || b.Suspended || accountSuspended {
		status = Paused
	}
	if status != b.Status {
		b.Status, b.StatusSince = status, at
	}
	return b
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
	if !ladder.IsMode(mode) {
		modeErr = Invalid("mode", "must be "+strings.Join(ladder.Modes, " or "))
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
// ErrBotSuspended and ErrBotLimit.
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
	if c.Status == nil {
		return events, nil
	}
	change, err := a.changeStatus(b, *c.Status)
	if err != nil {
		return nil, err
	}
	return append(events, change...), nil
}

// changeStatus pauses and unpauses for the owner, whose wish is kept beneath a
// suspension.
func (a Account) changeStatus(b Bot, wanted Status) ([]Event, error) {
	switch {
	case wanted == Paused && b.PausedBy != "":
		return nil, nil
	case wanted == Paused:
		return []Event{BotPaused{BotID: b.ID, By: ByOwner}}, nil
	case b.Suspended || a.Suspended:
		return nil, ErrBotSuspended
	case b.PausedBy == "":
		return nil, nil
	case a.activeBots(b.Mode) >= BotLimit:
		return nil, ErrBotLimit
	}
	return []Event{BotUnpaused{BotID: b.ID}}, nil
}

// PauseForMisses pauses a bot that has missed its matches for a week, since a
// time. One that does not play or whose status has changed since then is left
// alone. Its refusal is ErrBotUnknown.
func (a Account) PauseForMisses(id string, since time.Time) ([]Event, error) {
	b, ok := a.Bot(id)
	switch {
	case !ok:
		return nil, ErrBotUnknown
	case b.Status == Paused || !b.StatusSince.Before(since):
		return nil, nil
	}
	return []Event{BotPaused{BotID: id, By: ByMisses}}, nil
}

// RemoveBot removes a bot for good. Its refusal is ErrBotUnknown.
func (a Account) RemoveBot(id string) ([]Event, error) {
	if _, ok := a.Bot(id); !ok {
		return nil, ErrBotUnknown
	}
	return []Event{BotRemoved{BotID: id}}, nil
}

// activeBots counts the bots that their owner would have play; one that is
// suspended keeps its place.
func (a Account) activeBots(mode string) int {
	n := 0
	for _, b := range a.Bots {
		if b.Mode == mode && b.PausedBy == "" {
			n++
		}
	}
	return n
}
