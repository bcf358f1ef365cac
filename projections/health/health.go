// Package health is the read model of the bots' health: the state of each bot, its
// latest error, and what went wrong in its last matches. The model also keeps each
// owner's events, such as a bot that became unreachable. Only a bot's owner may see
// them. The rules are in domain/health.
package health

import (
	"context"
	"database/sql"
	_ "embed" // the schema
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"hexarena/domain/health"
	"hexarena/domain/ladder"
	"hexarena/domain/match"
	"hexarena/domain/owner"
	"hexarena/eventstore"
	"hexarena/projections"
)

// Health is the model. It keeps no state in memory, and reads its rows for each event
// instead. This is cheap, because failures are rare. Without failures, a match changes
// the health of its bots only when it ends.
type Health struct {
	rows atomic.Pointer[projections.Queries]
}

// New returns a model without rows. A projections.Runner must load it before the
// first call to Of.
func New() *Health { return &Health{} }

// Name implements projections.Model.
func (h *Health) Name() string { return "health" }

//go:embed schema.sql
var tables string

// Schema implements projections.Model.
func (h *Health) Schema() projections.Schema { return projections.Schema{Version: 3, Tables: tables} }

// Filter implements projections.Model. It leaves out the actions, because most events
// of a match are actions (docs/adr/0044-health-counts-failed-dials.md).
func (h *Health) Filter() eventstore.Filter {
	return eventstore.Filter{
		StreamPrefixes: []string{ladder.StreamPrefix, match.StreamPrefix, match.DetailsPrefix, owner.AccountPrefix},
		Types: []string{
			owner.BotRegistered{}.EventType(), owner.BotRenamed{}.EventType(), owner.BotPaused{}.EventType(),
			owner.TrialEnded{}.EventType(), owner.Deleted{}.EventType(),
			ladder.TablesSeated{}.EventType(), ladder.RatingsChanged{}.EventType(), ladder.MatchVoided{}.EventType(),
			match.Started{}.EventType(), match.Claimed{}.EventType(),
			match.DecisionTimedOut{}.EventType(), match.AnswerRejected{}.EventType(), match.SeatResigned{}.EventType(),
			match.TimeoutExplained{}.EventType(), match.LateAnswerReceived{}.EventType(),
		},
	}
}

// Load implements projections.Model.
func (h *Health) Load(rows *sql.DB) error {
	h.rows.Store(projections.NewQueries(rows))
	return nil
}

// Flush implements projections.Model.
func (h *Health) Flush(*projections.Tx) error { return nil }

// Of returns the health of a bot. A bot without a match is untested.
func (h *Health) Of(botID string) (health.Bot, error) {
	var text string
	err := h.rows.Load().QueryRowContext(context.Background(), "SELECT health FROM bots WHERE bot = ?", botID).Scan(&text)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return health.Bot{State: health.Untested}, nil
	case err != nil:
		return health.Bot{}, err
	}
	return decode(text)
}

// Change is the latest change of a bot's state.
type Change struct {
	BotID, OwnerID string
	State          health.State
	Since, Trouble time.Time // see health.Bot
}

// Changes returns the bots that have been in trouble and whose state changed at the
// given time or later, ordered by id. It leaves out bots of deleted accounts.
func (h *Health) Changes(since time.Time) (list []Change, err error) {
	rows, err := h.rows.Load().QueryContext(context.Background(),
		"SELECT bot, owner, state, changed, trouble FROM bots JOIN owned USING (bot) WHERE changed >= ? ORDER BY bot", since.UnixNano())
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var c Change
		var changed, trouble int64
		if err := rows.Scan(&c.BotID, &c.OwnerID, &c.State, &changed, &trouble); err != nil {
			return nil, err
		}
		c.Since, c.Trouble = time.Unix(0, changed).UTC(), time.Unix(0, trouble).UTC()
		list = append(list, c)
	}
	return list, rows.Err()
}

