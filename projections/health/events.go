package health

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"hexarena/domain/health"
	"hexarena/domain/match"
	"hexarena/domain/owner"
	"hexarena/eventstore"
)

// The types of an Event.
const (
	BotSeated      = "bot.seated"
	BotFailing     = "bot.failing"
	BotUnreachable = "bot.unreachable"
	BotRecovered   = "bot.recovered"
	BotPaused      = "bot.paused"
	MatchCompleted = "match.completed"
	MatchAborted   = "match.aborted"
	TrialCompleted = "trial.completed"
)

// KeptEvents is the number of an owner's newest events that the model keeps.
const KeptEvents = 10_000

// Event tells an owner what happened to one of their bots (docs/protocol.md, "Events
// for owners"). It depends only on the log up to the position in its id.
type Event struct {
	ID        string      `json:"id"` // see ID
	Type      string      `json:"type"`
	At        string      `json:"at"` // in match.TimeFormat
	BotID     string      `json:"botId"`
	BotName   string      `json:"botName"` // at the time of the event
	Mode      string      `json:"mode"`
	MatchID   string      `json:"matchId,omitempty"` // absent if the bot was paused or played a trial
	TrialID   string      `json:"trialId,omitempty"`
	Placement int         `json:"placement,omitempty"` // only of a completed match
	Missed    bool        `json:"missed,omitempty"`    // true if the bot sent no answer in the completed match
	Error     *EventError `json:"error,omitempty"`     // only of a bot that is failing or unreachable
	By        string      `json:"by,omitempty"`        // who paused the bot: see owner.BotPaused
	Reason    string      `json:"reason,omitempty"`    // why the match was aborted, or why the operator suspended the bot
	Outcome   string      `json:"outcome,omitempty"`   // how the trial ended: see owner.TrialEnded
}

// EventError is the latest failed decision at the time of an Event. Later details do
// not change it.
type EventError struct {
	MatchID string `json:"matchId"`
	Seq     int    `json:"seq"`
	Code    string `json:"code"`
	Message string `json:"message"`
}

// ID identifies an Event of an owner: a position in the log, and a number from 1 that
// distinguishes the owner's events at that position. The zero ID comes before all events.
type ID struct {
	Position eventstore.Position
	Part     int
}

// String returns the ID as text, as in the field "id" of an Event. The zero ID is "0".
func (id ID) String() string {
	if id == (ID{}) {
		return "0"
	}
	return fmt.Sprintf("%d.%d", id.Position, id.Part)
}

// ParseID reads the text of an ID.
func ParseID(text string) (id ID, ok bool) {
	if text == id.String() {
		return id, true
	}
	position, part, _ := strings.Cut(text, ".")
	p, err1 := strconv.ParseUint(position, 10, 63)
	n, err2 := strconv.ParseUint(part, 10, 31)
	id = ID{eventstore.Position(p), int(n)}
	return id, err1 == nil && err2 == nil && id.String() == text
}

// These errors say why a reader cannot continue after an event.
var (
	ErrEventTooOld  = errors.New("the event is older than the events that the arena keeps")
	ErrEventUnknown = errors.New("there is no such event")
)

// After returns the number of the event with this ID. Pass this number to Events as n.
// For the zero ID, it returns one less than the number of the oldest event that the model
// keeps. The rows must include the position of the ID.
func (h *Health) After(ownerID string, id ID) (n int64, err error) {
	oldest, oldestN, err := h.edge(ownerID, "ASC")
	switch {
	case err != nil:
		return 0, err
	case id == ID{}:
		return max(0, oldestN-1), nil
	}
	err = h.rows.Load().QueryRowContext(context.Background(), "SELECT n FROM events WHERE owner = ? AND position = ? AND part = ?",
		ownerID, int64(id.Position), id.Part).Scan(&n)
	if !errors.Is(err, sql.ErrNoRows) {
		return n, err
	}
	if oldestN > 1 && (id.Position < oldest.Position || id.Position == oldest.Position && id.Part < oldest.Part) {
		return 0, ErrEventTooOld
	}
	return 0, ErrEventUnknown
}

// Newest returns the ID and the number of an owner's newest event. Without an event,
// both are zero.
func (h *Health) Newest(ownerID string) (ID, int64, error) { return h.edge(ownerID, "DESC") }

