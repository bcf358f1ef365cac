// Package matches is the read model of the list of matches: who played where
// and how it ended. A match's history is read from its own stream instead.
package matches

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"hexarena/domain/ladder"
	"hexarena/domain/match"
	"hexarena/domain/rating"
	"hexarena/eventstore"
)

// Reachable is how many of the newest matches that a query selects its pages
// reach (specification, "Limits").
const Reachable = 10_000

// The statuses of a match.
const (
	Running   = "running"
	Completed = "completed"
	Aborted   = "aborted"
)

// Player is the specification's MatchPlayer.
type Player struct {
	Seat        int      `json:"seat"`
	BotID       string   `json:"botId"`
	BotName     string   `json:"botName"`
	Placement   *int     `json:"placement"`
	RatingDelta *float64 `json:"ratingDelta"` // displayed rating after minus before
}

// Summary is the specification's MatchSummary.
type Summary struct {
	ID        string   `json:"id"`
	Mode      string   `json:"mode"`
	Status    string   `json:"status"`
	Players   []Player `json:"players"`
	StartedAt string   `json:"startedAt"`
	EndedAt   *string  `json:"endedAt"`
}

// entry is a match that was seated; it is listed once it has started.
type entry struct {
	Summary
	order   seating
	started bool
	ended   time.Time // of GameEnded or MatchAborted; without one, of the ladder's event
}

// seating orders matches by when they were seated.
type seating struct {
	position eventstore.Position
	index    int
}

// Matches is the model; Apply it through a projections.Runner.
type Matches struct {
	mu    sync.RWMutex
	byID  map[string]*entry
	order []*entry // by seating, oldest first
}

// New returns an empty list.
func New() *Matches { return &Matches{byID: map[string]*entry{}} }

// Name implements projections.Model.
func (m *Matches) Name() string { return "matches" }

// Filter implements projections.Model.
func (m *Matches) Filter() eventstore.Filter {
	return eventstore.Filter{StreamPrefixes: []string{ladder.StreamPrefix, match.StreamPrefix}}
}

// Apply implements projections.Model.
func (m *Matches) Apply(r eventstore.Recorded) error {
	if mode, ok := ladder.ModeOf(string(r.Stream)); ok {
		return m.applyLadder(mode, r)
	}
	switch r.Type {
	case match.Started{}.EventType(), match.GameEnded{}.EventType(), match.Aborted{}.EventType():
		return m.applyMatch(strings.TrimPrefix(string(r.Stream), match.StreamPrefix), r)
	}
	return nil
}

func (m *Matches) applyLadder(mode string, r eventstore.Recorded) error {
	e, err := ladder.Decode(r.Type, r.Data)
	if err != nil {
		return err
	}
	meta, err := eventstore.DecodeMetadata(r)
	if err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	switch e := e.(type) {
	case ladder.TablesSeated:
		m.seat(mode, e.Tables, r.Position)
	case ladder.RatingsChanged:
		return m.close(e.MatchID, Completed, e.Seats, meta.At)
	case ladder.MatchVoided:
		return m.close(e.MatchID, Aborted, nil, meta.At)
	}
	return nil
}

func (m *Matches) seat(mode string, tables []ladder.Table, at eventstore.Position) {
	for i, t := range tables {
		if _, known := m.byID[t.MatchID]; known {
			continue
		}
		en := &entry{Summary: Summary{ID: t.MatchID, Mode: mode, Status: Running}, order: seating{at, i}}
		m.byID[t.MatchID] = en
		m.order = append(m.order, en)
	}
}

// close ends a match for its ladder, which may give up one that never started.
func (m *Matches) close(id, status string, seats []ladder.RatedSeat, at time.Time) error {
	en, ok := m.byID[id]
	if !ok {
		return fmt.Errorf("match %s was never seated", id)
	}
	players, err := rated(en.Players, seats)
	if err != nil {
		return fmt.Errorf("match %s: %w", id, err)
	}
	if en.ended.IsZero() {
		en.ended = at
	}
	ended := en.ended.UTC().Format(match.TimeFormat)
	en.Status, en.EndedAt, en.Players = status, &ended, players
	return nil
}

// rated returns players with their results; readers may hold the old ones.
func rated(players []Player, seats []ladder.RatedSeat) ([]Player, error) {
	players = slices.Clone(players)
	for _, s := range seats {
		i := slices.IndexFunc(players, func(p Player) bool { return p.BotID == s.BotID })
		if i < 0 {
			return nil, fmt.Errorf("bot %s is rated, and did not play", s.BotID)
		}
		placement, delta := s.Placement, rating.Delta(s.Before, s.After)
		players[i].Placement, players[i].RatingDelta = &placement, &delta
	}
	return players, nil
}

func (m *Matches) applyMatch(id string, r eventstore.Recorded) error {
	e, err := match.Decode(r.Type, r.Data)
	if err != nil {
		return err
	}
	meta, err := eventstore.DecodeMetadata(r)
	if err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	en, ok := m.byID[id]
	if !ok {
		return fmt.Errorf("match %s was never seated", id)
	}
	if started, ok := e.(match.Started); ok {
		en.start(started, meta.At)
	} else {
		en.ended = meta.At
	}
	return nil
}

func (en *entry) start(e match.Started, at time.Time) {
	if en.started {
		return
	}
	en.started = true
	en.StartedAt = at.UTC().Format(match.TimeFormat)
	for i, s := range e.Seats {
		en.Players = append(en.Players, Player{Seat: i, BotID: s.BotID, BotName: s.BotName})
	}
}

// Get returns a match that has started.
func (m *Matches) Get(id string) (Summary, bool) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	en, ok := m.byID[id]
	if !ok || !en.started {
		return Summary{}, false
	}
	return en.Summary, true
}

// Query selects matches; an empty field selects all.
type Query struct {
	Mode, Status, BotID string
	Before              string // continue behind this match
	Limit               int    // at least 1
}

// List returns a page, newest first by seating, and the id to continue before,
// empty where nothing older can be reached. known is false where Before is no
// match that has started.
func (m *Matches) List(q Query) (page []Summary, next string, known bool) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	before := m.byID[q.Before]
	if q.Before != "" && (before == nil || !before.started) {
		return nil, "", false
	}
	page = []Summary{}
	reached := 0
	for _, en := range slices.Backward(m.order) {
		if !en.started || !q.selects(en) {
			continue
		}
		if reached++; reached > Reachable {
			break
		}
		if before != nil && !en.order.less(before.order) {
			continue
		}
		if len(page) == q.Limit {
			return page, page[len(page)-1].ID, true
		}
		page = append(page, en.Summary)
	}
	return page, "", true
}

func (q Query) selects(en *entry) bool {
	return (q.Mode == "" || q.Mode == en.Mode) && (q.Status == "" || q.Status == en.Status) &&
		(q.BotID == "" || slices.ContainsFunc(en.Players, func(p Player) bool { return p.BotID == q.BotID }))
}

func (s seating) less(t seating) bool {
	return s.position < t.position || s.position == t.position && s.index < t.index
}
