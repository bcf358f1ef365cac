// Package matches is the read model of the match list: the players, status and
// result of each match. For the history of one match, use projections/frames, which
// reads the match's stream.
package matches

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"hexarena/domain/ladder"
	"hexarena/domain/match"
	"hexarena/domain/rating"
	"hexarena/eventstore"
	"hexarena/projections"
	"hexarena/projections/seats"
)

// Reachable is the maximum number of matches that a query can list. The pages of the
// query contain only the newest matches, up to this number (docs/protocol.md, GET
// /matches).
const Reachable = 10_000

// The statuses of a match.
const (
	Running   = "running"
	Completed = "completed"
	Aborted   = "aborted"
)

// Player is one player of a Summary.
type Player struct {
	Seat        int      `json:"seat"`
	BotID       string   `json:"botId"`
	BotName     string   `json:"botName"`
	Placement   *int     `json:"placement"`
	RatingDelta *float64 `json:"ratingDelta"` // change of the displayed rating
}

// Summary is one entry of the match list.
type Summary struct {
	ID        string   `json:"id"`
	Mode      string   `json:"mode"`
	Status    string   `json:"status"`
	Players   []Player `json:"players"`
	StartedAt string   `json:"startedAt"`
	EndedAt   *string  `json:"endedAt"`
	// Reason is a code of ladder.MatchVoided for an aborted match, and otherwise
	// empty. It is not part of a leaf of the signed log.
	Reason string `json:"reason,omitempty"`
	// Seats is nil until the match has ended. It is not part of a leaf of the
	// signed log.
	Seats []seats.Seat `json:"seats,omitempty" doc:"What each seat did, in the order of the seats; present once the match has ended."`
	// Scores and Turns are not part of a leaf of the signed log either.
	Scores []int `json:"scores,omitempty" doc:"The points of each seat, including hidden ones; present once the match is completed."`
	Turns  int   `json:"turns,omitempty" doc:"The number of turns; absent until the match has ended, and in matches that ended before 2026-11-26."`
}

// Mark returns the mark of a seat (seats.Seat.Mark), or "" before the match has
// ended.
func (s Summary) Mark(seat int) string {
	if seat < 0 || seat >= len(s.Seats) {
		return ""
	}
	return s.Seats[seat].Mark()
}

// Version returns the version that the bot at a seat named, or "" before the match has
// ended.
func (s Summary) Version(seat int) string {
	if seat < 0 || seat >= len(s.Seats) {
		return ""
	}
	return s.Seats[seat].Version
}

// Matches is the model. It answers queries from committed rows.
type Matches struct {
	batch   map[string]*entry // by id: matches that have changed since the last commit
	numbers map[string]int64  // by bot id: a cache of the bots' numbers
	started map[string]span   // by day: matches that have started since the last commit
	last    int64             // number of the newest seated match
	edges   edges
	queries atomic.Pointer[queries]
}

// New returns a match list without rows. A projections.Runner must load it
// before the first query.
func New() *Matches { return &Matches{} }

// Name implements projections.Model.
func (m *Matches) Name() string { return "matches" }

// Schema implements projections.Model.
func (m *Matches) Schema() projections.Schema { return projections.Schema{Version: 5, Tables: tables} }

// Filter implements projections.Model.
func (m *Matches) Filter() eventstore.Filter {
	return eventstore.Filter{Types: append([]string{
		ladder.TablesSeated{}.EventType(), ladder.RatingsChanged{}.EventType(), ladder.MatchVoided{}.EventType(),
		match.Started{}.EventType(),
	}, seats.Types...)}
}

// Load implements projections.Model.
func (m *Matches) Load(rows *sql.DB) error {
	m.batch, m.numbers, m.started = map[string]*entry{}, map[string]int64{}, map[string]span{}
	if err := rows.QueryRowContext(context.Background(), "SELECT coalesce(max(seq), 0) FROM matches").Scan(&m.last); err != nil {
		return err
	}
	m.queries.Store(&queries{projections.NewQueries(rows)})
	return nil
}

// Apply implements projections.Model.
func (m *Matches) Apply(tx *projections.Tx, r eventstore.Recorded) error {
	meta, err := eventstore.DecodeMetadata(r)
	if err != nil {
		return err
	}
	if mode, ok := ladder.ModeOf(string(r.Stream)); ok {
		return m.applyLadder(tx, mode, r, meta.At)
	}
	if id, ok := strings.CutPrefix(string(r.Stream), match.StreamPrefix); ok {
		return m.applyMatch(tx, id, r, meta)
	}
	return nil
}