func (h *Health) edge(ownerID, order string) (id ID, n int64, err error) {
	var position int64
	err = h.rows.Load().QueryRowContext(context.Background(), "SELECT n, position, part FROM events WHERE owner = ? ORDER BY n "+order+" LIMIT 1", ownerID).
		Scan(&n, &position, &id.Part)
	if errors.Is(err, sql.ErrNoRows) {
		err = nil
	}
	id.Position = eventstore.Position(position)
	return id, n, err
}

// Events returns at most limit events of an owner that follow the event with the number
// n, oldest first. If the next event is no longer kept, the error is ErrEventTooOld.
func (h *Health) Events(ownerID string, n int64, limit int) (list []Event, err error) {
	rows, err := h.rows.Load().QueryContext(context.Background(), "SELECT n, event FROM events WHERE owner = ? AND n > ? ORDER BY n LIMIT ?", ownerID, n, limit)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var next int64
		var text string
		var e Event
		if err := rows.Scan(&next, &text); err != nil {
			return nil, err
		}
		if n++; next != n {
			return nil, ErrEventTooOld
		}
		if err := json.Unmarshal([]byte(text), &e); err != nil {
			return nil, err
		}
		list = append(list, e)
	}
	return list, rows.Err()
}

// applyAccount keeps track of who owns which bot.
func applyAccount(f fact, r eventstore.Recorded) error {
	ownerID, ok := owner.ParseAccountStream(string(r.Stream))
	if !ok {
		return nil
	}
	e, err := owner.Decode(r.Type, r.Data)
	if err != nil {
		return err
	}
	switch e := e.(type) {
	case owner.BotRegistered:
		return f.tx.Exec("INSERT INTO owned (bot, owner, name, mode) VALUES (?, ?, ?, ?)", e.BotID, ownerID, e.Name, e.Mode)
	case owner.BotRenamed:
		return f.tx.Exec("UPDATE owned SET name = ? WHERE bot = ?", e.Name, e.BotID)
	case owner.BotPaused:
		return f.tell(e.BotID, Event{Type: BotPaused, By: e.By, Reason: e.Reason})
	case owner.TrialEnded:
		return f.tell(e.BotID, Event{Type: TrialCompleted, TrialID: e.TrialID, Outcome: e.Outcome})
	case owner.Deleted:
		if err := f.tx.Exec("DELETE FROM owned WHERE owner = ?", ownerID); err != nil {
			return err
		}
		return f.tx.Exec("DELETE FROM events WHERE owner = ?", ownerID)
	}
	return nil
}

// tellState stores an event if a bot's new state differs from the state before.
func (f fact) tellState(bot, matchID string, before health.State, b health.Bot) error {
	e := Event{MatchID: matchID}
	switch {
	case b.State == before:
		return nil
	case b.State == health.Failing:
		e.Type = BotFailing
	case b.State == health.Unreachable:
		e.Type = BotUnreachable
	case b.State == health.OK && before != health.Untested && before != "":
		e.Type = BotRecovered
		return f.tell(bot, e)
	default:
		return nil
	}
	if l := b.LastError; l != nil {
		e.Error = &EventError{MatchID: l.MatchID, Seq: l.Seq, Code: l.Code, Message: l.Message}
	}
	return f.tell(bot, e)
}

// tell stores an event for the bot's owner, and removes the oldest one if there are
// too many. If the owner's account is deleted, tell does nothing.
func (f fact) tell(bot string, e Event) error {
	var ownerID string
	found, err := f.tx.Find("SELECT owner, name, mode FROM owned WHERE bot = ?", []any{bot}, &ownerID, &e.BotName, &e.Mode)
	if err != nil || !found {
		return err
	}
	var n, last int64
	id := ID{Position: f.position}
	if _, err := f.tx.Find("SELECT n, position, part FROM events WHERE owner = ? ORDER BY n DESC LIMIT 1", []any{ownerID}, &n, &last, &id.Part); err != nil {
		return err
	}
	if last != int64(f.position) {
		id.Part = 0
	}
	n++
	id.Part++
	e.ID, e.At, e.BotID = id.String(), f.at.UTC().Format(match.TimeFormat), bot
	text, err := json.Marshal(e)
	if err != nil {
		return err
	}
	err = f.tx.Exec("INSERT INTO events (owner, n, position, part, event) VALUES (?, ?, ?, ?, ?)", ownerID, n, int64(f.position), id.Part, string(text))
	if err != nil {
		return err
	}
	return f.tx.Exec("DELETE FROM events WHERE owner = ? AND n <= ?", ownerID, n-KeptEvents)
}