// Apply implements projections.Model.
func (h *Health) Apply(tx *projections.Tx, r eventstore.Recorded) error {
	meta, err := eventstore.DecodeMetadata(r)
	if err != nil {
		return err
	}
	f := fact{tx, r.Position, meta.At}
	stream := string(r.Stream)
	if id, ok := strings.CutPrefix(stream, match.DetailsPrefix); ok {
		return explain(f, id, r)
	}
	if id, ok := strings.CutPrefix(stream, match.StreamPrefix); ok {
		return applyMatch(f, id, r, meta)
	}
	if strings.HasPrefix(stream, owner.AccountPrefix) {
		return applyAccount(f, r)
	}
	e, err := ladder.Decode(r.Type, r.Data)
	if err != nil {
		return err
	}
	return applyLadder(f, e)
}

// fact holds the transaction in which an event is folded, and the position and time of
// the event.
type fact struct {
	tx       *projections.Tx
	position eventstore.Position
	at       time.Time
}

func applyLadder(f fact, e ladder.Event) error {
	switch e := e.(type) {
	case ladder.TablesSeated:
		return seat(f, e.Tables)
	case ladder.RatingsChanged:
		return complete(f, e)
	case ladder.MatchVoided:
		return abort(f, e)
	}
	return nil
}

func seat(f fact, tables []ladder.Table) error {
	for _, t := range tables {
		list, err := json.Marshal(t.Bots)
		if err != nil {
			return err
		}
		if err := f.tx.Exec("INSERT INTO playing (match, seated, claims) VALUES (?, ?, 0)", t.MatchID, string(list)); err != nil {
			return err
		}
		for _, bot := range t.Bots {
			if err := f.tell(bot, Event{Type: BotSeated, MatchID: t.MatchID}); err != nil {
				return err
			}
		}
	}
	return nil
}

func complete(f fact, e ladder.RatingsChanged) error {
	p, err := find(f.tx, e.MatchID)
	if err != nil {
		return err
	}
	missed := map[string]bool{}
	for _, s := range e.Seats {
		missed[s.BotID] = s.Missed
		if err := f.tell(s.BotID, Event{Type: MatchCompleted, MatchID: e.MatchID, Placement: s.Placement, Missed: s.Missed}); err != nil {
			return err
		}
	}
	return p.end(f, func(bot string, b *health.Bot) { b.Ended(e.MatchID, missed[bot], false, f.at) })
}

// abort also ends a match that never started. The bots of such a match were never asked,
// so it says nothing about their health.
func abort(f fact, e ladder.MatchVoided) error {
	p, err := find(f.tx, e.MatchID)
	if err != nil && !errors.Is(err, errNotStarted) {
		return err
	}
	for _, bot := range p.seated {
		if err := f.tell(bot, Event{Type: MatchAborted, MatchID: e.MatchID, Reason: e.Why}); err != nil {
			return err
		}
	}
	return p.end(f, func(_ string, b *health.Bot) { b.Ended(e.MatchID, false, true, f.at) })
}

func applyMatch(f fact, id string, r eventstore.Recorded, meta eventstore.Metadata) error {
	e, err := match.Decode(r.Type, r.Data)
	if err != nil {
		return err
	}
	if e, ok := e.(match.Started); ok {
		return start(f.tx, id, e)
	}
	p, err := find(f.tx, id)
	if err != nil {
		return err
	}
	seq := int(r.Revision) - p.claims // claims have no seq, and neither does MatchStarted at revision 0
	switch e := e.(type) {
	case match.Claimed:
		return f.tx.Exec("UPDATE playing SET claims = claims + 1 WHERE match = ?", id)
	case match.DecisionTimedOut:
		return p.change(f, e.Seat, func(b *health.Bot) { b.TimedOut(id, e, seq, failedDials(meta, e.Seat), f.at) })
	case match.AnswerRejected:
		return p.change(f, e.Seat, func(b *health.Bot) { b.Rejected(id, e, seq, f.at) })
	case match.SeatResigned:
		return p.change(f, e.Seat, func(b *health.Bot) { b.Resigned(id, f.at) })
	}
	return nil
}

func failedDials(meta eventstore.Metadata, seat int) int {
	if seat >= len(meta.FailedDials) {
		return 0
	}
	return meta.FailedDials[seat]
}

