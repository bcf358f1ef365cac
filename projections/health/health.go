// Package health is the read model of the bots' health: the state of each bot, its
// latest error, and what went wrong in its last matches. Only a bot's owner may see
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

	"hexarena/domain/health"
	"hexarena/domain/ladder"
	"hexarena/domain/match"
	"hexarena/eventstore"
	"hexarena/projections"
)

// Health is the model. It keeps no state in memory: failures are rare, and a match
// changes each of its bots only once more, at its end.
type Health struct {
	rows atomic.Pointer[sql.DB]
}

// New returns a model without rows. A projections.Runner must load it before the
// first call to Of.
func New() *Health { return &Health{} }

// Name implements projections.Model.
func (h *Health) Name() string { return "health" }

//go:embed schema.sql
var tables string

// Schema implements projections.Model.
func (h *Health) Schema() projections.Schema { return projections.Schema{Version: 1, Tables: tables} }

// Filter implements projections.Model. It leaves out the actions, which are most of a
// match (docs/adr/0044-health-counts-failed-dials.md).
func (h *Health) Filter() eventstore.Filter {
	return eventstore.Filter{
		StreamPrefixes: []string{ladder.StreamPrefix, match.StreamPrefix, match.DetailsPrefix},
		Types: []string{
			ladder.RatingsChanged{}.EventType(), ladder.MatchVoided{}.EventType(),
			match.Started{}.EventType(), match.Claimed{}.EventType(),
			match.DecisionTimedOut{}.EventType(), match.AnswerRejected{}.EventType(), match.SeatResigned{}.EventType(),
			match.TimeoutExplained{}.EventType(), match.LateAnswerReceived{}.EventType(),
		},
	}
}

// Load implements projections.Model.
func (h *Health) Load(rows *sql.DB) error {
	h.rows.Store(rows)
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

// Apply implements projections.Model.
func (h *Health) Apply(tx *projections.Tx, r eventstore.Recorded) error {
	meta, err := eventstore.DecodeMetadata(r)
	if err != nil {
		return err
	}
	stream := string(r.Stream)
	if id, ok := strings.CutPrefix(stream, match.DetailsPrefix); ok {
		return explain(tx, id, r)
	}
	if id, ok := strings.CutPrefix(stream, match.StreamPrefix); ok {
		return applyMatch(tx, id, r, meta)
	}
	e, err := ladder.Decode(r.Type, r.Data)
	if err != nil {
		return err
	}
	return applyLadder(tx, e, meta)
}

func applyLadder(tx *projections.Tx, e ladder.Event, meta eventstore.Metadata) error {
	switch e := e.(type) {
	case ladder.RatingsChanged:
		missed := map[string]bool{}
		for _, s := range e.Seats {
			missed[s.BotID] = s.Missed
		}
		p, err := find(tx, e.MatchID)
		if err != nil {
			return err
		}
		return p.end(tx, func(bot string, b *health.Bot) { b.Ended(e.MatchID, missed[bot], false, meta.At) })
	case ladder.MatchVoided:
		p, err := find(tx, e.MatchID)
		if errors.Is(err, errNotStarted) {
			return nil // the bots were never asked
		}
		if err != nil {
			return err
		}
		return p.end(tx, func(_ string, b *health.Bot) { b.Ended(e.MatchID, false, true, meta.At) })
	}
	return nil
}

func applyMatch(tx *projections.Tx, id string, r eventstore.Recorded, meta eventstore.Metadata) error {
	e, err := match.Decode(r.Type, r.Data)
	if err != nil {
		return err
	}
	if e, ok := e.(match.Started); ok {
		return start(tx, id, e)
	}
	p, err := find(tx, id)
	if err != nil {
		return err
	}
	seq := int(r.Revision) - p.claims // MatchStarted has no seq either, and has revision 0
	switch e := e.(type) {
	case match.Claimed:
		return tx.Exec("UPDATE playing SET claims = claims + 1 WHERE match = ?", id)
	case match.DecisionTimedOut:
		return p.change(tx, e.Seat, func(b *health.Bot) { b.TimedOut(id, e, seq, failedDials(meta, e.Seat), meta.At) })
	case match.AnswerRejected:
		return p.change(tx, e.Seat, func(b *health.Bot) { b.Rejected(id, e, seq, meta.At) })
	case match.SeatResigned:
		return p.change(tx, e.Seat, func(b *health.Bot) { b.Resigned(id, meta.At) })
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
func explain(tx *projections.Tx, id string, r eventstore.Recorded) error {
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
	found, err := tx.Find("SELECT bot FROM bots WHERE failed = ?", []any{failed(id, decision)}, &bot)
	if err != nil || !found {
		return err
	}
	return change(tx, bot, func(b *health.Bot) { b.Explained(id, e) })
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
	return tx.Exec("INSERT INTO playing (match, bots, claims) VALUES (?, ?, 0)", id, string(list))
}

// playing is a match that no ladder has closed.
type playing struct {
	match  string
	bots   []string // by seat
	claims int
}

var errNotStarted = errors.New("the match never started")

func find(tx *projections.Tx, id string) (playing, error) {
	p := playing{match: id}
	var bots string
	found, err := tx.Find("SELECT bots, claims FROM playing WHERE match = ?", []any{id}, &bots, &p.claims)
	if err == nil && !found {
		err = fmt.Errorf("match %s: %w", id, errNotStarted)
	}
	if err != nil {
		return p, err
	}
	return p, json.Unmarshal([]byte(bots), &p.bots)
}

// change folds a fact of a seat.
func (p playing) change(tx *projections.Tx, seat int, fold func(*health.Bot)) error {
	if seat < 0 || seat >= len(p.bots) {
		return fmt.Errorf("match %s has %d seats, but no seat %d", p.match, len(p.bots), seat)
	}
	return change(tx, p.bots[seat], fold)
}

// end folds the end of the match for each of its bots.
func (p playing) end(tx *projections.Tx, fold func(bot string, b *health.Bot)) error {
	for _, bot := range p.bots {
		if err := change(tx, bot, func(b *health.Bot) { fold(bot, b) }); err != nil {
			return err
		}
	}
	return tx.Exec("DELETE FROM playing WHERE match = ?", p.match)
}

// change folds a fact of a bot.
func change(tx *projections.Tx, bot string, fold func(*health.Bot)) error {
	b := health.Bot{State: health.Untested}
	var text string
	found, err := tx.Find("SELECT health FROM bots WHERE bot = ?", []any{bot}, &text)
	if err == nil && found {
		b, err = decode(text)
	}
	if err != nil {
		return err
	}
	fold(&b)
	stored, err := json.Marshal(b)
	if err != nil {
		return err
	}
	var latest any
	if b.LastError != nil {
		latest = failed(b.LastError.MatchID, b.LastError.Decision)
	}
	return tx.Exec("INSERT INTO bots (bot, failed, health) VALUES (?, ?, ?) ON CONFLICT (bot) DO UPDATE SET failed = excluded.failed, health = excluded.health",
		bot, latest, string(stored))
}

func decode(text string) (b health.Bot, err error) {
	err = json.Unmarshal([]byte(text), &b)
	return b, err
}

// failed names a decision of a match.
func failed(matchID string, decision int) string { return fmt.Sprintf("%s/%d", matchID, decision) }
