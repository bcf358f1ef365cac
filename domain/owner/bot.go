package owner

import (
	"strings"
	"time"

	"hexarena/domain/ladder"
)

// BotLimit is how many active bots an account may have in one mode.
const BotLimit = 5

// Status of a bot.
type Status string

// The statuses (docs/protocol.md).
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
	Status    Status // as readers see it: a suspended bot, or a bot of a suspended account, is Paused
	CreatedAt time.Time

	StatusSince time.Time // time of the latest change of Status
	PausedBy    string    // ByOwner or ByMisses; empty if not paused; a suspension does not change it
	Suspended   bool      // by the operator; applies only to this bot
	Why         string    // the operator's reason for the suspension of this bot; empty if not suspended
	Notified    bool      // whether its owner received the email about the latest pause for misses
	Trial       Trial     // its latest trial
	Mails       []BotMail // the latest email of each kind
}

// NoticeOwed reports whether the arena has paused the bot for misses and has
// not yet sent an email to its owner.
func (b Bot) NoticeOwed() bool { return b.PausedBy == ByMisses && !b.Notified }

// The method settled() returns b with the status that its pauses and suspensions
// imply.
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

// Bot returns the account's bot with the given id. It does not find removed
// bots.
func (a Account) Bot(id string) (Bot, bool) {
	return find(a.Bots, func(b Bot) bool { return b.ID == id })
}

// NewBot is a bot to register. Its fields have been checked.
type NewBot struct {
	Name, Mode, URL string
	Status          Status
}

// ParseBot checks the fields of a bot to register. Without a status, the bot is
// active. The error names each invalid field.
func ParseBot(name, mode, url string, status *string) (NewBot, error) {
	name, nameErr := ParseName(name)
	url, urlErr := ParseURL(url)
	var modeErr error
	if !ladder.IsMode(mode) {
		modeErr = Invalid("mode", "must be "+strings.Join(ladder.Modes, " or "))
	}
	parsed, statusErr := Active, error(nil)
	if status != nil {
		parsed, statusErr = parseStatus(*status)
	}
	if err := Together(nameErr, modeErr, urlErr, statusErr); err != nil {
		return NewBot{}, err
	}
	return NewBot{Name: name, Mode: mode, URL: url, Status: parsed}, nil
}

func parseStatus(text string) (Status, error) {
	s := Status(text)
	if s != Active && s != Paused {
		return "", Invalid("status", "must be active or paused")
	}
	return s, nil
}

// RegisterBot adds a bot under a new id. If the bot does not start out paused,
// RegisterBot may fail with ErrBotLimit.
func (a Account) RegisterBot(id string, b NewBot) ([]Event, error) {
	registered := BotRegistered{BotID: id, Name: b.Name, Mode: b.Mode, URL: b.URL}
	switch {
	case b.Status == Paused:
		return []Event{registered, BotPaused{BotID: id, By: ByOwner}}, nil
	case a.activeBots(b.Mode) >= BotLimit:
		return nil, ErrBotLimit
	}
	return []Event{registered}, nil
}

// BotChange is a change to a bot. Its fields have been checked. A nil field
// leaves the bot's value unchanged.
type BotChange struct {
	Name   *string
	URL    *string
	Status *Status
}

// ParseBotChange checks the fields of a change to a bot. Its error names each
// invalid field.
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
		var parsed Status
		parsed, errs[2] = parseStatus(*status)
		c.Status = &parsed
	}
	if err := Together(errs[:]...); err != nil {
		return BotChange{}, err
	}
	return c, nil
}

// ChangeBot changes a bot for its owner. A field that already has the new value
// causes no event. ChangeBot may fail with ErrBotUnknown. A change to active may also
// fail with ErrBotSuspended, ErrBotInTrial or ErrBotLimit.
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

// changeStatus pauses or unpauses a bot for its owner. A bot that its owner paused
// stays paused when a suspension ends.
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
	case b.Trial.Open():
		return nil, ErrBotInTrial
	case a.activeBots(b.Mode) >= BotLimit:
		return nil, ErrBotLimit
	}
	return []Event{BotUnpaused{BotID: b.ID}}, nil
}

// PauseForMisses pauses a bot that has missed its matches for a week. The parameter
// since is the time of the first miss. If the bot is already paused, or its status
// has changed after that time, PauseForMisses returns no event. It may fail with
// ErrBotUnknown.
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

// RemoveBot removes a bot permanently. It may fail with ErrBotUnknown.
func (a Account) RemoveBot(id string) ([]Event, error) {
	if _, ok := a.Bot(id); !ok {
		return nil, ErrBotUnknown
	}
	return []Event{BotRemoved{BotID: id}}, nil
}

// activeBots counts the bots that their owner wants to play, including
// suspended ones.
func (a Account) activeBots(mode string) int {
	return count(a.Bots, func(b Bot) bool { return b.Mode == mode && b.PausedBy == "" })
}