func (m *Matches) applyLadder(tx *projections.Tx, mode string, r eventstore.Recorded, at time.Time) error {
	e, err := ladder.Decode(r.Type, r.Data)
	if err != nil {
		return err
	}
	switch e := e.(type) {
	case ladder.TablesSeated:
		return m.seat(tx, mode, e.Tables)
	case ladder.RatingsChanged:
		return m.close(tx, e.MatchID, Completed, "", e.Seats, at)
	case ladder.MatchVoided:
		return m.close(tx, e.MatchID, Aborted, e.Why, nil, at)
	}
	return nil
}

func (m *Matches) seat(tx *projections.Tx, mode string, tables []ladder.Table) error {
	if !ladder.IsMode(mode) {
		return fmt.Errorf("mode %q does not exist", mode)
	}
	for _, t := range tables {
		known, err := m.find(tx, t.MatchID)
		if err != nil {
			return err
		}
		if known == nil {
			m.last++
			m.batch[t.MatchID] = &entry{Summary: Summary{ID: t.MatchID, Mode: mode, Status: Running}, seq: m.last, kind: unlisted}
		}
	}
	return nil
}

// close ends a match. A ladder may void a match that never started.
func (m *Matches) close(tx *projections.Tx, id, status, reason string, results []ladder.RatedSeat, at time.Time) error {
	en, err := m.seated(tx, id)
	if err != nil {
		return err
	}
	players, played, err := rated(en.Players, en.played, results)
	if err != nil {
		return fmt.Errorf("match %s: %w", id, err)
	}
	if en.ended == "" {
		en.ended = at.UTC().Format(match.TimeFormat)
	}
	en.Status, en.Reason, en.Players, en.played = status, reason, players, played
	m.batch[id] = en
	return nil
}

// The function rated() returns the players and their seats with their results.
func rated(players []Player, played []seats.Seat, results []ladder.RatedSeat) ([]Player, []seats.Seat, error) {
	players, played = slices.Clone(players), slices.Clone(played)
	for _, s := range results {
		i := slices.IndexFunc(players, func(p Player) bool { return p.BotID == s.BotID })
		if i < 0 {
			return nil, nil, fmt.Errorf("bot %s is rated, but did not play", s.BotID)
		}
		placement, delta := s.Placement, rating.Delta(s.Before, s.After)
		players[i].Placement, players[i].RatingDelta = &placement, &delta
		played[i].Rate(s)
	}
	return players, played, nil
}

// applyMatch applies an event of a match's stream.
func (m *Matches) applyMatch(tx *projections.Tx, id string, r eventstore.Recorded, meta eventstore.Metadata) error {
	en, err := m.seated(tx, id)
	if err != nil {
		return err
	}
	e, err := match.Decode(r.Type, r.Data)
	if err != nil {
		return err
	}
	switch e := e.(type) {
	case match.Started:
		en.start(e, meta.At)
		if err := m.numberAll(tx, e.Seats); err != nil {
			return err
		}
	case match.GameEnded:
		en.ended, en.scores, en.turns = meta.At.UTC().Format(match.TimeFormat), e.Scores, meta.Turns
	case match.Aborted:
		en.ended, en.turns = meta.At.UTC().Format(match.TimeFormat), meta.Turns
	}
	if err := seats.Fold(en.played, e, meta.UsedMs); err != nil {
		return fmt.Errorf("match %s: %w", id, err)
	}
	m.batch[id] = en
	return nil
}

// The method seated() returns a match, or an error if the match was never seated.
func (m *Matches) seated(tx *projections.Tx, id string) (*entry, error) {
	en, err := m.find(tx, id)
	if err == nil && en == nil {
		err = fmt.Errorf("match %s was never seated", id)
	}
	return en, err
}

func (en *entry) start(e match.Started, at time.Time) {
	if en.StartedAt != "" {
		return
	}
	en.StartedAt = at.UTC().Format(match.TimeFormat)
	for i, s := range e.Seats {
		en.Players = append(en.Players, Player{Seat: i, BotID: s.BotID, BotName: s.BotName})
	}
	en.played = seats.Begin(e)
}
