// Package leaderboard is the read model of rated matches. For each mode, it has the
// current ranking and the ranking at any earlier time. For each bot, it has the
// rating after each match, the placements by seat, and the results against every
// other bot. It does not store names and owners. Callers pass a function that finds
// them, for example in the directory.
package leaderboard

import (
	"cmp"
	"database/sql"
	_ "embed" // the schema
	"encoding/json"
	"slices"
	"sync"
	"time"

	"hexarena/domain/ladder"
	"hexarena/domain/match"
	"hexarena/domain/rating"
	"hexarena/eventstore"
	"hexarena/projections"
	"hexarena/projections/seats"
)

// Row is one row of a ranking.
type Row struct {
	Rank        int     `json:"rank"` // position, from 1
	BotID       string  `json:"botId"`
	Name        string  `json:"name"`
	Owner       string  `json:"owner"` // the handle without @; empty if the owner has not chosen one
	Rating      float64 `json:"rating"`
	GamesPlayed int     `json:"gamesPlayed"`
}

// Leaderboard is the model. It computes the current ranking from memory, and
// everything else from rows.
type Leaderboard struct {
	rows *sql.DB

	mu      sync.RWMutex // guards the fields below, which only the runner changes
	bots    map[string]bot
	closed  map[string]time.Time // by mode: when the ladder last closed a match
	matches int64                // the number of closed matches; also the id of the latest closed match
	playing map[string]*playing
	results map[resultKey]int
	counted map[resultKey]bool // results that have changed since the last Flush

	past past
}

// bot is a bot that has started at least one match.
type bot struct {
	id   int64 // primary key of its row
	mode string
	standing
}

type standing struct {
	rating rating.Rating
	games  int
}

// playing is a match that has started but has not been closed by its ladder
// yet.
type playing struct {
	seats  []string     // ids of the bots
	played []seats.Seat // what the seats did
	ended  time.Time    // when the match ended according to its own stream; zero if it has not ended
	stored bool         // whether the match has a row
	dirty  bool         // whether Flush must write the row
	facts
}

// facts are known only once the match has ended, and only in matches that ended on
// 2026-11-26 or later.
type facts struct {
	Turns    int
	Openings []int // by seat: the pips of the two settlements of the setup
}

// New returns an empty leaderboard.
func New() *Leaderboard { return &Leaderboard{} }

// Name implements projections.Model.
func (l *Leaderboard) Name() string { return "leaderboard" }

//go:embed schema.sql
var tables string

// Schema implements projections.Model.
func (l *Leaderboard) Schema() projections.Schema {
	return projections.Schema{Version: 7, Tables: tables}
}

// Filter implements projections.Model.
func (l *Leaderboard) Filter() eventstore.Filter {
	return eventstore.Filter{
		StreamPrefixes: []string{ladder.StreamPrefix, match.StreamPrefix},
		Types: append([]string{
			match.Started{}.EventType(), ladder.RatingsChanged{}.EventType(), ladder.MatchVoided{}.EventType(),
		}, seats.Types...),
	}
}

// Load implements projections.Model.
func (l *Leaderboard) Load(rows *sql.DB) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.rows = rows
	l.past.clear()
	l.bots, l.closed, l.matches, l.playing = map[string]bot{}, map[string]time.Time{}, 0, map[string]*playing{}
	l.results, l.counted = map[resultKey]int{}, map[resultKey]bool{}
	err := projections.Each(rows, func(scan projections.Scan) error {
		var b bot
		var id string
		var mu, sigma sql.Null[float64]
		var games sql.Null[int]
		err := scan(&id, &b.id, &b.mode, &mu, &sigma, &games)
		b.standing = standing{rating.Rating{Mu: mu.V, Sigma: sigma.V}, games.V}
		l.bots[id] = b
		return err
	}, `SELECT b.bot, b.id, b.mode, s.mu, s.sigma, s.games FROM bots b LEFT JOIN seats s ON s.bot = b.id AND s.match = (
		SELECT max(match) FROM seats WHERE bot = b.id AND placement IS NOT NULL)`)
	if err != nil {
		return err
	}
	err = projections.Each(rows, func(scan projections.Scan) error {
		var mode string
		var closed, last int64
		err := scan(&mode, &closed, &last)
		l.closed[mode], l.matches = time.UnixMilli(closed), max(l.matches, last)
		return err
	}, "SELECT mode, max(closed), max(id) FROM matches GROUP BY mode")
	if err != nil {
		return err
	}
	if err := l.loadResults(rows); err != nil {
		return err
	}
	return projections.Each(rows, func(scan projections.Scan) error {
		var id string
		var bots, played, known []byte
		var ended sql.Null[int64]
		if err := scan(&id, &bots, &ended, &played, &known); err != nil {
			return err
		}
		p := &playing{stored: true}
		if ended.Valid {
			p.ended = time.UnixMilli(ended.V)
		}
		l.playing[id] = p
		return cmp.Or(json.Unmarshal(bots, &p.seats), json.Unmarshal(played, &p.played), json.Unmarshal(known, &p.facts))
	}, "SELECT match, seats, ended, played, facts FROM playing")
}

// Names returns the name and the owner's handle of a bot. For a removed bot, it
// returns false, and rankings leave the bot out.
type Names func(botID string) (name, owner string, ok bool)

// Version returns the number of closed matches. This number changes whenever a
// ranking changes.
func (l *Leaderboard) Version() uint64 {
	l.mu.RLock()
	defer l.mu.RUnlock()
	return uint64(l.matches)
}

// Rows returns a mode's current ranking. It includes every bot that has
// completed a match and has not been removed.
func (l *Leaderboard) Rows(mode string, names Names) []Row {
	l.mu.RLock()
	standings := l.standings(mode)
	l.mu.RUnlock()
	return rank(standings, names)
}

// standings returns the standings of a mode's bots that have completed a match.
// The caller must hold l.mu.
func (l *Leaderboard) standings(mode string) map[string]standing {
	standings := map[string]standing{}
	for id, b := range l.bots {
		if b.mode == mode && b.games > 0 {
			standings[id] = b.standing
		}
	}
	return standings
}

// rank returns the rows, sorted by displayed rating, games played, name and id
// (docs/rules.md, "Leaderboard order").
func rank(standings map[string]standing, names Names) []Row {
	rows := make([]Row, 0, len(standings))
	for id, s := range standings {
		if name, owner, ok := names(id); ok {
			rows = append(rows, Row{BotID: id, Name: name, Owner: owner, Rating: s.rating.Displayed(), GamesPlayed: s.games})
		}
	}
	slices.SortFunc(rows, func(a, b Row) int {
		if by := cmp.Compare(b.Rating, a.Rating); by != 0 {
			return by // the common case: equal ratings are rare
		}
		return cmp.Or(cmp.Compare(b.GamesPlayed, a.GamesPlayed), cmp.Compare(a.Name, b.Name), cmp.Compare(a.BotID, b.BotID))
	})
	for i := range rows {
		rows[i].Rank = i + 1
	}
	return rows
}