// explain applies a detail. It ignores details of earlier errors.
func explain(f fact, id string, r eventstore.Recorded) error {
	e, err := match.DecodeDetail(r.Type, r.Data)
	if err != nil {
		return err
	}
	decision := 0
	switch e := e.(type) {
	case match.TimeoutExplained:
		decision = e.Decision
	case match.LateAnswerReceived:
		decision = e.Decision
	}
	var bot string
	found, err := f.tx.Find("SELECT bot FROM bots WHERE failed = ?", []any{failed(id, decision)}, &bot)
	if err != nil || !found {
		return err
	}
	return change(f, bot, id, func(b *health.Bot) { b.Explained(id, e) })
}

func start(tx *projections.Tx, id string, e match.Started) error {
	bots := make([]string, len(e.Seats))
	for i, s := range e.Seats {
		bots[i] = s.BotID
	}
	list, err := json.Marshal(bots)
	if err != nil {
		return err
	}
	return tx.Exec("INSERT INTO playing (match, bots, claims) VALUES (?, ?, 0) ON CONFLICT (match) DO UPDATE SET bots = excluded.bots", id, string(list))
}

// playing is a match that no ladder has closed.
type playing struct {
	match  string
	seated []string // in the order of the table
	bots   []string // by seat; nil before the match has started
	claims int
}

var errNotStarted = errors.New("the match never started")

func find(tx *projections.Tx, id string) (playing, error) {
	p := playing{match: id}
	seated, bots := "[]", "null" // if there is no row
	_, err := tx.Find("SELECT coalesce(seated, '[]'), coalesce(bots, 'null'), claims FROM playing WHERE match = ?", []any{id}, &seated, &bots, &p.claims)
	if err != nil {
		return p, err
	}
	if err := errors.Join(json.Unmarshal([]byte(seated), &p.seated), json.Unmarshal([]byte(bots), &p.bots)); err != nil {
		return p, err
	}
	if p.bots == nil {
		return p, fmt.Errorf("match %s: %w", id, errNotStarted)
	}
	return p, nil
}

// The method change() updates the health of the bot at a seat.
func (p playing) change(f fact, seat int, fold func(*health.Bot)) error {
	if seat < 0 || seat >= len(p.bots) {
		return fmt.Errorf("match %s has %d seats, but no seat %d", p.match, len(p.bots), seat)
	}
	return change(f, p.bots[seat], p.match, fold)
}

// The method end() updates the health of each bot when the match ends.
func (p playing) end(f fact, fold func(bot string, b *health.Bot)) error {
	for _, bot := range p.bots {
		if err := change(f, bot, p.match, func(b *health.Bot) { fold(bot, b) }); err != nil {
			return err
		}
	}
	return f.tx.Exec("DELETE FROM playing WHERE match = ?", p.match)
}

// The function change() updates a bot's health, and tells the owner if the bot's state
// has changed.
func change(f fact, bot, matchID string, fold func(*health.Bot)) error {
	b := health.Bot{State: health.Untested}
	var text string
	found, err := f.tx.Find("SELECT health FROM bots WHERE bot = ?", []any{bot}, &text)
	if err == nil && found {
		b, err = decode(text)
	}
	if err != nil {
		return err
	}
	before := b.State
	fold(&b)
	stored, err := json.Marshal(b)
	if err != nil {
		return err
	}
	var latest, changed, state, trouble any
	if b.LastError != nil {
		latest = failed(b.LastError.MatchID, b.LastError.Decision)
	}
	if !b.Trouble.IsZero() {
		changed, state, trouble = b.Since.UnixNano(), string(b.State), b.Trouble.UnixNano()
	}
	err = f.tx.Exec(`INSERT INTO bots (bot, failed, changed, state, trouble, health) VALUES (?, ?, ?, ?, ?, ?)
		ON CONFLICT (bot) DO UPDATE SET failed = excluded.failed, changed = excluded.changed, state = excluded.state, trouble = excluded.trouble, health = excluded.health`,
		bot, latest, changed, state, trouble, string(stored))
	if err != nil {
		return err
	}
	return f.tellState(bot, matchID, before, b)
}

func decode(text string) (b health.Bot, err error) {
	err = json.Unmarshal([]byte(text), &b)
	return b, err
}

// The function failed() returns the value of the column failed for a decision of a match.
func failed(matchID string, decision int) string { return fmt.Sprintf("%s/%d", matchID, decision) }
